#include "dsajit/indexer.h"

#include "runtime/call.h"

#include "dcp_arguments.h"

static dsajit_status check_outputs(struct named_tensor named, const struct tensor_rule *rule,
                                   const int64_t *shape, int device, dsajit_error *error)
{
    dsajit_status status = tensor_check(named, rule, device, error);
    if (!status)
        status = tensor_check_shape(named, shape, error);
    return status ? status : tensor_check_rows(named, 2, error);
}

/* bf16 or f32. */
static dsajit_status check_out(const DLTensor *out, const int64_t *shape, int device,
                               dsajit_error *error)
{
    static const struct tensor_rule bf16 = {3, 3, kDLBfloat, 16, 0, 4};
    static const struct tensor_rule f32 = {3, 3, kDLFloat, 32, 0, 4};
    const bool is_f32 = out && out->dtype.code == kDLFloat;
    return check_outputs((struct named_tensor){"out", out}, is_f32 ? &f32 : &bf16, shape, device,
                         error);
}

static dsajit_status check_lse(const dsajit_dcp_attention_arguments *a, int device,
                               dsajit_error *error)
{
    static const struct tensor_rule parts_rule = {3, 3, kDLFloat, 32, 0, 4};
    static const struct tensor_rule merged_rule = {2, 2, kDLFloat, 32, 0, 4};
    const struct named_tensor lse = {"lse", a->lse}, merged = {"merged_lse", a->merged_lse};
    const int64_t *shape = a->partial->shape;
    dsajit_status status = tensor_check(lse, &parts_rule, device, error);
    if (status || (status = tensor_check_shape(
                       lse, (const int64_t[]){ANY_EXTENT, shape[1], shape[2]}, error)))
        return status;
    if (a->lse->shape[0] < 1 || a->lse->shape[0] > DSAJIT_DCP_RANKS_MAX)
        return tensor_refuse_shape(lse, 0, "1 to 8", error);
    if (!a->merged_lse || (status = tensor_check(merged, &merged_rule, device, error)) ||
        (status = tensor_check_shape(merged, shape + 1, error)))
        return status;
    return tensor_check_contiguous(merged, error);
}

static dsajit_status check(const dsajit_dcp_attention_arguments *a, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {4, 4, kDLBfloat, 16, 0, 4};
    static const int64_t partial_shape[] = {ANY_EXTENT, ANY_EXTENT, ANY_EXTENT,
                                            DSAJIT_KV_LORA_RANK};
    dsajit_status status = check_outputs((struct named_tensor){"partial", a->partial}, &rule,
                                         partial_shape, device, error);
    if (status || (status = check_out(a->out, a->partial->shape + 1, device, error)) ||
        (status = check_lse(a, device, error)))
        return status;
    const int64_t parts = a->partial->shape[0], ranks = a->lse->shape[0];
    if (a->first < 0 || parts > ranks || a->first > ranks - parts)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "first is %d with %lld parts; the LSE are of %lld", a->first,
                         (long long)parts, (long long)ranks);
    return DSAJIT_OK;
}

static dcp_attention_arguments kernel_arguments(const dsajit_dcp_attention_arguments *a)
{
    dcp_attention_arguments kernarg = {
        .partial = tensor_data(a->partial),
        .lse = tensor_data(a->lse),
        .out = tensor_data(a->out),
        .merged_lse = a->merged_lse ? tensor_data(a->merged_lse) : NULL,
        .out_strides = {tensor_stride(a->out, 0), tensor_stride(a->out, 1)},
        .rows = (unsigned)(a->out->shape[0] * a->out->shape[1]),
        .heads = (unsigned)a->out->shape[1],
        .ranks = (unsigned)a->lse->shape[0],
        .first = (unsigned)a->first,
        .parts = (unsigned)a->partial->shape[0],
    };
    for (int i = 0; i < 3; i++) {
        kernarg.partial_strides[i] = tensor_stride(a->partial, i);
        kernarg.lse_strides[i] = tensor_stride(a->lse, i);
    }
    return kernarg;
}

static dsajit_status prepare(const dsajit_context *context, const void *arguments,
                             struct call *call, dsajit_error *error)
{
    const dsajit_dcp_attention_arguments *a = arguments;
    const struct named_tensor partial = {"partial", a ? a->partial : NULL};
    int device;
    int64_t rows;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status || (status = call_find_device(context, partial, &device, error)) ||
        (status = check(a, device, error)))
        return status;
    if (__builtin_mul_overflow(a->out->shape[0], a->out->shape[1], &rows))
        return tensor_refuse_shape(partial, 1, "a tensor that fits in memory", error);
    call_begin(call, context, FAMILY_DCP_ATTENTION, device);
    if ((status = call_set_grid(call, rows, DCP_ATTENTION_ROWS_PER_WORKGROUP,
                                DCP_ATTENTION_WORKGROUP_SIZE, "heads of tokens in partial", error)))
        return status;
    variant_set(&call->variant, DCP_ATTENTION_OUT,
                a->out->dtype.code == kDLFloat ? DCP_ATTENTION_OUT_F32 : DCP_ATTENTION_OUT_BF16);
    const dcp_attention_arguments kernarg = kernel_arguments(a);
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return DSAJIT_OK;
}

dsajit_status dsajit_dcp_attention_supported(const dsajit_context *context,
                                             const dsajit_dcp_attention_arguments *arguments,
                                             dsajit_error *error)
{
    return call_supported(context, prepare, arguments, error);
}

dsajit_status dsajit_dcp_attention_variant(const dsajit_context *context,
                                           const dsajit_dcp_attention_arguments *arguments,
                                           dsajit_text *text, dsajit_error *error)
{
    return call_variant(context, prepare, arguments, text, error);
}

dsajit_status dsajit_dcp_attention(dsajit_context *context,
                                   const dsajit_dcp_attention_arguments *arguments, void *stream,
                                   dsajit_error *error)
{
    return call_enqueue(context, prepare, arguments, stream, error);
}
