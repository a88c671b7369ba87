/* The indexer's scores of particular numbers, exactly. */
#include "score_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const dsajit_indexer_format formats[] = {DSAJIT_INDEXER_FP8, DSAJIT_INDEXER_MXFP4};

static void set_scale(struct index_row *row, dsajit_indexer_format format, int exponent)
{
    const float scale = ldexpf(1, exponent);
    memset(row->scales, 127 + exponent, sizeof row->scales);
    if (format == DSAJIT_INDEXER_FP8)
        memcpy(row->scales, &scale, sizeof scale);
}

/* All of a row the same code, and a scale of 1. */
static void set_row(struct index_row *row, dsajit_indexer_format format, unsigned code)
{
    memset(row->values, (int)(format == DSAJIT_INDEXER_FP8 ? code : code * 17), sizeof row->values);
    set_scale(row, format, 0);
}

/* One query of one code, of heads with a weight each, and one key. */
static float score_codes(dsajit_indexer_format format, unsigned query, unsigned key, float weight)
{
    struct score_problem problem;
    struct score_call call;
    score_problem_create(&problem, &(struct score_sizes){format, 16, 1, 1, 1});
    for (int h = 0; h < 16; h++) {
        set_row(&problem.queries[h], format, query);
        problem.weights[h] = weight;
    }
    set_row(&problem.keys[0], format, key);
    score_call_prepare(&call, &problem, &(struct score_layout){0});
    float *logits = score_call_run(&call);
    const float logit = logits[0];
    free(logits);
    score_call_free(&call);
    score_problem_free(&problem);
    return logit;
}

static void assert_score(dsajit_indexer_format format, unsigned query, unsigned key, float weight,
                         float expected)
{
    const float logit = score_codes(format, query, key, weight);
    if (memcmp(&logit, &expected, sizeof logit) != 0)
        fail_msg("0x%x * 0x%x, weight %g, scores %a, not %a", query, key, (double)weight,
                 (double)logit, (double)expected);
}

/* 128 values of 16 heads. */
enum { TERMS = 128 * 16 };

static void largest_and_smallest_values_multiply_exactly(void **state)
{
    (void)state;
    assert_score(DSAJIT_INDEXER_FP8, 0x7e, 0x7e, 1, TERMS * 448.F * 448.F);
    assert_score(DSAJIT_INDEXER_FP8, 0xfe, 0xfe, -1, TERMS * 448.F * -448.F);
    assert_score(DSAJIT_INDEXER_FP8, 0x01, 0x01, 1, TERMS * 0x1p-18F);
    assert_score(DSAJIT_INDEXER_FP8, 0x81, 0x87, 2, TERMS * 2 * 0x1p-9F * 0x7p-9F);
    assert_score(DSAJIT_INDEXER_MXFP4, 7, 7, 1, TERMS * 36);
    assert_score(DSAJIT_INDEXER_MXFP4, 1, 1, -1, TERMS * -0.25F);
    assert_score(DSAJIT_INDEXER_MXFP4, 9, 15, 0.5F, TERMS * 1.5F);
}

/* +0, whatever the signs: of products, of zeros and of weights. */
static void products_below_zero_count_as_plus_zero(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const unsigned minus = i == 0 ? 0x80 : 8, one = i == 0 ? 0x38 : 2;
        assert_score(formats[i], one, one | minus, 1, 0);
        assert_score(formats[i], one | minus, one, -1, 0);
        assert_score(formats[i], minus, one, -1, 0);
        assert_score(formats[i], minus, minus, 1, 0);
        assert_score(formats[i], 0, one | minus, 1, 0);
        assert_score(formats[i], one, one, 0, 0);
        assert_score(formats[i], one, one, -0.F, 0);
    }
}

/* Logits of a problem, gathered. */
static float *run(const struct score_problem *problem, const struct score_layout *layout)
{
    struct score_call call;
    score_call_prepare(&call, problem, layout);
    float *logits = score_call_run(&call);
    score_call_free(&call);
    return logits;
}

/* Keys' scales from the smallest that the quantisers make to far beyond the largest: scores are
   multiples of those with a scale of 1, to the bit. */
static void powers_of_two_scale_exactly(void **state)
{
    (void)state;
    enum { KEYS = 90 };
    for (int i = 0; i < 2; i++) {
        struct score_problem problem;
        score_problem_create(&problem, &(struct score_sizes){formats[i], 32, 1, 1, KEYS});
        for (int h = 0; h < 32; h++)
            set_scale(&problem.queries[h], formats[i], 0);
        for (int n = 0; n < KEYS; n++)
            set_scale(&problem.keys[n], formats[i], 0);
        float *plain = run(&problem, &(struct score_layout){0});
        for (int n = 0; n < KEYS; n++)
            set_scale(&problem.keys[n], formats[i], n - 22);
        float *scaled = run(&problem, &(struct score_layout){0});
        for (int n = 0; n < KEYS; n++)
            assert_true(scaled[n] == ldexpf(plain[n], n - 22));
        free(plain);
        free(scaled);
        score_problem_free(&problem);
    }
}

/* A row's logits don't depend on where the keys lie, on rows beside it, or on its window. */
static void the_same_bits_in_every_layout(void **state)
{
    (void)state;
    enum { ROWS = 11, KEYS = 600 };
    static const struct score_layout layouts[] = {
        {.page_tokens = 64},
        {.page_tokens = 1},
        {.page_tokens = 48, .windows = WINDOWS_OF_LENGTHS, .columns = KEYS},
        {.clean = true, .bf16_weights = true},
    };
    for (int i = 0; i < 2; i++) {
        struct score_problem problem;
        score_problem_create(&problem, &(struct score_sizes){formats[i], 64, 1, ROWS, KEYS});
        float *plain = run(&problem, &(struct score_layout){.columns = KEYS});
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            struct score_layout layout = layouts[l];
            layout.columns = KEYS;
            float *logits = run(&problem, &layout);
            const int end = layout.windows == WINDOWS_OF_LENGTHS ? KEYS - ROWS + 1 : KEYS;
            for (int row = 0; row < ROWS; row++)
                assert_memory_equal(logits + row * KEYS, plain + row * KEYS,
                                    (size_t)end * sizeof *logits);
            free(logits);
        }
        free(plain);
        score_problem_free(&problem);
    }
}

/* Twelve heads are multiplied as sixteen. What stands in for the four more must not count. */
static void heads_that_fill_up_do_not_count(void **state)
{
    (void)state;
    enum { HEADS = 12, KEYS = 64 };
    struct score_problem problem, wider;
    score_problem_create(&problem, &(struct score_sizes){DSAJIT_INDEXER_FP8, HEADS, 1, 1, KEYS});
    score_problem_create(&wider, &(struct score_sizes){DSAJIT_INDEXER_FP8, 16, 1, 1, KEYS});
    memcpy(wider.keys, problem.keys, KEYS * sizeof *wider.keys);
    memcpy(wider.queries, problem.queries, HEADS * sizeof *wider.queries);
    memcpy(wider.weights, problem.weights, HEADS * sizeof *wider.weights);
    memset(wider.weights + HEADS, 0, (16 - HEADS) * sizeof *wider.weights);
    float *logits = run(&problem, &(struct score_layout){0});
    float *expected = run(&wider, &(struct score_layout){0});
    assert_memory_equal(logits, expected, KEYS * sizeof *logits);
    free(logits);
    free(expected);
    score_problem_free(&problem);
    score_problem_free(&wider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_and_smallest_values_multiply_exactly),
        cmocka_unit_test(products_below_zero_count_as_plus_zero),
        cmocka_unit_test(powers_of_two_scale_exactly),
        cmocka_unit_test(the_same_bits_in_every_layout),
        cmocka_unit_test(heads_that_fill_up_do_not_count),
    };
    return cmocka_run_group_tests_name("score values", tests, harness_open, harness_close);
}
