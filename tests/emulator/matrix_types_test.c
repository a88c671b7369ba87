/* MFMA of f32, f64 and i8, the movement of B's lanes, and the moves of accumulation registers. */
#include "matrix_product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Which lane a lane of B reads in place of its own. */
static unsigned lane_by_pattern(unsigned pattern, unsigned lane)
{
    switch (pattern) {
    case 0:
        return lane;
    case 1:
        return lane % 32;
    case 2:
        return lane % 32 + 32;
    case 3:
        return (lane + 16) % 64;
    default:
        return lane % 16 + 16 * (pattern - 4);
    }
}

static void lanes_of_b_can_be_moved(void **state)
{
    (void)state;
    const struct form form = {
        .name = "f32_32x32x1_2b_f32", .kind = KIND_F32, .size = 32, .depth = 1, .blocks = 2};
    for (unsigned pattern = 0; pattern < 8; ++pattern) {
        start_form(&form);
        for (unsigned lane = 0; lane < LANES; ++lane) {
            float one = 1, number = (float)lane;
            uint32_t bits;
            memcpy(&bits, &one, sizeof bits);
            product.a[lane / 32][lane % 32][0] = bits;
            memcpy(&bits, &number, sizeof bits);
            product.b[lane / 32][lane % 32][0] = bits;
        }
        set_all_c(0);
        char modifiers[64], text[256];
        sprintf(modifiers, "blgp:%u", pattern);
        run_product(&(struct spelling){'v', 'v', 'v', NULL, pattern ? modifiers : ""}, text);
        for (unsigned lane = 0; lane < LANES; ++lane)
            for (unsigned row = 0; row < 32; ++row)
                assert_true(as_f32(product.d[lane / 32][row][lane % 32]) ==
                            (float)lane_by_pattern(pattern, lane));
    }
}

static void f32_is_a_chain_of_fused_multiply_adds(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"f32_32x32x2_f32", KIND_F32, 32, 2, 1, NULL, NULL, false},
        {"f32_16x16x4_f32", KIND_F32, 16, 4, 1, NULL, NULL, false},
        {"f32_32x32x1_2b_f32", KIND_F32, 32, 1, 2, NULL, NULL, false},
        {"f32_16x16x1_4b_f32", KIND_F32, 16, 1, 4, NULL, NULL, false},
        {"f32_4x4x1_16b_f32", KIND_F32, 4, 1, 16, NULL, NULL, false},
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; ++f) {
        const struct form *form = &forms[f];
        start_form(form);
        product.form.a = product.form.b = &format_f32;
        randomise(VALUES_WILD);
        char text[256];
        run_product(&usual, text);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i)
                for (unsigned j = 0; j < form->size; ++j) {
                    float sum = as_f32(product.c[block][i][j]);
                    for (unsigned k = 0; k < form->depth; ++k)
                        sum = fmaf(as_f32(product.a[block][i][k]), as_f32(product.b[block][j][k]),
                                   sum);
                    if (!same_f32(sum, as_f32(product.d[block][i][j])))
                        fail_msg("%s: D[%u][%u] is %a, expected %a", text, i, j,
                                 as_f32(product.d[block][i][j]), sum);
                }
    }
}

static void randomise_f64(void)
{
    for (unsigned block = 0; block < BLOCKS_MAX; ++block)
        for (unsigned i = 0; i < PRODUCT_SIZE_MAX; ++i)
            for (unsigned j = 0; j < PRODUCT_SIZE_MAX; ++j) {
                uint64_t *to[] = {&product.a[block][i][j], &product.b[block][i][j],
                                  &product.c[block][i][j]};
                for (int n = 0; n < 3; ++n) {
                    double value = (double)(int64_t)random_bits() * 0x1p-60;
                    memcpy(to[n], &value, sizeof value);
                }
            }
}

static void check_f64(const char *text, unsigned negated)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned i = 0; i < form->size; ++i)
            for (unsigned j = 0; j < form->size; ++j) {
                double sum = as_f64(product.c[block][i][j]) * (negated & 4 ? -1 : 1);
                for (unsigned k = 0; k < form->depth; ++k)
                    sum = fma(as_f64(product.a[block][i][k]) * (negated & 1 ? -1 : 1),
                              as_f64(product.b[block][j][k]) * (negated & 2 ? -1 : 1), sum);
                if (sum != as_f64(product.d[block][i][j]))
                    fail_msg("%s: D[%u][%u] is %a, expected %a", text, i, j,
                             as_f64(product.d[block][i][j]), sum);
            }
}

static void f64_with_negations_and_constants(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"f64_16x16x4_f64", KIND_F64, 16, 4, 1, NULL, NULL, false},
        {"f64_4x4x4_4b_f64", KIND_F64, 4, 4, 4, NULL, NULL, false},
    };
    for (size_t f = 0; f < 2; ++f)
        for (unsigned negated = 0; negated < 8; ++negated) {
            start_form(&forms[f]);
            randomise_f64();
            char modifiers[64] = "", text[256];
            if (negated)
                sprintf(modifiers, "neg:[%u,%u,%u]", negated & 1, negated >> 1 & 1, negated >> 2);
            run_product(&(struct spelling){'v', 'v', 'v', NULL, modifiers}, text);
            check_f64(text, negated);
        }
    static const struct {
        const char *text;
        double value;
    } constants[] = {{"0", 0}, {"1.0", 1}, {"-0.5", -0.5}, {"0.15915494", 0.15915494309189532}};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i) {
        start_form(&forms[0]);
        randomise_f64();
        uint64_t bits;
        memcpy(&bits, &constants[i].value, sizeof bits);
        set_all_c(bits);
        char text[256];
        run_product(&(struct spelling){'v', 'v', 'v', constants[i].text, ""}, text);
        check_f64(text, 0);
    }
}

static void i8_wraps_around(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"i32_32x32x32_i8", KIND_I8, 32, 32, 1, NULL, NULL, false},
        {"i32_16x16x64_i8", KIND_I8, 16, 64, 1, NULL, NULL, false},
        {"i32_32x32x16_i8", KIND_I8, 32, 16, 1, NULL, NULL, false},
        {"i32_16x16x32_i8", KIND_I8, 16, 32, 1, NULL, NULL, false},
        {"i32_32x32x4_2b_i8", KIND_I8, 32, 4, 2, NULL, NULL, false},
        {"i32_16x16x4_4b_i8", KIND_I8, 16, 4, 4, NULL, NULL, false},
        {"i32_4x4x4_16b_i8", KIND_I8, 4, 4, 16, NULL, NULL, false},
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; ++f) {
        const struct form *form = &forms[f];
        start_form(form);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i) {
                for (unsigned k = 0; k < form->depth; ++k) {
                    product.a[block][i][k] = random_bits() & 0xff;
                    product.b[block][i][k] = random_bits() & 0xff;
                }
                for (unsigned j = 0; j < form->size; ++j)
                    product.c[block][i][j] = 0x7ffff000 + (random_bits() & 0x1fff);
            }
        char text[256];
        run_product(&usual, text);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i)
                for (unsigned j = 0; j < form->size; ++j) {
                    int64_t sum = (int64_t)product.c[block][i][j];
                    for (unsigned k = 0; k < form->depth; ++k)
                        sum += (int8_t)product.a[block][i][k] * (int8_t)product.b[block][j][k];
                    assert_int_equal((uint32_t)product.d[block][i][j], (uint32_t)sum);
                }
    }
}

static void moves_reach_accumulation_registers(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "v_accvgpr_write_b32 a0, 1.0\n"
                             "v_accvgpr_write_b32 a255, v1\n"
                             "v_accvgpr_mov_b32 a7, a255\n"
                             "v_accvgpr_read_b32 v2, a7\n");
    harness_start(&harness);
    harness_wave(&harness)->vector[1][9] = 1234;
    assert_true(harness_finish(&harness));
    struct wave *wave = harness_wave(&harness);
    assert_int_equal(wave->vector[VECTOR_ACCUMULATOR][63], 0x3f800000);
    assert_int_equal(wave->vector[VECTOR_ACCUMULATOR + 255][9], 1234);
    assert_int_equal(wave->vector[2][9], 1234);
    harness_destroy(&harness);
}

static void meaningless_modifiers_fault(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[24:27] cbsz:5",
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[24:27] blgp:7",
        "v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[16:19], v[24:27] cbsz:1",
        "v_mfma_f32_16x16x4_4b_f16 v[0:15], v[32:33], v[34:35], v[48:63] cbsz:1 abid:2",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        struct harness harness;
        harness_create(&harness, lines[i]);
        harness_start(&harness);
        assert_false(harness_finish(&harness));
        assert_non_null(strstr(harness.error.message, "cbsz"));
        harness_destroy(&harness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_is_a_chain_of_fused_multiply_adds),
        cmocka_unit_test(f64_with_negations_and_constants),
        cmocka_unit_test(i8_wraps_around),
        cmocka_unit_test(lanes_of_b_can_be_moved),
        cmocka_unit_test(moves_reach_accumulation_registers),
        cmocka_unit_test(meaningless_modifiers_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
