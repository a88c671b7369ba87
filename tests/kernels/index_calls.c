#include "index_calls.h"

#include "index_reference.h"

#include <stdlib.h>

void insert_keys(const struct key_insertion *insertion, uint8_t *cache)
{
    const int64_t token_bytes = index_token_bytes(insertion->format);
    const int64_t page_stride =
        insertion->page_stride ? insertion->page_stride : insertion->page_tokens * token_bytes;
    struct operand keys, slots, pages, weight, bias;
    operand_create(&keys,
                   &(struct operand_layout){.code = kDLBfloat,
                                            .bits = 16,
                                            .rank = 2,
                                            .shape = {insertion->keys, INDEX_ROW},
                                            .strides = {insertion->key_stride}},
                   insertion->index_k);
    operand_create_plain(&slots, kDLInt, 64, 1, &insertion->tokens, insertion->slot_mapping);
    /* Uploaded with its gaps; the call gets another view of it. */
    operand_create_plain(&pages, kDLUInt, 8, 2, (int64_t[]){insertion->pages, page_stride}, cache);
    operand_create_plain(&weight, kDLFloat, 32, 1, (int64_t[]){INDEX_ROW}, insertion->weight);
    operand_create_plain(&bias, kDLFloat, 32, 1, (int64_t[]){INDEX_ROW}, insertion->bias);
    struct tensor view;
    tensor_set(&view, pages.memory, kDLUInt, 8, 3,
               (int64_t[]){insertion->pages, insertion->page_tokens, token_bytes});
    view.strides[0] = page_stride;
    const dsajit_indexer_key_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_k = &keys.tensor.view,
        .slot_mapping = &slots.tensor.view,
        .cache = &view.view,
        .format = insertion->format,
        .norm = insertion->norm,
        .norm_weight = insertion->weight ? &weight.tensor.view : NULL,
        .norm_bias = insertion->bias ? &bias.tensor.view : NULL,
        .norm_eps = insertion->eps,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_key(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    operand_read(&pages, cache);
    operand_free(&keys);
    operand_free(&slots);
    operand_free(&pages);
    operand_free(&weight);
    operand_free(&bias);
}

void quantise_queries(const struct query_call *call, struct query_result *result)
{
    const bool fp8 = call->format == DSAJIT_INDEXER_FP8;
    const int64_t rows = call->rows, heads = call->heads;
    struct operand q, v, bytes, scales, weights;
    operand_create(&q,
                   &(struct operand_layout){.code = kDLBfloat,
                                            .bits = 16,
                                            .rank = 3,
                                            .shape = {rows, heads, INDEX_ROW},
                                            .strides = {call->row_stride, call->head_stride}},
                   call->index_q);
    operand_create(&v,
                   &(struct operand_layout){.code = kDLBfloat,
                                            .bits = 16,
                                            .rank = 2,
                                            .shape = {rows, heads},
                                            .strides = {call->weight_stride}},
                   call->index_v);
    operand_create_plain(&bytes, kDLUInt, 8, 3,
                         (int64_t[]){rows, heads, index_row_bytes(call->format)}, NULL);
    operand_create_plain(&scales, kDLUInt, 8, 3, (int64_t[]){rows, heads, INDEX_GROUPS}, NULL);
    operand_create_plain(&weights, kDLFloat, 32, 2, (int64_t[]){rows, heads}, NULL);
    const dsajit_indexer_query_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_q = &q.tensor.view,
        .index_v = &v.tensor.view,
        .q_bytes = &bytes.tensor.view,
        .q_scales = fp8 ? NULL : &scales.tensor.view,
        .weights = &weights.tensor.view,
        .format = call->format,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_query(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    result->bytes = operand_take(&bytes);
    result->scales = fp8 ? NULL : operand_take(&scales);
    result->weights = operand_take(&weights);
    operand_free(&q);
    operand_free(&v);
    operand_free(&bytes);
    operand_free(&scales);
    operand_free(&weights);
}

void query_result_free(struct query_result *result)
{
    free(result->bytes);
    free(result->scales);
    free(result->weights);
}
