#include "dsajit/indexer.h"

#include "runtime/insertion.h"
#include "runtime/kernel_calls.h"

#include "indexer_key_arguments.h"

#include <math.h>

/* A parameter of the norm: there when the norm has it, and only then. */
static dsajit_status check_parameter(struct named_tensor parameter, bool wanted, int device,
                                     dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, kDLFloat, 32, 0, 4};
    if (!wanted && parameter.tensor)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s is given, which this norm doesn't have", parameter.name);
    if (!wanted)
        return DSAJIT_OK;
    dsajit_status status = tensor_check(parameter, &rule, device, error);
    if (!status)
        status = tensor_check_shape(parameter, (const int64_t[]){DSAJIT_INDEX_HEAD_DIM}, error);
    return status ? status : tensor_check_contiguous(parameter, error);
}

static dsajit_status check_norm(const dsajit_indexer_key_arguments *a, int device,
                                dsajit_error *error)
{
    if ((unsigned)a->norm > DSAJIT_KEY_NORM_LAYERNORM)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "norm is %d; DSAJIT_KEY_NORM_NONE, _RMSNORM and _LAYERNORM are allowed",
                         (int)a->norm);
    dsajit_status status = check_parameter((struct named_tensor){"norm_weight", a->norm_weight},
                                           a->norm != DSAJIT_KEY_NORM_NONE, device, error);
    if (!status)
        status = check_parameter((struct named_tensor){"norm_bias", a->norm_bias},
                                 a->norm == DSAJIT_KEY_NORM_LAYERNORM, device, error);
    if (!status && !(isfinite((float)a->norm_eps) && a->norm_eps >= 0))
        status = error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                           "norm_eps is %g; 0 or more, in f32, is allowed", a->norm_eps);
    return status;
}

static dsajit_status check_cache(const dsajit_indexer_key_arguments *a, int device,
                                 dsajit_error *error)
{
    if ((unsigned)a->format > DSAJIT_INDEXER_MXFP4)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "format is %d; DSAJIT_INDEXER_FP8 and DSAJIT_INDEXER_MXFP4 are allowed",
                         (int)a->format);
    return insertion_check_cache(a->cache,
                                 a->format == DSAJIT_INDEXER_FP8 ? DSAJIT_INDEX_KEY_BYTES_FP8
                                                                 : DSAJIT_INDEX_KEY_BYTES_MXFP4,
                                 4, device, error);
}

static dsajit_status choose_variant(struct variant *variant, const dsajit_indexer_key_arguments *a,
                                    dsajit_error *error)
{
    const int64_t page_tokens = a->cache->shape[1];
    variant_set(variant, INDEXER_KEY_NORM, (int)a->norm);
    variant_set(variant, INDEXER_KEY_FORMAT, (int)a->format);
    if (page_tokens > DSAJIT_INDEX_PAGE_TOKENS_MAX ||
        !variant_set(variant, INDEXER_KEY_PAGE_TOKENS, (int)page_tokens))
        return tensor_refuse_shape((struct named_tensor){"cache", a->cache}, 1,
                                   "1 or a multiple of 16 up to 256", error);
    return DSAJIT_OK;
}

static indexer_key_arguments kernel_arguments(const dsajit_indexer_key_arguments *a)
{
    return (indexer_key_arguments){
        .keys = tensor_data(a->index_k),
        .slots = tensor_data(a->slot_mapping),
        .cache = tensor_data(a->cache),
        .norm_weight = a->norm_weight ? tensor_data(a->norm_weight) : NULL,
        .norm_bias = a->norm_bias ? tensor_data(a->norm_bias) : NULL,
        .key_stride = tensor_stride(a->index_k, 0),
        .page_stride = tensor_stride(a->cache, 0),
        .tokens = (unsigned)a->slot_mapping->shape[0],
        .norm_eps = (float)a->norm_eps,
    };
}

dsajit_status indexer_key_prepare(const dsajit_context *context, const void *arguments,
                                  struct call *call, dsajit_error *error)
{
    const dsajit_indexer_key_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status)
        return status;
    const struct named_tensor keys = {"index_k", a->index_k};
    if ((status = call_find_device(context, keys, &device, error)) ||
        (status = insertion_check_slots(a->slot_mapping, device, error)) ||
        (status = insertion_check_rows(keys, a->slot_mapping->shape[0], DSAJIT_INDEX_HEAD_DIM,
                                       device, error)) ||
        (status = check_cache(a, device, error)) || (status = check_norm(a, device, error)))
        return status;
    call_begin(call, context, FAMILY_INDEXER_KEY, device);
    if ((status = choose_variant(&call->variant, a, error)))
        return status;
    const indexer_key_arguments kernarg = kernel_arguments(a);
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return call_set_grid(call, tensor_is_empty(a->cache) ? 0 : a->slot_mapping->shape[0],
                         INDEXER_KEY_TOKENS_PER_WORKGROUP, INDEXER_KEY_WORKGROUP_SIZE,
                         "tokens in slot_mapping", error);
}

dsajit_status dsajit_indexer_key_supported(const dsajit_context *context,
                                           const dsajit_indexer_key_arguments *arguments,
                                           dsajit_error *error)
{
    return call_supported(context, indexer_key_prepare, arguments, error);
}

dsajit_status dsajit_indexer_key_variant(const dsajit_context *context,
                                         const dsajit_indexer_key_arguments *arguments,
                                         dsajit_text *text, dsajit_error *error)
{
    return call_variant(context, indexer_key_prepare, arguments, text, error);
}

dsajit_status dsajit_indexer_key(dsajit_context *context,
                                 const dsajit_indexer_key_arguments *arguments, void *stream,
                                 dsajit_error *error)
{
    return call_enqueue(context, indexer_key_prepare, arguments, stream, error);
}
