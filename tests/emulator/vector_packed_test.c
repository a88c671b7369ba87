/* Packed instructions: each half, or each dword, by the definition of the scalar operation. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

typedef uint64_t (*half_function)(uint64_t a, uint64_t b, uint64_t c);

static uint64_t on_halves(struct lane_sources s, half_function function)
{
    uint64_t low = function(s.a & 0xffff, s.b & 0xffff, s.c & 0xffff) & 0xffff;
    uint64_t high = function(s.a >> 16 & 0xffff, s.b >> 16 & 0xffff, s.c >> 16 & 0xffff) & 0xffff;
    return low | high << 16;
}

#define HALVES(name, expression)                                                                   \
    static uint64_t half_##name(uint64_t a, uint64_t b, uint64_t c)                                \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expression);                                                             \
    }                                                                                              \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        return on_halves(s, half_##name);                                                          \
    }

HALVES(add, a + b)
HALVES(subtract, a - b)
HALVES(add_limited, limit((int64_t)(a + b), 0, 65535))
HALVES(subtract_limited, limit((int64_t)a - (int64_t)b, 0, 65535))
HALVES(add_signed_limited, limit(sign(a, 16) + sign(b, 16), -32768, 32767))
HALVES(subtract_signed_limited, limit(sign(a, 16) - sign(b, 16), -32768, 32767))
HALVES(multiply, a *b)
HALVES(multiply_add, a *b + c)
HALVES(multiply_add_limited, limit((int64_t)(a *b + c), 0, 65535))
HALVES(multiply_add_signed_limited, limit(sign(a, 16) * sign(b, 16) + sign(c, 16), -32768, 32767))
HALVES(shift_left, b << a % 16)
HALVES(shift_right, b >> a % 16)
HALVES(shift_right_signed, (b | (b & 0x8000 ? 0xffff0000u : 0)) >> a % 16)
HALVES(greatest_u16, a > b ? a : b)
HALVES(least_u16, a < b ? a : b)
HALVES(greatest_i16, sign(a, 16) > sign(b, 16) ? a : b)
HALVES(least_i16, sign(a, 16) < sign(b, 16) ? a : b)

static void packed_integers(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_pk_add_u16 v8, v2, v4", add},
        {"v_pk_add_i16 v8, v2, v4", add},
        {"v_pk_sub_u16 v8, v2, v4", subtract},
        {"v_pk_sub_i16 v8, v2, v4", subtract},
        {"v_pk_add_u16 v8, v2, v4 clamp", add_limited},
        {"v_pk_sub_u16 v8, v2, v4 clamp", subtract_limited},
        {"v_pk_add_i16 v8, v2, v4 clamp", add_signed_limited},
        {"v_pk_sub_i16 v8, v2, v4 clamp", subtract_signed_limited},
        {"v_pk_mul_lo_u16 v8, v2, v4", multiply},
        {"v_pk_mad_u16 v8, v2, v4, v6", multiply_add},
        {"v_pk_mad_i16 v8, v2, v4, v6", multiply_add},
        {"v_pk_mad_u16 v8, v2, v4, v6 clamp", multiply_add_limited},
        {"v_pk_mad_i16 v8, v2, v4, v6 clamp", multiply_add_signed_limited},
        {"v_pk_lshlrev_b16 v8, v2, v4", shift_left},
        {"v_pk_lshrrev_b16 v8, v2, v4", shift_right},
        {"v_pk_ashrrev_i16 v8, v2, v4", shift_right_signed},
        {"v_pk_max_u16 v8, v2, v4", greatest_u16},
        {"v_pk_min_u16 v8, v2, v4", least_u16},
        {"v_pk_max_i16 v8, v2, v4", greatest_i16},
        {"v_pk_min_i16 v8, v2, v4", least_i16},
    };
    lanes_check_rows(rows, RESULT_B32, &values_pk_i16, &values_pk_i16, &values_pk_i16);
}

HALVES(add_f16, bits16(f16(a) + f16(b)))
HALVES(multiply_f16, bits16(f16(a) * f16(b)))
HALVES(fused_f16, bits16(f16(a) * f16(b) + f16(c)))
HALVES(least_f16, bits16(least(f16(a), f16(b))))
HALVES(greatest_f16, bits16(greatest(f16(a), f16(b))))
HALVES(minimum_f16, bits16(minimum3(f16(a), f16(b), f16(c))))
HALVES(maximum_f16, bits16(maximum3(f16(a), f16(b), f16(c))))
HALVES(negated_f16, bits16(f16(a ^ 0x8000) + f16(b)))

static uint64_t accumulate_f16(struct lane_sources s)
{
    s.c = LANES_OLD;
    return fused_f16(s);
}

static void packed_halves(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_pk_add_f16 v8, v2, v4", add_f16},
        {"v_pk_mul_f16 v8, v2, v4", multiply_f16},
        {"v_pk_fma_f16 v8, v2, v4, v6", fused_f16},
        {"v_pk_fmac_f16_e32 v8, v2, v4", accumulate_f16},
        {"v_pk_minimum3_f16 v8, v2, v4, v6", minimum_f16},
        {"v_pk_maximum3_f16 v8, v2, v4, v6", maximum_f16},
        {"v_pk_add_f16 v8, v2, v4 neg_lo:[1,0] neg_hi:[1,0]", negated_f16},
    };
    lanes_check_rows(rows, RESULT_PK_F16, &values_pk_f16, &values_pk_f16, &values_pk_f16);
    lanes_check(&(struct lane_check){"v_pk_min_f16 v8, v2, v4", RESULT_PK_F16, least_f16,
                                     &values_pk_f16, &values_pk_f16, NULL, FLIP_IEEE});
    lanes_check(&(struct lane_check){"v_pk_max_f16 v8, v2, v4", RESULT_PK_F16, greatest_f16,
                                     &values_pk_f16, &values_pk_f16, NULL, FLIP_IEEE});
}

static uint64_t evaluate(const char *assembly, uint64_t a, uint64_t b)
{
    return lanes_evaluate(assembly, RESULT_B32, a, b, 0, 0);
}

static void op_sel_picks_the_halves_of_both_results(void **state)
{
    (void)state;
    /* low = a.high + b.low, high = a.low + b.high */
    assert_int_equal(
        evaluate("v_pk_add_u16 v8, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]", 0x00200001, 0x04000300),
        0x04010320);
    /* op_sel_hi 0: the low half makes both. */
    assert_int_equal(evaluate("v_pk_add_u16 v8, v2, v4 op_sel_hi:[1,0]", 0x00200001, 0x04000300),
                     0x03200301);
    assert_int_equal(evaluate("v_pk_mul_f16 v8, v2, 2.0 op_sel_hi:[1,0]", 0x3c00bc00, 0),
                     0x4000c000);
    assert_int_equal(evaluate("v_pk_add_u16 v8, v2, 1 op_sel_hi:[1,0]", 0x00ff0001, 0), 0x01000002);
    assert_int_equal(evaluate("v_pk_lshlrev_b16 v8, 4, v4 op_sel_hi:[0,1]", 0, 0x00ff1001),
                     0x0ff00010);
    assert_int_equal(evaluate("v_pk_add_f16 v8, v2, v4 neg_lo:[0,1]", 0x3c003c00, 0x3c003c00),
                     0x40000000);
    assert_int_equal(evaluate("v_pk_add_f16 v8, v2, v4 clamp", 0x3c00bc00, 0x3c003800), 0x3c000000);
}

#define PAIRS(name, expression)                                                                    \
    static float one_##name(float a, float b, float c)                                             \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return expression;                                                                         \
    }                                                                                              \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        return bits32(one_##name(f32(s.a), f32(s.b), f32(s.c))) |                                  \
               bits32(one_##name(f32(s.a >> 32), f32(s.b >> 32), f32(s.c >> 32))) << 32;           \
    }

PAIRS(add_f32, a + b)
PAIRS(multiply_f32, a *b)
PAIRS(fused_f32, fmaf(a, b, c))
PAIRS(subtract_f32, a - b)

static uint64_t crossed_f32(struct lane_sources s)
{
    return bits32(f32(s.a >> 32) * f32(s.b)) | bits32(f32(s.a) * f32(s.b)) << 32;
}

static uint64_t high_and_low(struct lane_sources s)
{
    return s.a >> 32 | s.b << 32;
}

static void packed_dwords(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_pk_add_f32 v[8:9], v[2:3], v[4:5]", add_f32},
        {"v_pk_mul_f32 v[8:9], v[2:3], v[4:5]", multiply_f32},
        {"v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[6:7]", fused_f32},
        {"v_pk_add_f32 v[8:9], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[0,1]", subtract_f32},
        {"v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,0]", crossed_f32},
    };
    lanes_check_rows(rows, RESULT_PK_F32, &values_pk_f32, &values_pk_f32, &values_pk_f32);
    lanes_check(&(struct lane_check){"v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]", RESULT_B64,
                                     high_and_low, &values_i64, &values_i64, NULL, 0});
}

static void packed_dwords_take_scalars_and_constants(void **state)
{
    (void)state;
    const uint64_t one_two = bits32(1) | bits32(2) << 32;
    assert_int_equal(lanes_evaluate("v_pk_mul_f32 v[8:9], v[2:3], 4.0 op_sel_hi:[1,0]", RESULT_B64,
                                    one_two, 0, 0, 0),
                     bits32(4) | bits32(8) << 32);
    assert_int_equal(lanes_evaluate("s_mov_b32 s12, 0x40400000\ns_mov_b32 s13, 0x40a00000\n"
                                    "v_pk_mul_f32 v[8:9], v[2:3], s[12:13]",
                                    RESULT_B64, one_two, 0, 0, 0),
                     bits32(3) | bits32(10) << 32);
    /* A destination that is also a source. */
    assert_int_equal(lanes_evaluate("v_pk_add_f32 v[2:3], v[2:3], v[2:3] op_sel:[1,1] "
                                    "op_sel_hi:[0,0]\nv_mov_b64_e32 v[8:9], v[2:3]",
                                    RESULT_B64, one_two, 0, 0, 0),
                     bits32(4) | bits32(2) << 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_integers),
        cmocka_unit_test(packed_halves),
        cmocka_unit_test(op_sel_picks_the_halves_of_both_results),
        cmocka_unit_test(packed_dwords),
        cmocka_unit_test(packed_dwords_take_scalars_and_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
