#include "indexer_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct indexer_bytes compare_bytes(const char *name, const void *actual,
                                          const void *expected, size_t size)
{
    const uint8_t *a = actual, *e = expected;
    struct indexer_bytes bytes = {.name = name};
    for (size_t i = size; i-- > 0;) {
        if (a[i] != e[i]) {
            bytes.wrong++;
            bytes.first = i;
        }
    }
    return bytes;
}

static void compare_logits(const struct indexer_case *expected, const float *actual,
                           struct indexer_comparison *comparison)
{
    double products = 0, squares = 0;
    for (int64_t row = 0; row < expected->rows; row++) {
        for (int64_t n = 0; n < expected->max_context; n++) {
            const double x = actual[row * expected->max_context + n];
            const double y = expected->logits[row * expected->max_context + n];
            if (n >= expected->row_len[row]) {
                comparison->logits_outside_wrong += x != -INFINITY;
                continue;
            }
            products += x * y;
            squares += x * x + y * y;
        }
    }
    comparison->logits_difference = squares == 0 ? 0 : 1 - 2 * products / squares;
}

static double largest_magnitude(const double *values, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(values[i]));
    return largest;
}

/* The value of the last that the case selects. */
static double find_bar(const double *logits, const int32_t *ids, int64_t count)
{
    double bar = INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (ids[i] >= 0)
            bar = fmin(bar, logits[ids[i]]);
    return bar;
}

/* `selected` has room for a flag for each key. Of logits that differ by less than f32's roundings
   of them, either may be selected. */
static bool row_is_right(const struct indexer_case *expected, int64_t row, const int32_t *ids,
                         bool *selected)
{
    const double roundings = 1e-5;
    const double *logits = expected->logits + row * expected->max_context;
    const int64_t length = expected->row_len[row], k = expected->topk;
    const int64_t count = length < k ? length : k;
    const double bar = find_bar(logits, expected->topk_ids + row * k, k);
    const double slack = roundings * largest_magnitude(logits, length);
    memset(selected, 0, (size_t)expected->max_context);
    for (int64_t i = 0; i < k; i++) {
        if (i >= count && ids[i] != -1)
            return false;
        if (i >= count)
            continue;
        if (ids[i] < 0 || ids[i] >= length || selected[ids[i]] || logits[ids[i]] < bar - slack)
            return false;
        selected[ids[i]] = true;
    }
    for (int64_t n = 0; n < length; n++)
        if (!selected[n] && logits[n] > bar + slack)
            return false;
    return true;
}

static int64_t count_wrong_rows(const struct indexer_case *expected, const int32_t *ids)
{
    bool *selected = calloc((size_t)expected->max_context, sizeof *selected);
    if (!selected)
        return expected->rows;
    int64_t wrong = 0;
    for (int64_t row = 0; row < expected->rows; row++)
        wrong += !row_is_right(expected, row, ids + row * expected->topk, selected);
    free(selected);
    return wrong;
}

struct indexer_comparison indexer_comparison_make(const struct indexer_case *expected,
                                                  const struct indexer_execution *actual)
{
    const size_t queries = (size_t)(expected->rows * expected->heads);
    const size_t groups = DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE;
    struct indexer_comparison comparison = {
        .bytes = {
            compare_bytes("q_bytes", actual->q_bytes, expected->q_bytes,
                          queries * (size_t)indexer_case_row_bytes(expected)),
            expected->weights
                ? compare_bytes("weights", actual->weights, expected->weights,
                                queries * sizeof(float))
                : compare_bytes("q_scales", actual->q_scales, expected->q_scales, queries * groups),
            compare_bytes("cache", actual->cache, expected->cache,
                          (size_t)(expected->pages * expected->page_stride)),
        }};
    compare_logits(expected, actual->logits, &comparison);
    comparison.topk_rows_wrong = count_wrong_rows(expected, actual->topk_ids);
    return comparison;
}

bool indexer_comparison_right(const struct indexer_comparison *comparison)
{
    for (int i = 0; i < INDEXER_BYTES; i++)
        if (comparison->bytes[i].wrong)
            return false;
    return comparison->logits_difference < INDEXER_LOGITS_TOLERANCE &&
           comparison->logits_outside_wrong == 0 && comparison->topk_rows_wrong == 0;
}
