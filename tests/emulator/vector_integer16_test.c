/* Integer instructions on 16 bits against their definitions in plain C. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HALF(name, expression)                                                                     \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        int64_t a = s.a & 0xffff, b = s.b & 0xffff, c = s.c & 0xffff;                              \
        int64_t sa = sign(s.a, 16), sb = sign(s.b, 16), sc = sign(s.c, 16);                        \
        (void)a, (void)b, (void)c, (void)sa, (void)sb, (void)sc;                                   \
        return (uint64_t)(expression)&0xffff;                                                      \
    }
/* The half of the register that is not the result's. */
#define HALF_KEEPING(name, expression)                                                             \
    HALF(name##_half, expression)                                                                  \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        return name##_half(s) | (LANES_OLD & 0xffff0000);                                          \
    }

HALF(add_16, a + b)
HALF(subtract_16, a - b)
HALF(subtract_from_16, b - a)
HALF(add_16_limited, limit(a + b, 0, 65535))
HALF(subtract_16_limited, limit(a - b, 0, 65535))
HALF(product_16, a *b)
HALF(shift_left_16, b << a % 16)
HALF(shift_right_16, b >> a % 16)
HALF(shift_right_signed_16, floor_shift(sb, (unsigned)a % 16))
HALF(greatest_u16, a > b ? a : b)
HALF(least_u16, a < b ? a : b)
HALF(greatest_i16, sa > sb ? sa : sb)
HALF(least_i16, sa < sb ? sa : sb)
HALF(multiply_add_legacy_16, a *b + c)
HALF_KEEPING(multiply_add_16, a *b + c)
HALF_KEEPING(multiply_add_16_limited, limit(a *b + c, 0, 65535))
HALF_KEEPING(multiply_add_signed_16_limited, limit(sa *sb + sc, -32768, 32767))
HALF_KEEPING(add_signed_16_limited, limit(sa + sb, -32768, 32767))
HALF_KEEPING(least_three_u16, limit(limit(a, 0, b), 0, c))
HALF_KEEPING(greatest_three_i16, limit(limit(sa, sb, 32767), sc, 32767))
HALF_KEEPING(middle_i16, sa > sb ? limit(sc, sb, sa) : limit(sc, sa, sb))
HALF_KEEPING(middle_u16, a > b ? limit(c, b, a) : limit(c, a, b))

static void sixteen_bits(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_add_u16_e32 v8, v2, v4", add_16},
        {"v_sub_u16_e32 v8, v2, v4", subtract_16},
        {"v_subrev_u16_e32 v8, v2, v4", subtract_from_16},
        {"v_add_u16_e64 v8, v2, v4 clamp", add_16_limited},
        {"v_sub_u16_e64 v8, v2, v4 clamp", subtract_16_limited},
        {"v_mul_lo_u16_e32 v8, v2, v4", product_16},
        {"v_lshlrev_b16_e32 v8, v2, v4", shift_left_16},
        {"v_lshrrev_b16_e32 v8, v2, v4", shift_right_16},
        {"v_ashrrev_i16_e32 v8, v2, v4", shift_right_signed_16},
        {"v_max_u16_e32 v8, v2, v4", greatest_u16},
        {"v_min_u16_e32 v8, v2, v4", least_u16},
        {"v_max_i16_e32 v8, v2, v4", greatest_i16},
        {"v_min_i16_e32 v8, v2, v4", least_i16},
        {"v_mad_legacy_u16 v8, v2, v4, v6", multiply_add_legacy_16},
        {"v_mad_legacy_i16 v8, v2, v4, v6", multiply_add_legacy_16},
        {"v_mad_u16 v8, v2, v4, v6", multiply_add_16},
        {"v_mad_i16 v8, v2, v4, v6", multiply_add_16},
        {"v_mad_u16 v8, v2, v4, v6 clamp", multiply_add_16_limited},
        {"v_mad_i16 v8, v2, v4, v6 clamp", multiply_add_signed_16_limited},
        {"v_add_i16 v8, v2, v4 clamp", add_signed_16_limited},
        {"v_min3_u16 v8, v2, v4, v6", least_three_u16},
        {"v_max3_i16 v8, v2, v4, v6", greatest_three_i16},
        {"v_med3_i16 v8, v2, v4, v6", middle_i16},
        {"v_med3_u16 v8, v2, v4, v6", middle_u16},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, &values_i32);
}

static void op_sel_picks_halves(void **state)
{
    (void)state;
    /* a's upper half times b's lower plus c's upper, into the upper half. */
    assert_int_equal(lanes_evaluate("v_mad_u16 v8, v2, v4, v6 op_sel:[1,0,1,1]", RESULT_B32,
                                    0x0003ffff, 0xffff0005, 0x0002ffff, 0),
                     (LANES_OLD & 0xffff) | 17 << 16);
    /* Registers above v127 are ordinary. */
    assert_int_equal(lanes_evaluate("v_mov_b32_e32 v200, v2\nv_add_u16_e32 v255, v200, v4\n"
                                    "v_mov_b32_e32 v8, v255",
                                    RESULT_B32, 0x0003ffff, 0xffff0005, 0, 0),
                     4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(op_sel_picks_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
