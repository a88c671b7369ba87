#include "dsajit/indexer.h"

#include "runtime/insertion.h"
#include "runtime/kernel_calls.h"

#include "mla_cache_write_arguments.h"

static dsajit_status check(const dsajit_mla_cache_write_arguments *a, int device,
                           dsajit_error *error)
{
    dsajit_status status = insertion_check_slots(a->slot_mapping, device, error);
    if (status)
        return status;
    const int64_t tokens = a->slot_mapping->shape[0];
    if ((status = insertion_check_rows((struct named_tensor){"kv_c", a->kv_c}, tokens,
                                       DSAJIT_KV_LORA_RANK, device, error)) ||
        (status = insertion_check_rows((struct named_tensor){"k_pe", a->k_pe}, tokens,
                                       DSAJIT_QK_ROPE_HEAD_DIM, device, error)) ||
        (status = insertion_check_cache(a->cache, DSAJIT_RECORD_BYTES, 16, device, error)))
        return status;
    if (a->cache->shape[1] < 1 || a->cache->shape[1] > INT32_MAX)
        return tensor_refuse_shape((struct named_tensor){"cache", a->cache}, 1, "1 to 2^31 - 1",
                                   error);
    return DSAJIT_OK;
}

dsajit_status mla_cache_write_prepare(const dsajit_context *context, const void *arguments,
                                      struct call *call, dsajit_error *error)
{
    const dsajit_mla_cache_write_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(context, a, sizeof *a, error);
    if (status ||
        (status =
             call_find_device(context, (struct named_tensor){"kv_c", a->kv_c}, &device, error)) ||
        (status = check(a, device, error)))
        return status;
    call_begin(call, context, FAMILY_MLA_CACHE_WRITE, device);
    const mla_cache_write_arguments kernarg = {
        .latent = tensor_data(a->kv_c),
        .rope = tensor_data(a->k_pe),
        .slots = tensor_data(a->slot_mapping),
        .cache = tensor_data(a->cache),
        .latent_stride = tensor_stride(a->kv_c, 0),
        .rope_stride = tensor_stride(a->k_pe, 0),
        .page_stride = tensor_stride(a->cache, 0),
        .page_tokens = (unsigned)a->cache->shape[1],
        .tokens = (unsigned)a->slot_mapping->shape[0],
    };
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return call_set_grid(call, tensor_is_empty(a->cache) ? 0 : a->slot_mapping->shape[0],
                         MLA_CACHE_WRITE_TOKENS_PER_WORKGROUP, MLA_CACHE_WRITE_WORKGROUP_SIZE,
                         "tokens in slot_mapping", error);
}

dsajit_status dsajit_mla_cache_write_supported(const dsajit_context *context,
                                               const dsajit_mla_cache_write_arguments *arguments,
                                               dsajit_error *error)
{
    return call_supported(context, mla_cache_write_prepare, arguments, error);
}

dsajit_status dsajit_mla_cache_write_variant(const dsajit_context *context,
                                             const dsajit_mla_cache_write_arguments *arguments,
                                             dsajit_text *text, dsajit_error *error)
{
    return call_variant(context, mla_cache_write_prepare, arguments, text, error);
}

dsajit_status dsajit_mla_cache_write(dsajit_context *context,
                                     const dsajit_mla_cache_write_arguments *arguments,
                                     void *stream, dsajit_error *error)
{
    return call_enqueue(context, mla_cache_write_prepare, arguments, stream, error);
}
