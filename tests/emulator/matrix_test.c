/* Every MFMA of narrow floats: results compared with a float64 dot product, and bit by bit with the
   summation that the emulator documents, in plain C. */
#include "matrix_product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FLOAT(name, size, depth, blocks, a, b)                                                     \
    {                                                                                              \
        name, KIND_FLOAT, size, depth, blocks, &format_##a, &format_##b, false                     \
    }

static const struct form float_forms[] = {
    FLOAT("f32_32x32x16_bf16", 32, 16, 1, bf16, bf16),
    FLOAT("f32_16x16x32_bf16", 16, 32, 1, bf16, bf16),
    FLOAT("f32_32x32x8_bf16", 32, 8, 1, bf16, bf16),
    FLOAT("f32_16x16x16_bf16", 16, 16, 1, bf16, bf16),
    FLOAT("f32_32x32x4_2b_bf16", 32, 4, 2, bf16, bf16),
    FLOAT("f32_16x16x4_4b_bf16", 16, 4, 4, bf16, bf16),
    FLOAT("f32_4x4x4_16b_bf16", 4, 4, 16, bf16, bf16),
    FLOAT("f32_32x32x16_f16", 32, 16, 1, f16, f16),
    FLOAT("f32_16x16x32_f16", 16, 32, 1, f16, f16),
    FLOAT("f32_32x32x8_f16", 32, 8, 1, f16, f16),
    FLOAT("f32_16x16x16_f16", 16, 16, 1, f16, f16),
    FLOAT("f32_32x32x4_2b_f16", 32, 4, 2, f16, f16),
    FLOAT("f32_16x16x4_4b_f16", 16, 4, 4, f16, f16),
    FLOAT("f32_4x4x4_16b_f16", 4, 4, 16, f16, f16),
    FLOAT("f32_32x32x16_fp8_fp8", 32, 16, 1, fp8, fp8),
    FLOAT("f32_32x32x16_fp8_bf8", 32, 16, 1, fp8, bf8),
    FLOAT("f32_32x32x16_bf8_fp8", 32, 16, 1, bf8, fp8),
    FLOAT("f32_32x32x16_bf8_bf8", 32, 16, 1, bf8, bf8),
    FLOAT("f32_16x16x32_fp8_fp8", 16, 32, 1, fp8, fp8),
    FLOAT("f32_16x16x32_fp8_bf8", 16, 32, 1, fp8, bf8),
    FLOAT("f32_16x16x32_bf8_fp8", 16, 32, 1, bf8, fp8),
    FLOAT("f32_16x16x32_bf8_bf8", 16, 32, 1, bf8, bf8),
};
enum { FLOAT_FORM_COUNT = sizeof float_forms / sizeof float_forms[0] };

/* By the codes of cbsz and blgp. */
static const struct format *const formats_by_code[] = {&format_fp8, &format_bf8, &format_fp6,
                                                       &format_bf6, &format_fp4};

/* ---- The definition of the sums ---- */

struct term {
    double value; /* exact */
    int exponent; /* sum of the factors' exponents */
};

/* Zeros and subnormal numbers have the exponent of the least normal one. */
static int exponent_of(const struct format *format, double value)
{
    int exponent;
    frexp(value, &exponent);
    int least = 1 - format->bias;
    return value == 0 || exponent - 1 < least ? least : exponent - 1;
}

static double scale_value(uint8_t code)
{
    return code == 255 ? NAN : ldexp(1, code - 127);
}

static struct term term_of(unsigned block, unsigned row, unsigned column, unsigned k)
{
    const struct form *form = &product.form;
    double a = format_value(form->a, (uint32_t)product.a[block][row][k]);
    double b = format_value(form->b, (uint32_t)product.b[block][column][k]);
    struct term term = {a * b, exponent_of(form->a, a) + exponent_of(form->b, b)};
    if (product.scaled) {
        uint8_t a_scale = product.a_scale[row][k / 32], b_scale = product.b_scale[column][k / 32];
        term.value = term.value * scale_value(a_scale) * scale_value(b_scale);
        term.exponent += a_scale - 127 + b_scale - 127;
    }
    if (term.value == 0)
        term.exponent = -126;
    if (fabs(term.value) >= 0x1p128)
        term.value = copysign(INFINITY, term.value);
    return term;
}

static double cut(double value, int exponent, int places, double (*rounding)(double))
{
    return ldexp(rounding(ldexp(value, places - exponent)), exponent - places);
}

static struct term sum_terms(const struct term *terms, unsigned count, unsigned step)
{
    struct term sum = {0, terms[0].exponent};
    for (unsigned i = 0; i < count; ++i)
        sum.exponent =
            terms[i * step].exponent > sum.exponent ? terms[i * step].exponent : sum.exponent;
    for (unsigned i = 0; i < count; ++i)
        sum.value += cut(terms[i * step].value, sum.exponent, 24, trunc);
    return sum;
}

static int greater(int x, int y)
{
    return x > y ? x : y;
}

/* An ordinary group: everything finite. */
static float add_group(float accumulator, const struct term *terms, unsigned count, bool split)
{
    struct term sum = sum_terms(terms, split ? count / 2 : count, split ? 2 : 1);
    if (split) {
        struct term odd = sum_terms(terms + 1, count / 2, 2);
        int exponent = greater(sum.exponent, odd.exponent);
        sum.value = cut(sum.value, exponent, 24, floor) + cut(odd.value, exponent, 24, floor);
        sum.exponent = exponent;
    }
    int own = exponent_of(&format_f32, accumulator);
    int exponent = greater(own, sum.exponent);
    double kept = split && own < exponent - 25 ? 0 : cut(accumulator, exponent, 24, floor);
    return (float)(cut(sum.value, exponent, 31, floor) + kept);
}

static float add_any_group(float accumulator, const struct term *terms, unsigned count, bool split)
{
    double specials = isfinite(accumulator) ? 0 : accumulator;
    bool all_negative_zero = accumulator == 0 && signbit(accumulator);
    for (unsigned i = 0; i < count; ++i) {
        if (!isfinite(terms[i].value))
            specials += terms[i].value;
        all_negative_zero = all_negative_zero && terms[i].value == 0 && signbit(terms[i].value);
    }
    if (specials != 0)
        return (float)specials;
    return all_negative_zero ? accumulator : add_group(accumulator, terms, count, split);
}

static float defined_sum(unsigned block, unsigned row, unsigned column, float c)
{
    const struct form *form = &product.form;
    struct term terms[DEPTH_MAX];
    for (unsigned k = 0; k < form->depth; ++k)
        terms[k] = term_of(block, row, column, k);
    bool split = form->a->bits <= 8;
    unsigned group = split ? 16 : form->depth < 8 ? form->depth : 8;
    for (unsigned k = 0; k < form->depth; k += group)
        c = add_any_group(c, terms + k, group, split);
    return c;
}

static void check_floats(const char *text)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned row = 0; row < form->size; ++row)
            for (unsigned column = 0; column < form->size; ++column) {
                float c = as_f32(product.c[block][row][column]);
                float d = as_f32(product.d[block][row][column]);
                float expected = defined_sum(block, row, column, c);
                if (!same_f32(expected, d))
                    fail_msg("%s: block %u, D[%u][%u] is %a, expected %a", text, block, row, column,
                             d, expected);
                double exact = c, magnitude = fabs(c);
                for (unsigned k = 0; k < form->depth; ++k) {
                    double term = term_of(block, row, column, k).value;
                    exact += term;
                    magnitude += fabs(term);
                }
                if (isfinite(exact) && isfinite(d) &&
                    fabs(d - exact) > magnitude * 0x1p-18 + 0x1p-140)
                    fail_msg("%s: block %u, D[%u][%u] is %a, exactly %a", text, block, row, column,
                             d, exact);
            }
}

static struct form any_form(bool large, const struct format *a, const struct format *b)
{
    return (struct form){.name = large ? "f32_32x32x64_f8f6f4" : "f32_16x16x128_f8f6f4",
                         .kind = KIND_FLOAT,
                         .size = large ? 32 : 16,
                         .depth = large ? 64 : 128,
                         .blocks = 1,
                         .a = a,
                         .b = b,
                         .any_format = true};
}

/* ---- Tests ---- */

static void run_and_check_floats(const struct spelling *spelling)
{
    char text[256];
    run_product(spelling, text);
    check_floats(text);
}

static void fixed_formats(void **state)
{
    (void)state;
    for (unsigned f = 0; f < FLOAT_FORM_COUNT; ++f)
        for (int round = 0; round < 6; ++round) {
            start_form(&float_forms[f]);
            randomise(round < 2 ? VALUES_ORDINARY : VALUES_WILD);
            run_and_check_floats(&usual);
        }
}

static void free_formats_with_and_without_scales(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 5; ++a)
        for (unsigned b = 0; b < 5; ++b)
            for (int large = 0; large < 2; ++large)
                for (int scaled = 0; scaled < 2; ++scaled)
                    for (int round = 0; round < 2; ++round) {
                        struct form form = any_form(large, formats_by_code[a], formats_by_code[b]);
                        start_form(&form);
                        product.scaled = scaled;
                        product.a_byte = (unsigned)random_bits() & 3;
                        product.b_byte = (unsigned)random_bits() & 3;
                        randomise(round ? VALUES_WILD : VALUES_ORDINARY);
                        run_and_check_floats(&usual);
                    }
}

static void every_scale_byte_can_be_picked(void **state)
{
    (void)state;
    struct form form = any_form(false, &format_fp4, &format_fp8);
    for (unsigned bytes = 0; bytes < 16; ++bytes) {
        start_form(&form);
        product.scaled = true;
        product.a_byte = bytes & 3;
        product.b_byte = bytes >> 2;
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&usual);
    }
}

/* A single 1 in A and in B makes a single 1 in D: each place of a register is one element. */
static void each_place_of_a_register_is_one_element(void **state)
{
    (void)state;
    struct form form = any_form(false, &format_fp8, &format_fp4);
    for (unsigned k = 0; k < form.depth; ++k) {
        start_form(&form);
        memset(product.a, 0, sizeof product.a);
        memset(product.b, 0, sizeof product.b);
        memset(product.c, 0, sizeof product.c);
        unsigned row = k * 7 % 16, column = k * 5 % 16;
        product.a[0][row][k] = 0x38; /* 1 */
        product.b[0][column][k] = 0x2;
        char text[256];
        run_product(&usual, text);
        for (unsigned i = 0; i < 16; ++i)
            for (unsigned j = 0; j < 16; ++j)
                assert_true(as_f32(product.d[0][i][j]) == (i == row && j == column ? 1.0f : 0.0f));
    }
}

static void operands_in_accumulation_registers(void **state)
{
    (void)state;
    static const struct spelling spellings[] = {
        {'a', 'v', 'v', NULL, ""},
        {'v', 'a', 'a', NULL, ""},
        {'a', 'a', 'a', NULL, ""},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; ++i) {
        start_form(&float_forms[0]);
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&spellings[i]);
        struct form form = any_form(true, &format_fp6, &format_fp8);
        start_form(&form);
        product.scaled = true;
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&spellings[i]);
    }
}

static void constants_in_place_of_c(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t bits;
    } constants[] = {{"0", 0}, {"1.0", 0x3f800000}, {"-4.0", 0xc0800000}, {"1", 1}};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i) {
        start_form(&float_forms[1]);
        randomise(VALUES_ORDINARY);
        set_all_c(constants[i].bits);
        run_and_check_floats(&(struct spelling){'v', 'v', 'v', constants[i].text, ""});
    }
}

/* D over A and B: they are read before anything is written. */
static void results_may_overlap_sources(void **state)
{
    (void)state;
    start_form(&float_forms[0]);
    randomise(VALUES_ORDINARY);
    struct harness harness;
    harness_create(&harness, "v_mfma_f32_32x32x16_bf16 v[8:23], v[8:11], v[16:19], v[64:79]");
    harness_start(&harness);
    put_operands(harness_wave(&harness));
    assert_true(harness_finish(&harness));
    take_results(harness_wave(&harness), REG_A);
    harness_destroy(&harness);
    check_floats("overlapping registers");
}

static void blocks_of_a_can_be_broadcast(void **state)
{
    (void)state;
    static const char *const names[] = {"f32_32x32x4_2b_bf16", "f32_16x16x4_4b_bf16",
                                        "f32_4x4x4_16b_bf16"};
    for (unsigned f = 0; f < FLOAT_FORM_COUNT; ++f)
        for (size_t n = 0; n < 3; ++n) {
            const struct form *form = &float_forms[f];
            if (strcmp(form->name, names[n]) != 0)
                continue;
            for (unsigned cbsz = 1; 1u << cbsz <= form->blocks; ++cbsz)
                for (unsigned abid = 0; abid < 1u << cbsz; ++abid) {
                    start_form(form);
                    randomise(VALUES_ORDINARY);
                    char modifiers[64], text[256];
                    sprintf(modifiers, "cbsz:%u abid:%u", cbsz, abid);
                    run_product(&(struct spelling){'v', 'v', 'v', NULL, modifiers}, text);
                    static uint64_t own[BLOCKS_MAX][PRODUCT_SIZE_MAX][DEPTH_MAX];
                    memcpy(own, product.a, sizeof own);
                    for (unsigned block = 0; block < form->blocks; ++block)
                        memcpy(product.a[block], own[(block >> cbsz << cbsz) + abid],
                               sizeof own[0]);
                    check_floats(text);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_formats),
        cmocka_unit_test(free_formats_with_and_without_scales),
        cmocka_unit_test(every_scale_byte_can_be_picked),
        cmocka_unit_test(each_place_of_a_register_is_one_element),
        cmocka_unit_test(operands_in_accumulation_registers),
        cmocka_unit_test(constants_in_place_of_c),
        cmocka_unit_test(results_may_overlap_sources),
        cmocka_unit_test(blocks_of_a_can_be_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
