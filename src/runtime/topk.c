#include "dsajit/topk.h"
#include "runtime/kernel_calls.h"

#include "topk_arguments.h"

static const struct tensor_rule f32_rows = {2, 2, kDLFloat, 32, 0, 4};
static const struct tensor_rule i32_rows = {2, 2, kDLInt, 32, 0, 4};

static dsajit_status check_rows(struct named_tensor named, const struct tensor_rule *rule,
                                int device, dsajit_error *error)
{
    dsajit_status status = tensor_check(named, rule, device, error);
    return status ? status : tensor_check_rows(named, 1, error);
}

static dsajit_status check_logits(const DLTensor *tensor, int device, dsajit_error *error)
{
    const struct named_tensor logits = {"logits", tensor};
    dsajit_status status = check_rows(logits, &f32_rows, device, error);
    if (!status && tensor->shape[1] > DSAJIT_TOPK_COLUMNS_MAX)
        return tensor_refuse_shape(logits, 1, "at most 2^22", error);
    return status;
}

static dsajit_status check_context_lens(const DLTensor *tensor, int64_t rows, int device,
                                        dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 2, kDLInt, 32, 0, 4};
    const struct named_tensor lens = {"context_lens", tensor};
    dsajit_status status = tensor_check(lens, &rule, device, error);
    if (status || (status = tensor_check_contiguous(lens, error)))
        return status;
    const int64_t requests = tensor->shape[0];
    if (requests == 0 ? rows != 0 : rows % requests != 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "logits has %lld rows; the %lld requests of context_lens cannot have "
                         "equally many",
                         (long long)rows, (long long)requests);
    return tensor_check_shape(lens, (int64_t[]){requests, requests ? rows / requests : 0}, error);
}

static dsajit_status check_windows(const dsajit_topk_arguments *a, int device, dsajit_error *error)
{
    const int64_t rows = a->logits->shape[0];
    if (!a->ends == !a->context_lens)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s of ends and context_lens are given; one of them is needed",
                         a->ends ? "both" : "none");
    dsajit_status status = DSAJIT_OK;
    if (a->starts)
        status = tensor_check_list((struct named_tensor){"starts", a->starts}, rows, device, error);
    if (status)
        return status;
    return a->ends ? tensor_check_list((struct named_tensor){"ends", a->ends}, rows, device, error)
                   : check_context_lens(a->context_lens, rows, device, error);
}

static dsajit_status check_results(const dsajit_topk_arguments *a, int device, dsajit_error *error)
{
    const struct named_tensor ids = {"ids", a->ids}, scores = {"scores", a->scores};
    dsajit_status status = check_rows(ids, &i32_rows, device, error);
    if (status)
        return status;
    if (a->ids->shape[1] < 1 || a->ids->shape[1] > DSAJIT_INDEX_TOPK_MAX)
        return tensor_refuse_shape(ids, 1, "1 to 2048", error);
    status = tensor_check_shape(ids, (const int64_t[]){a->logits->shape[0], ANY_EXTENT}, error);
    if (status || !a->scores)
        return status;
    status = check_rows(scores, &f32_rows, device, error);
    return status ? status : tensor_check_shape(scores, a->ids->shape, error);
}

static topk_arguments kernel_arguments(const dsajit_topk_arguments *a)
{
    const DLTensor *ends = a->ends ? a->ends : a->context_lens;
    const int64_t rows = a->logits->shape[0];
    const bool end_for_each = rows == 0 || ends->ndim == 2;
    return (topk_arguments){
        .logits = tensor_data(a->logits),
        .starts = a->starts ? tensor_data(a->starts) : NULL,
        .ends = tensor_data(ends),
        .ids = tensor_data(a->ids),
        .scores = a->scores ? tensor_data(a->scores) : NULL,
        .logits_stride = tensor_stride(a->logits, 0),
        .ids_stride = tensor_stride(a->ids, 0),
        .scores_stride = a->scores ? tensor_stride(a->scores, 0) : 0,
        .rows = (int)rows,
        .columns = (int)a->logits->shape[1],
        .k = (int)a->ids->shape[1],
        .rows_per_end = end_for_each ? 1 : (int)(rows / ends->shape[0]),
    };
}

dsajit_status topk_prepare(const dsajit_context *context, const void *given, struct call *call,
                           dsajit_error *error)
{
    const dsajit_topk_arguments *a = given;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status ||
        (status = call_find_device(context, (struct named_tensor){"logits", a->logits}, &device,
                                   error)) ||
        (status = check_logits(a->logits, device, error)))
        return status;
    call_begin(call, context, FAMILY_TOPK, device);
    if ((status = call_set_grid(call, a->logits->shape[0], 1, TOPK_WORKGROUP_SIZE,
                                "rows in logits.shape[0]", error)) ||
        (status = check_windows(a, device, error)) || (status = check_results(a, device, error)))
        return status;
    variant_set(&call->variant, TOPK_STABLE, a->stable);
    variant_set(&call->variant, TOPK_SCORES, a->scores != NULL);
    const topk_arguments arguments = kernel_arguments(a);
    call_set_arguments(call, &arguments, sizeof arguments);
    return DSAJIT_OK;
}

dsajit_status dsajit_topk_supported(const dsajit_context *context,
                                    const dsajit_topk_arguments *arguments, dsajit_error *error)
{
    return call_supported(context, topk_prepare, arguments, error);
}

dsajit_status dsajit_topk_variant(const dsajit_context *context,
                                  const dsajit_topk_arguments *arguments, dsajit_text *variant,
                                  dsajit_error *error)
{
    return call_variant(context, topk_prepare, arguments, variant, error);
}

dsajit_status dsajit_topk(dsajit_context *context, const dsajit_topk_arguments *arguments,
                          void *stream, dsajit_error *error)
{
    return call_enqueue(context, topk_prepare, arguments, stream, error);
}
