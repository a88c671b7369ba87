#include "runtime/kernel_calls.h"

#include "sparse_mla_arguments.h"

#include <math.h>

static const double log2_e = 1.4426950408889634;

enum { query_width = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM };
/* The reader's own limit: the indices' byte length fits a signed 32-bit buffer size. */
static const int64_t indices_max = (1ll << 29) - 1;

/* Arguments of sparse_mla_fwd that no kernel here serves. */
static dsajit_status check_absent(const dsajit_sparse_mla_arguments *a, dsajit_error *error)
{
    const struct named_tensor absent[] = {
        {"kv_scale", a->kv_scale},
        {"q_scale", a->q_scale},
        {"attn_sink", a->attn_sink},
        {"extra_kv", a->extra_kv},
        {"extra_indptr", a->extra_indptr},
        {"extra_indices", a->extra_indices},
        {"extra_kv_scale", a->extra_kv_scale},
        {"inv_rope_positions", a->inv_rope_positions},
        {"inv_rope_cos_sin_cache", a->inv_rope_cos_sin_cache},
        {"out_mxfp8", a->out_mxfp8},
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (absent[i].tensor)
            return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s is given; only NULL is served",
                             absent[i].name);
    if (a->kv_lora_rank != 0 && a->kv_lora_rank != DSAJIT_KV_LORA_RANK)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "kv_lora_rank is %d; %d is served",
                         a->kv_lora_rank, DSAJIT_KV_LORA_RANK);
    if (a->qk_rope_head_dim != 0 && a->qk_rope_head_dim != DSAJIT_QK_ROPE_HEAD_DIM)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "qk_rope_head_dim is %d; %d is served",
                         a->qk_rope_head_dim, DSAJIT_QK_ROPE_HEAD_DIM);
    if (a->kv_splits != 0)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "kv_splits is %d; only 0 is served",
                         a->kv_splits);
    if (a->skip_reduce)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "skip_reduce is set; it is not served");
    if (a->dot_precision != DSAJIT_DOT_BF16)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "dot_precision is %d; only DSAJIT_DOT_BF16 is served",
                         (int)a->dot_precision);
    if (a->scale != DSAJIT_SCALE_POW2 && a->scale != DSAJIT_SCALE_ANY)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "scale is %d; DSAJIT_SCALE_POW2 and DSAJIT_SCALE_ANY are allowed",
                         (int)a->scale);
    if (!isfinite(a->softmax_scale) || !isfinite((float)(a->softmax_scale * log2_e)))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "softmax_scale is %g; a number that f32 holds is allowed",
                         a->softmax_scale);
    return DSAJIT_OK;
}

/* q and out: rows of bf16, read and written in pairs. */
static dsajit_status check_rows(struct named_tensor named, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {3, 3, kDLBfloat, 16, 0, 4};
    dsajit_status status = tensor_check(named, &rule, device, error);
    return status ? status : tensor_check_rows(named, 2, error);
}

static dsajit_status check_query(const DLTensor *tensor, int device, dsajit_error *error)
{
    static const int64_t shape[] = {ANY_EXTENT, ANY_EXTENT, query_width};
    const struct named_tensor q = {"q", tensor};
    dsajit_status status = check_rows(q, device, error);
    if (status)
        return status;
    if (tensor->shape[1] < 1 || tensor->shape[1] > DSAJIT_HEADS_MAX)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "q.shape[1] is %lld heads; 1 to %d are served",
                         (long long)tensor->shape[1], DSAJIT_HEADS_MAX);
    return tensor_check_shape(q, shape, error);
}

static dsajit_status check_output(const DLTensor *tensor, const DLTensor *q, int device,
                                  dsajit_error *error)
{
    const struct named_tensor out = {"out", tensor};
    dsajit_status status = check_rows(out, device, error);
    if (status)
        return status;
    if (tensor->shape[2] < DSAJIT_KV_LORA_RANK)
        return tensor_refuse_shape(out, 2, "512 or more", error);
    return tensor_check_shape(out, (const int64_t[]){q->shape[0], q->shape[1], ANY_EXTENT}, error);
}

/* [N, 656], [N, 1, 656], [N, 1, 1, 656] or [blocks, block, 656], all without gaps between the
 * records. */
static dsajit_status check_cache(const DLTensor *tensor, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 4, ANY_TYPE_CODE, 8, 0, 16};
    const struct named_tensor kv = {"kv", tensor};
    dsajit_status status = tensor_check(kv, &rule, device, error);
    if (status)
        return status;
    int last = tensor->ndim - 1;
    if (tensor->shape[last] != DSAJIT_RECORD_BYTES)
        return tensor_refuse_shape(kv, last, "656", error);
    if (tensor->ndim == 4 && (tensor->shape[1] != 1 || tensor->shape[2] != 1))
        return error_set(
            error, DSAJIT_ERROR_UNSUPPORTED,
            "kv is [%lld, %lld, %lld, 656]; of four dimensions [N, 1, 1, 656] is served",
            (long long)tensor->shape[0], (long long)tensor->shape[1], (long long)tensor->shape[2]);
    return tensor_check_contiguous(kv, error);
}

/* kv_indptr and kv_indices. */
static dsajit_status check_indices(struct named_tensor named, int device, dsajit_error *error)
{
    dsajit_status status = tensor_check_integers(named, device, error);
    if (status)
        return status;
    if (named.tensor->shape[0] > 1 && tensor_stride(named.tensor, 0) < 0)
        return tensor_refuse_stride(named, 0, "0 or more", error);
    return DSAJIT_OK;
}

static dsajit_status check_lse(const DLTensor *tensor, const DLTensor *q, int device,
                               dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, kDLFloat, 32, 0, 4};
    const struct named_tensor lse = {"lse", tensor};
    if (!tensor)
        return DSAJIT_OK;
    dsajit_status status = tensor_check(lse, &rule, device, error);
    if (!status)
        status = tensor_check_shape(lse, q->shape, error);
    return status ? status : tensor_check_contiguous(lse, error);
}

/* Everything but q. */
static dsajit_status check_others(const dsajit_sparse_mla_arguments *a, int device,
                                  dsajit_error *error)
{
    const struct named_tensor indptr = {"kv_indptr", a->kv_indptr};
    const struct named_tensor indices = {"kv_indices", a->kv_indices};
    dsajit_status status;
    if ((status = check_cache(a->kv, device, error)) ||
        (status = check_indices(indptr, device, error)) ||
        (status = check_indices(indices, device, error)) ||
        (status = check_output(a->out, a->q, device, error)) ||
        (status = check_lse(a->lse, a->q, device, error)) || (status = check_absent(a, error)))
        return status;
    if (a->kv_indptr->shape[0] != a->q->shape[0] + 1)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kv_indptr has %lld entries; %lld tokens need one more than that",
                         (long long)a->kv_indptr->shape[0], (long long)a->q->shape[0]);
    if (a->kv_indices->shape[0] > indices_max)
        return tensor_refuse_shape(indices, 0, "at most 2^29 - 1", error);
    return DSAJIT_OK;
}

static void choose_variant(struct variant *variant, const dsajit_sparse_mla_arguments *a)
{
    variant_set(variant, SPARSE_MLA_HEADS, (int)a->q->shape[1]);
    variant_set(variant, SPARSE_MLA_HAS_INVALID, a->has_invalid);
    variant_set(variant, SPARSE_MLA_RETURN_LSE, a->lse != NULL);
    variant_set(variant, SPARSE_MLA_INDEX,
                a->kv_indices->dtype.bits == 64 ? SPARSE_MLA_INDEX_I64 : SPARSE_MLA_INDEX_I32);
    variant_set(variant, SPARSE_MLA_SCALE,
                a->scale == DSAJIT_SCALE_ANY ? SPARSE_MLA_SCALE_ANY : SPARSE_MLA_SCALE_POW2);
    variant_set(variant, SPARSE_MLA_MATH, SPARSE_MLA_MATH_BF16);
}

static sparse_mla_arguments kernel_arguments(const dsajit_sparse_mla_arguments *a)
{
    return (sparse_mla_arguments){
        .q = tensor_data(a->q),
        .kv = tensor_data(a->kv),
        .indptr = tensor_data(a->kv_indptr),
        .indices = tensor_data(a->kv_indices),
        .out = tensor_data(a->out),
        .lse = a->lse ? tensor_data(a->lse) : NULL,
        .q_token_stride = tensor_stride(a->q, 0),
        .q_head_stride = tensor_stride(a->q, 1),
        .out_token_stride = tensor_stride(a->out, 0),
        .out_head_stride = tensor_stride(a->out, 1),
        .indptr_stride = tensor_stride(a->kv_indptr, 0),
        .indices_stride = tensor_stride(a->kv_indices, 0),
        .index_count = a->kv_indices->shape[0],
        .scale_log2e = (float)(a->softmax_scale * log2_e),
        .tokens = (int)a->q->shape[0],
        .indptr_is_i64 = a->kv_indptr->dtype.bits == 64,
    };
}

dsajit_status sparse_mla_prepare(const dsajit_context *context, const void *arguments,
                                 struct call *call, dsajit_error *error)
{
    const dsajit_sparse_mla_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status ||
        (status = call_find_device(context, (struct named_tensor){"q", a->q}, &device, error)) ||
        (status = check_query(a->q, device, error)))
        return status;
    call_begin(call, context, FAMILY_SPARSE_MLA, device);
    if ((status = call_set_grid(call, a->q->shape[0], 1, SPARSE_MLA_WORKGROUP_SIZE,
                                "tokens in q.shape[0]", error)) ||
        (status = check_others(a, device, error)))
        return status;
    choose_variant(&call->variant, a);
    const sparse_mla_arguments kernarg = kernel_arguments(a);
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return DSAJIT_OK;
}

dsajit_status dsajit_sparse_mla_supported(const dsajit_context *context,
                                          const dsajit_sparse_mla_arguments *arguments,
                                          dsajit_error *error)
{
    return call_supported(context, sparse_mla_prepare, arguments, error);
}

dsajit_status dsajit_sparse_mla_variant(const dsajit_context *context,
                                        const dsajit_sparse_mla_arguments *arguments,
                                        dsajit_text *text, dsajit_error *error)
{
    return call_variant(context, sparse_mla_prepare, arguments, text, error);
}

dsajit_status dsajit_sparse_mla_forward(dsajit_context *context,
                                        const dsajit_sparse_mla_arguments *arguments, void *stream,
                                        dsajit_error *error)
{
    return call_enqueue(context, sparse_mla_prepare, arguments, stream, error);
}
