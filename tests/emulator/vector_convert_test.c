/* v_cvt_* without scales against plain C and the formats' definitions. */
#include "formats.h"
#include "lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define EXPECT(name, expression)                                                                   \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        return expression;                                                                         \
    }

/* ---- Integers ---- */

/* Cut off, limited to the range, NaN to 0. */
static uint64_t to_integer(double value, int64_t least, int64_t greatest, uint64_t mask)
{
    if (isnan(value))
        return 0;
    int64_t integer = value <= (double)least      ? least
                      : value >= (double)greatest ? greatest
                                                  : (int64_t)value;
    return (uint64_t)integer & mask;
}

static uint64_t i32_of(double value)
{
    return to_integer(value, INT32_MIN, INT32_MAX, UINT32_MAX);
}

static uint64_t u32_of(double value)
{
    return to_integer(value, 0, UINT32_MAX, UINT32_MAX);
}

static uint64_t i16_of(double value)
{
    return to_integer(value, INT16_MIN, INT16_MAX, UINT16_MAX);
}

static uint64_t u16_of(double value)
{
    return to_integer(value, 0, UINT16_MAX, UINT16_MAX);
}

static double sixteenths(uint64_t bits)
{
    static const double values[] = {0,     0.0625,  0.125,  0.1875,  0.25,   0.3125,
                                    0.375, 0.4375,  -0.5,   -0.4375, -0.375, -0.3125,
                                    -0.25, -0.1875, -0.125, -0.0625};
    return values[bits & 15];
}

EXPECT(i32_from_f32, i32_of(f32(s.a)))
EXPECT(u32_from_f32, u32_of(f32(s.a)))
EXPECT(half_up_from_f32, i32_of(floor(f32(s.a) + 0.5)))
EXPECT(floor_from_f32, i32_of(floor(f32(s.a))))
EXPECT(i32_from_f64, i32_of(f64(s.a)))
EXPECT(u32_from_f64, u32_of(f64(s.a)))
EXPECT(i16_from_f16, i16_of(f16(s.a)))
EXPECT(u16_from_f16, u16_of(f16(s.a)))
EXPECT(f32_from_i32, bits32((float)(int32_t)s.a))
EXPECT(f32_from_u32, bits32((float)(uint32_t)s.a))
EXPECT(f32_from_sixteenths, bits32((float)sixteenths(s.a)))
EXPECT(f32_from_byte0, bits32((float)(s.a & 0xff)))
EXPECT(f32_from_byte1, bits32((float)(s.a >> 8 & 0xff)))
EXPECT(f32_from_byte2, bits32((float)(s.a >> 16 & 0xff)))
EXPECT(f32_from_byte3, bits32((float)(s.a >> 24 & 0xff)))
EXPECT(f64_from_i32, bits64((int32_t)s.a))
EXPECT(f64_from_u32, bits64((uint32_t)s.a))
EXPECT(f16_from_i16, bits16((int16_t)s.a))
EXPECT(f16_from_u16, bits16((uint16_t)s.a))

static void integers_and_floats(void **state)
{
    (void)state;
    static const struct lane_row from_f32[] = {
        {"v_cvt_i32_f32_e32 v8, v2", i32_from_f32},
        {"v_cvt_u32_f32_e32 v8, v2", u32_from_f32},
        {"v_cvt_rpi_i32_f32_e32 v8, v2", half_up_from_f32},
        {"v_cvt_flr_i32_f32_e32 v8, v2", floor_from_f32},
    };
    static const struct lane_row from_f64[] = {
        {"v_cvt_i32_f64_e32 v8, v[2:3]", i32_from_f64},
        {"v_cvt_u32_f64_e32 v8, v[2:3]", u32_from_f64},
    };
    static const struct lane_row from_f16[] = {
        {"v_cvt_i16_f16_e32 v8, v2", i16_from_f16},
        {"v_cvt_u16_f16_e32 v8, v2", u16_from_f16},
    };
    static const struct lane_row to_f32[] = {
        {"v_cvt_f32_i32_e32 v8, v2", f32_from_i32},
        {"v_cvt_f32_u32_e32 v8, v2", f32_from_u32},
        {"v_cvt_off_f32_i4_e32 v8, v2", f32_from_sixteenths},
        {"v_cvt_f32_ubyte0_e32 v8, v2", f32_from_byte0},
        {"v_cvt_f32_ubyte1_e32 v8, v2", f32_from_byte1},
        {"v_cvt_f32_ubyte2_e32 v8, v2", f32_from_byte2},
        {"v_cvt_f32_ubyte3_e32 v8, v2", f32_from_byte3},
    };
    static const struct lane_row to_f64[] = {
        {"v_cvt_f64_i32_e32 v[8:9], v2", f64_from_i32},
        {"v_cvt_f64_u32_e32 v[8:9], v2", f64_from_u32},
    };
    static const struct lane_row to_f16[] = {
        {"v_cvt_f16_i16_e32 v8, v2", f16_from_i16},
        {"v_cvt_f16_u16_e32 v8, v2", f16_from_u16},
    };
    lanes_check_rows(from_f32, RESULT_B32, &values_f32, NULL, NULL);
    lanes_check_rows(from_f64, RESULT_B32, &values_f64, NULL, NULL);
    lanes_check_rows(from_f16, RESULT_B32, &values_f16, NULL, NULL);
    lanes_check_rows(to_f32, RESULT_F32, &values_i32, NULL, NULL);
    lanes_check_rows(to_f64, RESULT_F64, &values_i32, NULL, NULL);
    lanes_check_rows(to_f16, RESULT_F16, &values_i32, NULL, NULL);
}

/* ---- Between floats ---- */

static uint64_t bf16_of(uint64_t f32_bits)
{
    if (isnan(f32(f32_bits)))
        return (f32_bits >> 16 & 0xffff) | 0x40;
    return format_nearest(&format_bf16, f32(f32_bits));
}

static uint64_t f16_towards_zero(double value)
{
    return isinf(value) || isnan(value) ? bits16(value) : format_towards_zero(&format_f16, value);
}

static double clamped(double value)
{
    return value > 1 ? 1 : value > 0 ? value : 0;
}

EXPECT(f16_from_f32, bits16(f32(s.a)))
EXPECT(f32_from_f16, bits32((float)f16(s.a)))
EXPECT(f32_from_high_f16, bits32((float)f16(s.a >> 16)))
EXPECT(f32_from_f16_modified, bits32((float)clamped(-fabs(f16(s.a)))))
EXPECT(f32_from_bf16, bits32(f32(s.a << 16)))
EXPECT(f32_from_high_bf16, bits32(f32(s.a & 0xffff0000)))
EXPECT(f32_from_f64, bits32((float)f64(s.a)))
EXPECT(f64_from_f32, bits64(f32(s.a)))
EXPECT(f16_pair, bits16(f32(s.a)) | bits16(f32(s.b)) << 16)
EXPECT(f16_pair_clamped, bits16(clamped(f32(s.a))) | bits16(clamped(f32(s.b))) << 16)
EXPECT(f16_pair_modified, bits16(-f32(s.a)) | bits16(fabsf(f32(s.b))) << 16)
EXPECT(f16_pair_to_zero, f16_towards_zero(f32(s.a)) | f16_towards_zero(f32(s.b)) << 16)
EXPECT(bf16_pair, bf16_of(s.a) | bf16_of(s.b) << 16)
EXPECT(bf16_pair_modified, bf16_of(s.a ^ 0x80000000) | bf16_of(s.b & 0x7fffffff) << 16)

static void floats_of_other_widths(void **state)
{
    (void)state;
    static const struct lane_row rows_f32[] = {{"v_cvt_f32_f16_e32 v8, v2", f32_from_f16},
                                               {"v_cvt_f32_bf16_e32 v8, v2", f32_from_bf16}};
    lanes_check_rows(rows_f32, RESULT_F32, &values_f16, NULL, NULL);
    static const struct lane_row rows_high[] = {
        {"v_cvt_f32_f16_sdwa v8, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
         f32_from_high_f16},
        {"v_cvt_f32_bf16_sdwa v8, v2 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:WORD_1",
         f32_from_high_bf16},
        {"v_cvt_f32_f16_e64 v8, -|v2| clamp", f32_from_f16_modified},
    };
    lanes_check_rows(rows_high, RESULT_F32, &values_pk_f16, NULL, NULL);
    lanes_check(&(struct lane_check){.assembly = "v_cvt_f16_f32_e32 v8, v2",
                                     .result = RESULT_F16,
                                     .expected = f16_from_f32,
                                     .a = &values_f32});
    lanes_check(&(struct lane_check){.assembly = "v_cvt_f32_f64_e32 v8, v[2:3]",
                                     .result = RESULT_F32,
                                     .expected = f32_from_f64,
                                     .a = &values_f64});
    lanes_check(&(struct lane_check){.assembly = "v_cvt_f64_f32_e32 v[8:9], v2",
                                     .result = RESULT_F64,
                                     .expected = f64_from_f32,
                                     .a = &values_f32});
}

static void pairs_of_narrower_floats(void **state)
{
    (void)state;
    static const struct lane_row f16_rows[] = {
        {"v_cvt_pk_f16_f32 v8, v2, v4", f16_pair},
        {"v_cvt_pk_f16_f32 v8, v2, v4 clamp", f16_pair_clamped},
        {"v_cvt_pk_f16_f32 v8, -v2, |v4|", f16_pair_modified},
        {"v_cvt_pkrtz_f16_f32 v8, v2, v4", f16_pair_to_zero},
    };
    static const struct lane_row bf16_rows[] = {
        {"v_cvt_pk_bf16_f32 v8, v2, v4", bf16_pair},
        {"v_cvt_pk_bf16_f32 v8, -v2, |v4|", bf16_pair_modified},
    };
    lanes_check_rows(f16_rows, RESULT_PK_F16, &values_f32, &values_f32, NULL);
    lanes_check_rows(bf16_rows, RESULT_B32, &values_f32, &values_f32, NULL);
}

/* ---- Pairs of integers ---- */

static uint64_t normal_i16(double value)
{
    return isnan(value) ? 0 : (uint16_t)(int16_t)nearbyint(fmax(-1, fmin(1, value)) * 32767);
}

static uint64_t normal_u16(double value)
{
    return isnan(value) ? 0 : (uint16_t)nearbyint(fmax(0, fmin(1, value)) * 65535);
}

static uint64_t with_byte(uint64_t base, uint64_t position, uint64_t byte)
{
    unsigned shift = 8 * (position & 3);
    return (base & ~(UINT64_C(0xff) << shift) & UINT32_MAX) | byte << shift;
}

static uint64_t u8_of(double value)
{
    return to_integer(value, 0, 255, 255);
}

EXPECT(u16_pair, u16_of((uint32_t)s.a) | u16_of((uint32_t)s.b) << 16)
EXPECT(i16_pair, i16_of((int32_t)s.a) | i16_of((int32_t)s.b) << 16)
EXPECT(normal_i16_pair, normal_i16(f32(s.a)) | normal_i16(f32(s.b)) << 16)
EXPECT(normal_u16_pair, normal_u16(f32(s.a)) | normal_u16(f32(s.b)) << 16)
EXPECT(normal_i16_pair_of_f16, normal_i16(f16(s.a >> 16)) | normal_i16(f16(s.b)) << 16)
EXPECT(normal_u16_pair_of_f16, normal_u16(f16(s.a)) | normal_u16(f16(s.b)) << 16)
EXPECT(normal_i16_of_f16, normal_i16(f16(s.a)))
EXPECT(normal_u16_of_f16, normal_u16(f16(s.a)))
EXPECT(byte_packed, with_byte(s.c, s.b, u8_of(f32(s.a))))
EXPECT(byte_accumulated, with_byte(LANES_OLD, s.b, u8_of(f32(s.a))))

static void pairs_of_integers(void **state)
{
    (void)state;
    static const struct lane_row of_integers[] = {
        {"v_cvt_pk_u16_u32 v8, v2, v4", u16_pair},
        {"v_cvt_pk_i16_i32 v8, v2, v4", i16_pair},
    };
    static const struct lane_row of_f32[] = {
        {"v_cvt_pknorm_i16_f32 v8, v2, v4", normal_i16_pair},
        {"v_cvt_pknorm_u16_f32 v8, v2, v4", normal_u16_pair},
    };
    static const struct lane_row of_f16[] = {
        {"v_cvt_pknorm_i16_f16 v8, v2, v4 op_sel:[1,0,0]", normal_i16_pair_of_f16},
        {"v_cvt_pknorm_u16_f16 v8, v2, v4", normal_u16_pair_of_f16},
        {"v_cvt_norm_i16_f16_e32 v8, v2", normal_i16_of_f16},
        {"v_cvt_norm_u16_f16_e32 v8, v2", normal_u16_of_f16},
    };
    static const struct lane_row of_byte[] = {
        {"v_cvt_pk_u8_f32 v8, v2, v4, v6", byte_packed},
        {"v_cvt_pkaccum_u8_f32 v8, v2, v4", byte_accumulated},
    };
    lanes_check_rows(of_integers, RESULT_B32, &values_i32, &values_i32, NULL);
    lanes_check_rows(of_f32, RESULT_B32, &values_f32, &values_f32, NULL);
    lanes_check_rows(of_f16, RESULT_B32, &values_pk_f16, &values_pk_f16, NULL);
    lanes_check_rows(of_byte, RESULT_B32, &values_f32, &values_i32, &values_i32);
}

/* ---- fp8 and bf8 ---- */

static uint64_t f32_of(const struct format *format, uint64_t code)
{
    return bits32((float)format_value(format, code & 0xff));
}

static uint64_t pair_of(const struct format *format, uint64_t codes)
{
    return f32_of(format, codes) | f32_of(format, codes >> 8) << 32;
}

static uint64_t codes_of(const struct format *format, struct lane_sources s)
{
    return format_nearest(format, f32(s.a)) | format_nearest(format, f32(s.b)) << 8;
}

EXPECT(f32_from_fp8, f32_of(&format_fp8, s.a))
EXPECT(f32_from_bf8, f32_of(&format_bf8, s.a))
EXPECT(f32_from_fp8_byte2, f32_of(&format_fp8, s.a >> 16))
EXPECT(f32_from_bf8_byte3, f32_of(&format_bf8, s.a >> 24))
EXPECT(f32_pair_from_fp8, pair_of(&format_fp8, s.a))
EXPECT(f32_pair_from_bf8, pair_of(&format_bf8, s.a))
EXPECT(f32_pair_from_high_fp8, pair_of(&format_fp8, s.a >> 16))
EXPECT(fp8_low, (LANES_OLD & 0xffff0000) | codes_of(&format_fp8, s))
EXPECT(fp8_high, (LANES_OLD & 0xffff) | codes_of(&format_fp8, s) << 16)
EXPECT(bf8_low, (LANES_OLD & 0xffff0000) | codes_of(&format_bf8, s))
EXPECT(bf8_high, (LANES_OLD & 0xffff) | codes_of(&format_bf8, s) << 16)

/* Every byte value in every byte. */
static struct lane_values all_bytes(void)
{
    static uint64_t values[256];
    for (uint32_t i = 0; i < 256; ++i)
        values[i] = i | (i ^ 0x55) << 8 | (255 - i) << 16 | (i * 7 & 0xff) << 24;
    return (struct lane_values){values, 256};
}

static void bytes_to_f32(void **state)
{
    (void)state;
    struct lane_values bytes = all_bytes();
    static const struct lane_row singles[] = {
        {"v_cvt_f32_fp8_e32 v8, v2", f32_from_fp8},
        {"v_cvt_f32_bf8_e32 v8, v2", f32_from_bf8},
        {"v_cvt_f32_fp8_sdwa v8, v2 src0_sel:BYTE_2", f32_from_fp8_byte2},
        {"v_cvt_f32_bf8_sdwa v8, v2 src0_sel:BYTE_3", f32_from_bf8_byte3},
    };
    static const struct lane_row pairs[] = {
        {"v_cvt_pk_f32_fp8_e32 v[8:9], v2", f32_pair_from_fp8},
        {"v_cvt_pk_f32_bf8_e32 v[8:9], v2", f32_pair_from_bf8},
        {"v_cvt_pk_f32_fp8_sdwa v[8:9], v2 src0_sel:WORD_1", f32_pair_from_high_fp8},
    };
    lanes_check_rows(singles, RESULT_F32, &bytes, NULL, NULL);
    lanes_check_rows(pairs, RESULT_PK_F32, &bytes, NULL, NULL);
}

/* Around every number of both formats and every middle of two. */
static struct lane_values values_around_bytes(void)
{
    static uint64_t values[2 * 2 * 128 * 4];
    size_t count = 0;
    for (int f = 0; f < 2; ++f) {
        const struct format *format = f ? &format_bf8 : &format_fp8;
        for (uint32_t code = 0; code <= format_largest(format); ++code) {
            double low = format_value(format, code);
            double step = code ? low - format_value(format, code - 1) : format_value(format, 1);
            float middle = (float)(low + step / 2);
            values[count++] = bits32((float)-low);
            values[count++] = bits32(middle);
            values[count++] = bits32(nextafterf(middle, 0));
            values[count++] = bits32(nextafterf(middle, INFINITY));
        }
    }
    return (struct lane_values){values, count};
}

static void f32_to_bytes_in_one_half_of_the_register(void **state)
{
    (void)state;
    struct lane_values around = values_around_bytes();
    static const struct lane_row rows[] = {
        {"v_cvt_pk_fp8_f32 v8, v2, v4", fp8_low},
        {"v_cvt_pk_fp8_f32 v8, v2, v4 op_sel:[0,0,1]", fp8_high},
        {"v_cvt_pk_bf8_f32 v8, v2, v4", bf8_low},
        {"v_cvt_pk_bf8_f32 v8, v2, v4 op_sel:[0,0,1]", bf8_high},
    };
    lanes_check_rows(rows, RESULT_B32, &around, &values_f32, NULL);
    lanes_check_rows(rows, RESULT_B32, &values_f32, &values_f32, NULL);
}

/* ---- MODE ---- */

enum { MODE_FP16_OVFL = 1 << 23 };

static uint32_t convert_with_mode(const char *assembly, uint32_t mode, float a, float b)
{
    struct harness harness;
    harness_create(&harness, assembly);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    wave->mode = (wave->mode & ~0xfu) | mode;
    wave->vector[2][5] = (uint32_t)bits32(a);
    wave->vector[4][5] = (uint32_t)bits32(b);
    wave->vector[8][5] = 0;
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    uint32_t result = harness_wave(&harness)->vector[8][5];
    harness_destroy(&harness);
    return result;
}

static void narrow_results_saturate_where_mode_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *assembly;
        uint32_t plain, saturated;
    } rows[] = {
        {"v_cvt_pk_fp8_f32 v8, v2, v4", 0xff7f, 0xfe7e},
        {"v_cvt_pk_bf8_f32 v8, v2, v4", 0xfc7c, 0xfb7b},
        {"v_cvt_pk_f16_f32 v8, v2, v4", 0xfc007c00, 0xfbff7bff},
        {"v_cvt_scalef32_pk_fp8_f32 v8, v2, v4, 1.0", 0xff7f, 0xfe7e},
        {"v_cvt_scalef32_pk_bf8_f32 v8, v2, v4, 1.0", 0xfc7c, 0xfb7b},
        {"v_cvt_scalef32_pk_fp4_f32 v8, v2, v4, 1.0", 0xf7, 0xf7},
        {"v_cvt_pk_bf16_f32 v8, v2, v4", 0xc9744974, 0xc9744974},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        assert_int_equal(convert_with_mode(rows[i].assembly, 0, 1e6f, -1e6f), rows[i].plain);
        assert_int_equal(convert_with_mode(rows[i].assembly, MODE_FP16_OVFL, 1e6f, -1e6f),
                         rows[i].saturated);
    }
}

static void f16_results_round_as_mode_says(void **state)
{
    (void)state;
    static const uint16_t expected[] = {0x3c00, 0x3c01, 0x3c00, 0x3c00}; /* even, up, down, zero */
    for (uint32_t rounding = 0; rounding < 4; ++rounding) {
        assert_int_equal(
            convert_with_mode("v_cvt_f16_f32_e32 v8, v2", rounding << 2, 1 + 0x1p-11f, 0),
            expected[rounding]);
        assert_int_equal(convert_with_mode("v_cvt_f32_i32_e32 v8, v2", rounding, f32(0x1000001), 0),
                         rounding == 1 ? 0x4b800001 : 0x4b800000);
    }
}

/* ---- Stochastic rounding ---- */

static void stochastic_results_go_to_the_part_op_sel_names(void **state)
{
    (void)state;
    static const struct {
        const char *assembly;
        uint64_t down, up; /* of 1 + 2^-3 * 0.5 (fp8), … with no and with all random bits */
    } rows[] = {
        {"v_cvt_sr_fp8_f32 v8, v2, v4", 0x76543238, 0x76543239},
        {"v_cvt_sr_fp8_f32 v8, v2, v4 op_sel:[0,0,1,0]", 0x76543810, 0x76543910},
        {"v_cvt_sr_fp8_f32 v8, v2, v4 op_sel:[0,0,0,1]", 0x76383210, 0x76393210},
        {"v_cvt_sr_fp8_f32 v8, v2, v4 op_sel:[0,0,1,1]", 0x38543210, 0x39543210},
        {"v_cvt_sr_bf8_f32 v8, v2, v4 op_sel:[0,0,1,1]", 0x3c543210, 0x3d543210},
        {"v_cvt_sr_f16_f32 v8, v2, v4", 0x76543c4d, 0x76543c4e},
        {"v_cvt_sr_f16_f32 v8, v2, v4 op_sel:[0,0,1]", 0x3c4d3210, 0x3c4e3210},
        {"v_cvt_sr_bf16_f32 v8, v2, v4", 0x76543f89, 0x76543f8a},
        {"v_cvt_sr_bf16_f32 v8, v2, v4 op_sel:[0,0,1]", 0x3f893210, 0x3f8a3210},
    };
    const uint64_t value = bits32(1.0755f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        /* The last hexadecimal digits of LANES_OLD are 76543210. */
        uint64_t down = lanes_evaluate(rows[i].assembly, RESULT_B32, value, 0, 0, 0);
        uint64_t up = lanes_evaluate(rows[i].assembly, RESULT_B32, value, UINT32_MAX, 0, 0);
        if (down != rows[i].down || up != rows[i].up)
            fail_msg("%s: 0x%x and 0x%x", rows[i].assembly, (unsigned)down, (unsigned)up);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_and_floats),
        cmocka_unit_test(floats_of_other_widths),
        cmocka_unit_test(pairs_of_narrower_floats),
        cmocka_unit_test(pairs_of_integers),
        cmocka_unit_test(bytes_to_f32),
        cmocka_unit_test(f32_to_bytes_in_one_half_of_the_register),
        cmocka_unit_test(narrow_results_saturate_where_mode_says_so),
        cmocka_unit_test(f16_results_round_as_mode_says),
        cmocka_unit_test(stochastic_results_go_to_the_part_op_sel_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
