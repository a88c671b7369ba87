#include "dsajit/topk.h"
#include "runtime/kernel_calls.h"
#include "runtime/reciprocal.h"

#include "index_lists_arguments.h"

static const struct tensor_rule i32_rows = {2, 2, kDLInt, 32, 0, 4};

/* Of the grid: at least one, which writes kv_indptr[0]. */
static int64_t count_workgroups(int64_t rows)
{
    return rows > 1 ? (rows - 1) / INDEX_LISTS_ROWS + 1 : 1;
}

size_t dsajit_index_lists_workspace_size(int64_t rows)
{
    const int64_t workgroups = count_workgroups(rows);
    return workgroups > 1 ? (size_t)workgroups * sizeof(int32_t) : 0;
}

static dsajit_status check_ids(const DLTensor *tensor, int device, dsajit_error *error)
{
    const struct named_tensor ids = {"ids", tensor};
    dsajit_status status = tensor_check(ids, &i32_rows, device, error);
    if (status)
        return status;
    if (tensor->shape[1] < 1 || tensor->shape[1] > DSAJIT_INDEX_TOPK_MAX)
        return tensor_refuse_shape(ids, 1, "1 to 2048", error);
    /* kv_indptr counts in 32 bits. */
    if (tensor->shape[0] > INT32_MAX / tensor->shape[1])
        return tensor_refuse_shape(ids, 0, "fewer than 2^31 ids in all", error);
    return tensor_check_rows(ids, 1, error);
}

static dsajit_status check_table(const DLTensor *tensor, int device, dsajit_error *error)
{
    const struct named_tensor table = {"block_table", tensor};
    dsajit_status status = tensor_check(table, &i32_rows, device, error);
    if (status)
        return status;
    for (int i = 0; i < 2; i++)
        if (tensor->shape[i] > INT32_MAX)
            return tensor_refuse_shape(table, i, "less than 2^31", error);
    return tensor_check_rows(table, 1, error);
}

static dsajit_status check_indices(const dsajit_index_lists_arguments *a, int device,
                                   dsajit_error *error)
{
    const struct named_tensor indices = {"kv_indices", a->kv_indices};
    dsajit_status status = tensor_check_integers(indices, device, error);
    if (status)
        return status;
    const int64_t entries = a->ids->shape[0] * a->ids->shape[1];
    if (a->kv_indices->shape[0] < entries)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kv_indices has room for %lld entries; the ids may make %lld",
                         (long long)a->kv_indices->shape[0], (long long)entries);
    return tensor_check_contiguous(indices, error);
}

static dsajit_status check_workspace(const dsajit_index_lists_arguments *a, int device,
                                     dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, ANY_TYPE_CODE, 8, 0, 4};
    const struct named_tensor workspace = {"workspace", a->workspace};
    const size_t size = dsajit_index_lists_workspace_size(a->ids->shape[0]);
    if (size == 0)
        return DSAJIT_OK;
    dsajit_status status = tensor_check(workspace, &rule, device, error);
    if (status)
        return status;
    if ((uint64_t)a->workspace->shape[0] < size)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "workspace has %lld bytes; %lld rows need %zu",
                         (long long)a->workspace->shape[0], (long long)a->ids->shape[0], size);
    return tensor_check_contiguous(workspace, error);
}

static int64_t rows_per_page(const dsajit_index_lists_arguments *a)
{
    return a->rows_per_page ? a->rows_per_page : a->page_tokens;
}

/* Slots are numbered from 0 to pages * rows_per_page - 1. */
static dsajit_status check_pages(const dsajit_index_lists_arguments *a, dsajit_error *error)
{
    if (a->pages < 0 || a->pages > INT32_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "pages is %lld; 0 to 2^31 - 1 are allowed", (long long)a->pages);
    if (a->page_tokens < 1 || a->page_tokens > INT32_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "page_tokens is %lld; 1 to 2^31 - 1 are allowed",
                         (long long)a->page_tokens);
    if (rows_per_page(a) < a->page_tokens || rows_per_page(a) > INT32_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "rows_per_page is %lld; 0, or page_tokens (%lld) to 2^31 - 1 are allowed",
                         (long long)a->rows_per_page, (long long)a->page_tokens);
    if (a->kv_indices->dtype.bits == 32 && a->pages * rows_per_page(a) - 1 > INT32_MAX)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "kv_indices is i32, and %lld pages of %lld slots need i64",
                         (long long)a->pages, (long long)rows_per_page(a));
    return DSAJIT_OK;
}

/* Everything but ids. */
static dsajit_status check_others(const dsajit_index_lists_arguments *a, int device,
                                  dsajit_error *error)
{
    const struct named_tensor requests = {"row_requests", a->row_requests};
    const struct named_tensor indptr = {"kv_indptr", a->kv_indptr};
    const int64_t rows = a->ids->shape[0], bounds = rows + 1;
    dsajit_status status;
    if ((status = tensor_check_list(requests, rows, device, error)) ||
        (status = check_table(a->block_table, device, error)) ||
        (status = tensor_check_list(indptr, bounds, device, error)) ||
        (status = check_indices(a, device, error)) || (status = check_workspace(a, device, error)))
        return status;
    return check_pages(a, error);
}

static index_lists_arguments kernel_arguments(const dsajit_index_lists_arguments *a, int stage)
{
    const struct reciprocal reciprocal = reciprocal_of((uint32_t)a->page_tokens);
    return (index_lists_arguments){
        .ids = tensor_data(a->ids),
        .row_requests = tensor_data(a->row_requests),
        .block_table = tensor_data(a->block_table),
        .indptr = tensor_data(a->kv_indptr),
        .indices = tensor_data(a->kv_indices),
        .totals = a->workspace ? tensor_data(a->workspace) : NULL,
        .ids_stride = tensor_stride(a->ids, 0),
        .block_table_stride = tensor_stride(a->block_table, 0),
        .rows = (int)a->ids->shape[0],
        .k = (int)a->ids->shape[1],
        .requests = (int)a->block_table->shape[0],
        .blocks = (int)a->block_table->shape[1],
        .pages = (int)a->pages,
        .rows_per_page = (int)rows_per_page(a),
        .page_tokens = (int)a->page_tokens,
        .page_shift = reciprocal.shift,
        .page_reciprocal = reciprocal.multiplier,
        .stage = stage,
    };
}

static dsajit_status prepare_stage(const dsajit_context *context,
                                   const dsajit_index_lists_arguments *a, int stage,
                                   struct call *call, dsajit_error *error)
{
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status ||
        (status =
             call_find_device(context, (struct named_tensor){"ids", a->ids}, &device, error)) ||
        (status = check_ids(a->ids, device, error)))
        return status;
    call_begin(call, context, FAMILY_INDEX_LISTS, device);
    if ((status = call_set_grid(call, count_workgroups(a->ids->shape[0]), 1,
                                INDEX_LISTS_WORKGROUP_SIZE, "groups of rows", error)) ||
        (status = check_others(a, device, error)))
        return status;
    variant_set(&call->variant, INDEX_LISTS_INDEX,
                a->kv_indices->dtype.bits == 64 ? INDEX_LISTS_INDEX_I64 : INDEX_LISTS_INDEX_I32);
    const index_lists_arguments arguments = kernel_arguments(a, stage);
    call_set_arguments(call, &arguments, sizeof arguments);
    return DSAJIT_OK;
}

/* Tells each workgroup of the second stage where it begins; one alone begins at 0. */
dsajit_status index_lists_prepare_counting(const dsajit_context *context, const void *arguments,
                                           struct call *call, dsajit_error *error)
{
    dsajit_status status = prepare_stage(context, arguments, INDEX_LISTS_COUNT, call, error);
    if (!status && call->workgroups == 1)
        call->workgroups = 0;
    return status;
}

dsajit_status index_lists_prepare_writing(const dsajit_context *context, const void *arguments,
                                          struct call *call, dsajit_error *error)
{
    return prepare_stage(context, arguments, INDEX_LISTS_WRITE, call, error);
}

dsajit_status dsajit_index_lists_supported(const dsajit_context *context,
                                           const dsajit_index_lists_arguments *arguments,
                                           dsajit_error *error)
{
    return call_supported(context, index_lists_prepare_writing, arguments, error);
}

dsajit_status dsajit_index_lists_variant(const dsajit_context *context,
                                         const dsajit_index_lists_arguments *arguments,
                                         dsajit_text *variant, dsajit_error *error)
{
    return call_variant(context, index_lists_prepare_writing, arguments, variant, error);
}

dsajit_status dsajit_index_lists(dsajit_context *context,
                                 const dsajit_index_lists_arguments *arguments, void *stream,
                                 dsajit_error *error)
{
    dsajit_status status =
        call_enqueue(context, index_lists_prepare_counting, arguments, stream, error);
    return status ? status
                  : call_enqueue(context, index_lists_prepare_writing, arguments, stream, error);
}
