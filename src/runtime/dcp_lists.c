/* Decode context parallelism: the calls on lists of keys. */
#include "dsajit/indexer.h"

#include "runtime/call.h"
#include "runtime/dcp.h"

/* [rows, k] of 4-byte elements, rows at any distance. */
static dsajit_status check_list(struct named_tensor list, uint8_t code, int64_t rows, int64_t count,
                                int device, dsajit_error *error)
{
    const struct tensor_rule rule = {2, 2, code, 32, 0, 4};
    dsajit_status status = tensor_check(list, &rule, device, error);
    if (!status)
        status = tensor_check_shape(list, (const int64_t[]){rows, count}, error);
    return status ? status : tensor_check_rows(list, 1, error);
}

/* The list that gives a call its extents; the first that is checked. */
static dsajit_status check_first_list(struct named_tensor list, int device, dsajit_error *error)
{
    dsajit_status status = check_list(list, kDLInt, ANY_EXTENT, ANY_EXTENT, device, error);
    if (!status && list.tensor->shape[1] > INT32_MAX)
        status = tensor_refuse_shape(list, 1, "up to 2^31 - 1", error);
    return status;
}

/* One workgroup a row, and none for rows without elements. */
static dsajit_status set_rows(struct call *call, const DLTensor *list, unsigned workgroup_size,
                              dsajit_error *error)
{
    return call_set_grid(call, list->shape[1] == 0 ? 0 : list->shape[0], 1, workgroup_size, "rows",
                         error);
}

static dsajit_status prepare_ids(const dsajit_context *context, const void *arguments,
                                 struct call *call, dsajit_error *error)
{
    const dsajit_dcp_ids_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status)
        return status;
    const struct named_tensor ids = {"ids", a->ids}, out = {"out", a->out};
    if ((status = call_find_device(context, ids, &device, error)) ||
        (status = check_first_list(ids, device, error)) ||
        (status = check_list(out, kDLInt, a->ids->shape[0], a->ids->shape[1], device, error)) ||
        (status = dcp_check_place(&a->place, error)))
        return status;
    if ((unsigned)a->direction > DSAJIT_DCP_TO_LOCAL)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "direction is %d; DSAJIT_DCP_TO_GLOBAL and DSAJIT_DCP_TO_LOCAL are "
                         "allowed",
                         (int)a->direction);
    call_begin(call, context, FAMILY_DCP_IDS, device);
    variant_set(&call->variant, DCP_IDS_DIRECTION, (int)a->direction);
    const dcp_ids_arguments kernarg = {
        .ids = tensor_data(a->ids),
        .out = tensor_data(a->out),
        .ids_stride = tensor_stride(a->ids, 0),
        .out_stride = tensor_stride(a->out, 0),
        .count = (unsigned)a->ids->shape[1],
        .place = dcp_kernel_place(&a->place),
    };
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return set_rows(call, a->ids, DCP_IDS_WORKGROUP_SIZE, error);
}

/* Either scores of the ids, or logits and maybe where their rows start. */
static dsajit_status check_scores(const dsajit_dcp_pack_arguments *a, int device,
                                  dsajit_error *error)
{
    static const struct tensor_rule starts_rule = {1, 1, kDLInt, 32, 0, 4};
    const struct named_tensor starts = {"row_starts", a->row_starts};
    const int64_t *shape = a->ids->shape;
    if (!a->scores == !a->logits)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "scores and logits are both %s; one of them is allowed",
                         a->scores ? "given" : "NULL");
    if (a->scores && a->row_starts)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "row_starts is given, which scores don't have");
    if (a->scores)
        return check_list((struct named_tensor){"scores", a->scores}, kDLFloat, shape[0], shape[1],
                          device, error);
    dsajit_status status = check_list((struct named_tensor){"logits", a->logits}, kDLFloat,
                                      shape[0], ANY_EXTENT, device, error);
    if (status || !a->row_starts || (status = tensor_check(starts, &starts_rule, device, error)) ||
        (status = tensor_check_shape(starts, shape, error)))
        return status;
    return tensor_check_contiguous(starts, error);
}

static dsajit_status check_packed(const dsajit_dcp_pack_arguments *a, int device,
                                  dsajit_error *error)
{
    static const struct tensor_rule rule = {3, 3, kDLFloat, 32, 0, 8};
    const struct named_tensor packed = {"packed", a->packed};
    const int64_t *shape = a->ids->shape;
    dsajit_status status = tensor_check(packed, &rule, device, error);
    if (!status)
        status = tensor_check_shape(packed, (const int64_t[]){shape[0], shape[1], 2}, error);
    return status ? status : tensor_check_contiguous(packed, error);
}

static dsajit_status prepare_pack(const dsajit_context *context, const void *arguments,
                                  struct call *call, dsajit_error *error)
{
    const dsajit_dcp_pack_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status)
        return status;
    const struct named_tensor ids = {"ids", a->ids};
    if ((status = call_find_device(context, ids, &device, error)) ||
        (status = check_first_list(ids, device, error)) ||
        (status = check_scores(a, device, error)) || (status = check_packed(a, device, error)) ||
        (status = dcp_check_place(&a->place, error)))
        return status;
    call_begin(call, context, FAMILY_DCP_PACK, device);
    variant_set(&call->variant, DCP_PACK_SCORES,
                a->scores ? DCP_PACK_SCORES_LIST : DCP_PACK_SCORES_LOGITS);
    const DLTensor *scores = a->scores ? a->scores : a->logits;
    const dcp_pack_arguments kernarg = {
        .ids = tensor_data(a->ids),
        .scores = tensor_data(scores),
        .row_starts = a->row_starts ? tensor_data(a->row_starts) : NULL,
        .packed = tensor_data(a->packed),
        .ids_stride = tensor_stride(a->ids, 0),
        .scores_stride = tensor_stride(scores, 0),
        .count = (unsigned)a->ids->shape[1],
        .place = dcp_kernel_place(&a->place),
    };
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return set_rows(call, a->ids, DCP_PACK_WORKGROUP_SIZE, error);
}

/* Candidates lie as [rows, W * k, 2] or as [W, rows, k, 2]. */
static dsajit_status check_candidates(const dsajit_dcp_topk_arguments *a, int device,
                                      dsajit_error *error)
{
    static const struct tensor_rule rule = {3, 4, kDLFloat, 32, 0, 8};
    const struct named_tensor candidates = {"candidates", a->candidates};
    dsajit_status status = tensor_check(candidates, &rule, device, error);
    if (status)
        return status;
    const int64_t ranks = a->place.ranks, rows = a->global_ids->shape[0];
    const int64_t count = a->global_ids->shape[1];
    const int pairs = a->candidates->ndim - 2;
    const int64_t by_row[] = {rows, ranks * count, 2}, by_rank[] = {ranks, rows, count, 2};
    if ((status = tensor_check_shape(candidates, pairs == 1 ? by_row : by_rank, error)) ||
        (status = tensor_check_rows(candidates, 2, error)))
        return status;
    if (a->candidates->shape[pairs] > 1 && tensor_stride(a->candidates, pairs) != 2)
        return tensor_refuse_stride(candidates, pairs, "2", error);
    return DSAJIT_OK;
}

static dsajit_status check_topk(const dsajit_dcp_topk_arguments *a, int device, dsajit_error *error)
{
    const struct named_tensor global = {"global_ids", a->global_ids};
    const struct named_tensor local = {"local_ids", a->local_ids};
    dsajit_status status = check_first_list(global, device, error);
    if (status || (status = dcp_check_place(&a->place, error)))
        return status;
    if (a->global_ids->shape[1] < 1 || a->global_ids->shape[1] > DSAJIT_INDEX_TOPK_MAX)
        return tensor_refuse_shape(global, 1, "1 to 2048", error);
    if (a->local_ids && (status = check_list(local, kDLInt, a->global_ids->shape[0],
                                             a->global_ids->shape[1], device, error)))
        return status;
    return check_candidates(a, device, error);
}

int dcp_topk_capacity(unsigned candidates)
{
    const struct field *field = &families[FAMILY_DCP_TOPK].fields[DCP_TOPK_CAPACITY];
    size_t choice = 0;
    while (choice < field->count - 1 && (unsigned)field->integers[choice] < candidates)
        choice++;
    return field->integers[choice];
}

static dsajit_status prepare_topk(const dsajit_context *context, const void *arguments,
                                  struct call *call, dsajit_error *error)
{
    const dsajit_dcp_topk_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status ||
        (status = call_find_device(context, (struct named_tensor){"global_ids", a->global_ids},
                                   &device, error)) ||
        (status = check_topk(a, device, error)))
        return status;
    call_begin(call, context, FAMILY_DCP_TOPK, device);
    const unsigned count = (unsigned)a->global_ids->shape[1];
    variant_set(&call->variant, DCP_TOPK_CAPACITY,
                dcp_topk_capacity(count * (unsigned)a->place.ranks));
    const bool by_rank = a->candidates->ndim == 4;
    const dcp_topk_arguments kernarg = {
        .candidates = tensor_data(a->candidates),
        .global_ids = tensor_data(a->global_ids),
        .local_ids = a->local_ids ? tensor_data(a->local_ids) : NULL,
        .row_stride = tensor_stride(a->candidates, by_rank ? 1 : 0) / 2,
        .rank_stride = by_rank ? tensor_stride(a->candidates, 0) / 2 : count,
        .global_stride = tensor_stride(a->global_ids, 0),
        .local_stride = a->local_ids ? tensor_stride(a->local_ids, 0) : 0,
        .count = count,
        .place = dcp_kernel_place(&a->place),
    };
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return set_rows(call, a->global_ids, DCP_TOPK_WORKGROUP_SIZE, error);
}

dsajit_status dsajit_dcp_ids_supported(const dsajit_context *context,
                                       const dsajit_dcp_ids_arguments *arguments,
                                       dsajit_error *error)
{
    return call_supported(context, prepare_ids, arguments, error);
}

dsajit_status dsajit_dcp_ids_variant(const dsajit_context *context,
                                     const dsajit_dcp_ids_arguments *arguments, dsajit_text *text,
                                     dsajit_error *error)
{
    return call_variant(context, prepare_ids, arguments, text, error);
}

dsajit_status dsajit_dcp_ids(dsajit_context *context, const dsajit_dcp_ids_arguments *arguments,
                             void *stream, dsajit_error *error)
{
    return call_enqueue(context, prepare_ids, arguments, stream, error);
}

dsajit_status dsajit_dcp_pack_supported(const dsajit_context *context,
                                        const dsajit_dcp_pack_arguments *arguments,
                                        dsajit_error *error)
{
    return call_supported(context, prepare_pack, arguments, error);
}

dsajit_status dsajit_dcp_pack_variant(const dsajit_context *context,
                                      const dsajit_dcp_pack_arguments *arguments, dsajit_text *text,
                                      dsajit_error *error)
{
    return call_variant(context, prepare_pack, arguments, text, error);
}

dsajit_status dsajit_dcp_pack(dsajit_context *context, const dsajit_dcp_pack_arguments *arguments,
                              void *stream, dsajit_error *error)
{
    return call_enqueue(context, prepare_pack, arguments, stream, error);
}

dsajit_status dsajit_dcp_topk_supported(const dsajit_context *context,
                                        const dsajit_dcp_topk_arguments *arguments,
                                        dsajit_error *error)
{
    return call_supported(context, prepare_topk, arguments, error);
}

dsajit_status dsajit_dcp_topk_variant(const dsajit_context *context,
                                      const dsajit_dcp_topk_arguments *arguments, dsajit_text *text,
                                      dsajit_error *error)
{
    return call_variant(context, prepare_topk, arguments, text, error);
}

dsajit_status dsajit_dcp_topk(dsajit_context *context, const dsajit_dcp_topk_arguments *arguments,
                              void *stream, dsajit_error *error)
{
    return call_enqueue(context, prepare_topk, arguments, stream, error);
}
