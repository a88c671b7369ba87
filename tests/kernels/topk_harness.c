#include "topk_harness.h"

#include "device_tensor.h"
#include "harness.h"

#include <dsajit/topk.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RESULT_FILLING = 0x5a };
/* As f32 0x7f7f7f7f, 3.4e38. */
enum { LARGE_FILLING = 0x7f };

/* ---- Running ---- */

struct topk_tensors {
    struct device_tensor logits, starts, ends, context_lens, ids, scores;
};

static void put_list(struct device_tensor *t, const int32_t *values, int rank, const int64_t *shape)
{
    if (values)
        device_tensor_put(t, values, kDLInt, 32, rank, shape);
}

static void put_tensors(struct topk_tensors *t, const struct topk_problem *p)
{
    const int64_t lens_shape[] = {p->requests, p->requests ? p->rows / p->requests : 0};
    *t = (struct topk_tensors){0};
    device_tensor_put_rows(&t->logits, p->logits, LARGE_FILLING, kDLFloat, 32, p->rows, p->columns,
                           p->logits_gap);
    put_list(&t->starts, p->starts, 1, &p->rows);
    put_list(&t->ends, p->ends, 1, &p->rows);
    put_list(&t->context_lens, p->context_lens, p->lens_by_row ? 2 : 1, lens_shape);
    device_tensor_put_rows(&t->ids, NULL, RESULT_FILLING, kDLInt, 32, p->rows, p->k, p->ids_gap);
    if (p->scores)
        device_tensor_put_rows(&t->scores, NULL, RESULT_FILLING, kDLFloat, 32, p->rows, p->k,
                               p->scores_gap);
}

void topk_run(const struct topk_problem *p, struct topk_result *result)
{
    struct topk_tensors t;
    put_tensors(&t, p);
    const dsajit_topk_arguments arguments = {
        .struct_size = sizeof arguments,
        .logits = &t.logits.tensor.view,
        .starts = p->starts ? &t.starts.tensor.view : NULL,
        .ends = p->ends ? &t.ends.tensor.view : NULL,
        .context_lens = p->context_lens ? &t.context_lens.tensor.view : NULL,
        .ids = &t.ids.tensor.view,
        .scores = p->scores ? &t.scores.tensor.view : NULL,
        .stable = p->stable,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_topk(harness_context(), &arguments, NULL, &error), &error);
    *result = (struct topk_result){.ids = device_tensor_get_rows(&t.ids, RESULT_FILLING)};
    if (p->scores)
        result->scores = device_tensor_get_rows(&t.scores, RESULT_FILLING);
    struct device_tensor *all[] = {&t.logits,       &t.starts, &t.ends,
                                   &t.context_lens, &t.ids,    &t.scores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        device_tensor_free(all[i]);
}

void topk_result_free(struct topk_result *result)
{
    free(result->ids);
    free(result->scores);
    *result = (struct topk_result){0};
}

/* ---- The definition ---- */

static int64_t cut(int64_t value, int64_t limit)
{
    return value < 0 ? 0 : (value > limit ? limit : value);
}

static int64_t find_end(const struct topk_problem *p, int64_t row)
{
    if (p->ends)
        return p->ends[row];
    if (p->lens_by_row)
        return p->context_lens[row];
    const int64_t rows_each = p->rows / p->requests;
    return p->context_lens[row / rows_each] - rows_each + row % rows_each + 1;
}

void topk_bounds(const struct topk_problem *p, int64_t row, int64_t *start, int64_t *length)
{
    *start = cut(p->starts ? p->starts[row] : 0, p->columns);
    const int64_t end = cut(find_end(p, row), p->columns);
    *length = end > *start ? end - *start : 0;
}

/* Negative: a goes first. NaN is after everything; -0 and +0 are equal as numbers. */
static int compare_scores(float a, float b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a < b) - (a > b);
}

static int compare_positions(const void *left, const void *right, void *logits)
{
    int32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    const int by_score = compare_scores(((const float *)logits)[a], ((const float *)logits)[b]);
    return by_score ? by_score : (a > b) - (a < b);
}

int32_t *topk_sort(const float *logits, int64_t length)
{
    int32_t *positions = malloc((size_t)length * sizeof *positions + 1);
    assert_non_null(positions);
    for (int64_t i = 0; i < length; i++)
        positions[i] = (int32_t)i;
    qsort_r(positions, (size_t)length, sizeof *positions, compare_positions,
            (void *)(uintptr_t)logits);
    return positions;
}

/* ---- Checking ---- */

static int compare_ids(const void *left, const void *right)
{
    int32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static void check_scores(const struct topk_problem *p, int64_t row, int64_t start,
                         const int32_t *ids, const float *scores)
{
    for (int64_t i = 0; i < p->k; i++) {
        const float expected =
            ids[i] < 0 ? -INFINITY : p->logits[row * p->columns + start + ids[i]];
        if (memcmp(&scores[i], &expected, sizeof expected) != 0)
            fail_msg("row %lld: score %lld is %g beside id %d, which has %g", (long long)row,
                     (long long)i, scores[i], ids[i], expected);
    }
}

/* Padding only at the end; positions inside the row and no one twice. */
static void check_form(const struct topk_problem *p, int64_t row, int64_t length,
                       const int32_t *ids, int32_t *sorted)
{
    const int64_t count = length < p->k ? length : p->k;
    for (int64_t i = 0; i < p->k; i++) {
        if (i < count ? ids[i] < 0 || ids[i] >= length : ids[i] != -1)
            fail_msg("row %lld of %lld, k %lld: id %lld is %d", (long long)row, (long long)length,
                     (long long)p->k, (long long)i, ids[i]);
        if (length <= p->k && i < length && ids[i] != i)
            fail_msg("row %lld of %lld is taken whole, but id %lld is %d", (long long)row,
                     (long long)length, (long long)i, ids[i]);
    }
    memcpy(sorted, ids, (size_t)count * sizeof *ids);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
    for (int64_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            fail_msg("row %lld: id %d twice", (long long)row, sorted[i]);
}

struct standing {
    int64_t better, worse; /* than the k-th */
};

static struct standing compare_with_last(const float *logits, const int32_t *ids, int64_t k,
                                         float last)
{
    struct standing standing = {0};
    for (int64_t i = 0; i < k; i++) {
        standing.better += compare_scores(logits[ids[i]], last) < 0;
        standing.worse += compare_scores(logits[ids[i]], last) > 0;
    }
    return standing;
}

/* All that are better than the k-th, none that are worse; of those as good as it the definition's,
   or any where the set isn't unique. */
static void check_selection(const struct topk_problem *p, int64_t row, const float *logits,
                            int64_t length, const int32_t *sorted)
{
    int32_t *best = topk_sort(logits, length);
    const float last = logits[best[p->k - 1]];
    const struct standing expected = compare_with_last(logits, best, p->k, last);
    const struct standing found = compare_with_last(logits, sorted, p->k, last);
    qsort(best, (size_t)p->k, sizeof *best, compare_ids);
    const bool same = memcmp(best, sorted, (size_t)p->k * sizeof *best) == 0;
    if (found.worse || found.better != expected.better || (p->stable && !same))
        fail_msg("row %lld of %lld, k %lld: %lld selected are worse than the k-th (%g), %lld "
                 "better, of %lld; %s",
                 (long long)row, (long long)length, (long long)p->k, (long long)found.worse, last,
                 (long long)found.better, (long long)expected.better,
                 same ? "the same set" : "not the definition's set");
    free(best);
}

void topk_check(const struct topk_problem *p, const struct topk_result *result)
{
    int32_t *sorted = malloc((size_t)p->k * sizeof *sorted);
    assert_non_null(sorted);
    for (int64_t row = 0; row < p->rows; row++) {
        int64_t start, length;
        topk_bounds(p, row, &start, &length);
        const int32_t *ids = result->ids + row * p->k;
        check_form(p, row, length, ids, sorted);
        if (length > p->k)
            check_selection(p, row, p->logits + row * p->columns + start, length, sorted);
        if (result->scores)
            check_scores(p, row, start, ids, result->scores + row * p->k);
    }
    free(sorted);
}

void topk_assert_right(const struct topk_problem *problem)
{
    for (int variant = 0; variant < 4; variant++) {
        struct topk_problem p = *problem;
        struct topk_result result;
        p.stable = variant & 1;
        p.scores = variant & 2;
        topk_run(&p, &result);
        topk_check(&p, &result);
        topk_result_free(&result);
    }
}

void topk_fill_random(float *logits, int64_t count, uint64_t seed)
{
    uint64_t state = 2 * seed + 1;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0; /* of 12 uniform numbers: variance 1 */
        for (int j = 0; j < 12; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(state >> 40) * 0x1p-24 - 0.5;
        }
        logits[i] = (float)sum;
    }
}
