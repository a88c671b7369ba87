/* f16 and mixed-precision instructions against sums and products in double, where those of two
   halves are exact. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define F16(name, expression)                                                                      \
    static uint64_t name##_f16(struct lane_sources s)                                              \
    {                                                                                              \
        double a = f16(s.a), b = f16(s.b), c = f16(s.c);                                           \
        (void)a, (void)b, (void)c;                                                                 \
        return bits16(expression);                                                                 \
    }

F16(add, a + b)
F16(subtract, a - b)
F16(subtract_from, b - a)
F16(multiply, a *b)
/* Not everything below 2^-24 next to 2^16 fits a double, but nothing that could change the
   rounding is lost: a product is a multiple of 2^-48. */
F16(fused_half, a *b + c)
F16(multiply_then_add_half, f16(bits16(a *b)) + c)
F16(accumulate, f16(bits16(a *b)) + f16(LANES_OLD))
F16(truncate, trunc(a))
F16(ceiling, ceil(a))
F16(nearest, nearbyint(a))
F16(floor_of, floor(a))
F16(fraction_of, fraction(a, 0x1.ffcp-1))
F16(mantissa_of, mantissa(a))
F16(least_of, least(a, b))
F16(greatest_of, greatest(a, b))
F16(middle_half, middle(a, b, c))

/* Results of three-operand instructions that keep the other half. */
static uint64_t fused_f16(struct lane_sources s)
{
    return fused_half_f16(s) | (LANES_OLD & 0xffff0000);
}

static uint64_t multiply_then_add_f16(struct lane_sources s)
{
    return multiply_then_add_half_f16(s) | (LANES_OLD & 0xffff0000);
}

static uint64_t middle_of_f16(struct lane_sources s)
{
    return middle_half_f16(s) | (LANES_OLD & 0xffff0000);
}

static uint64_t exponent_of_f16(struct lane_sources s)
{
    return (uint16_t)exponent(f16(s.a));
}

static uint64_t scale_f16(struct lane_sources s)
{
    return bits16(ldexp(f16(s.a), (int16_t)(uint16_t)s.b));
}

static uint64_t packed_halves(struct lane_sources s)
{
    return (s.a & 0xffff) | (s.b & 0xffff) << 16;
}

static void f16_arithmetic(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_add_f16_e32 v8, v2, v4", add_f16},
        {"v_sub_f16_e32 v8, v2, v4", subtract_f16},
        {"v_subrev_f16_e32 v8, v2, v4", subtract_from_f16},
        {"v_mul_f16_e32 v8, v2, v4", multiply_f16},
        {"v_fma_f16 v8, v2, v4, v6", fused_f16},
        {"v_fma_legacy_f16 v8, v2, v4, v6", fused_half_f16},
        {"v_mad_f16 v8, v2, v4, v6", multiply_then_add_f16},
        {"v_mad_legacy_f16 v8, v2, v4, v6", multiply_then_add_half_f16},
        {"v_mac_f16_e32 v8, v2, v4", accumulate_f16},
        {"v_trunc_f16_e32 v8, v2", truncate_f16},
        {"v_ceil_f16_e32 v8, v2", ceiling_f16},
        {"v_rndne_f16_e32 v8, v2", nearest_f16},
        {"v_floor_f16_e32 v8, v2", floor_of_f16},
        {"v_fract_f16_e32 v8, v2", fraction_of_f16},
        {"v_frexp_mant_f16_e32 v8, v2", mantissa_of_f16},
    };
    lanes_check_rows(rows, RESULT_F16, &values_f16, &values_f16, &values_f16);
    static const struct lane_row selections[] = {
        {"v_min_f16_e32 v8, v2, v4", least_of_f16},
        {"v_max_f16_e32 v8, v2, v4", greatest_of_f16},
        {"v_med3_f16 v8, v2, v4, v6", middle_of_f16},
    };
    for (size_t i = 0; i < sizeof selections / sizeof selections[0]; i++)
        lanes_check(&(struct lane_check){selections[i].assembly, RESULT_F16, selections[i].expected,
                                         &values_f16, &values_f16, &values_f16, FLIP_IEEE});
    static const struct lane_row bits[] = {
        {"v_frexp_exp_i16_f16_e32 v8, v2", exponent_of_f16},
        {"v_pack_b32_f16 v8, v2, v4", packed_halves},
    };
    lanes_check_rows(bits, RESULT_B32, &values_f16, &values_f16, NULL);
    lanes_check(&(struct lane_check){"v_ldexp_f16_e32 v8, v2, v4", RESULT_F16, scale_f16,
                                     &values_f16, &values_i32, NULL, 0});
}

/* ---- Mixed precision ---- */

static uint64_t mixed(struct lane_sources s)
{
    return bits32(fmaf((float)f16(s.a >> 16), -f32(s.b), fabsf((float)f16(s.c))));
}

static uint64_t mixed_low(struct lane_sources s)
{
    return bits16((double)fmaf((float)f16(s.a), f32(s.b), f32(s.c))) | (LANES_OLD & 0xffff0000);
}

static uint64_t mixed_high(struct lane_sources s)
{
    return bits16((double)fmaf((float)f16(s.a), f32(s.b), f32(s.c))) << 16 | (LANES_OLD & 0xffff);
}

static void mixed_precision_is_fused(void **state)
{
    (void)state;
    lanes_check(
        &(struct lane_check){"v_fma_mix_f32 v8, v2, -v4, |v6| op_sel:[1,0,0] op_sel_hi:[1,0,1]",
                             RESULT_F32, mixed, &values_pk_f16, &values_f32, &values_pk_f16, 0});
    lanes_check(&(struct lane_check){"v_fma_mixlo_f16 v8, v2, v4, v6 op_sel_hi:[1,0,0]", RESULT_F16,
                                     mixed_low, &values_f16, &values_f32, &values_f32, 0});
    lanes_check(&(struct lane_check){"v_fma_mixhi_f16 v8, v2, v4, v6 op_sel_hi:[1,0,0]",
                                     RESULT_PK_F16, mixed_high, &values_f16, &values_f32,
                                     &values_f32, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_arithmetic),
        cmocka_unit_test(mixed_precision_is_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
