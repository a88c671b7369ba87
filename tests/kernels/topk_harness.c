#include "topk_harness.h"

#include "operand.h"

#include <dsajit/topk.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- Running ---- */

struct topk_operands {
    struct operand logits, starts, ends, context_lens, ids, scores;
};

static void create_rows(struct operand *operand, const void *elements, DLDataTypeCode code,
                        int64_t rows, int64_t columns, int64_t gap)
{
    operand_create(operand,
                   &(struct operand_layout){.code = code,
                                            .bits = 32,
                                            .rank = 2,
                                            .shape = {rows, columns},
                                            .strides = {columns + gap, 1}},
                   elements);
}

static void create_list(struct operand *operand, const int32_t *values, int rank,
                        const int64_t *shape)
{
    if (values)
        operand_create_plain(operand, kDLInt, 32, rank, shape, values);
}

static void create_operands(struct topk_operands *o, const struct topk_problem *p)
{
    const int64_t lens_shape[] = {p->requests, p->requests ? p->rows / p->requests : 0};
    *o = (struct topk_operands){0};
    create_rows(&o->logits, p->logits, kDLFloat, p->rows, p->columns, p->logits_gap);
    create_list(&o->starts, p->starts, 1, &p->rows);
    create_list(&o->ends, p->ends, 1, &p->rows);
    create_list(&o->context_lens, p->context_lens, p->lens_by_row ? 2 : 1, lens_shape);
    create_rows(&o->ids, NULL, kDLInt, p->rows, p->k, p->ids_gap);
    if (p->scores)
        create_rows(&o->scores, NULL, kDLFloat, p->rows, p->k, p->scores_gap);
}

static const DLTensor *view_if(struct operand *operand, bool given)
{
    return given ? &operand->tensor.view : NULL;
}

void topk_run(const struct topk_problem *p, struct topk_result *result)
{
    struct topk_operands o;
    create_operands(&o, p);
    const dsajit_topk_arguments arguments = {
        .struct_size = sizeof arguments,
        .logits = &o.logits.tensor.view,
        .starts = view_if(&o.starts, p->starts),
        .ends = view_if(&o.ends, p->ends),
        .context_lens = view_if(&o.context_lens, p->context_lens),
        .ids = &o.ids.tensor.view,
        .scores = view_if(&o.scores, p->scores),
        .stable = p->stable,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_topk(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    *result = (struct topk_result){.ids = operand_take(&o.ids)};
    if (p->scores)
        result->scores = operand_take(&o.scores);
    struct operand *all[] = {&o.logits, &o.starts, &o.ends, &o.context_lens, &o.ids, &o.scores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        operand_free(all[i]);
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

struct row {
    const float *logits;
};

static int compare_positions(const void *left, const void *right, void *row)
{
    const float *logits = ((const struct row *)row)->logits;
    int32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    const int by_score = compare_scores(logits[a], logits[b]);
    return by_score ? by_score : (a > b) - (a < b);
}

int32_t *topk_sort(const float *logits, int64_t length)
{
    int32_t *positions = malloc((size_t)length * sizeof *positions + 1);
    assert_non_null(positions);
    for (int64_t i = 0; i < length; i++)
        positions[i] = (int32_t)i;
    struct row row = {logits};
    qsort_r(positions, (size_t)length, sizeof *positions, compare_positions, &row);
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

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check_scores(const struct topk_problem *p, int64_t row, int64_t start,
                         const int32_t *ids, const float *scores)
{
    for (int64_t i = 0; i < p->k; i++) {
        const float expected =
            ids[i] < 0 ? -INFINITY : p->logits[row * p->columns + start + ids[i]];
        if (bits_of(scores[i]) != bits_of(expected))
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
