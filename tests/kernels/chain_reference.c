#include "chain_reference.h"

#include "comparison.h"
#include "harness.h"
#include "index_reference.h"
#include "narrow_floats.h"
#include "record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

/* What a quantised row stands for. FP8 without its scale, where that is asked for. */
static void read_row(dsajit_indexer_format format, const struct index_row *row, bool scaled,
                     double values[INDEX_ROW])
{
    static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (int i = 0; i < INDEX_ROW; i++) {
        const unsigned code = index_stored_code(format, row, i);
        const double value = format == DSAJIT_INDEXER_FP8
                                 ? e4m3_to_double((uint8_t)code)
                                 : (code & 8 ? -e2m1[code & 7] : e2m1[code]);
        values[i] = scaled ? value * index_stored_scale(format, row, i) : value;
    }
}

/* A token's key, as the cache should have it. */
static void make_key(const struct chain_problem *problem, int64_t token, double key[INDEX_ROW])
{
    const struct chain_shape *shape = &problem->shape;
    const uint16_t *raw = problem->index_k + token * INDEX_ROW;
    uint16_t rounded[INDEX_ROW];
    double normalised[INDEX_ROW];
    struct index_row row;
    if (shape->norm == DSAJIT_KEY_NORM_NONE) {
        memcpy(rounded, raw, sizeof rounded);
    } else {
        index_normalise(shape->norm, raw, problem->norm_weight, problem->norm_bias,
                        problem->norm_eps, normalised);
        for (int i = 0; i < INDEX_ROW; i++)
            rounded[i] = double_to_bf16(normalised[i]);
    }
    index_quantise(shape->format, rounded, INDEX_KEY_LEAST, &row);
    read_row(shape->format, &row, true, key);
}

/* A row's queries, and the weights of their scores. */
static void make_queries(const struct chain_problem *problem, int64_t row,
                         double (*queries)[INDEX_ROW], double *weights)
{
    const struct chain_shape *shape = &problem->shape;
    const bool mxfp4 = shape->format == DSAJIT_INDEXER_MXFP4;
    for (int64_t head = 0; head < shape->index_heads; head++) {
        const int64_t vector = row * shape->index_heads + head;
        struct index_row quantised;
        index_quantise(shape->format, problem->index_q + vector * INDEX_ROW, INDEX_QUERY_LEAST,
                       &quantised);
        read_row(shape->format, &quantised, mxfp4, queries[head]);
        weights[head] = index_weight(shape->format, shape->index_heads, problem->index_v[vector],
                                     mxfp4 ? 1 : index_row_scale(&quantised));
    }
}

double *chain_reference_score(const struct chain_problem *problem)
{
    const struct chain_shape *shape = &problem->shape;
    double(*keys)[INDEX_ROW] = allocate(problem->tokens, sizeof *keys);
    double(*queries)[INDEX_ROW] = allocate(shape->index_heads, sizeof *queries);
    double *weights = allocate(shape->index_heads, sizeof *weights);
    double *logits = allocate(problem->rows * shape->context, sizeof *logits);
    for (int64_t token = 0; token < problem->tokens; token++)
        make_key(problem, token, keys[token]);
    for (int64_t row = 0; row < problem->rows; row++) {
        const int64_t first = problem->first_token[row / shape->rows_per_request];
        make_queries(problem, row, queries, weights);
        for (int64_t n = 0; n < problem->ends[row]; n++) {
            for (int64_t head = 0; head < shape->index_heads; head++) {
                double dot = 0;
                for (int i = 0; i < INDEX_ROW; i++)
                    dot += queries[head][i] * keys[first + n][i];
                logits[row * shape->context + n] += weights[head] * fmax(0, dot);
            }
        }
    }
    free(keys);
    free(queries);
    free(weights);
    return logits;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Part of the largest logit by which two that are ranked may differ and still be taken for equal:
   roundings of f32. The key norm's result may moreover be off by a bf16 step in a few of a key's
   128 values, and then a code by one of its own steps, which are large in MXFP4. */
static double find_slack(const struct chain_shape *shape)
{
    if (shape->norm == DSAJIT_KEY_NORM_NONE)
        return 1e-5;
    return shape->format == DSAJIT_INDEXER_FP8 ? 2e-3 : 2e-2;
}

static void check_row_ids(const struct chain_shape *shape, const double *logits, int64_t length,
                          int64_t row, const int32_t *ids)
{
    const int64_t k = shape->k;
    const int64_t count = length < k ? length : k;
    double *sorted = allocate(length, sizeof *sorted);
    bool *selected = allocate(length, sizeof *selected);
    memcpy(sorted, logits, (size_t)length * sizeof *sorted);
    qsort(sorted, (size_t)length, sizeof *sorted, descending);
    const double bar = count ? sorted[count - 1] : 0;
    const double slack = count < length
                             ? find_slack(shape) * fmax(fabs(sorted[0]), fabs(sorted[length - 1]))
                             : INFINITY;
    for (int64_t i = 0; i < k; i++) {
        if (i >= count) {
            assert_int_equal(ids[i], -1);
            continue;
        }
        if (ids[i] < 0 || ids[i] >= length || selected[ids[i]])
            fail_msg("row %lld of %lld keys: id %d, or twice", (long long)row, (long long)length,
                     ids[i]);
        selected[ids[i]] = true;
        if (logits[ids[i]] < bar - slack)
            fail_msg("row %lld: id %d has logit %g; the last of the best has %g", (long long)row,
                     ids[i], logits[ids[i]], bar);
    }
    for (int64_t n = 0; n < length; n++)
        if (!selected[n] && logits[n] > bar + slack)
            fail_msg("row %lld: id %lld is missing, logit %g; the last of the best has %g",
                     (long long)row, (long long)n, logits[n], bar);
    free(sorted);
    free(selected);
}

void chain_reference_check_ids(const struct chain_problem *problem, const double *logits,
                               const int32_t *ids)
{
    const struct chain_shape *shape = &problem->shape;
    for (int64_t row = 0; row < problem->rows; row++)
        check_row_ids(shape, logits + row * shape->context, problem->ends[row], row,
                      ids + row * shape->k);
}

/* The attention alone, with a record for each token. */
static void make_attention(const struct chain_problem *problem, const int32_t *ids,
                           struct problem *attention)
{
    const struct chain_shape *shape = &problem->shape;
    *attention = (struct problem){
        .tokens = problem->rows,
        .heads = shape->heads,
        .slots = problem->tokens,
        .softmax_scale = problem->softmax_scale,
        .q = problem->q,
        .kv = allocate(problem->tokens, DSAJIT_RECORD_BYTES),
        .indptr = allocate(problem->rows + 1, sizeof(int64_t)),
        .indices = allocate(problem->rows * shape->k, sizeof(int64_t)),
    };
    for (int64_t token = 0; token < problem->tokens; token++) {
        float key[RECORD_KEY_SIZE];
        for (int i = 0; i < RECORD_KEY_SIZE; i++)
            key[i] = (float)bf16_to_double(
                i < DSAJIT_KV_LORA_RANK
                    ? problem->kv_c[token * DSAJIT_KV_LORA_RANK + i]
                    : problem->k_pe[token * DSAJIT_QK_ROPE_HEAD_DIM + i - DSAJIT_KV_LORA_RANK]);
        record_write(key, DSAJIT_SCALE_POW2, attention->kv + token * DSAJIT_RECORD_BYTES);
    }
    for (int64_t row = 0; row < problem->rows; row++) {
        const int64_t first = problem->first_token[row / shape->rows_per_request];
        for (int64_t i = 0; i < shape->k; i++)
            if (ids[row * shape->k + i] >= 0)
                attention->indices[attention->index_count++] = first + ids[row * shape->k + i];
        attention->indptr[row + 1] = attention->index_count;
    }
}

void chain_reference_check_attention(const struct chain_problem *problem, const int32_t *ids,
                                     const uint16_t *out, const float *lse, int roundings)
{
    struct problem attention;
    struct reference reference;
    dsajit_error error = {0};
    make_attention(problem, ids, &attention);
    assert_ok(reference_compute(&attention, &reference, &error), &error);
    const struct comparison errors = comparison_make(&attention, &reference, out, lse);
    /* The tolerance is for two roundings. */
    const double out_tolerance = COMPARISON_OUT_TOLERANCE * sqrt(roundings / 2.);
    if (!(errors.out_relative <= out_tolerance) ||
        !(errors.lse_relative <= COMPARISON_LSE_TOLERANCE) || errors.empty_rows_wrong)
        fail_msg("out error %.3e (tolerance %.1e), lse error %.3e, %lld of %lld empty rows wrong",
                 errors.out_relative, out_tolerance, errors.lse_relative,
                 (long long)errors.empty_rows_wrong, (long long)errors.empty_rows);
    reference_free(&reference);
    free(attention.kv);
    free(attention.indptr);
    free(attention.indices);
}
