#include "score_problem.h"

#include "narrow_floats.h"

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

/* ---- Random problems ---- */

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill_row(struct index_row *row, dsajit_indexer_format format, uint64_t *random)
{
    const float scale = ldexpf(1, (int)(next_random(random) % 16) - 8);
    for (int i = 0; i < INDEX_ROW; i++) {
        row->values[i] = (uint8_t)next_random(random);
        if (format == DSAJIT_INDEXER_FP8 && (row->values[i] & 0x7f) == 0x7f)
            row->values[i] ^= 1; /* 448 in place of NaN */
    }
    for (int g = 0; g < INDEX_GROUPS; g++)
        row->scales[g] = (uint8_t)(127 - 8 + next_random(random) % 16);
    if (format == DSAJIT_INDEXER_FP8)
        memcpy(row->scales, &scale, sizeof scale);
}

void score_problem_create(struct score_problem *problem, const struct score_sizes *sizes)
{
    const int64_t rows = sizes->requests * sizes->rows_per_request;
    const int64_t queries = rows * sizes->heads, keys = sizes->requests * sizes->tokens;
    uint64_t random = (uint64_t)(queries * 1000 + keys);
    *problem = (struct score_problem){.sizes = *sizes, .weight_scale = 1};
    problem->starts = allocate(rows, sizeof *problem->starts);
    problem->ends = allocate(rows, sizeof *problem->ends);
    problem->queries = allocate(queries, sizeof *problem->queries);
    problem->weights = allocate(queries, sizeof *problem->weights);
    problem->keys = allocate(keys, sizeof *problem->keys);
    for (int64_t row = 0; row < rows; row++)
        problem->ends[row] = (int32_t)sizes->tokens;
    for (int64_t i = 0; i < queries; i++) {
        fill_row(&problem->queries[i], sizes->format, &random);
        problem->weights[i] = ldexpf((float)(next_random(&random) % 256) - 128, -9);
    }
    for (int64_t i = 0; i < keys; i++)
        fill_row(&problem->keys[i], sizes->format, &random);
}

void score_problem_free(struct score_problem *problem)
{
    free(problem->starts);
    free(problem->ends);
    free(problem->queries);
    free(problem->weights);
    free(problem->keys);
}

static int64_t count_rows(const struct score_problem *problem)
{
    return problem->sizes.requests * problem->sizes.rows_per_request;
}

/* ---- The reference ---- */

/* Values with their scales; those of FP8 keys are left to the caller. */
static void read_row(dsajit_indexer_format format, const struct index_row *row,
                     double values[INDEX_ROW])
{
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (int i = 0; i < INDEX_ROW; i++) {
        const unsigned code = index_stored_code(format, row, i);
        if (format == DSAJIT_INDEXER_FP8)
            values[i] = e4m3_to_double((uint8_t)code);
        else
            values[i] =
                (code & 8 ? -1 : 1) * magnitudes[code & 7] * index_stored_scale(format, row, i);
    }
}

struct score {
    double value;
    double terms; /* what the magnitudes of all terms add up to */
};

static struct score score_key(const struct score_problem *problem, int64_t row,
                              const double (*queries)[INDEX_ROW], const struct index_row *key)
{
    const bool fp8 = problem->sizes.format == DSAJIT_INDEXER_FP8;
    const double scale = problem->weight_scale * (fp8 ? (double)index_row_scale(key) : 1);
    double values[INDEX_ROW];
    struct score score = {0};
    read_row(problem->sizes.format, key, values);
    for (int64_t h = 0; h < problem->sizes.heads; h++) {
        const double weight = (double)problem->weights[row * problem->sizes.heads + h] * scale;
        double product = 0, terms = 0;
        for (int i = 0; i < INDEX_ROW; i++) {
            product += queries[h][i] * values[i];
            terms += fabs(queries[h][i] * values[i]);
        }
        score.value += weight * fmax(product, 0);
        score.terms += fabs(weight) * terms;
    }
    return score;
}

/* ---- A call ---- */

/* The values or the scales of rows, side by side. */
static uint8_t *pack_rows(const struct index_row *rows, int64_t count, size_t offset, size_t size)
{
    uint8_t *bytes = allocate(count, size);
    for (int64_t i = 0; i < count; i++)
        memcpy(bytes + (size_t)i * size, (const uint8_t *)&rows[i] + offset, size);
    return bytes;
}

static void create_bytes(struct operand *operand, const struct index_row *rows, size_t offset,
                         const struct operand_layout *layout)
{
    int64_t count = 1;
    for (int i = 0; i < layout->rank - 1; i++)
        count *= layout->shape[i];
    const size_t size = (size_t)layout->shape[layout->rank - 1];
    uint8_t *bytes = pack_rows(rows, count, offset, size);
    operand_create(operand, layout, bytes);
    free(bytes);
}

static void prepare_queries(struct score_call *call, const struct score_problem *problem,
                            const struct score_layout *layout)
{
    const int64_t rows = count_rows(problem), heads = problem->sizes.heads;
    const int64_t bytes = index_row_bytes(problem->sizes.format);
    create_bytes(&call->q, problem->queries, offsetof(struct index_row, values),
                 &(struct operand_layout){
                     kDLUInt, 8, 3, {rows, heads, bytes}, {heads * bytes + layout->q_gap}});
    call->arguments.q = &call->q.tensor.view;
    if (problem->sizes.format == DSAJIT_INDEXER_FP8)
        return;
    create_bytes(&call->q_scales, problem->queries, offsetof(struct index_row, scales),
                 &(struct operand_layout){kDLUInt,
                                          8,
                                          3,
                                          {rows, heads, INDEX_SCALE_BYTES},
                                          {heads * INDEX_SCALE_BYTES + layout->q_gap}});
    call->arguments.q_scales = &call->q_scales.tensor.view;
}

static void prepare_weights(struct score_call *call, const struct score_problem *problem,
                            const struct score_layout *layout)
{
    const int64_t rows = count_rows(problem), heads = problem->sizes.heads;
    uint16_t *narrow = allocate(rows * heads, sizeof *narrow);
    for (int64_t i = 0; i < rows * heads; i++)
        narrow[i] = double_to_bf16((double)problem->weights[i]);
    const struct operand_layout places = {layout->bf16_weights ? kDLBfloat : kDLFloat,
                                          layout->bf16_weights ? 16 : 32,
                                          2,
                                          {rows, heads},
                                          {heads + layout->weights_gap}};
    operand_create(&call->weights, &places,
                   layout->bf16_weights ? (const void *)narrow : problem->weights);
    call->arguments.weights = &call->weights.tensor.view;
    free(narrow);
}

static void prepare_gathered(struct score_call *call, const struct score_problem *problem,
                             const struct score_layout *layout)
{
    const int64_t keys = problem->sizes.requests * problem->sizes.tokens;
    const int64_t bytes = index_row_bytes(problem->sizes.format);
    const bool fp8 = problem->sizes.format == DSAJIT_INDEXER_FP8;
    create_bytes(&call->keys, problem->keys, offsetof(struct index_row, values),
                 &(struct operand_layout){kDLUInt, 8, 2, {keys, bytes}, {bytes + layout->key_gap}});
    uint8_t *scales =
        pack_rows(problem->keys, keys, offsetof(struct index_row, scales), INDEX_SCALE_BYTES);
    operand_create_plain(&call->key_scales, fp8 ? kDLFloat : kDLUInt, fp8 ? 32 : 8, fp8 ? 1 : 2,
                         (int64_t[]){keys, INDEX_SCALE_BYTES}, scales);
    call->arguments.keys = &call->keys.tensor.view;
    call->arguments.key_scales = &call->key_scales.tensor.view;
    call->limit = keys;
    free(scales);
}

/* Pages of requests take turns, last request first; every other page is nobody's. */
static int64_t find_page(const struct score_problem *problem, int64_t request, int64_t entry)
{
    return 2 * (entry * problem->sizes.requests + problem->sizes.requests - 1 - request) + 1;
}

static void prepare_cache(struct score_call *call, const struct score_problem *problem,
                          const struct score_layout *layout, int64_t entries)
{
    const int64_t tokens = layout->page_tokens,
                  token_bytes = index_token_bytes(problem->sizes.format);
    const int64_t pages = 2 * entries * problem->sizes.requests;
    const int64_t stride = tokens * token_bytes + layout->page_gap;
    uint8_t *bytes = allocate(pages, (size_t)stride);
    memset(bytes, 0xff, (size_t)(pages * stride));
    for (int64_t i = 0; i < problem->sizes.requests * problem->sizes.tokens; i++) {
        const int64_t request = i / problem->sizes.tokens, token = i % problem->sizes.tokens;
        index_page_put(problem->sizes.format,
                       bytes + find_page(problem, request, token / tokens) * stride, tokens,
                       token % tokens, &problem->keys[i]);
    }
    operand_create_plain(&call->cache, kDLUInt, 8, 1,
                         (int64_t[]){pages * stride - layout->page_gap}, bytes);
    const uintptr_t base =
        (uintptr_t)call->cache.memory - (uintptr_t)layout->first_page * (uintptr_t)stride;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): no object holds all of the cache */
    tensor_set(&call->cache.tensor, (void *)base, kDLUInt, 8, 3,
               (int64_t[]){layout->first_page + pages, tokens, token_bytes});
    call->cache.tensor.strides[0] = stride;
    call->arguments.cache = &call->cache.tensor.view;
    free(bytes);
}

static void prepare_paged(struct score_call *call, const struct score_problem *problem,
                          const struct score_layout *layout)
{
    const int64_t needed = (problem->sizes.tokens + layout->page_tokens - 1) / layout->page_tokens;
    const int64_t entries = needed + layout->spare_pages;
    int32_t *table = allocate(problem->sizes.requests * entries, sizeof *table);
    for (int64_t i = 0; i < problem->sizes.requests * entries; i++)
        table[i] =
            i % entries < needed
                ? (int32_t)(layout->first_page + find_page(problem, i / entries, i % entries))
                : -1;
    operand_create(
        &call->block_table,
        &(struct operand_layout){
            kDLInt, 32, 2, {problem->sizes.requests, entries}, {entries + layout->table_gap}},
        table);
    call->arguments.block_table = &call->block_table.tensor.view;
    call->limit = entries * layout->page_tokens;
    prepare_cache(call, problem, layout, needed);
    free(table);
}

/* Of gathered keys, a request's come after all those of the ones before it. */
static int64_t first_column(const struct score_problem *problem, const struct score_layout *layout,
                            int64_t row)
{
    return layout->page_tokens ? 0 : row / problem->sizes.rows_per_request * problem->sizes.tokens;
}

static void create_integers(struct operand *operand, int64_t count, const int32_t *integers,
                            const DLTensor **argument)
{
    operand_create_plain(operand, kDLInt, 32, 1, &count, integers);
    *argument = &operand->tensor.view;
}

static void prepare_windows_of_rows(struct score_call *call, const struct score_problem *problem,
                                    const struct score_layout *layout)
{
    const int64_t rows = count_rows(problem);
    int32_t *integers[3];
    for (int i = 0; i < 3; i++)
        integers[i] = allocate(rows, sizeof **integers);
    for (int64_t row = 0; row < rows; row++) {
        const int32_t first = (int32_t)first_column(problem, layout, row);
        integers[0][row] = problem->starts[row] + first;
        integers[1][row] = problem->ends[row] + first;
        integers[2][row] = (int32_t)(row / problem->sizes.rows_per_request);
    }
    create_integers(&call->starts, rows, integers[0], &call->arguments.starts);
    create_integers(&call->ends, rows, integers[1], &call->arguments.ends);
    if (layout->page_tokens && problem->sizes.requests > 1)
        create_integers(&call->row_requests, rows, integers[2], &call->arguments.row_requests);
    for (int i = 0; i < 3; i++)
        free(integers[i]);
}

static void prepare_context_lens(struct score_call *call, const struct score_problem *problem,
                                 const struct score_layout *layout)
{
    const bool by_row = layout->windows == WINDOWS_OF_ENDS;
    int32_t *lengths = allocate(problem->sizes.requests, sizeof *lengths);
    for (int64_t r = 0; r < problem->sizes.requests; r++)
        lengths[r] = problem->ends[(r + 1) * problem->sizes.rows_per_request - 1];
    operand_create_plain(&call->context_lens, kDLInt, 32, by_row ? 2 : 1,
                         (int64_t[]){problem->sizes.requests, problem->sizes.rows_per_request},
                         by_row ? problem->ends : lengths);
    call->arguments.context_lens = &call->context_lens.tensor.view;
    free(lengths);
}

void score_call_prepare(struct score_call *call, const struct score_problem *problem,
                        const struct score_layout *layout)
{
    *call = (struct score_call){.arguments = {.struct_size = sizeof call->arguments,
                                              .weight_scale = problem->weight_scale,
                                              .format = problem->sizes.format,
                                              .clean_logits = layout->clean}};
    prepare_queries(call, problem, layout);
    prepare_weights(call, problem, layout);
    if (layout->page_tokens)
        prepare_paged(call, problem, layout);
    else
        prepare_gathered(call, problem, layout);
    if (layout->windows == WINDOWS_OF_ROWS)
        prepare_windows_of_rows(call, problem, layout);
    else
        prepare_context_lens(call, problem, layout);
    call->columns = layout->columns ? layout->columns : call->limit;
    operand_create(&call->logits,
                   &(struct operand_layout){kDLFloat,
                                            32,
                                            2,
                                            {count_rows(problem), call->columns},
                                            {call->columns + layout->logits_gap}},
                   NULL);
    call->arguments.logits = &call->logits.tensor.view;
}

void score_call_free(struct score_call *call)
{
    struct operand *operands[] = {
        &call->q,    &call->q_scales,     &call->weights,      &call->logits,
        &call->keys, &call->cache,        &call->block_table,  &call->starts,
        &call->ends, &call->row_requests, &call->context_lens, &call->key_scales};
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        operand_free(operands[i]);
}

float *score_call_run(const struct score_call *call)
{
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_score(harness_context(), &call->arguments, NULL, &error), &error);
    operand_wait();
    return operand_take(&call->logits);
}

/* ---- Checking ---- */

/* Of what the magnitudes of a score's terms add up to. Operations in f32 round by 2^-24 of their
   results; 2^-21 leaves room for some, and none for a single rounding to bf16 or less. */
static const double tolerance = 0x1p-21;

/* The row's window, in columns. */
struct window {
    int64_t start, end;
};

static struct window find_window(const struct score_call *call, const struct score_problem *problem,
                                 const struct score_layout *layout, int64_t row)
{
    const int64_t first = first_column(problem, layout, row);
    const int64_t limit = call->limit < call->columns ? call->limit : call->columns;
    struct window window = {problem->starts[row] + first, problem->ends[row] + first};
    if (layout->windows != WINDOWS_OF_ROWS)
        window.start = 0;
    if (layout->windows == WINDOWS_OF_LENGTHS) {
        const int64_t each = problem->sizes.rows_per_request, i = row % each;
        window.end = problem->ends[row - i + each - 1] - each + i + 1;
    }
    window.start = window.start < 0 ? 0 : window.start;
    window.end = window.end > limit ? limit : window.end;
    return window;
}

static void check_logit(const struct score *expected, float logit, int64_t row, int64_t column)
{
    const double error = fabs((double)logit - expected->value);
    if (!(error <= tolerance * expected->terms))
        fail_msg("logits[%lld, %lld] is %.9g, not %.9g (terms %.3g)", (long long)row,
                 (long long)column, (double)logit, expected->value, expected->terms);
}

static void check_outside(bool clean, float logit, int64_t row, int64_t column)
{
    uint8_t untouched[sizeof logit];
    memset(untouched, OPERAND_FILLER, sizeof untouched);
    if (clean ? logit != -INFINITY : memcmp(&logit, untouched, sizeof logit) != 0)
        fail_msg("logits[%lld, %lld], outside the window, is %g", (long long)row, (long long)column,
                 (double)logit);
}

static void check_row(const struct score_call *call, const struct score_problem *problem,
                      const struct score_layout *layout, int64_t row, const float *logits)
{
    const struct window window = find_window(call, problem, layout, row);
    const struct index_row *keys = problem->keys;
    if (layout->page_tokens)
        keys += row / problem->sizes.rows_per_request * problem->sizes.tokens;
    double(*queries)[INDEX_ROW] = allocate(problem->sizes.heads, sizeof *queries);
    for (int64_t h = 0; h < problem->sizes.heads; h++)
        read_row(problem->sizes.format, &problem->queries[row * problem->sizes.heads + h],
                 queries[h]);
    for (int64_t n = 0; n < call->columns; n++) {
        if (n < window.start || n >= window.end) {
            check_outside(layout->clean, logits[n], row, n);
            continue;
        }
        const struct score score =
            score_key(problem, row, (const double(*)[INDEX_ROW])queries, &keys[n]);
        check_logit(&score, logits[n], row, n);
    }
    free(queries);
}

void assert_scores_right(const struct score_problem *problem, const struct score_layout *layout)
{
    struct score_call call;
    score_call_prepare(&call, problem, layout);
    float *logits = score_call_run(&call);
    for (int64_t row = 0; row < count_rows(problem); row++)
        check_row(&call, problem, layout, row, logits + row * call.columns);
    free(logits);
    score_call_free(&call);
}
