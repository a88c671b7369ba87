#include "chain_call.h"

#include "chain_reference.h"
#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* [pages][page tokens][bytes] of bytes that are NaN in every format, scales included. */
static void create_cache(struct operand *cache, const struct chain_problem *problem,
                         int64_t token_bytes)
{
    const int64_t shape[] = {problem->pages, problem->shape.page_tokens, token_bytes};
    const size_t size = (size_t)(shape[0] * shape[1] * shape[2]);
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    memset(bytes, 0xff, size);
    operand_create_plain(cache, kDLUInt, 8, 3, shape, bytes);
    free(bytes);
}

static void create_operands(struct chain_call *call, const struct chain_problem *problem)
{
    const struct chain_shape *shape = &problem->shape;
    const int64_t T = problem->rows, M = problem->tokens, R = problem->requests, k = shape->k;
    const int64_t D = DSAJIT_INDEX_HEAD_DIM, H = shape->index_heads, width = DSAJIT_KV_LORA_RANK;
    const struct {
        struct operand *operand;
        DLDataTypeCode code;
        int bits, rank;
        int64_t shape[3];
        const void *elements;
    } operands[] = {
        {&call->index_k, kDLBfloat, 16, 2, {M, D}, problem->index_k},
        {&call->slot_mapping, kDLInt, 64, 1, {M}, problem->slot_mapping},
        {&call->norm_weight, kDLFloat, 32, 1, {D}, problem->norm_weight},
        {&call->norm_bias, kDLFloat, 32, 1, {D}, problem->norm_bias},
        {&call->index_q, kDLBfloat, 16, 3, {T, H, D}, problem->index_q},
        {&call->index_v, kDLBfloat, 16, 2, {T, H}, problem->index_v},
        {&call->block_table, kDLInt, 32, 2, {R, problem->blocks}, problem->block_table},
        {&call->context_lens, kDLInt, 32, 1, {R}, problem->context_lens},
        {&call->ends, kDLInt, 32, 1, {T}, problem->ends},
        {&call->row_requests, kDLInt, 32, 1, {T}, problem->row_requests},
        {&call->ids, kDLInt, 32, 2, {T, k}, NULL},
        {&call->scores, kDLFloat, 32, 2, {T, k}, NULL},
        {&call->indptr, kDLInt, 32, 1, {T + 1}, NULL},
        {&call->indices, kDLInt, 32, 1, {T * k}, NULL},
        {&call->kv_c, kDLBfloat, 16, 2, {M, width}, problem->kv_c},
        {&call->k_pe, kDLBfloat, 16, 2, {M, DSAJIT_QK_ROPE_HEAD_DIM}, problem->k_pe},
        {&call->q, kDLBfloat, 16, 3, {T, shape->heads, RECORD_KEY_SIZE}, problem->q},
        {&call->out, kDLBfloat, 16, 3, {T, shape->heads, width}, NULL},
        {&call->lse, kDLFloat, 32, 2, {T, shape->heads}, NULL},
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        operand_create_plain(operands[i].operand, operands[i].code, operands[i].bits,
                             operands[i].rank, operands[i].shape, operands[i].elements);
    create_cache(&call->index_cache, problem,
                 shape->format == DSAJIT_INDEXER_FP8 ? DSAJIT_INDEX_KEY_BYTES_FP8
                                                     : DSAJIT_INDEX_KEY_BYTES_MXFP4);
    create_cache(&call->kv, problem, DSAJIT_RECORD_BYTES);
}

static void set_indexer(struct chain_call *call, const struct chain_problem *problem,
                        enum chain_rows rows)
{
    const struct chain_shape *shape = &problem->shape;
    const bool by_end = rows == CHAIN_ROWS_BY_END;
    const bool with_bias = shape->norm == DSAJIT_KEY_NORM_LAYERNORM;
    call->indexer = (dsajit_indexer_arguments){
        .struct_size = sizeof call->indexer,
        .format = shape->format,
        .index_k = &call->index_k.tensor.view,
        .slot_mapping = &call->slot_mapping.tensor.view,
        .norm = shape->norm,
        .norm_weight = shape->norm ? &call->norm_weight.tensor.view : NULL,
        .norm_bias = with_bias ? &call->norm_bias.tensor.view : NULL,
        .norm_eps = problem->norm_eps,
        .index_q = &call->index_q.tensor.view,
        .index_v = &call->index_v.tensor.view,
        .cache = &call->index_cache.tensor.view,
        .block_table = &call->block_table.tensor.view,
        .context_lens = by_end ? NULL : &call->context_lens.tensor.view,
        .ends = by_end ? &call->ends.tensor.view : NULL,
        .row_requests = &call->row_requests.tensor.view,
        .max_context = shape->context,
        .ids = &call->ids.tensor.view,
        .scores = &call->scores.tensor.view,
        .stable = true,
        .kv_indptr = &call->indptr.tensor.view,
        .kv_indices = &call->indices.tensor.view,
        .kv_pages = problem->pages,
        .kv_page_tokens = shape->page_tokens,
    };
}

void chain_call_create(struct chain_call *call, const struct chain_problem *problem,
                       enum chain_rows rows)
{
    memset(call, 0, sizeof *call);
    create_operands(call, problem);
    set_indexer(call, problem, rows);
    chain_call_resize_workspace(call);
    call->cache_write = (dsajit_mla_cache_write_arguments){
        .struct_size = sizeof call->cache_write,
        .kv_c = &call->kv_c.tensor.view,
        .k_pe = &call->k_pe.tensor.view,
        .slot_mapping = &call->slot_mapping.tensor.view,
        .cache = &call->kv.tensor.view,
    };
    call->attention = (dsajit_sparse_mla_arguments){
        .struct_size = sizeof call->attention,
        .q = &call->q.tensor.view,
        .kv = &call->kv.tensor.view,
        .out = &call->out.tensor.view,
        .lse = &call->lse.tensor.view,
        .softmax_scale = problem->softmax_scale,
    };
    call->whole = (dsajit_sparse_attention_arguments){
        .struct_size = sizeof call->whole,
        .cache_write = &call->cache_write,
        .indexer = &call->indexer,
        .attention = &call->attention,
    };
}

void chain_call_free(struct chain_call *call)
{
    struct operand *const operands[] = {
        &call->index_k,
        &call->slot_mapping,
        &call->norm_weight,
        &call->norm_bias,
        &call->index_q,
        &call->index_v,
        &call->index_cache,
        &call->block_table,
        &call->context_lens,
        &call->ends,
        &call->row_requests,
        &call->ids,
        &call->scores,
        &call->indptr,
        &call->indices,
        &call->workspace,
        &call->kv_c,
        &call->k_pe,
        &call->q,
        &call->kv,
        &call->out,
        &call->lse,
        NULL,
    };
    for (struct operand *const *operand = operands; *operand; operand++)
        operand_free(*operand);
}

size_t chain_call_workspace_size(const dsajit_indexer_arguments *arguments)
{
    const int64_t rows = arguments->index_q->shape[0];
    const dsajit_indexer_shape shape = {
        .format = arguments->format,
        .rows = rows,
        .rows_per_request = arguments->context_lens ? rows / arguments->context_lens->shape[0] : 1,
        .heads = arguments->index_q->shape[1],
        .max_context = arguments->max_context,
        .logits_bytes_max = arguments->logits_bytes_max,
    };
    size_t size;
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_workspace_size(&shape, &size, &error), &error);
    return size;
}

void chain_call_resize_workspace(struct chain_call *call)
{
    const int64_t size = (int64_t)chain_call_workspace_size(&call->indexer);
    operand_free(&call->workspace);
    operand_create_plain(&call->workspace, kDLUInt, 8, 1, &size, NULL);
    call->indexer.workspace = &call->workspace.tensor.view;
}

/* The lists have the slots of the ids, in their order. */
static void check_lists(const struct chain_problem *problem, const int32_t *ids,
                        const int32_t *indptr, const int32_t *indices)
{
    const struct chain_shape *shape = &problem->shape;
    int64_t count = 0;
    assert_int_equal(indptr[0], 0);
    for (int64_t row = 0; row < problem->rows; row++) {
        const int64_t first = problem->first_token[row / shape->rows_per_request];
        for (int64_t i = 0; i < shape->k; i++) {
            const int32_t id = ids[row * shape->k + i];
            if (id >= 0)
                assert_int_equal(indices[count++], problem->slot_mapping[first + id]);
        }
        assert_int_equal(indptr[row + 1], count);
    }
}

void chain_call_check(const struct chain_call *call, const struct chain_problem *problem)
{
    operand_wait();
    double *logits = chain_reference_score(problem);
    int32_t *ids = operand_take(&call->ids);
    int32_t *indptr = operand_take(&call->indptr), *indices = operand_take(&call->indices);
    uint16_t *out = operand_take(&call->out);
    float *lse = operand_take(&call->lse);
    chain_reference_check_ids(problem, logits, ids);
    check_lists(problem, ids, indptr, indices);
    chain_reference_check_attention(problem, ids, out, lse, 2);
    free(logits);
    free(ids);
    free(indptr);
    free(indices);
    free(out);
    free(lse);
}
