#include "runtime/indexer_forward.h"

#include "runtime/indexer_workspace.h"
#include "runtime/kernel_calls.h"
#include "runtime/view.h"

static const DLDataType u8 = {kDLUInt, 8, 1}, f32 = {kDLFloat, 32, 1};

/* A call, and what was found out about it. */
struct forward {
    const dsajit_indexer_arguments *given;
    int device;
    int64_t rows, heads;
    int64_t requests;         /* 0 where rows come as ends */
    int64_t rows_per_request; /* 1 where they do */
    char *memory;             /* the workspace */
    struct indexer_workspace workspace;
    struct view q_bytes, q_scales, weights;
};

/* ---- Checks of what this file itself works with; the rest is the kernels' calls' own. ---- */

static dsajit_status check_query(struct forward *forward, dsajit_error *error)
{
    static const struct tensor_rule rule = {3, 3, kDLBfloat, 16, 0, 4};
    const struct named_tensor q = {"index_q", forward->given->index_q};
    dsajit_status status = tensor_check(q, &rule, forward->device, error);
    if (status)
        return status;
    forward->rows = q.tensor->shape[0];
    forward->heads = q.tensor->shape[1];
    return DSAJIT_OK;
}

static dsajit_status check_context_lens(struct forward *forward, dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 2, kDLInt, 32, 0, 4};
    const struct named_tensor lens = {"context_lens", forward->given->context_lens};
    dsajit_status status = tensor_check(lens, &rule, forward->device, error);
    if (status)
        return status;
    const int64_t requests = lens.tensor->shape[0];
    if (requests == 0 ? forward->rows != 0 : forward->rows % requests != 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "index_q has %lld rows; the %lld requests of context_lens cannot have "
                         "equally many",
                         (long long)forward->rows, (long long)requests);
    forward->requests = requests;
    if (forward->rows > 0)
        forward->rows_per_request = forward->rows / requests;
    return DSAJIT_OK;
}

static dsajit_status check_rows(struct forward *forward, dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    const struct named_tensor requests = {"row_requests", a->row_requests};
    forward->rows_per_request = 1;
    if (!a->ends == !a->context_lens)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s of ends and context_lens are given; one of them is needed",
                         a->ends ? "both" : "none");
    dsajit_status status = a->ends ? tensor_check_list((struct named_tensor){"ends", a->ends},
                                                       forward->rows, forward->device, error)
                                   : check_context_lens(forward, error);
    if (status || !(a->ends || a->kv_indptr || a->row_requests))
        return status;
    return tensor_check_list(requests, forward->rows, forward->device, error);
}

/* [rows, …] of 4-byte elements. */
static dsajit_status check_matrix(const struct forward *forward, struct named_tensor named,
                                  DLDataTypeCode code, int64_t rows, dsajit_error *error)
{
    const struct tensor_rule rule = {2, 2, (uint8_t)code, 32, 0, 4};
    dsajit_status status = tensor_check(named, &rule, forward->device, error);
    return status ? status : tensor_check_shape(named, (const int64_t[]){rows, ANY_EXTENT}, error);
}

/* What is cut into parts of rows, and the cache, which may have no pages. */
static dsajit_status check_tensors(const struct forward *forward, dsajit_error *error)
{
    static const struct tensor_rule pages = {3, 3, ANY_TYPE_CODE, 8, 0, 4};
    const dsajit_indexer_arguments *a = forward->given;
    const struct named_tensor cache = {"cache", a->cache};
    const struct named_tensor table = {"block_table", a->block_table};
    const struct named_tensor ids = {"ids", a->ids}, scores = {"scores", a->scores};
    dsajit_status status;
    if ((status = tensor_check(cache, &pages, forward->device, error)) ||
        (status = check_matrix(forward, table, kDLInt, a->ends ? ANY_EXTENT : forward->requests,
                               error)) ||
        (status = check_matrix(forward, ids, kDLInt, forward->rows, error)))
        return status;
    return a->scores ? check_matrix(forward, scores, kDLFloat, forward->rows, error) : DSAJIT_OK;
}

static dsajit_status check_workspace(struct forward *forward, dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, ANY_TYPE_CODE, 8, 0, 16};
    const dsajit_indexer_arguments *a = forward->given;
    const struct named_tensor workspace = {"workspace", a->workspace};
    const dsajit_indexer_shape shape = {
        .format = a->format,
        .rows = forward->rows,
        .rows_per_request = forward->rows_per_request,
        .heads = forward->heads,
        .max_context = a->max_context,
        .logits_bytes_max = a->logits_bytes_max,
    };
    dsajit_status status;
    if ((status = indexer_workspace_divide(&shape, &forward->workspace, error)) ||
        (status = tensor_check(workspace, &rule, forward->device, error)) ||
        (status = tensor_check_contiguous(workspace, error)))
        return status;
    if (workspace.tensor->shape[0] < forward->workspace.size)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "workspace has %lld bytes; this call needs %lld",
                         (long long)workspace.tensor->shape[0], (long long)forward->workspace.size);
    forward->memory = tensor_data(workspace.tensor);
    return DSAJIT_OK;
}

static dsajit_status check(struct forward *forward, const dsajit_context *context,
                           dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    dsajit_status status;
    if ((status = call_check_struct(context, a, sizeof *a, error)) ||
        (status = call_find_device(context, (struct named_tensor){"index_q", a->index_q},
                                   &forward->device, error)) ||
        (status = check_query(forward, error)) || (status = check_rows(forward, error)) ||
        (status = check_tensors(forward, error)) || (status = check_workspace(forward, error)))
        return status;
    if (!a->kv_indptr != !a->kv_indices)
        return error_set(
            error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is given and %s is NULL; lists need both",
            a->kv_indptr ? "kv_indptr" : "kv_indices", a->kv_indptr ? "kv_indices" : "kv_indptr");
    if (!a->index_k && a->slot_mapping)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "slot_mapping is given and index_k is NULL");
    return DSAJIT_OK;
}

/* ---- Steps ---- */

static dsajit_status insert_keys(struct sequence *sequence, const struct forward *forward,
                                 dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    if (!a->index_k)
        return DSAJIT_OK;
    const dsajit_indexer_key_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_k = a->index_k,
        .slot_mapping = a->slot_mapping,
        .cache = a->cache,
        .format = a->format,
        .norm = a->norm,
        .norm_weight = a->norm_weight,
        .norm_bias = a->norm_bias,
        .norm_eps = a->norm_eps,
    };
    return sequence_step(sequence, "indexer_key", indexer_key_prepare, &arguments, error);
}

static void place_queries(struct forward *forward)
{
    const struct indexer_workspace *workspace = &forward->workspace;
    const int64_t width = forward->given->format == DSAJIT_INDEXER_FP8 ? DSAJIT_INDEX_HEAD_DIM
                                                                       : DSAJIT_INDEX_HEAD_DIM / 2;
    const int64_t groups = DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE;
    const int64_t bytes[] = {forward->rows, forward->heads, width};
    const int64_t scales[] = {forward->rows, forward->heads, groups};
    char *memory = forward->memory;
    view_set(&forward->q_bytes, forward->device, memory + workspace->q_bytes, u8, 3, bytes);
    view_set(&forward->q_scales, forward->device, memory + workspace->q_scales, u8, 3, scales);
    view_set(&forward->weights, forward->device, memory + workspace->weights, f32, 2, bytes);
}

static const DLTensor *scales_of(const dsajit_indexer_arguments *a, const struct view *scales)
{
    return a->format == DSAJIT_INDEXER_FP8 ? NULL : &scales->tensor;
}

static dsajit_status quantise_queries(struct sequence *sequence, struct forward *forward,
                                      dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    place_queries(forward);
    const dsajit_indexer_query_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_q = a->index_q,
        .index_v = a->index_v,
        .q_bytes = &forward->q_bytes.tensor,
        .q_scales = scales_of(a, &forward->q_scales),
        .weights = &forward->weights.tensor,
        .format = a->format,
    };
    return sequence_step(sequence, "indexer_query", indexer_query_prepare, &arguments, error);
}

/* Rows that are scored at once, and what their calls get of the call's tensors. */
struct part {
    struct view q_bytes, q_scales, weights, logits;
    struct view block_table, context_lens, ends, row_requests, ids, scores;
};

static void make_part(struct part *part, const struct forward *forward, int64_t first,
                      int64_t count)
{
    const dsajit_indexer_arguments *a = forward->given;
    view_slice(&part->q_bytes, &forward->q_bytes.tensor, first, count);
    view_slice(&part->q_scales, &forward->q_scales.tensor, first, count);
    view_slice(&part->weights, &forward->weights.tensor, first, count);
    view_set(&part->logits, forward->device, forward->memory + forward->workspace.logits, f32, 2,
             (const int64_t[]){count, a->max_context});
    part->logits.strides[0] = forward->workspace.logits_stride;
    view_slice(&part->ids, a->ids, first, count);
    if (a->scores)
        view_slice(&part->scores, a->scores, first, count);
    if (a->ends) {
        view_slice(&part->block_table, a->block_table, 0, a->block_table->shape[0]);
        view_slice(&part->ends, a->ends, first, count);
        view_slice(&part->row_requests, a->row_requests, first, count);
    } else {
        const int64_t request = first / forward->rows_per_request;
        const int64_t requests = count / forward->rows_per_request;
        view_slice(&part->block_table, a->block_table, request, requests);
        view_slice(&part->context_lens, a->context_lens, request, requests);
    }
}

static dsajit_status select_keys(struct sequence *sequence, const struct forward *forward,
                                 const struct part *part, dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    const DLTensor *ends = a->ends ? &part->ends.tensor : NULL;
    const DLTensor *context_lens = a->ends ? NULL : &part->context_lens.tensor;
    const dsajit_indexer_score_arguments score = {
        .struct_size = sizeof score,
        .q = &part->q_bytes.tensor,
        .q_scales = scales_of(a, &part->q_scales),
        .weights = &part->weights.tensor,
        .weight_scale = 1,
        .logits = &part->logits.tensor,
        .cache = a->cache,
        .block_table = &part->block_table.tensor,
        .ends = ends,
        .row_requests = a->ends ? &part->row_requests.tensor : NULL,
        .context_lens = context_lens,
        .format = a->format,
    };
    const dsajit_topk_arguments topk = {
        .struct_size = sizeof topk,
        .logits = &part->logits.tensor,
        .ends = ends,
        .context_lens = context_lens,
        .ids = &part->ids.tensor,
        .scores = a->scores ? &part->scores.tensor : NULL,
        .stable = a->stable,
    };
    dsajit_status status =
        sequence_step(sequence, "indexer_score", indexer_score_prepare, &score, error);
    return status ? status : sequence_step(sequence, "topk", topk_prepare, &topk, error);
}

static dsajit_status make_lists(struct sequence *sequence, const struct forward *forward,
                                dsajit_error *error)
{
    const dsajit_indexer_arguments *a = forward->given;
    if (!a->kv_indptr)
        return DSAJIT_OK;
    const int64_t size = (int64_t)dsajit_index_lists_workspace_size(forward->rows);
    struct view workspace;
    view_set(&workspace, forward->device, forward->memory + forward->workspace.lists, u8, 1, &size);
    const dsajit_index_lists_arguments arguments = {
        .struct_size = sizeof arguments,
        .ids = a->ids,
        .row_requests = a->row_requests,
        .block_table = a->kv_block_table ? a->kv_block_table : a->block_table,
        .kv_indptr = a->kv_indptr,
        .kv_indices = a->kv_indices,
        .workspace = &workspace.tensor,
        .pages = a->kv_pages,
        .page_tokens = a->kv_page_tokens,
        .rows_per_page = a->kv_rows_per_page,
    };
    dsajit_status status =
        sequence_step(sequence, "index_lists", index_lists_prepare_counting, &arguments, error);
    return status ? status
                  : sequence_step(sequence, "index_lists", index_lists_prepare_writing, &arguments,
                                  error);
}

dsajit_status indexer_forward_make(struct sequence *sequence, const void *arguments,
                                   dsajit_error *error)
{
    struct forward forward = {.given = arguments};
    dsajit_status status = check(&forward, sequence->context, error);
    if (status)
        return status;
    sequence->is_dummy |= tensor_is_empty(forward.given->cache);
    if ((status = insert_keys(sequence, &forward, error)) ||
        (status = quantise_queries(sequence, &forward, error)))
        return status;
    const int64_t part_rows = forward.workspace.part_rows;
    for (int64_t first = 0; !status && first < forward.rows; first += part_rows) {
        const int64_t rest = forward.rows - first;
        struct part part;
        make_part(&part, &forward, first, rest < part_rows ? rest : part_rows);
        status = select_keys(sequence, &forward, &part, error);
    }
    return status ? status : make_lists(sequence, &forward, error);
}

dsajit_status dsajit_indexer_supported(const dsajit_context *context,
                                       const dsajit_indexer_arguments *arguments,
                                       dsajit_error *error)
{
    return sequence_supported(context, indexer_forward_make, arguments, error);
}

dsajit_status dsajit_plan_add_indexer(dsajit_plan *plan, const dsajit_context *context,
                                      const dsajit_indexer_arguments *arguments,
                                      dsajit_error *error)
{
    return sequence_plan(context, indexer_forward_make, arguments, plan, error);
}

dsajit_status dsajit_indexer_forward(dsajit_context *context,
                                     const dsajit_indexer_arguments *arguments, void *stream,
                                     dsajit_error *error)
{
    return sequence_enqueue(context, indexer_forward_make, arguments, stream, error);
}
