/* Division by the instruction sequence that compilers emit gives IEEE's correctly rounded quotient
   for all operands; and the transcendental unit against the host's libm. */
#include "lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* ---- Whole divisions ---- */

/* a / b: scaled divisor in v10, scaled dividend in v11, reciprocal in v12, quotient in v14. */
static const char division_f32[] = "v_div_scale_f32 v10, s[12:13], v4, v4, v2\n"
                                   "v_div_scale_f32 v11, vcc, v2, v4, v2\n"
                                   "v_rcp_f32_e32 v12, v10\n"
                                   "v_fma_f32 v13, -v10, v12, 1.0\n"
                                   "v_fmac_f32_e32 v12, v13, v12\n"
                                   "v_mul_f32_e32 v14, v11, v12\n"
                                   "v_fma_f32 v15, -v10, v14, v11\n"
                                   "v_fmac_f32_e32 v14, v15, v12\n"
                                   "v_fma_f32 v10, -v10, v14, v11\n"
                                   "v_div_fmas_f32 v10, v10, v12, v14\n"
                                   "v_div_fixup_f32 v8, v10, v4, v2";

static const char division_f64[] = "v_div_scale_f64 v[10:11], s[12:13], v[4:5], v[4:5], v[2:3]\n"
                                   "v_rcp_f64_e32 v[12:13], v[10:11]\n"
                                   "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
                                   "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
                                   "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
                                   "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
                                   "v_div_scale_f64 v[14:15], vcc, v[2:3], v[4:5], v[2:3]\n"
                                   "v_mul_f64 v[16:17], v[14:15], v[12:13]\n"
                                   "v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]\n"
                                   "v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]\n"
                                   "v_div_fixup_f64 v[8:9], v[10:11], v[4:5], v[2:3]";

static uint64_t quotient_f32(struct lane_sources s)
{
    return bits32(f32(s.a) / f32(s.b));
}

static uint64_t quotient_f64(struct lane_sources s)
{
    return bits64(f64(s.a) / f64(s.b));
}

static void quotients_are_correctly_rounded(void **state)
{
    (void)state;
    lanes_check(&(struct lane_check){division_f32, RESULT_F32, quotient_f32, &values_f32,
                                     &values_f32, NULL, 0});
    lanes_check(&(struct lane_check){division_f64, RESULT_F64, quotient_f64, &values_f64,
                                     &values_f64, NULL, 0});
}

/* Quotients around the least normal number and around overflow, where the scaling matters. */
static void check_ends(const char *division, enum lane_result result, lane_function quotient,
                       const struct lane_values *small, const struct lane_values *large,
                       const struct lane_values *any)
{
    const struct lane_values *pairs[][2] = {{small, large}, {large, small}, {small, small},
                                            {large, large}, {small, any},   {large, any}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        lanes_check(
            &(struct lane_check){division, result, quotient, pairs[i][0], pairs[i][1], NULL, 0});
}

static void quotients_at_the_ends_of_the_range(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    uint64_t lists[4][COUNT];
    for (int i = 0; i < COUNT; i++) {
        double small = 1 + (double)i / 61, large = 1 + (double)i / 59;
        lists[0][i] = bits32((float)ldexp(small, -127 - i % 23));
        lists[1][i] = bits32((float)ldexp(large, 127 - i % 29));
        lists[2][i] = bits64(ldexp(small, -1023 - i % 51));
        lists[3][i] = bits64(ldexp(large, 1023 - i % 61));
    }
    struct lane_values values[4];
    for (int i = 0; i < 4; i++)
        values[i] = (struct lane_values){lists[i], COUNT};
    check_ends(division_f32, RESULT_F32, quotient_f32, &values[0], &values[1], &values_f32);
    check_ends(division_f64, RESULT_F64, quotient_f64, &values[2], &values[3], &values_f64);
}

static uint64_t fixed_up_f16(struct lane_sources s)
{
    return bits16(f16(s.a) / f16(s.b));
}

/* The quotient in f32, converted; the fix-up serves the special cases. */
static void half_quotients(void **state)
{
    (void)state;
    lanes_check(&(struct lane_check){
        "v_cvt_f32_f16_e32 v10, v2\n"
        "v_cvt_f32_f16_e32 v11, v4\n"
        "v_rcp_f32_e32 v11, v11\n"
        "v_mul_f32_e32 v10, v10, v11\n"
        "v_cvt_f16_f32_e32 v10, v10\n"
        "v_mov_b32_e32 v8, 0\n"
        "v_div_fixup_f16 v8, v10, v4, v2",
        RESULT_F16, fixed_up_f16, &values_f16,
        &(struct lane_values){
            (const uint64_t[]){0x0000, 0x8000, 0x3c00, 0xc000, 0x7c00, 0xfc00, 0x7e00}, 7},
        NULL, 0});
}

/* ---- Argument reduction: the pieces of 2/pi make up its product with a large angle ---- */

static void pieces_of_two_over_pi(void **state)
{
    (void)state;
    double x = 12345.678, sum = 0;
    for (unsigned segment = 3; segment-- > 0;)
        sum += f64(lanes_evaluate("v_trig_preop_f64 v[8:9], v[2:3], v4", RESULT_B64, bits64(x),
                                  segment, 0, 0));
    assert_true(fabs(sum - M_2_PI) < 0x1p-52);
    /* For a large one the pieces start further down: what they leave out are whole turns. */
    x = 0x1.8p100;
    long double quarters = 0;
    for (unsigned segment = 0; segment < 3; segment++) {
        double piece = f64(lanes_evaluate("v_trig_preop_f64 v[8:9], v[2:3], v4", RESULT_B64,
                                          bits64(x), segment, 0, 0));
        quarters += fmodl((long double)piece * (long double)x, 4);
    }
    double angle = (double)fmodl(quarters, 4) * M_PI_2;
    assert_true(fabs(sin(angle) - sin(x)) < 1e-9);
}

/* ---- The transcendental unit ---- */

#define UNIT(name, expression)                                                                     \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        float source = f32(s.a);                                                                   \
        double x =                                                                                 \
            fpclassify(source) == FP_SUBNORMAL ? copysign(0.0, (double)source) : (double)source;   \
        float result = (float)(expression);                                                        \
        return bits32(fpclassify(result) == FP_SUBNORMAL ? copysignf(0.0f, result) : result);      \
    }

static double sine(double turns)
{
    if (isinf(turns))
        return NAN;
    if (fabs(turns) > 256)
        return copysign(0.0, turns);
    double rest = fmod(turns, 1);
    if (fmod(2 * rest, 1) == 0)
        return copysign(0.0, rest);
    return sin(2 * M_PI * rest);
}

UNIT(power, pow(2, x))
UNIT(logarithm, log2(x))
UNIT(reciprocal, 1 / x)
UNIT(root, sqrt(x))
UNIT(reciprocal_root, 1 / sqrt(x))

static void transcendental_unit_flushes_subnormals(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_exp_f32_e32 v8, v2", power},      {"v_log_f32_e32 v8, v2", logarithm},
        {"v_rcp_f32_e32 v8, v2", reciprocal}, {"v_rcp_iflag_f32_e32 v8, v2", reciprocal},
        {"v_sqrt_f32_e32 v8, v2", root},      {"v_rsq_f32_e32 v8, v2", reciprocal_root},
    };
    lanes_check_rows(rows, RESULT_F32, &values_f32, NULL, NULL);
}

static float unit(const char *assembly, float x)
{
    return f32(lanes_evaluate(assembly, RESULT_B32, bits32(x), 0, 0, 0));
}

static void circular_functions_take_turns(void **state)
{
    (void)state;
    static const char sin_assembly[] = "v_sin_f32_e32 v8, v2";
    static const char cos_assembly[] = "v_cos_f32_e32 v8, v2";
    for (int i = -1000; i <= 1000; i++) {
        float turns = (float)i / 37;
        assert_true(fabs((double)unit(sin_assembly, turns) - sine((double)turns)) < 1e-7);
        assert_true(fabs((double)unit(cos_assembly, turns) - sine((double)turns + 0.25)) < 1e-6);
    }
    assert_true(unit(sin_assembly, 0.25f) == 1);
    assert_true(unit(sin_assembly, 0.5f) == 0);
    assert_true(unit(sin_assembly, 255.75f) == -1);
    assert_true(unit(cos_assembly, -0.5f) == -1);
    assert_true(unit(sin_assembly, 257) == 0);
    assert_true(unit(cos_assembly, -257) == 1);
    assert_true(isnan(unit(sin_assembly, INFINITY)));
}

#define HALF_UNIT(name, expression)                                                                \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        double x = f16(s.a);                                                                       \
        return bits16((double)(float)(expression));                                                \
    }
HALF_UNIT(half_power, exp2(x))
HALF_UNIT(half_logarithm, log2(x))
HALF_UNIT(half_reciprocal, 1 / x)
HALF_UNIT(half_root, sqrt(x))
HALF_UNIT(half_reciprocal_root, 1 / sqrt(x))

static void half_functions_keep_subnormals(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_exp_f16_e32 v8, v2", half_power},           {"v_log_f16_e32 v8, v2", half_logarithm},
        {"v_rcp_f16_e32 v8, v2", half_reciprocal},      {"v_sqrt_f16_e32 v8, v2", half_root},
        {"v_rsq_f16_e32 v8, v2", half_reciprocal_root},
    };
    lanes_check_rows(rows, RESULT_F16, &values_f16, NULL, NULL);
    assert_int_equal(lanes_evaluate("v_sin_f16_e32 v8, v2", RESULT_B32, 0x3400, 0, 0, 0), 0x3c00);
    assert_int_equal(lanes_evaluate("v_cos_f16_e32 v8, v2", RESULT_B32, 0x3800, 0, 0, 0), 0xbc00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_are_correctly_rounded),
        cmocka_unit_test(quotients_at_the_ends_of_the_range),
        cmocka_unit_test(half_quotients),
        cmocka_unit_test(pieces_of_two_over_pi),
        cmocka_unit_test(transcendental_unit_flushes_subnormals),
        cmocka_unit_test(circular_functions_take_turns),
        cmocka_unit_test(half_functions_keep_subnormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
