/* The branch-free float helpers against slower definitions: numeric.h, libm, exact doubles. */
#include "emulator/float_bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static uint64_t random_bits(void)
{
    static uint64_t state = 7;
    state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bool same_f32(float x, float y)
{
    return (isnan(x) && isnan(y)) || number_to_bits(x) == number_to_bits(y);
}

static void every_half_decodes(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++)
        assert_true(same_f32(half_decode(half), number_decode(NUMBER_F16, half)));
    assert_int_equal(number_to_bits(half_decode(0xffff3c00)), number_to_bits(1));
}

static void check_encoding(float value)
{
    uint32_t expected =
        number_encode(NUMBER_F16, (double)value, ROUND_NEAREST_EVEN, OVERFLOW_INFINITY);
    if (half_encode(value) != expected)
        fail_msg("%a: 0x%x instead of 0x%x", (double)value, half_encode(value), expected);
}

/* Every half, every midpoint between two, and their neighbours; every NaN payload that is kept. */
static void encoding_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7c00; half++) {
        float value = half_decode(half), next = half == 0x7bff ? 65536 : half_decode(half + 1);
        float midpoint = (value + next) / 2;
        const float around[] = {value, midpoint, nextafterf(midpoint, 0),
                                nextafterf(midpoint, INFINITY), nextafterf(value, INFINITY)};
        for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
            check_encoding(around[i]);
            check_encoding(-around[i]);
        }
    }
    for (int i = 0; i < 1000000; i++) {
        float value = number_from_bits((uint32_t)random_bits());
        if (!isnan(value))
            check_encoding(value);
    }
    assert_int_equal(half_encode(number_from_bits(0xff802000)), 0xfe01);
}

/* Operands near each other in size, so that sums cancel and round in every way. */
static float random_f32(void)
{
    uint64_t bits = random_bits();
    uint32_t exponent = bits >> 60 == 0 ? bits >> 40 & 0xff : 100 + (bits >> 40) % 60;
    return number_from_bits((uint32_t)(bits & 0x807fffff) | exponent << 23);
}

static void fma_rounds_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2000000; i++) {
        float a = random_f32(), b = random_f32(), c = random_f32();
        if (i % 3 == 0)
            c = -a * b; /* what remains is the product's rounding error */
        if (!same_f32(fma_f32(a, b, c), fmaf(a, b, c)))
            fail_msg("%a * %a + %a: %a instead of %a", (double)a, (double)b, (double)c,
                     (double)fma_f32(a, b, c), (double)fmaf(a, b, c));
    }
    for (int i = 0; i < 2000000; i++) {
        float a = number_from_bits((uint32_t)random_bits());
        float b = number_from_bits((uint32_t)random_bits());
        float c = number_from_bits((uint32_t)random_bits());
        assert_true(same_f32(fma_f32(a, b, c), fmaf(a, b, c)));
    }
}

static void half_fma_rounds_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2000000; i++) {
        uint64_t bits = random_bits();
        float a = half_decode(bits & 0xffff), b = half_decode(bits >> 16 & 0xffff);
        float c = half_decode(bits >> 32 & 0xffff);
        /* A double misses bits of the sum only where they are far below half an f16 ulp. */
        uint32_t expected = number_encode(NUMBER_F16, (double)a * (double)b + (double)c,
                                          ROUND_NEAREST_EVEN, OVERFLOW_INFINITY);
        uint32_t value = fma_f16(a, b, c);
        assert_true(value == expected ||
                    (is_nan_f16((uint16_t)value) && is_nan_f16((uint16_t)expected)));
    }
}

static void scaling_rounds_once(void **state)
{
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        float value = random_f32();
        int32_t exponent = (int32_t)(random_bits() % 640) - 320;
        assert_true(same_f32(ldexp_f32(value, exponent), ldexpf(value, exponent)));
    }
    assert_true(ldexp_f32(1, INT32_MIN) == 0);
    assert_true(isinf(ldexp_f32(1, INT32_MAX)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_decodes),  cmocka_unit_test(encoding_rounds_to_nearest_even),
        cmocka_unit_test(fma_rounds_once),     cmocka_unit_test(half_fma_rounds_once),
        cmocka_unit_test(scaling_rounds_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
