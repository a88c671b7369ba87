/* The cases of numpy: logits over the case's cache pages and over its keys gathered. */
#include "index_case.h"
#include "index_reference.h"
#include "operand.h"

#include <dsajit/indexer_score.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct score_operands {
    struct operand q, q_scales, weights, logits, cache, block_table, keys, key_scales;
    struct operand starts, ends, row_requests, context_lens;
};

static void free_operands(struct score_operands *o)
{
    struct operand *const all[] = {&o->q,      &o->q_scales, &o->weights,      &o->logits,
                                   &o->cache,  &o->keys,     &o->block_table,  &o->key_scales,
                                   &o->starts, &o->ends,     &o->row_requests, &o->context_lens,
                                   NULL};
    for (struct operand *const *operand = all; *operand; operand++)
        operand_free(*operand);
}

static void prepare_rows(const struct indexer_case *c, struct score_operands *o, int64_t columns,
                         dsajit_indexer_score_arguments *arguments)
{
    const dsajit_indexer_format format = (dsajit_indexer_format)c->format;
    const bool fp8 = format == DSAJIT_INDEXER_FP8;
    const int64_t rows = c->rows, heads = c->heads;
    *o = (struct score_operands){0};
    *arguments = (dsajit_indexer_score_arguments){
        .struct_size = sizeof *arguments,
        .q = &o->q.tensor.view,
        .q_scales = fp8 ? NULL : &o->q_scales.tensor.view,
        .weights = &o->weights.tensor.view,
        .weight_scale = fp8 ? 1 : 1 / sqrt((double)(heads * INDEX_ROW)),
        .logits = &o->logits.tensor.view,
        .format = format,
        .clean_logits = true,
    };
    operand_create_plain(&o->q, kDLUInt, 8, 3, (int64_t[]){rows, heads, index_row_bytes(format)},
                         c->q_bytes);
    if (!fp8)
        operand_create_plain(&o->q_scales, kDLUInt, 8, 3,
                             (int64_t[]){rows, heads, INDEX_SCALE_BYTES}, c->q_scales);
    operand_create_plain(&o->weights, fp8 ? kDLFloat : kDLBfloat, fp8 ? 32 : 16, 2,
                         (int64_t[]){rows, heads}, fp8 ? (const void *)c->weights : c->index_v);
    operand_create_plain(&o->logits, kDLFloat, 32, 2, (int64_t[]){rows, columns}, NULL);
}

static void prepare_pages(const struct indexer_case *c, struct score_operands *o,
                          dsajit_indexer_score_arguments *arguments)
{
    const int64_t token_bytes = index_token_bytes((dsajit_indexer_format)c->format);
    operand_create_plain(&o->cache, kDLUInt, 8, 1, (int64_t[]){c->pages * c->page_stride},
                         c->cache);
    tensor_set(&o->cache.tensor, o->cache.memory, kDLUInt, 8, 3,
               (int64_t[]){c->pages, c->page_tokens, token_bytes});
    o->cache.tensor.strides[0] = c->page_stride;
    operand_create_plain(&o->block_table, kDLInt, 32, 2, (int64_t[]){c->requests, c->blocks},
                         c->block_table);
    arguments->cache = &o->cache.tensor.view;
    arguments->block_table = &o->block_table.tensor.view;
}

static void create_integers(struct operand *operand, int64_t count, const int32_t *integers,
                            const DLTensor **argument)
{
    operand_create_plain(operand, kDLInt, 32, 1, &count, integers);
    *argument = &operand->tensor.view;
}

/* Runs it; row i's logits are compared from column first_columns[i] on, which all else is -inf. */
static void run_and_compare(const struct indexer_case *c, struct score_operands *o, int64_t columns,
                            const int32_t *first_columns,
                            const dsajit_indexer_score_arguments *arguments)
{
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_score(harness_context(), arguments, NULL, &error), &error);
    operand_wait();
    float *logits = operand_take(&o->logits);
    double products = 0, squares = 0;
    for (int64_t row = 0; row < c->rows; row++) {
        for (int64_t n = 0; n < columns; n++) {
            const int64_t token = n - first_columns[row];
            const double expected = token >= 0 && token < c->max_context
                                        ? c->logits[row * c->max_context + token]
                                        : -INFINITY;
            const double logit = (double)logits[row * columns + n];
            assert_true((logit == -INFINITY) == (expected == -INFINITY));
            if (expected == -INFINITY)
                continue;
            products += logit * expected;
            squares += logit * logit + expected * expected;
        }
    }
    const double difference = 1 - 2 * products / squares;
    print_message("difference %.1e\n", difference);
    assert_true(difference < 5e-6);
    free(logits);
}

static void check_rows_of_requests(const struct indexer_case *c)
{
    struct score_operands o;
    dsajit_indexer_score_arguments arguments;
    int32_t *zeros = calloc((size_t)c->rows, sizeof *zeros);
    assert_non_null(zeros);
    prepare_rows(c, &o, c->max_context, &arguments);
    prepare_pages(c, &o, &arguments);
    create_integers(&o.ends, c->rows, c->row_len, &arguments.ends);
    create_integers(&o.row_requests, c->rows, c->row_request, &arguments.row_requests);
    run_and_compare(c, &o, c->max_context, zeros, &arguments);
    free_operands(&o);
    free(zeros);
}

static void check_context_lens(const struct indexer_case *c)
{
    struct score_operands o;
    dsajit_indexer_score_arguments arguments;
    int32_t *zeros = calloc((size_t)c->rows, sizeof *zeros);
    assert_non_null(zeros);
    prepare_rows(c, &o, c->max_context, &arguments);
    prepare_pages(c, &o, &arguments);
    create_integers(&o.context_lens, c->requests, c->context_lens, &arguments.context_lens);
    run_and_compare(c, &o, c->max_context, zeros, &arguments);
    free_operands(&o);
    free(zeros);
}

/* The requests' keys one after the other; gives where each request's start. */
static int64_t gather_keys(const struct indexer_case *c, uint8_t *values, uint8_t *scales,
                           int64_t *first_keys)
{
    const dsajit_indexer_format format = (dsajit_indexer_format)c->format;
    const size_t bytes = (size_t)index_row_bytes(format);
    int64_t count = 0;
    for (int64_t r = 0; r < c->requests; r++) {
        first_keys[r] = count;
        for (int64_t n = 0; n < c->context_lens[r]; n++, count++) {
            const int64_t page = c->block_table[r * c->blocks + n / c->page_tokens];
            struct index_row row;
            index_page_get(format, c->cache + page * c->page_stride, c->page_tokens,
                           n % c->page_tokens, &row);
            memcpy(values + (size_t)count * bytes, row.values, bytes);
            memcpy(scales + count * INDEX_SCALE_BYTES, row.scales, INDEX_SCALE_BYTES);
        }
    }
    return count;
}

static void check_gathered(const struct indexer_case *c)
{
    const bool fp8 = c->format == DSAJIT_INDEXER_FP8;
    const int64_t rows = c->rows, most = c->requests * c->max_context;
    uint8_t *values = calloc((size_t)most, INDEX_ROW), *scales = calloc((size_t)most, 4);
    int64_t *first_keys = calloc((size_t)c->requests, sizeof *first_keys);
    int32_t *starts = calloc((size_t)rows, 4), *ends = calloc((size_t)rows, 4);
    assert_true(values && scales && first_keys && starts && ends);
    const int64_t keys = gather_keys(c, values, scales, first_keys);
    for (int64_t row = 0; row < rows; row++) {
        starts[row] = (int32_t)first_keys[c->row_request[row]];
        ends[row] = starts[row] + c->row_len[row];
    }
    struct score_operands o;
    dsajit_indexer_score_arguments arguments;
    prepare_rows(c, &o, keys, &arguments);
    operand_create_plain(&o.keys, kDLUInt, 8, 2,
                         (int64_t[]){keys, index_row_bytes((dsajit_indexer_format)c->format)},
                         values);
    operand_create_plain(&o.key_scales, fp8 ? kDLFloat : kDLUInt, fp8 ? 32 : 8, fp8 ? 1 : 2,
                         (int64_t[]){keys, INDEX_SCALE_BYTES}, scales);
    arguments.keys = &o.keys.tensor.view;
    arguments.key_scales = &o.key_scales.tensor.view;
    create_integers(&o.starts, rows, starts, &arguments.starts);
    create_integers(&o.ends, rows, ends, &arguments.ends);
    run_and_compare(c, &o, keys, starts, &arguments);
    free_operands(&o);
    free(values);
    free(scales);
    free(first_keys);
    free(starts);
    free(ends);
}

/* In decode cases all requests have equally many rows, and the last of them sees all tokens. */
static void check_case(void **state)
{
    const char *name = *state;
    struct indexer_case c;
    index_case_read(name, &c);
    check_rows_of_requests(&c);
    check_gathered(&c);
    if (strstr(name, "_decode"))
        check_context_lens(&c);
    indexer_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {INDEX_CASE_TESTS(check_case)};
    return cmocka_run_group_tests_name("score vectors", tests, harness_open, harness_close);
}
