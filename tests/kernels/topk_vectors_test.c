/* The cases of numpy: the selected positions, from the cases' own logits. */
#include "harness.h"
#include "index_case.h"
#include "topk_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* A case with its logits as the kernel takes them. */
struct topk_case {
    struct indexer_case given;
    float *logits; /* [rows][max_context] */
};

static void read_case(const char *name, struct topk_case *c)
{
    index_case_read(name, &c->given);
    const size_t count = (size_t)(c->given.rows * c->given.max_context);
    c->logits = malloc(count * sizeof *c->logits);
    assert_non_null(c->logits);
    for (size_t i = 0; i < count; i++)
        c->logits[i] = (float)c->given.logits[i];
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
    float *scores = malloc((size_t)c->given.topk * sizeof *scores);
    assert_non_null(scores);
    for (int64_t i = 0; i < c->given.topk; i++)
        scores[i] = ids[i] < 0 ? 0 : c->logits[row * c->given.max_context + ids[i]];
    qsort(scores, (size_t)c->given.topk, sizeof *scores, compare_floats);
    return scores;
}

static void check_row(const struct topk_case *c, int64_t row, const int32_t *ids)
{
    const int32_t *expected_ids = c->given.topk_ids + row * c->given.topk;
    for (int64_t i = 0; i < c->given.topk; i++)
        assert_int_equal(ids[i] < 0, expected_ids[i] < 0);
    float *scores = sort_scores(c, row, ids), *expected = sort_scores(c, row, expected_ids);
    assert_memory_equal(scores, expected, (size_t)c->given.topk * sizeof *scores);
    free(scores);
    free(expected);
}

static void check_case(void **state)
{
    const char *name = *state;
    struct topk_case c;
    struct topk_result result;
    read_case(name, &c);
    const struct topk_problem problem = {.rows = c.given.rows,
                                         .columns = c.given.max_context,
                                         .k = c.given.topk,
                                         .logits = c.logits,
                                         .ends = c.given.row_len,
                                         .stable = true};
    topk_run(&problem, &result);
    topk_check(&problem, &result);
    for (int64_t row = 0; row < c.given.rows; row++)
        check_row(&c, row, result.ids + row * c.given.topk);
    topk_result_free(&result);
    indexer_case_free(&c.given);
    free(c.logits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {INDEX_CASE_TESTS(check_case)};
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
