#include "dsajit/indexer.h"

#include "runtime/kernel_calls.h"

#include "indexer_query_arguments.h"

#include <math.h>

static dsajit_status check_query(struct named_tensor q, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {3, 3, kDLBfloat, 16, 0, 4};
    static const int64_t shape[] = {ANY_EXTENT, ANY_EXTENT, DSAJIT_INDEX_HEAD_DIM};
    dsajit_status status = tensor_check(q, &rule, device, error);
    if (!status)
        status = tensor_check_shape(q, shape, error);
    return status ? status : tensor_check_rows(q, 2, error);
}

static dsajit_status check_head_weights(const DLTensor *index_v, const DLTensor *q, int device,
                                        dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, kDLBfloat, 16, 0, 2};
    const struct named_tensor named = {"index_v", index_v};
    dsajit_status status = tensor_check(named, &rule, device, error);
    if (!status)
        status = tensor_check_shape(named, q->shape, error);
    return status ? status : tensor_check_rows(named, 1, error);
}

/* [T, H, …], contiguous. */
static dsajit_status check_result(struct named_tensor result, const struct tensor_rule *rule,
                                  const DLTensor *q, int64_t width, int device, dsajit_error *error)
{
    dsajit_status status = tensor_check(result, rule, device, error);
    if (!status)
        status =
            tensor_check_shape(result, (const int64_t[]){q->shape[0], q->shape[1], width}, error);
    return status ? status : tensor_check_contiguous(result, error);
}

static dsajit_status check_results(const dsajit_indexer_query_arguments *a, int device,
                                   dsajit_error *error)
{
    static const struct tensor_rule bytes = {3, 3, ANY_TYPE_CODE, 8, 0, 16};
    static const struct tensor_rule scales = {3, 3, ANY_TYPE_CODE, 8, 0, 4};
    static const struct tensor_rule weights = {2, 2, kDLFloat, 32, 0, 4};
    const bool fp8 = a->format == DSAJIT_INDEXER_FP8;
    dsajit_status status =
        check_result((struct named_tensor){"q_bytes", a->q_bytes}, &bytes, a->index_q,
                     fp8 ? DSAJIT_INDEX_HEAD_DIM : DSAJIT_INDEX_HEAD_DIM / 2, device, error);
    if (!status)
        status = check_result((struct named_tensor){"weights", a->weights}, &weights, a->index_q,
                              ANY_EXTENT, device, error);
    if (status)
        return status;
    if (!fp8)
        return check_result((struct named_tensor){"q_scales", a->q_scales}, &scales, a->index_q,
                            DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE, device, error);
    if (a->q_scales)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "q_scales is given; FP8 folds the scales into weights");
    return DSAJIT_OK;
}

static dsajit_status choose_variant(struct variant *variant,
                                    const dsajit_indexer_query_arguments *a, dsajit_error *error)
{
    const int64_t heads = a->index_q->shape[1];
    if ((unsigned)a->format > DSAJIT_INDEXER_MXFP4)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "format is %d; DSAJIT_INDEXER_FP8 and DSAJIT_INDEXER_MXFP4 are allowed",
                         (int)a->format);
    variant_set(variant, INDEXER_QUERY_FORMAT, (int)a->format);
    if (heads > DSAJIT_INDEX_HEADS_MAX || !variant_set(variant, INDEXER_QUERY_HEADS, (int)heads))
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "index_q.shape[1] is %lld heads; multiples of 4 up to %d are served",
                         (long long)heads, DSAJIT_INDEX_HEADS_MAX);
    const char *refusal = variant_refusal(variant);
    if (refusal)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "index_q.shape[1] is %lld heads; %s",
                         (long long)heads, refusal);
    return DSAJIT_OK;
}

static indexer_query_arguments kernel_arguments(const dsajit_indexer_query_arguments *a)
{
    const double heads = (double)a->index_q->shape[1];
    const bool fp8 = a->format == DSAJIT_INDEXER_FP8;
    return (indexer_query_arguments){
        .q = tensor_data(a->index_q),
        .head_weights = tensor_data(a->index_v),
        .q_bytes = tensor_data(a->q_bytes),
        .q_scales = a->q_scales ? tensor_data(a->q_scales) : NULL,
        .weights = tensor_data(a->weights),
        .q_token_stride = tensor_stride(a->index_q, 0),
        .q_head_stride = tensor_stride(a->index_q, 1),
        .head_weight_stride = tensor_stride(a->index_v, 0),
        .rows = (unsigned)(a->index_q->shape[0] * a->index_q->shape[1]),
        .head_factor = (float)(1 / sqrt(fp8 ? heads : heads * DSAJIT_INDEX_HEAD_DIM)),
        .dot_factor = (float)(1 / sqrt(DSAJIT_INDEX_HEAD_DIM)),
    };
}

dsajit_status indexer_query_prepare(const dsajit_context *context, const void *arguments,
                                    struct call *call, dsajit_error *error)
{
    const dsajit_indexer_query_arguments *a = arguments;
    int device;
    int64_t rows;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status)
        return status;
    const struct named_tensor q = {"index_q", a->index_q};
    if ((status = call_find_device(context, q, &device, error)) ||
        (status = check_query(q, device, error)))
        return status;
    call_begin(call, context, FAMILY_INDEXER_QUERY, device);
    if ((status = choose_variant(&call->variant, a, error)) ||
        (status = check_head_weights(a->index_v, a->index_q, device, error)) ||
        (status = check_results(a, device, error)))
        return status;
    if (__builtin_mul_overflow(a->index_q->shape[0], a->index_q->shape[1], &rows))
        return tensor_refuse_shape(q, 0, "a tensor that fits in memory", error);
    if ((status = call_set_grid(call, rows, INDEXER_QUERY_ROWS_PER_WORKGROUP,
                                INDEXER_QUERY_WORKGROUP_SIZE, "heads of tokens in index_q", error)))
        return status;
    const indexer_query_arguments kernarg = kernel_arguments(a);
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return DSAJIT_OK;
}

dsajit_status dsajit_indexer_query_supported(const dsajit_context *context,
                                             const dsajit_indexer_query_arguments *arguments,
                                             dsajit_error *error)
{
    return call_supported(context, indexer_query_prepare, arguments, error);
}

dsajit_status dsajit_indexer_query_variant(const dsajit_context *context,
                                           const dsajit_indexer_query_arguments *arguments,
                                           dsajit_text *text, dsajit_error *error)
{
    return call_variant(context, indexer_query_prepare, arguments, text, error);
}

dsajit_status dsajit_indexer_query(dsajit_context *context,
                                   const dsajit_indexer_query_arguments *arguments, void *stream,
                                   dsajit_error *error)
{
    return call_enqueue(context, indexer_query_prepare, arguments, stream, error);
}
