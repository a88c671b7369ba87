/* Comparisons by the meaning of their names, and the selection that uses them. */
#include "lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

/* ---- Every condition of every type ---- */

/* How two numbers compare: a set of these. */
enum order { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

struct condition {
    const char *name;
    unsigned orders; /* for which it holds */
};

static const struct condition integer_conditions[] = {
    {"f", 0},        {"lt", LESS},           {"eq", EQUAL},           {"le", LESS | EQUAL},
    {"gt", GREATER}, {"ne", LESS | GREATER}, {"ge", GREATER | EQUAL}, {"t", LESS | EQUAL | GREATER},
};

static const struct condition float_conditions[] = {
    {"f", 0},
    {"lt", LESS},
    {"eq", EQUAL},
    {"le", LESS | EQUAL},
    {"gt", GREATER},
    {"lg", LESS | GREATER},
    {"ge", GREATER | EQUAL},
    {"o", LESS | EQUAL | GREATER},
    {"u", UNORDERED},
    {"nge", LESS | UNORDERED},
    {"nlg", EQUAL | UNORDERED},
    {"ngt", LESS | EQUAL | UNORDERED},
    {"nle", GREATER | UNORDERED},
    {"neq", LESS | GREATER | UNORDERED},
    {"nlt", EQUAL | GREATER | UNORDERED},
    {"tru", LESS | EQUAL | GREATER | UNORDERED},
};

#define ORDER_OF(a, b) ((a) < (b) ? LESS : (a) > (b) ? GREATER : (a) == (b) ? EQUAL : UNORDERED)
#define DEFINE_ORDER(name, type, convert)                                                          \
    static enum order order_##name(struct lane_sources s)                                          \
    {                                                                                              \
        type a = convert(s.a), b = convert(s.b);                                                   \
        return ORDER_OF(a, b);                                                                     \
    }
DEFINE_ORDER(i16, int16_t, (int16_t))
DEFINE_ORDER(u16, uint16_t, (uint16_t))
DEFINE_ORDER(i32, int32_t, (int32_t))
DEFINE_ORDER(u32, uint32_t, (uint32_t))
DEFINE_ORDER(i64, int64_t, (int64_t))
DEFINE_ORDER(u64, uint64_t, (uint64_t))
DEFINE_ORDER(f16, double, f16)
DEFINE_ORDER(f32, float, f32)
DEFINE_ORDER(f64, double, f64)

static const struct type {
    const char *name;
    enum order (*order)(struct lane_sources);
    const struct lane_values *values;
    bool is_float, is_wide;
} types[] = {
    {"i16", order_i16, &values_i32, false, false}, {"u16", order_u16, &values_i32, false, false},
    {"i32", order_i32, &values_i32, false, false}, {"u32", order_u32, &values_i32, false, false},
    {"i64", order_i64, &values_i64, false, true},  {"u64", order_u64, &values_i64, false, true},
    {"f16", order_f16, &values_f16, true, false},  {"f32", order_f32, &values_f32, true, false},
    {"f64", order_f64, &values_f64, true, true},
};

/* What the references below look at. */
static const struct type *current_type;
static unsigned current_orders;

static uint64_t holds(struct lane_sources s)
{
    return (current_type->order(s) & current_orders) != 0;
}

static void check_type(const struct type *type, const char *prefix, enum lane_result result)
{
    const struct condition *conditions = type->is_float ? float_conditions : integer_conditions;
    size_t count = type->is_float ? sizeof float_conditions / sizeof conditions[0]
                                  : sizeof integer_conditions / sizeof conditions[0];
    for (size_t i = 0; i < count; i++) {
        char assembly[96];
        snprintf(assembly, sizeof assembly, "%s_%s_%s_e32 vcc, %s, %s", prefix, conditions[i].name,
                 type->name, type->is_wide ? "v[2:3]" : "v2", type->is_wide ? "v[4:5]" : "v4");
        current_type = type;
        current_orders = conditions[i].orders;
        lanes_check(
            &(struct lane_check){assembly, result, holds, type->values, type->values, NULL, 0});
    }
}

static void every_condition_of_every_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        check_type(&types[i], "v_cmp", RESULT_VCC);
}

static void cmpx_writes_exec_and_its_destination(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        check_type(&types[i], "v_cmpx", RESULT_VCC);
        check_type(&types[i], "v_cmpx", RESULT_EXEC);
    }
}

static void subnormals_compare_as_the_mode_says(void **state)
{
    (void)state;
    static const char assembly[] = "v_cmp_lt_f32_e32 vcc, v2, v4";
    assert_int_equal(lanes_evaluate(assembly, RESULT_VCC, 0, 1, 0, 0), 1);
    assert_int_equal(lanes_evaluate(assembly, RESULT_VCC, 0, 1, 0, FLIP_DENORMAL_F32), 0);
}

static void sources_have_modifiers(void **state)
{
    (void)state;
    const uint64_t two = bits32(2), minus_three = bits32(-3);
    assert_int_equal(
        lanes_evaluate("v_cmp_lt_f32_e64 vcc, v2, |v4|", RESULT_VCC, two, minus_three, 0, 0), 1);
    assert_int_equal(
        lanes_evaluate("v_cmp_gt_f32_e64 vcc, -v2, v4", RESULT_VCC, two, minus_three, 0, 0), 1);
    assert_int_equal(lanes_evaluate("v_cmp_eq_u32_sdwa vcc, v2, v4 src0_sel:BYTE_3 src1_sel:WORD_1",
                                    RESULT_VCC, 0x12345678, 0x00120000, 0, 0),
                     1);
}

/* ---- Lanes that are off ---- */

static void lanes_that_are_off_give_zero_bits(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "s_mov_b32 exec_lo, 0xff00ff00\n"
                             "s_mov_b32 exec_hi, 0x0000ffff\n"
                             "s_mov_b64 vcc, -1\n"
                             "v_cmp_le_u32_e32 vcc, 8, v0\n"
                             "v_cmp_gt_u32_e64 s[10:11], 40, v0\n"
                             "v_cmpx_gt_u32_e64 s[12:13], 40, v0\n"
                             "s_mov_b64 s[14:15], exec");
    harness_start(&harness);
    assert_true(harness_finish(&harness));
    const struct wave *wave = harness_wave(&harness);
    assert_int_equal(wave_vcc(wave), UINT64_C(0x0000ffffff00ff00));
    assert_int_equal(wave->scalar[10], 0xff00ff00);
    assert_int_equal(wave->scalar[11], 0x000000ff);
    assert_int_equal(wave->scalar[12], 0xff00ff00);
    assert_int_equal(wave->scalar[13], 0x000000ff);
    assert_int_equal(wave->scalar[14], 0xff00ff00);
    assert_int_equal(wave->scalar[15], 0x000000ff);
    harness_destroy(&harness);
}

/* ---- Classes ---- */

/* The class's bit by the classification of the host. */
static uint64_t class_bit(int kind, bool negative, bool quiet)
{
    switch (kind) {
    case FP_NAN:
        return quiet ? 2 : 1;
    case FP_INFINITE:
        return negative ? 4 : 512;
    case FP_NORMAL:
        return negative ? 8 : 256;
    case FP_SUBNORMAL:
        return negative ? 16 : 128;
    default:
        return negative ? 32 : 64;
    }
}

static uint64_t in_class_f32(struct lane_sources s)
{
    float x = f32(s.a);
    return (class_bit(fpclassify(x), s.a >> 31 & 1, s.a >> 22 & 1) & s.b) != 0;
}

static uint64_t in_class_f64(struct lane_sources s)
{
    double x = f64(s.a);
    return (class_bit(fpclassify(x), s.a >> 63, s.a >> 51 & 1) & s.b) != 0;
}

static uint64_t in_class_f16(struct lane_sources s)
{
    double x = f16(s.a);
    int kind = fpclassify(x);
    if (kind == FP_NORMAL && fabs(x) < 0x1p-14)
        kind = FP_SUBNORMAL;
    return (class_bit(kind, s.a >> 15 & 1, s.a >> 9 & 1) & s.b) != 0;
}

static void classes(void **state)
{
    (void)state;
    static const uint64_t list[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0x3ff, 0xfffffc00};
    const struct lane_values masks = {list, sizeof list / sizeof list[0]};
    lanes_check(&(struct lane_check){"v_cmp_class_f32_e32 vcc, v2, v4", RESULT_VCC, in_class_f32,
                                     &values_f32, &masks, NULL, FLIP_DENORMAL_F32});
    lanes_check(&(struct lane_check){"v_cmp_class_f64_e32 vcc, v[2:3], v4", RESULT_VCC,
                                     in_class_f64, &values_f64, &masks, NULL, 0});
    lanes_check(&(struct lane_check){"v_cmp_class_f16_e32 vcc, v2, v4", RESULT_VCC, in_class_f16,
                                     &values_f16, &masks, NULL, 0});
    lanes_check(&(struct lane_check){"v_cmpx_class_f32_e32 vcc, v2, v4", RESULT_EXEC, in_class_f32,
                                     &values_f32, &masks, NULL, 0});
}

/* ---- Selection ---- */

static uint64_t chosen(struct lane_sources s)
{
    return (uint32_t)(s.bit ? s.b : s.a);
}

static uint64_t chosen_with_signs(struct lane_sources s)
{
    return (uint32_t)(s.bit ? s.b & 0x7fffffff : s.a ^ 0x80000000);
}

static void selection_follows_the_mask(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_cndmask_b32_e32 v8, v2, v4, vcc", chosen},
        {"v_cndmask_b32_e64 v8, v2, v4, s[10:11]", chosen},
        {"v_cndmask_b32_e64 v8, -v2, |v4|, s[10:11]", chosen_with_signs},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_condition_of_every_type),
        cmocka_unit_test(cmpx_writes_exec_and_its_destination),
        cmocka_unit_test(subnormals_compare_as_the_mode_says),
        cmocka_unit_test(sources_have_modifiers),
        cmocka_unit_test(lanes_that_are_off_give_zero_bits),
        cmocka_unit_test(classes),
        cmocka_unit_test(selection_follows_the_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
