/* The cases of numpy: the selected positions, from the cases' own logits. */
#include "case_json.h"
#include "harness.h"
#include "raw_file.h"
#include "topk_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct topk_case {
    int64_t rows, columns, k;
    int32_t *row_len, *topk; /* [rows], [rows][k] */
    float *logits;           /* [rows][columns], rounded from f64 */
};

static float *round_logits(const double *logits, size_t count)
{
    float *rounded = malloc(count * sizeof *rounded);
    assert_non_null(rounded);
    for (size_t i = 0; i < count; i++)
        rounded[i] = (float)logits[i];
    return rounded;
}

static void read_case(const char *name, struct topk_case *c)
{
    char directory[4096];
    struct case_json json;
    dsajit_error error = {0};
    const struct case_size sizes[] = {{"rows", 1, 4096, &c->rows},
                                      {"max_context", 1, 4096, &c->columns},
                                      {"topk", 1, 2048, &c->k}};
    snprintf(directory, sizeof directory, "%s/tests/vectors/%s", getenv("DSAJIT_TEST_SOURCE"),
             name);
    assert_ok(case_json_open(directory, "indexer", &json, &error), &error);
    assert_ok(case_json_sizes(&json, sizes, sizeof sizes / sizeof *sizes, &error), &error);
    case_json_close(&json);
    const size_t rows = (size_t)c->rows, count = rows * (size_t)c->columns;
    void *data[3];
    const struct raw_file files[] = {
        {"row_len.i32.bin", rows * 4, &data[0], false},
        {"topk.i32.bin", rows * (size_t)c->k * 4, &data[1], false},
        {"logits.f64.bin", count * 8, &data[2], false},
    };
    assert_ok(raw_files_read(directory, files, sizeof files / sizeof *files, &error), &error);
    c->row_len = data[0];
    c->topk = data[1];
    c->logits = round_logits(data[2], count);
    free(data[2]);
}

static int compare_floats(const void *left, const void *right)
{
    const float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* The scores of a row's ids in order, so that only what they are counts; 0 for padding, which the
   ids themselves are compared for. */
static float *sort_scores(const struct topk_case *c, int64_t row, const int32_t *ids)
{
    float *scores = malloc((size_t)c->k * sizeof *scores);
    assert_non_null(scores);
    for (int64_t i = 0; i < c->k; i++)
        scores[i] = ids[i] < 0 ? 0 : c->logits[row * c->columns + ids[i]];
    qsort(scores, (size_t)c->k, sizeof *scores, compare_floats);
    return scores;
}

static void check_row(const struct topk_case *c, int64_t row, const int32_t *ids)
{
    const int32_t *expected_ids = c->topk + row * c->k;
    for (int64_t i = 0; i < c->k; i++)
        assert_int_equal(ids[i] < 0, expected_ids[i] < 0);
    float *scores = sort_scores(c, row, ids), *expected = sort_scores(c, row, expected_ids);
    assert_memory_equal(scores, expected, (size_t)c->k * sizeof *scores);
    free(scores);
    free(expected);
}

static void check_case(const char *name)
{
    struct topk_case c;
    struct topk_result result;
    read_case(name, &c);
    const struct topk_problem problem = {.rows = c.rows,
                                         .columns = c.columns,
                                         .k = c.k,
                                         .logits = c.logits,
                                         .ends = c.row_len,
                                         .stable = true};
    topk_run(&problem, &result);
    topk_check(&problem, &result);
    for (int64_t row = 0; row < c.rows; row++)
        check_row(&c, row, result.ids + row * c.k);
    topk_result_free(&result);
    free(c.row_len);
    free(c.topk);
    free(c.logits);
}

static void fp8_decode(void **state)
{
    (void)state;
    check_case("indexer_fp8_decode");
}

static void fp8_prefill(void **state)
{
    (void)state;
    check_case("indexer_fp8_prefill");
}

static void fp8_speculative(void **state)
{
    (void)state;
    check_case("indexer_fp8_spec");
}

static void mxfp4_decode(void **state)
{
    (void)state;
    check_case("indexer_mxfp4_decode");
}

static void mxfp4_prefill(void **state)
{
    (void)state;
    check_case("indexer_mxfp4_prefill");
}

static void mxfp4_speculative(void **state)
{
    (void)state;
    check_case("indexer_mxfp4_spec");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_decode),      cmocka_unit_test(fp8_prefill),
        cmocka_unit_test(fp8_speculative), cmocka_unit_test(mxfp4_decode),
        cmocka_unit_test(mxfp4_prefill),   cmocka_unit_test(mxfp4_speculative),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
