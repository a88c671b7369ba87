#include "runtime/launch.h"
#include "runtime/tensor.h"
#include "runtime/text.h"

#include "sparse_mla_arguments.h"

#include <math.h>

static const double log2_e = 1.4426950408889634;
static const int64_t record_bytes = DSAJIT_RECORD_BYTES;
static const int64_t query_width = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM;

/* HIP counts the threads of a grid dimension in 32 bits. */
static const int64_t tokens_max = UINT32_MAX / SPARSE_MLA_WORKGROUP_SIZE;
/* The reader's own limit: the indices' byte length fits a signed 32-bit buffer size. */
static const int64_t indices_max = (1ll << 29) - 1;

static dsajit_status unsupported_shape(const char *name, int dimension, int64_t had,
                                       const char *wanted, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s.shape[%d] is %lld; %s is served", name,
                     dimension, (long long)had, wanted);
}

static dsajit_status unsupported_stride(const char *name, int dimension, int64_t had,
                                        const char *wanted, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s.strides[%d] is %lld; %s is served", name,
                     dimension, (long long)had, wanted);
}

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
    if (status)
        return status;
    if (tensor_stride(named.tensor, 2) != 1)
        return unsupported_stride(named.name, 2, tensor_stride(named.tensor, 2), "1", error);
    for (int i = 0; i < 2; i++)
        if (tensor_stride(named.tensor, i) % 2)
            return unsupported_stride(named.name, i, tensor_stride(named.tensor, i),
                                      "an even number", error);
    return DSAJIT_OK;
}

static dsajit_status check_query(const DLTensor *q, int device, dsajit_error *error)
{
    dsajit_status status = check_rows((struct named_tensor){"q", q}, device, error);
    if (status)
        return status;
    if (q->shape[0] > tokens_max)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "q.shape[0] is %lld tokens; up to %lld are served in one call",
                         (long long)q->shape[0], (long long)tokens_max);
    if (q->shape[1] < 1 || q->shape[1] > DSAJIT_HEADS_MAX)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "q.shape[1] is %lld heads; 1 to %d are served", (long long)q->shape[1],
                         DSAJIT_HEADS_MAX);
    if (q->shape[2] != query_width)
        return unsupported_shape("q", 2, q->shape[2], "576", error);
    return DSAJIT_OK;
}

static dsajit_status check_output(const DLTensor *out, const DLTensor *q, int device,
                                  dsajit_error *error)
{
    dsajit_status status = check_rows((struct named_tensor){"out", out}, device, error);
    if (status)
        return status;
    for (int i = 0; i < 2; i++)
        if (out->shape[i] != q->shape[i])
            return unsupported_shape("out", i, out->shape[i], "q's extent", error);
    if (out->shape[2] < DSAJIT_KV_LORA_RANK)
        return unsupported_shape("out", 2, out->shape[2], "512 or more", error);
    return DSAJIT_OK;
}

/* [N, 656], [N, 1, 656], [N, 1, 1, 656] or [blocks, block, 656], all without gaps between the
 * records. */
static dsajit_status check_cache(const DLTensor *kv, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 4, ANY_TYPE_CODE, 8, 0, 16};
    dsajit_status status = tensor_check((struct named_tensor){"kv", kv}, &rule, device, error);
    if (status)
        return status;
    int last = kv->ndim - 1;
    if (kv->shape[last] != record_bytes)
        return unsupported_shape("kv", last, kv->shape[last], "656", error);
    if (tensor_stride(kv, last) != 1)
        return unsupported_stride("kv", last, tensor_stride(kv, last), "1", error);
    if (kv->ndim == 4 && (kv->shape[1] != 1 || kv->shape[2] != 1))
        return error_set(
            error, DSAJIT_ERROR_UNSUPPORTED,
            "kv is [%lld, %lld, %lld, 656]; of four dimensions [N, 1, 1, 656] is served",
            (long long)kv->shape[0], (long long)kv->shape[1], (long long)kv->shape[2]);
    if (kv->ndim == 3 && kv->shape[1] != 1) {
        if (tensor_stride(kv, 1) != record_bytes)
            return unsupported_stride("kv", 1, tensor_stride(kv, 1), "656", error);
        int64_t page;
        if (__builtin_mul_overflow(kv->shape[1], record_bytes, &page) ||
            tensor_stride(kv, 0) != page)
            return unsupported_stride("kv", 0, tensor_stride(kv, 0),
                                      "656 * shape[1] (pages without padding)", error);
    } else if (kv->shape[0] > 1 && tensor_stride(kv, 0) != record_bytes) {
        return unsupported_stride("kv", 0, tensor_stride(kv, 0), "656", error);
    }
    return DSAJIT_OK;
}

/* kv_indptr and kv_indices. */
static dsajit_status check_indices(struct named_tensor named, int device, dsajit_error *error)
{
    struct tensor_rule rule = {1, 1, kDLInt, 32, 64, 1};
    if (named.tensor)
        rule.alignment = named.tensor->dtype.bits == 64 ? 8 : 4;
    dsajit_status status = tensor_check(named, &rule, device, error);
    if (status)
        return status;
    int64_t stride = tensor_stride(named.tensor, 0);
    if (named.tensor->shape[0] > 1 && stride < 0)
        return unsupported_stride(named.name, 0, stride, "0 or more", error);
    return DSAJIT_OK;
}

static dsajit_status check_lse(const DLTensor *lse, const DLTensor *q, int device,
                               dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, kDLFloat, 32, 0, 4};
    if (!lse)
        return DSAJIT_OK;
    dsajit_status status = tensor_check((struct named_tensor){"lse", lse}, &rule, device, error);
    if (status)
        return status;
    for (int i = 0; i < 2; i++)
        if (lse->shape[i] != q->shape[i])
            return unsupported_shape("lse", i, lse->shape[i], "q's extent", error);
    if (lse->shape[1] > 1 && tensor_stride(lse, 1) != 1)
        return unsupported_stride("lse", 1, tensor_stride(lse, 1), "1", error);
    if (lse->shape[0] > 1 && tensor_stride(lse, 0) != lse->shape[1])
        return unsupported_stride("lse", 0, tensor_stride(lse, 0), "shape[1]", error);
    return DSAJIT_OK;
}

/* Every rule of the call. On success `*device` is the tensors' device. */
static dsajit_status check(const dsajit_context *context, const dsajit_sparse_mla_arguments *a,
                           int *device, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!a)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "arguments is NULL");
    if (a->struct_size != sizeof *a)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "arguments.struct_size is %zu, not %zu", a->struct_size, sizeof *a);
    if (!a->q)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "q is NULL");
    *device = a->q->device.device_id;
    if (a->q->device.device_type == kDLROCM &&
        (*device < 0 || *device >= context->hip.device_count))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "q is on ROCm device %d; this context has %d", *device,
                         context->hip.device_count);
    if ((status = check_query(a->q, *device, error)) ||
        (status = check_cache(a->kv, *device, error)) ||
        (status =
             check_indices((struct named_tensor){"kv_indptr", a->kv_indptr}, *device, error)) ||
        (status =
             check_indices((struct named_tensor){"kv_indices", a->kv_indices}, *device, error)) ||
        (status = check_output(a->out, a->q, *device, error)) ||
        (status = check_lse(a->lse, a->q, *device, error)) || (status = check_absent(a, error)))
        return status;
    if (a->kv_indptr->shape[0] != a->q->shape[0] + 1)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "kv_indptr has %lld entries; %lld tokens need one more than that",
                         (long long)a->kv_indptr->shape[0], (long long)a->q->shape[0]);
    if (a->kv_indices->shape[0] > indices_max)
        return unsupported_shape("kv_indices", 0, a->kv_indices->shape[0], "at most 2^29 - 1",
                                 error);
    if (context->hip.devices[*device].architecture < 0)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "device %d is %s; gfx950 is served",
                         *device, context->hip.devices[*device].target);
    return DSAJIT_OK;
}

/* Only for arguments that passed check(). */
static struct variant choose_variant(const dsajit_context *context,
                                     const dsajit_sparse_mla_arguments *a, int device)
{
    struct variant variant = {
        .family = FAMILY_SPARSE_MLA,
        .architecture = (uint8_t)context->hip.devices[device].architecture,
    };
    variant_set(&variant, SPARSE_MLA_HEADS, (int)a->q->shape[1]);
    variant_set(&variant, SPARSE_MLA_HAS_INVALID, a->has_invalid);
    variant_set(&variant, SPARSE_MLA_RETURN_LSE, a->lse != NULL);
    variant_set(&variant, SPARSE_MLA_INDEX,
                a->kv_indices->dtype.bits == 64 ? SPARSE_MLA_INDEX_I64 : SPARSE_MLA_INDEX_I32);
    variant_set(&variant, SPARSE_MLA_SCALE,
                a->scale == DSAJIT_SCALE_ANY ? SPARSE_MLA_SCALE_ANY : SPARSE_MLA_SCALE_POW2);
    variant_set(&variant, SPARSE_MLA_MATH, SPARSE_MLA_MATH_BF16);
    return variant;
}

dsajit_status dsajit_sparse_mla_supported(const dsajit_context *context,
                                          const dsajit_sparse_mla_arguments *arguments,
                                          dsajit_error *error)
{
    int device;
    return check(context, arguments, &device, error);
}

dsajit_status dsajit_sparse_mla_variant(const dsajit_context *context,
                                        const dsajit_sparse_mla_arguments *arguments,
                                        dsajit_text *text, dsajit_error *error)
{
    int device;
    dsajit_status status = check(context, arguments, &device, error);
    if (status)
        return status;
    if (!text)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "variant is NULL");
    struct variant variant = choose_variant(context, arguments, device);
    struct bytes name = {0};
    variant_format(&variant, &name);
    return text_take(&name, text, error);
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

dsajit_status dsajit_sparse_mla_forward(dsajit_context *context,
                                        const dsajit_sparse_mla_arguments *arguments, void *stream,
                                        dsajit_error *error)
{
    int device;
    dsajit_status status = check(context, arguments, &device, error);
    if (status)
        return status;
    const struct variant variant = choose_variant(context, arguments, device);
    const sparse_mla_arguments kernarg = kernel_arguments(arguments);
    const struct launch launch = {
        .device = device,
        .variant = &variant,
        .grid = {(unsigned)kernarg.tokens, 1, 1},
        .workgroup = SPARSE_MLA_WORKGROUP_SIZE,
        .arguments = &kernarg,
        .arguments_size = sizeof kernarg,
    };
    return launch_kernel(context, &launch, stream, error);
}
