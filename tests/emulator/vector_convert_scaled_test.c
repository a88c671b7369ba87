/* Every v_cvt_scalef32_* on streams of bits: what comes out of a lane's registers against the
   definitions of the formats. */
#include "formats.h"
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Registers: data from v32 and v64 on, random bits in v2, the scale in v4, results from v96 on. */
enum { DATA = 32, SECOND_DATA = 64, RANDOM = 2, SCALE = 4, RESULT = 96 };

/* What the result registers hold before. */
#define BEFORE 0x5a5a5a5a

struct conversion {
    const char *name;
    const struct format *from, *to;
    unsigned count;
    bool two_data_operands;
    bool stochastic;
};

/* clang-format off */
static const struct conversion conversions[] = {
    {"f32_fp8", &format_fp8, &format_f32, 1, false, false},
    {"f32_bf8", &format_bf8, &format_f32, 1, false, false},
    {"f16_fp8", &format_fp8, &format_f16, 1, false, false},
    {"f16_bf8", &format_bf8, &format_f16, 1, false, false},
    {"pk_f32_fp8", &format_fp8, &format_f32, 2, false, false},
    {"pk_f32_bf8", &format_bf8, &format_f32, 2, false, false},
    {"pk_f32_fp4", &format_fp4, &format_f32, 2, false, false},
    {"pk_f16_fp8", &format_fp8, &format_f16, 2, false, false},
    {"pk_f16_bf8", &format_bf8, &format_f16, 2, false, false},
    {"pk_f16_fp4", &format_fp4, &format_f16, 2, false, false},
    {"pk_bf16_fp8", &format_fp8, &format_bf16, 2, false, false},
    {"pk_bf16_bf8", &format_bf8, &format_bf16, 2, false, false},
    {"pk_bf16_fp4", &format_fp4, &format_bf16, 2, false, false},
    {"pk_fp8_f32", &format_f32, &format_fp8, 2, true, false},
    {"pk_bf8_f32", &format_f32, &format_bf8, 2, true, false},
    {"pk_fp4_f32", &format_f32, &format_fp4, 2, true, false},
    {"pk_fp8_f16", &format_f16, &format_fp8, 2, false, false},
    {"pk_bf8_f16", &format_f16, &format_bf8, 2, false, false},
    {"pk_fp4_f16", &format_f16, &format_fp4, 2, false, false},
    {"pk_fp8_bf16", &format_bf16, &format_fp8, 2, false, false},
    {"pk_bf8_bf16", &format_bf16, &format_bf8, 2, false, false},
    {"pk_fp4_bf16", &format_bf16, &format_fp4, 2, false, false},
    {"sr_fp8_f32", &format_f32, &format_fp8, 1, false, true},
    {"sr_bf8_f32", &format_f32, &format_bf8, 1, false, true},
    {"sr_fp8_f16", &format_f16, &format_fp8, 1, false, true},
    {"sr_bf8_f16", &format_f16, &format_bf8, 1, false, true},
    {"sr_fp8_bf16", &format_bf16, &format_fp8, 1, false, true},
    {"sr_bf8_bf16", &format_bf16, &format_bf8, 1, false, true},
    {"sr_pk_fp4_f32", &format_f32, &format_fp4, 2, false, true},
    {"sr_pk_fp4_f16", &format_f16, &format_fp4, 2, false, true},
    {"sr_pk_fp4_bf16", &format_bf16, &format_fp4, 2, false, true},
    {"2xpk16_fp6_f32", &format_f32, &format_fp6, 32, true, false},
    {"2xpk16_bf6_f32", &format_f32, &format_bf6, 32, true, false},
    {"pk32_f32_fp6", &format_fp6, &format_f32, 32, false, false},
    {"pk32_f32_bf6", &format_bf6, &format_f32, 32, false, false},
    {"pk32_f16_fp6", &format_fp6, &format_f16, 32, false, false},
    {"pk32_f16_bf6", &format_bf6, &format_f16, 32, false, false},
    {"pk32_bf16_fp6", &format_fp6, &format_bf16, 32, false, false},
    {"pk32_bf16_bf6", &format_bf6, &format_bf16, 32, false, false},
    {"pk32_fp6_f16", &format_f16, &format_fp6, 32, false, false},
    {"pk32_bf6_f16", &format_f16, &format_bf6, 32, false, false},
    {"pk32_fp6_bf16", &format_bf16, &format_fp6, 32, false, false},
    {"pk32_bf6_bf16", &format_bf16, &format_bf6, 32, false, false},
    {"sr_pk32_fp6_f32", &format_f32, &format_fp6, 32, false, true},
    {"sr_pk32_bf6_f32", &format_f32, &format_bf6, 32, false, true},
    {"sr_pk32_fp6_f16", &format_f16, &format_fp6, 32, false, true},
    {"sr_pk32_bf6_f16", &format_f16, &format_bf6, 32, false, true},
    {"sr_pk32_fp6_bf16", &format_bf16, &format_fp6, 32, false, true},
    {"sr_pk32_bf6_bf16", &format_bf16, &format_bf6, 32, false, true},
};
/* clang-format on */
enum { CONVERSION_COUNT = sizeof conversions / sizeof conversions[0] };

static unsigned dwords_of(unsigned bits)
{
    return (bits + 31) / 32;
}

/* ---- Text ---- */

static int print_registers(char *text, unsigned first, unsigned count)
{
    if (count == 1)
        return sprintf(text, "v%u", first);
    return sprintf(text, "v[%u:%u]", first, first + count - 1);
}

/* `from_part` and `to_part` are the byte or half of the dword that short streams lie in. The bits
   of op_sel: sources 0, 1 and 2, and the destination; with two sources the text has three bits, but
   four where the byte of the destination takes two of them. */
static void print_instruction(char *text, const struct conversion *c, unsigned from_part,
                              unsigned to_part)
{
    unsigned from_bits = c->count * (unsigned)c->from->bits;
    unsigned to_bits = c->count * (unsigned)c->to->bits;
    unsigned data_dwords = dwords_of(c->two_data_operands ? from_bits / 2 : from_bits);
    text += sprintf(text, "v_cvt_scalef32_%s ", c->name);
    text += print_registers(text, RESULT, dwords_of(to_bits));
    text += sprintf(text, ", ");
    text += print_registers(text, DATA, data_dwords);
    if (c->two_data_operands) {
        text += sprintf(text, ", ");
        text += print_registers(text, SECOND_DATA, data_dwords);
    }
    if (c->stochastic)
        text += sprintf(text, ", v%u", RANDOM);
    text += sprintf(text, ", v%u", SCALE);

    unsigned low = from_part & 1, high = from_part >> 1;
    bool three_sources = c->two_data_operands || c->stochastic;
    if (to_bits == 8)
        sprintf(text, " op_sel:[0,0,%u,%u]", to_part & 1, to_part >> 1);
    else if (to_bits == 16 && three_sources)
        sprintf(text, " op_sel:[0,0,0,%u]", to_part);
    else if (to_bits == 16)
        sprintf(text, " op_sel:[%u,%u,%u]", low, high, to_part);
    else if (from_bits <= 16)
        sprintf(text, " op_sel:[%u,%u,0]", low, high);
    else
        *text = 0;
}

/* ---- Values ---- */

/* Of every kind: zeros, specials, tiny, huge, and mostly numbers that the target can hold. */
static uint32_t random_code(const struct conversion *c)
{
    uint32_t random = (uint32_t)random_bits();
    const struct format *from = c->from;
    if (from->bits < 16 || random % 8 == 0)
        return random >> 3 & (from->bits == 32 ? UINT32_MAX : (1u << from->bits) - 1);
    /* A number near one of the target's, in the source's precision. */
    uint32_t code = random >> 8 & (2 * format_largest(c->to) + 1);
    double value = format_value(c->to, code);
    if (isnan(value))
        value = 1;
    double nudge = 1 + ldexp((double)(random_bits() % 33) - 16, -from->mantissa_bits);
    return format_nearest(from, value * nudge);
}

static double scale_of(uint32_t f32_bits)
{
    unsigned exponent = f32_bits >> 23 & 0xff;
    return exponent == 255 ? NAN : ldexp(1, (int)exponent - 127);
}

static uint32_t random_scale(void)
{
    uint64_t random = random_bits();
    uint32_t exponent =
        random % 16 == 0 ? (uint32_t)(random >> 8 & 0xff) : 120 + (uint32_t)(random >> 8 & 0xf);
    return exponent << 23 | (uint32_t)(random >> 32 & 0x807fffff);
}

static bool same_code(const struct format *format, uint32_t x, uint32_t y)
{
    return x == y || (isnan(format_value(format, x)) && isnan(format_value(format, y)) &&
                      (x & format_sign_bit(format)) == (y & format_sign_bit(format)));
}

/* ---- One lane ---- */

struct lane {
    uint32_t data[32]; /* the stream of source codes */
    uint32_t random, scale;
};

static double value_in(const struct conversion *c, const struct lane *lane, unsigned first)
{
    double value =
        format_value(c->from, format_take_bits(lane->data, first, (unsigned)c->from->bits));
    bool widens = c->to->bits > c->from->bits;
    return widens ? value * scale_of(lane->scale) : value / scale_of(lane->scale);
}

static void check_value(const struct conversion *c, const struct lane *lane, double value,
                        uint32_t actual, const char *text)
{
    uint32_t nearest = format_nearest(c->to, value);
    bool right = same_code(c->to, nearest, actual);
    if (c->stochastic && isfinite(value)) {
        /* No random bits cut off; others may go one further. Beyond the largest number lies what it
           overflows to. */
        uint32_t down = format_towards_zero(c->to, value);
        bool beyond = fabs(value) > format_value(c->to, format_largest(c->to));
        uint32_t up = down + 1;
        if ((down & ~format_sign_bit(c->to)) == format_largest(c->to))
            up = c->to->overflow | (down & format_sign_bit(c->to));
        right = actual == down || (lane->random && actual == up) || (beyond && actual == up);
    }
    if (!right)
        fail_msg("%s: %a (scale 0x%x, random 0x%x) became 0x%x, nearest is 0x%x", text, value,
                 lane->scale, lane->random, actual, nearest);
}

static void check_lane(const struct conversion *c, const struct lane *lane,
                       const uint32_t result[32], unsigned from_part, unsigned to_part,
                       const char *text)
{
    unsigned from_bits = (unsigned)c->from->bits, to_bits = (unsigned)c->to->bits;
    unsigned from_first = from_part * c->count * from_bits, first = to_part * c->count * to_bits;
    for (unsigned i = 0; i < c->count; ++i) {
        double value = value_in(c, lane, from_first + i * from_bits);
        check_value(c, lane, value, format_take_bits(result, first + i * to_bits, to_bits), text);
    }
    /* What no value went to is as before. */
    for (unsigned i = dwords_of(c->count * to_bits); i < 32; ++i)
        assert_int_equal(result[i], BEFORE);
    if (c->count * to_bits < 32) {
        uint32_t rest = result[0], before = BEFORE;
        format_put_bits(&rest, first, c->count * to_bits, 0);
        format_put_bits(&before, first, c->count * to_bits, 0);
        assert_int_equal(rest, before);
    }
}

/* ---- One wave ---- */

static void store_lane(struct wave *wave, const struct conversion *c, const struct lane *lane,
                       unsigned index)
{
    for (unsigned i = 0; i < 32; ++i) {
        if (c->two_data_operands)
            wave->vector[(i % 2 ? SECOND_DATA : DATA) + i / 2][index] = lane->data[i];
        else
            wave->vector[DATA + i][index] = lane->data[i];
        wave->vector[RESULT + i][index] = BEFORE;
    }
    wave->vector[RANDOM][index] = lane->random;
    wave->vector[SCALE][index] = lane->scale;
}

static void check_conversion(const struct conversion *c, unsigned from_part, unsigned to_part)
{
    char text[160];
    print_instruction(text, c, from_part, to_part);
    struct lane lanes[LANES];
    for (unsigned l = 0; l < LANES; ++l) {
        unsigned codes = 32 * 32 / (unsigned)c->from->bits;
        for (unsigned i = 0; i < codes; ++i)
            format_put_bits(lanes[l].data, i * (unsigned)c->from->bits, (unsigned)c->from->bits,
                            random_code(c));
        lanes[l].random = l % 2 ? (uint32_t)random_bits() : 0;
        lanes[l].scale = random_scale();
    }
    struct harness harness;
    harness_create(&harness, text);
    harness_start(&harness);
    for (unsigned l = 0; l < LANES; ++l)
        store_lane(harness_wave(&harness), c, &lanes[l], l);
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    for (unsigned l = 0; l < LANES; ++l) {
        uint32_t result[32];
        for (unsigned i = 0; i < 32; ++i)
            result[i] = harness_wave(&harness)->vector[RESULT + i][l];
        check_lane(c, &lanes[l], result, from_part, to_part, text);
    }
    harness_destroy(&harness);
}

/* How many places a stream of so many bits may have in a dword: by byte, by half, or one. */
static unsigned parts_of(unsigned bits)
{
    return bits == 8 ? 4 : bits == 16 ? 2 : 1;
}

static void every_conversion_matches_the_formats(void **state)
{
    (void)state;
    for (const struct conversion *c = conversions; c < conversions + CONVERSION_COUNT; ++c) {
        bool narrow_source = c->from->bits <= 8;
        unsigned from_parts = narrow_source ? parts_of(c->count * (unsigned)c->from->bits) : 1;
        unsigned to_parts = parts_of(c->count * (unsigned)c->to->bits);
        for (unsigned from = 0; from < from_parts; ++from)
            for (unsigned to = 0; to < to_parts; ++to)
                for (int round = 0; round < 8; ++round)
                    check_conversion(c, from, to);
    }
}

/* ---- By hand ---- */

static uint32_t run_lane(const char *text, uint32_t data, uint32_t second, uint32_t scale)
{
    struct harness harness;
    harness_create(&harness, text);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    wave->vector[DATA][0] = data;
    wave->vector[SECOND_DATA][0] = second;
    wave->vector[SCALE][0] = scale;
    wave->vector[RESULT][0] = 0;
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    uint32_t result = harness_wave(&harness)->vector[RESULT][0];
    harness_destroy(&harness);
    return result;
}

static void only_the_exponent_of_the_scale_counts(void **state)
{
    (void)state;
    const char *widen = "v_cvt_scalef32_pk_bf16_fp8 v96, v32, v4";
    const char *narrow = "v_cvt_scalef32_pk_fp8_f32 v96, v32, v64, v4";
    /* fp8 0x38 is 1, 0xc0 is -2; bf16 0x4080 is 4, 0xc100 is -8. */
    for (uint32_t noise = 0; noise < 3; ++noise) {
        uint32_t four = 0x40800000 | noise * 0x80123456 % 0x800000 | (noise & 2) << 30;
        assert_int_equal(run_lane(widen, 0xc038, 0, four), 0xc1004080);
        assert_int_equal(run_lane(narrow, 0x40800000, 0xc1000000, four), 0xc038);
    }
    /* The exponent 0 is 2^-127; 255 is NaN. */
    assert_int_equal(run_lane(widen, 0xc038, 0, 0), 0x80800040);
    assert_int_equal(run_lane(narrow, 0x00400000, 0x80800000, 1), 0xc038);
    assert_int_equal(run_lane(narrow, 0x3f800000, 0, 0x7f800000) & 0x7f7f, 0x7f7f);
}

static void scales_may_be_constants_and_scalars(void **state)
{
    (void)state;
    assert_int_equal(run_lane("v_cvt_scalef32_pk_bf16_fp8 v96, v32, 4.0", 0xc038, 0, 0),
                     0xc1004080);
    assert_int_equal(run_lane("s_mov_b32 s9, 0x40ffffff\n"
                              "v_cvt_scalef32_pk_bf16_fp8 v96, v32, s9",
                              0xc038, 0, 0),
                     0xc1004080);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_conversion_matches_the_formats),
        cmocka_unit_test(only_the_exponent_of_the_scale_counts),
        cmocka_unit_test(scales_may_be_constants_and_scalars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
