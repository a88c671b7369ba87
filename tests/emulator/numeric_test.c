/* The conversions of numeric.h against the definitions of the formats. */
#include "emulator/numeric.h"
#include "formats.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
    enum number_format_id id;
    const struct format *format;
} formats[] = {
    {NUMBER_F32, &format_f32},  {NUMBER_F16, &format_f16},  {NUMBER_BF16, &format_bf16},
    {NUMBER_E4M3, &format_fp8}, {NUMBER_E5M2, &format_bf8}, {NUMBER_E2M3, &format_fp6},
    {NUMBER_E3M2, &format_bf6}, {NUMBER_E2M1, &format_fp4},
};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

#define FOR_EACH_FORMAT(f) for (size_t f = 0; f < FORMAT_COUNT; ++f)

/* All codes of a format, but for f32 only some of each exponent. */
static uint32_t next_code(size_t f, uint32_t code)
{
    uint32_t mantissa = code & 0x7fffff;
    bool skip = formats[f].id == NUMBER_F32 && mantissa > 2 && mantissa < 0x7ffffd;
    return code + (skip ? 0x3ffff : 1);
}

static uint32_t encode(size_t f, double value, enum rounding rounding)
{
    return number_encode(formats[f].id, value, rounding, OVERFLOW_INFINITY);
}

static void check_nearest(size_t f, double value)
{
    uint32_t expected = format_nearest(formats[f].format, value);
    uint32_t actual = encode(f, value, ROUND_NEAREST_EVEN);
    if (actual != expected)
        fail_msg("%s of %a: expected 0x%x, got 0x%x", formats[f].format->name, value, expected,
                 actual);
}

static void check_nearest_of_both_signs(size_t f, double value)
{
    check_nearest(f, value);
    check_nearest(f, -value);
}

static void decodes_every_code_by_definition(void **state)
{
    (void)state;
    FOR_EACH_FORMAT(f)
    {
        uint32_t sign = format_sign_bit(formats[f].format);
        for (uint32_t code = 0; code < sign; code = next_code(f, code))
            for (int negative = 0; negative < 2; ++negative) {
                uint32_t signed_code = code | (negative ? sign : 0);
                double expected = format_value(formats[f].format, signed_code);
                double actual = number_decode(formats[f].id, signed_code);
                bool same = isnan(expected)
                                ? isnan(actual)
                                : expected == actual && signbit(expected) == signbit(actual);
                if (!same)
                    fail_msg("%s 0x%x: expected %a, got %a", formats[f].format->name, signed_code,
                             expected, actual);
            }
    }
}

static void encodes_what_it_decodes(void **state)
{
    (void)state;
    FOR_EACH_FORMAT(f)
    {
        for (uint32_t code = 0; code <= format_largest(formats[f].format);
             code = next_code(f, code)) {
            uint32_t negative = code | format_sign_bit(formats[f].format);
            double value = number_decode(formats[f].id, code);
            assert_int_equal(encode(f, value, ROUND_NEAREST_EVEN), code);
            assert_int_equal(encode(f, -value, ROUND_NEAREST_EVEN), negative);
        }
    }
}

/* Around each number, around each middle of two, and between. */
static void rounds_to_nearest_even_everywhere(void **state)
{
    (void)state;
    static const double fractions[] = {0.001, 0.25, 0.499, 0.5, 0.501, 0.75, 0.999};
    FOR_EACH_FORMAT(f)
    {
        const struct format *format = formats[f].format;
        uint32_t largest = format_largest(format);
        for (uint32_t code = 0; code <= largest; code = next_code(f, code)) {
            double low = format_value(format, code);
            double step = code < largest ? format_value(format, code + 1) - low
                                         : low - format_value(format, code - 1);
            for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; ++i)
                check_nearest_of_both_signs(f, low + step * fractions[i]);
            check_nearest_of_both_signs(f, nextafter(low + step / 2, 0));
            check_nearest_of_both_signs(f, nextafter(low + step / 2, INFINITY));
        }
    }
}

static void overflow_gives_infinity_or_saturates(void **state)
{
    (void)state;
    FOR_EACH_FORMAT(f)
    {
        const struct format *format = formats[f].format;
        uint32_t largest = format_largest(format), sign = format_sign_bit(format);
        const double huge = 1e300;
        check_nearest_of_both_signs(f, huge);
        check_nearest_of_both_signs(f, INFINITY);
        assert_int_equal(encode(f, huge, ROUND_TO_ZERO), largest);
        assert_int_equal(encode(f, huge, ROUND_DOWN), largest);
        assert_int_equal(encode(f, huge, ROUND_UP), format->overflow);
        assert_int_equal(encode(f, -huge, ROUND_UP), largest | sign);
        assert_int_equal(encode(f, -huge, ROUND_DOWN), format->overflow | sign);
        enum number_format_id id = formats[f].id;
        assert_int_equal(number_encode(id, huge, ROUND_NEAREST_EVEN, OVERFLOW_SATURATE), largest);
        assert_int_equal(number_encode(id, -huge, ROUND_NEAREST_EVEN, OVERFLOW_SATURATE),
                         largest | sign);
        assert_int_equal(number_encode(id, INFINITY, ROUND_NEAREST_EVEN, OVERFLOW_SATURATE),
                         format->overflow);
    }
}

static void nan_stays_nan_where_the_format_has_one(void **state)
{
    (void)state;
    FOR_EACH_FORMAT(f)
    check_nearest_of_both_signs(f, NAN);
    /* Where there is room, the upper bits survive; a signaling NaN becomes quiet. */
    double payload = number_from_bits(0xffa54321);
    assert_int_equal(number_encode(NUMBER_F16, payload, ROUND_NEAREST_EVEN, OVERFLOW_INFINITY),
                     0xfe00 | (0x254321 >> 13));
    assert_int_equal(number_encode(NUMBER_BF16, payload, ROUND_NEAREST_EVEN, OVERFLOW_INFINITY),
                     0xffc0 | (0x254321 >> 16));
}

static void tiny_values_round_to_signed_zero_or_the_least_number(void **state)
{
    (void)state;
    FOR_EACH_FORMAT(f)
    {
        uint32_t sign = format_sign_bit(formats[f].format);
        double least = format_value(formats[f].format, 1);
        assert_int_equal(encode(f, least / 2, ROUND_NEAREST_EVEN), 0);
        assert_int_equal(encode(f, -least / 2, ROUND_NEAREST_EVEN), sign);
        assert_int_equal(encode(f, nextafter(least / 2, 1), ROUND_NEAREST_EVEN), 1);
        assert_int_equal(encode(f, 1e-300, ROUND_NEAREST_EVEN), 0);
        assert_int_equal(encode(f, 4.9e-324, ROUND_NEAREST_EVEN), 0);
        assert_int_equal(encode(f, 4.9e-324, ROUND_UP), 1);
        assert_int_equal(encode(f, -1e-300, ROUND_UP), sign);
        assert_int_equal(encode(f, -1e-300, ROUND_DOWN), sign | 1);
        assert_int_equal(encode(f, 1e-300, ROUND_TO_ZERO), 0);
    }
}

/* The processor knows f32 in all four rounding modes. */
static void directed_roundings_of_f32_agree_with_the_processor(void **state)
{
    (void)state;
    static const struct {
        enum rounding rounding;
        int mode;
    } modes[] = {{ROUND_NEAREST_EVEN, FE_TONEAREST},
                 {ROUND_UP, FE_UPWARD},
                 {ROUND_DOWN, FE_DOWNWARD},
                 {ROUND_TO_ZERO, FE_TOWARDZERO}};
    for (int i = 0; i < 200000; ++i) {
        int exponent = (int)(random_bits() % 290) - 155;
        volatile double value = ldexp((double)(int64_t)random_bits(), exponent - 63);
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m) {
            fesetround(modes[m].mode);
            volatile float expected = (float)value;
            fesetround(FE_TONEAREST);
            assert_int_equal(number_encode(NUMBER_F32, value, modes[m].rounding, OVERFLOW_INFINITY),
                             number_to_bits(expected));
        }
    }
}

static void scales_are_powers_of_two(void **state)
{
    (void)state;
    for (int code = 0; code < 255; ++code)
        assert_true(number_decode_scale((uint8_t)code) == ldexp(1, code - 127));
    assert_true(isnan(number_decode_scale(255)));
    assert_int_equal(number_scale_of(number_to_bits(-1.9f)), 127);
    assert_int_equal(number_scale_of(number_to_bits(0x1p-130f)), 0);
}

/* Of all random words, as many round up as the value lies above its lower neighbour. */
static void stochastic_rounding_is_proportional(void **state)
{
    (void)state;
    enum { STEPS = 4096 };
    FOR_EACH_FORMAT(f)
    {
        const struct format *format = formats[f].format;
        if (format == &format_f32)
            continue; /* no instruction rounds to f32 by chance */
        uint32_t largest = format_largest(format);
        for (uint32_t code = 0; code < largest; code += 1 + largest / 200) {
            double low = format_value(format, code);
            double step = format_value(format, code + 1) - low;
            for (uint32_t eighth = 0; eighth < 8; ++eighth) {
                double value = low + step * eighth / 8;
                if (value < 0x1p-126)
                    continue; /* as an f32 it would have fewer bits to add to */
                uint32_t ups = 0;
                for (uint32_t i = 0; i < STEPS; ++i) {
                    uint32_t result = number_encode_stochastic(formats[f].id, value, 23, i << 20,
                                                               OVERFLOW_INFINITY);
                    assert_in_range(result, code, code + 1);
                    ups += result - code;
                }
                assert_int_equal(ups, STEPS / 8 * eighth);
            }
        }
    }
}

static uint32_t encode_fp8(double value, unsigned source_mantissa_bits, uint32_t random)
{
    return number_encode_stochastic(NUMBER_E4M3, value, source_mantissa_bits, random,
                                    OVERFLOW_INFINITY);
}

static void stochastic_rounding_has_the_sources_width(void **state)
{
    (void)state;
    /* 1 + 2^-4 is half way in fp8. An f16 has 7 bits to add to below fp8's last one, so only that
       many of the random word count. */
    assert_int_equal(encode_fp8(1.0625, 10, 0x7fffffff), 0x38);
    assert_int_equal(encode_fp8(1.0625, 10, 0x80000000), 0x39);
    assert_int_equal(encode_fp8(1 + 0x1p-10, 10, 0xfe000000), 0x39);
    assert_int_equal(encode_fp8(1 + 0x1p-10, 10, 0xfdffffff), 0x38);
    /* What an f16 cannot hold at the scale of fp8's least exponent is lost first. */
    assert_int_equal(encode_fp8(0x1p-17, 10, UINT32_MAX), 0);
    assert_int_equal(encode_fp8(0x1p-16, 10, UINT32_MAX), 1);
}

static void stochastic_rounding_leaves_exact_and_special_values(void **state)
{
    (void)state;
    assert_int_equal(encode_fp8(-448, 23, UINT32_MAX), 0xfe);
    assert_int_equal(encode_fp8(0, 23, UINT32_MAX), 0);
    assert_int_equal(encode_fp8(-0.0, 23, UINT32_MAX), 0x80);
    assert_int_equal(encode_fp8(NAN, 23, 0) & 0x7f, 0x7f);
    assert_int_equal(encode_fp8(463, 23, 0), 0x7e);
    assert_int_equal(encode_fp8(463, 23, UINT32_MAX), 0x7f);
    assert_int_equal(number_encode_stochastic(NUMBER_E4M3, 463, 23, UINT32_MAX, OVERFLOW_SATURATE),
                     0x7e);
    assert_int_equal(
        number_encode_stochastic(NUMBER_E5M2, -INFINITY, 23, UINT32_MAX, OVERFLOW_INFINITY), 0xfc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_every_code_by_definition),
        cmocka_unit_test(encodes_what_it_decodes),
        cmocka_unit_test(rounds_to_nearest_even_everywhere),
        cmocka_unit_test(overflow_gives_infinity_or_saturates),
        cmocka_unit_test(nan_stays_nan_where_the_format_has_one),
        cmocka_unit_test(tiny_values_round_to_signed_zero_or_the_least_number),
        cmocka_unit_test(directed_roundings_of_f32_agree_with_the_processor),
        cmocka_unit_test(scales_are_powers_of_two),
        cmocka_unit_test(stochastic_rounding_is_proportional),
        cmocka_unit_test(stochastic_rounding_has_the_sources_width),
        cmocka_unit_test(stochastic_rounding_leaves_exact_and_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
