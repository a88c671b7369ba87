/* Float instructions against their definitions: IEEE arithmetic of the host, exact sums in a wider
   type, and the manual's rules for NaN, minimum, clamp, omod and subnormals. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* References are expressions over the sources as numbers. */
#define REFERENCE(name, type, from, to, expression)                                                \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        type a = from(s.a), b = from(s.b), c = from(s.c);                                          \
        (void)a, (void)b, (void)c;                                                                 \
        return to(expression);                                                                     \
    }
#define F32(name, expression) REFERENCE(name##_f32, float, f32, bits32, expression)
#define F64(name, expression) REFERENCE(name##_f64, double, f64, bits64, expression)

/* ---- f32 ---- */

F32(same, a)
F32(add, a + b)
F32(subtract, a - b)
F32(subtract_from, b - a)
F32(multiply, a *b)
F32(multiply_legacy, a == 0 || b == 0 ? 0.0f : a * b)
F32(fused, fmaf(a, b, c))
F32(fused_accumulate, fmaf(a, b, f32(LANES_OLD)))
F32(fused_literal_factor, fmaf(a, 3.0f, b))
F32(fused_literal_addend, fmaf(a, b, 3.0f))
F32(truncate, truncf(a))
F32(ceiling, ceilf(a))
F32(nearest, nearbyintf(a))
F32(floor_of, floorf(a))
F32(fraction_of, (float)fraction((double)a, 0x1.fffffep-1))
F32(mantissa_of, (float)mantissa((double)a))
F32(negated_product_plus_absolute, fmaf(-a, b, fabsf(c)))
F32(absolute_negated_sum, -fabsf(a) + b)

static uint64_t exponent_of_f32(struct lane_sources s)
{
    return (uint32_t)exponent((double)f32(s.a));
}

static uint64_t scale_f32(struct lane_sources s)
{
    int32_t power = (int32_t)(uint32_t)s.b;
    return bits32(ldexpf(f32(s.a), power));
}

static void f32_arithmetic(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_add_f32_e32 v8, v2, v4", add_f32},
        {"v_sub_f32_e32 v8, v2, v4", subtract_f32},
        {"v_subrev_f32_e32 v8, v2, v4", subtract_from_f32},
        {"v_mul_f32_e32 v8, v2, v4", multiply_f32},
        {"v_mul_legacy_f32 v8, v2, v4", multiply_legacy_f32},
        {"v_fma_f32 v8, v2, v4, v6", fused_f32},
        {"v_fmac_f32_e32 v8, v2, v4", fused_accumulate_f32},
        {"v_fmamk_f32 v8, v2, 0x40400000, v4", fused_literal_factor_f32},
        {"v_fmaak_f32 v8, v2, v4, 0x40400000", fused_literal_addend_f32},
        {"v_trunc_f32_e32 v8, v2", truncate_f32},
        {"v_ceil_f32_e32 v8, v2", ceiling_f32},
        {"v_rndne_f32_e32 v8, v2", nearest_f32},
        {"v_floor_f32_e32 v8, v2", floor_of_f32},
        {"v_fract_f32_e32 v8, v2", fraction_of_f32},
        {"v_frexp_mant_f32_e32 v8, v2", mantissa_of_f32},
        {"v_fma_f32 v8, -v2, v4, |v6|", negated_product_plus_absolute_f32},
        {"v_add_f32_e64 v8, -|v2|, v4", absolute_negated_sum_f32},
        {"v_cndmask_b32_e64 v8, v2, v2, vcc", same_f32},
    };
    lanes_check_rows(rows, RESULT_F32, &values_f32, &values_f32, &values_f32);
}

static void f32_and_integers(void **state)
{
    (void)state;
    static const struct lane_row exponents[] = {
        {"v_frexp_exp_i32_f32_e32 v8, v2", exponent_of_f32},
    };
    lanes_check_rows(exponents, RESULT_B32, &values_f32, NULL, NULL);
    static const uint64_t list[] = {0,
                                    1,
                                    24,
                                    127,
                                    148,
                                    150,
                                    276,
                                    300,
                                    0x7fffffff,
                                    0xffffffff,
                                    -24 & 0xffffffff,
                                    -126 & 0xffffffff,
                                    -149 & 0xffffffff,
                                    -277 & 0xffffffff,
                                    0x80000000};
    const struct lane_values powers = {list, sizeof list / sizeof list[0]};
    static const struct lane_row scalings[] = {{"v_ldexp_f32 v8, v2, v4", scale_f32}};
    lanes_check_rows(scalings, RESULT_F32, &values_f32, &powers, NULL);
}

F32(least_of, (float)least((double)a, (double)b))
F32(greatest_of, (float)greatest((double)a, (double)b))
F32(least_of_three, (float)least(least((double)a, (double)b), (double)c))
F32(greatest_of_three, (float)greatest(greatest((double)a, (double)b), (double)c))
F32(middle_of, (float)middle((double)a, (double)b, (double)c))
F32(minimum_of, (float)minimum3((double)a, (double)b, (double)c))
F32(maximum_of, (float)maximum3((double)a, (double)b, (double)c))

/* Out of IEEE mode a signaling NaN loses like a quiet one, so the references need not tell them
   apart. */
static void f32_selection(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_min_f32_e32 v8, v2, v4", least_of_f32},
        {"v_max_f32_e32 v8, v2, v4", greatest_of_f32},
        {"v_min3_f32 v8, v2, v4, v6", least_of_three_f32},
        {"v_max3_f32 v8, v2, v4, v6", greatest_of_three_f32},
        {"v_med3_f32 v8, v2, v4, v6", middle_of_f32},
        {"v_minimum3_f32 v8, v2, v4, v6", minimum_of_f32},
        {"v_maximum3_f32 v8, v2, v4, v6", maximum_of_f32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lanes_check(&(struct lane_check){rows[i].assembly, RESULT_F32, rows[i].expected,
                                         &values_f32, &values_f32, &values_f32, FLIP_IEEE});
}

static uint32_t evaluate(const char *assembly, uint32_t a, uint32_t b, uint32_t float_mode)
{
    return (uint32_t)lanes_evaluate(assembly, RESULT_B32, a, b, 0, float_mode);
}

static void minimum_obeys_the_ieee_mode(void **state)
{
    (void)state;
    enum { SIGNALING = 0x7f800001, QUIETED = 0x7fc00001, QUIET = 0x7fc00002, ONE = 0x3f800000 };
    static const char minimum[] = "v_min_f32_e32 v8, v2, v4";
    assert_int_equal(evaluate(minimum, SIGNALING, ONE, 0), QUIETED);
    assert_int_equal(evaluate(minimum, ONE, SIGNALING, 0), QUIETED);
    assert_int_equal(evaluate(minimum, QUIET, ONE, 0), ONE);
    assert_int_equal(evaluate(minimum, ONE, QUIET, 0), ONE);
    assert_int_equal(evaluate(minimum, SIGNALING, ONE, FLIP_IEEE), ONE);
    assert_int_equal(evaluate(minimum, 0, 0x80000000, 0), 0x80000000);
    assert_int_equal(evaluate("v_max_f32_e32 v8, v2, v4", 0x80000000, 0, 0), 0);
}

static void nan_results_keep_the_first_payload(void **state)
{
    (void)state;
    static const char sum[] = "v_add_f32_e32 v8, v2, v4";
    assert_int_equal(evaluate(sum, 0x7f812345, 0x7fc99999, 0), 0x7fc12345);
    assert_int_equal(evaluate(sum, 0x3f800000, 0xffc99999, 0), 0xffc99999);
    assert_int_equal(evaluate(sum, 0x7f800000, 0xff800000, 0), 0x7fc00000);
    assert_int_equal(evaluate("v_sqrt_f32_e32 v8, v2", 0xbf800000, 0, 0), 0x7fc00000);
}

static void clamp_limits_to_zero_and_one(void **state)
{
    (void)state;
    static const char copy[] = "v_max_f32_e64 v8, v2, v2 clamp";
    assert_int_equal(evaluate(copy, 0x40000000, 0, 0), 0x3f800000);
    assert_int_equal(evaluate(copy, 0xc0000000, 0, 0), 0);
    assert_int_equal(evaluate(copy, 0x3f000000, 0, 0), 0x3f000000);
    assert_int_equal(evaluate(copy, 0x80000000, 0, 0), 0);
    assert_int_equal(evaluate(copy, 0x7fc00000, 0, 0), 0);
    assert_int_equal(evaluate(copy, 0x7fc00000, 0, FLIP_DX10_CLAMP), 0x7fc00000);
    assert_int_equal(evaluate("v_add_f16_e64 v8, v2, v4 clamp", 0x3c00, 0x3c00, 0), 0x3c00);
    assert_int_equal(lanes_evaluate("v_add_f64 v[8:9], v[2:3], v[4:5] clamp", RESULT_B64,
                                    bits64(-3), bits64(1), 0, 0),
                     0);
}

static void omod_scales_unless_ieee_or_subnormals(void **state)
{
    (void)state;
    const uint32_t on = FLIP_IEEE | FLIP_DENORMAL_F32;
    const uint32_t three = 0x40400000, five = 0x40a00000;
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 mul:2", three, five, on), bits32(16));
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 mul:4", three, five, on), bits32(32));
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 div:2", three, five, on), bits32(4));
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 div:2 clamp", three, five, on), bits32(1));
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 mul:2", three, five, FLIP_IEEE), bits32(8));
    assert_int_equal(evaluate("v_add_f32_e64 v8, v2, v4 mul:2", three, five, FLIP_DENORMAL_F32),
                     bits32(8));
}

static void subnormals_follow_the_mode(void **state)
{
    (void)state;
    const uint32_t tiny = 1, least_normal = 0x00800000, half = 0x3f000000, huge = 0x7e800000;
    static const char product[] = "v_mul_f32_e32 v8, v2, v4";
    assert_int_equal(evaluate(product, least_normal, half, 0), 0x00400000);
    assert_int_equal(evaluate(product, least_normal, half, FLIP_DENORMAL_F32), 0);
    assert_int_equal(evaluate(product, 0x80000000 | least_normal, half, FLIP_DENORMAL_F32),
                     0x80000000);
    assert_int_not_equal(evaluate(product, tiny, huge, 0), 0);
    assert_int_equal(evaluate(product, tiny, huge, FLIP_DENORMAL_F32), 0);
    /* Of f16 and f64 they have a switch of their own. */
    assert_int_equal(evaluate("v_add_f16_e32 v8, v2, v4", 1, 1, FLIP_DENORMAL_F32), 2);
    assert_int_equal(evaluate("v_add_f16_e32 v8, v2, v4", 1, 1, FLIP_DENORMAL_F16_F64), 0);
    /* Moves and selections are not arithmetic. */
    assert_int_equal(evaluate("v_mov_b32_e32 v8, v2", tiny, 0, FLIP_DENORMAL_F32), tiny);
    assert_int_equal(evaluate("v_cndmask_b32_e32 v8, v2, v2, vcc", tiny, 0, FLIP_DENORMAL_F32),
                     tiny);
}

static void other_roundings_are_refused(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "v_add_f32_e32 v8, v2, v4");
    harness.kernel.rsrc1 |= 3 << 12; /* f32 to zero */
    harness_start(&harness);
    assert_false(harness_finish(&harness));
    assert_non_null(strstr(harness.error.message, "rounding"));
    harness_destroy(&harness);
}

/* ---- f64 ---- */

F64(add, a + b)
F64(multiply, a *b)
F64(fused, fma(a, b, c))
F64(fused_accumulate, fma(a, b, f64(LANES_OLD)))
F64(least_of, least(a, b))
F64(greatest_of, greatest(a, b))
F64(truncate, trunc(a))
F64(ceiling, ceil(a))
F64(nearest, nearbyint(a))
F64(floor_of, floor(a))
F64(fraction_of, fraction(a, 0x1.fffffffffffffp-1))
F64(mantissa_of, mantissa(a))
F64(reciprocal, 1 / a)
F64(root, sqrt(a))
F64(difference_of_absolutes, fabs(a) - fabs(b))

static uint64_t exponent_of_f64(struct lane_sources s)
{
    return (uint32_t)exponent(f64(s.a));
}

static uint64_t scale_f64(struct lane_sources s)
{
    return bits64(ldexp(f64(s.a), (int32_t)(uint32_t)s.b));
}

static void f64_arithmetic(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_add_f64 v[8:9], v[2:3], v[4:5]", add_f64},
        {"v_mul_f64 v[8:9], v[2:3], v[4:5]", multiply_f64},
        {"v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]", fused_f64},
        {"v_fmac_f64_e32 v[8:9], v[2:3], v[4:5]", fused_accumulate_f64},
        {"v_trunc_f64_e32 v[8:9], v[2:3]", truncate_f64},
        {"v_ceil_f64_e32 v[8:9], v[2:3]", ceiling_f64},
        {"v_rndne_f64_e32 v[8:9], v[2:3]", nearest_f64},
        {"v_floor_f64_e32 v[8:9], v[2:3]", floor_of_f64},
        {"v_fract_f64_e32 v[8:9], v[2:3]", fraction_of_f64},
        {"v_frexp_mant_f64_e32 v[8:9], v[2:3]", mantissa_of_f64},
        {"v_rcp_f64_e32 v[8:9], v[2:3]", reciprocal_f64},
        {"v_sqrt_f64_e32 v[8:9], v[2:3]", root_f64},
        {"v_add_f64 v[8:9], |v[2:3]|, -|v[4:5]|", difference_of_absolutes_f64},
    };
    lanes_check_rows(rows, RESULT_F64, &values_f64, &values_f64, &values_f64);
    lanes_check(&(struct lane_check){"v_min_f64 v[8:9], v[2:3], v[4:5]", RESULT_F64, least_of_f64,
                                     &values_f64, &values_f64, NULL, FLIP_IEEE});
    lanes_check(&(struct lane_check){"v_max_f64 v[8:9], v[2:3], v[4:5]", RESULT_F64,
                                     greatest_of_f64, &values_f64, &values_f64, NULL, FLIP_IEEE});
    lanes_check(&(struct lane_check){"v_frexp_exp_i32_f64_e32 v8, v[2:3]", RESULT_B32,
                                     exponent_of_f64, &values_f64, NULL, NULL, 0});
    lanes_check(&(struct lane_check){"v_ldexp_f64 v[8:9], v[2:3], v4", RESULT_F64, scale_f64,
                                     &values_f64, &values_i32, NULL, 0});
}

/* ---- The cube map ---- */

static void cube_face_and_coordinates(void **state)
{
    (void)state;
    /* (1, -3, 2): the face of -y, whose s is x and whose t is -z. */
    const uint64_t x = bits32(1), y = bits32(-3), z = bits32(2);
    assert_int_equal(lanes_evaluate("v_cubeid_f32 v8, v2, v4, v6", RESULT_B32, x, y, z, 0),
                     bits32(3));
    assert_int_equal(lanes_evaluate("v_cubema_f32 v8, v2, v4, v6", RESULT_B32, x, y, z, 0),
                     bits32(-6));
    assert_int_equal(lanes_evaluate("v_cubesc_f32 v8, v2, v4, v6", RESULT_B32, x, y, z, 0),
                     bits32(1));
    assert_int_equal(lanes_evaluate("v_cubetc_f32 v8, v2, v4, v6", RESULT_B32, x, y, z, 0),
                     bits32(-2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_arithmetic),
        cmocka_unit_test(f32_and_integers),
        cmocka_unit_test(f32_selection),
        cmocka_unit_test(minimum_obeys_the_ieee_mode),
        cmocka_unit_test(nan_results_keep_the_first_payload),
        cmocka_unit_test(clamp_limits_to_zero_and_one),
        cmocka_unit_test(omod_scales_unless_ieee_or_subnormals),
        cmocka_unit_test(subnormals_follow_the_mode),
        cmocka_unit_test(other_roundings_are_refused),
        cmocka_unit_test(f64_arithmetic),
        cmocka_unit_test(cube_face_and_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
