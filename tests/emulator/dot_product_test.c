/* Dot products within a lane against the manual's formulas in plain C. */
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

/* ---- Floats: one fused multiply-add after the other, the low half's first ---- */

static uint64_t dot2(const struct format *format, uint64_t a, uint64_t b, float c)
{
    float low =
        fmaf((float)format_value(format, a & 0xffff), (float)format_value(format, b & 0xffff), c);
    return bits32(fmaf((float)format_value(format, a >> 16 & 0xffff),
                       (float)format_value(format, b >> 16 & 0xffff), low));
}

static uint64_t clamped(uint64_t bits)
{
    float value = f32(bits);
    return bits32(value > 1 ? 1 : value > 0 ? value : 0);
}

EXPECT(dot2_f16, dot2(&format_f16, s.a, s.b, f32(s.c)))
EXPECT(dot2_f16_negated, dot2(&format_f16, s.a ^ 0x8000, s.b ^ 0x80000000, -f32(s.c)))
EXPECT(dot2_f16_clamped, clamped(dot2(&format_f16, s.a, s.b, f32(s.c))))
EXPECT(dot2c_f16, dot2(&format_f16, s.a, s.b, f32(LANES_OLD)))
EXPECT(dot2_bf16, dot2(&format_bf16, s.a, s.b, f32(s.c)))
EXPECT(dot2_bf16_negated, dot2(&format_bf16, s.a ^ 0x80008000, s.b, f32(s.c)))
EXPECT(dot2c_bf16, dot2(&format_bf16, s.a, s.b, f32(LANES_OLD)))

static void floats(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_dot2_f32_f16 v8, v2, v4, v6", dot2_f16},
        {"v_dot2_f32_f16 v8, v2, v4, v6 neg_lo:[1,0,1] neg_hi:[0,1,0]", dot2_f16_negated},
        {"v_dot2_f32_f16 v8, v2, v4, v6 clamp", dot2_f16_clamped},
        {"v_dot2c_f32_f16_e32 v8, v2, v4", dot2c_f16},
        {"v_dot2_f32_bf16 v8, v2, v4, v6", dot2_bf16},
        {"v_dot2_f32_bf16 v8, v2, v4, v6 neg_lo:[1,0,0] neg_hi:[1,0,0]", dot2_bf16_negated},
        {"v_dot2c_f32_bf16_e32 v8, v2, v4", dot2c_bf16},
    };
    lanes_check_rows(rows, RESULT_F32, &values_pk_f16, &values_pk_f16, &values_f32);
}

/* ---- Integers ---- */

static int64_t element(uint64_t packed, unsigned index, unsigned bits, bool is_signed)
{
    int64_t value = (int64_t)(packed >> index * bits & ((1u << bits) - 1));
    return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

static int64_t dot(struct lane_sources s, unsigned bits, bool is_signed, uint64_t c)
{
    int64_t sum = is_signed ? (int32_t)(uint32_t)c : (int64_t)(uint32_t)c;
    for (unsigned i = 0; i < 32 / bits; ++i)
        sum += element(s.a, i, bits, is_signed) * element(s.b, i, bits, is_signed);
    return sum;
}

static uint64_t saturated(int64_t sum, int64_t least, int64_t greatest)
{
    return (uint32_t)(sum < least ? least : sum > greatest ? greatest : sum);
}

EXPECT(dot2_i16, (uint32_t)dot(s, 16, true, s.c))
EXPECT(dot2_i16_clamped, saturated(dot(s, 16, true, s.c), INT32_MIN, INT32_MAX))
EXPECT(dot2_u16, (uint32_t)dot(s, 16, false, s.c))
EXPECT(dot2_u16_clamped, saturated(dot(s, 16, false, s.c), 0, UINT32_MAX))
EXPECT(dot4_i8, (uint32_t)dot(s, 8, true, s.c))
EXPECT(dot4_i8_clamped, saturated(dot(s, 8, true, s.c), INT32_MIN, INT32_MAX))
EXPECT(dot4_u8, (uint32_t)dot(s, 8, false, s.c))
EXPECT(dot8_i4, (uint32_t)dot(s, 4, true, s.c))
EXPECT(dot8_u4, (uint32_t)dot(s, 4, false, s.c))
EXPECT(dot8_u4_clamped, saturated(dot(s, 4, false, s.c), 0, UINT32_MAX))
EXPECT(dot2c_i16, (uint32_t)dot(s, 16, true, LANES_OLD))
EXPECT(dot4c_i8, (uint32_t)dot(s, 8, true, LANES_OLD))
EXPECT(dot8c_i4, (uint32_t)dot(s, 4, true, LANES_OLD))

static void integers(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_dot2_i32_i16 v8, v2, v4, v6", dot2_i16},
        {"v_dot2_i32_i16 v8, v2, v4, v6 clamp", dot2_i16_clamped},
        {"v_dot2_u32_u16 v8, v2, v4, v6", dot2_u16},
        {"v_dot2_u32_u16 v8, v2, v4, v6 clamp", dot2_u16_clamped},
        {"v_dot4_i32_i8 v8, v2, v4, v6", dot4_i8},
        {"v_dot4_i32_i8 v8, v2, v4, v6 clamp", dot4_i8_clamped},
        {"v_dot4_u32_u8 v8, v2, v4, v6", dot4_u8},
        {"v_dot8_i32_i4 v8, v2, v4, v6", dot8_i4},
        {"v_dot8_u32_u4 v8, v2, v4, v6", dot8_u4},
        {"v_dot8_u32_u4 v8, v2, v4, v6 clamp", dot8_u4_clamped},
        {"v_dot2c_i32_i16_e32 v8, v2, v4", dot2c_i16},
        {"v_dot4c_i32_i8_e32 v8, v2, v4", dot4c_i8},
        {"v_dot8c_i32_i4_e32 v8, v2, v4", dot8c_i4},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, &values_i32);
}

static void constants_are_scalars_of_the_operand(void **state)
{
    (void)state;
    /* Bytes of the constant 4 are 4, 0, 0, 0. */
    assert_int_equal(
        lanes_evaluate("v_dot4_i32_i8 v8, v2, 4, v6", RESULT_B32, 0x01020305, 0, 100, 0), 120);
    assert_int_equal(lanes_evaluate("s_mov_b32 s9, 0x02000001\nv_dot4_u32_u8 v8, v2, s9, 7",
                                    RESULT_B32, 0x10000005, 0, 0, 0),
                     44);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(integers),
        cmocka_unit_test(constants_are_scalars_of_the_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
