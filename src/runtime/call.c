#include "runtime/call.h"

#include "runtime/text.h"

#include <string.h>

dsajit_status call_check_struct(const dsajit_context *context, const void *arguments, size_t size,
                                dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!arguments)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "arguments is NULL");
    size_t struct_size;
    memcpy(&struct_size, arguments, sizeof struct_size);
    if (struct_size != size)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "arguments.struct_size is %zu, not %zu", struct_size, size);
    return DSAJIT_OK;
}

dsajit_status call_find_device(const dsajit_context *context, struct named_tensor first,
                               int *device, dsajit_error *error)
{
    if (!first.tensor)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", first.name);
    *device = first.tensor->device.device_id;
    if (first.tensor->device.device_type != kDLROCM)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "%s is on DLPack device (%d, %d); a ROCm device (%d) is served",
                         first.name, (int)first.tensor->device.device_type, *device, (int)kDLROCM);
    if (*device < 0 || *device >= context->hip.device_count)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s is on ROCm device %d; this context has %d", first.name, *device,
                         context->hip.device_count);
    if (context->hip.devices[*device].architecture < 0)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "device %d is %s; gfx950 is served",
                         *device, context->hip.devices[*device].target);
    return DSAJIT_OK;
}

void call_begin(struct call *call, const dsajit_context *context, enum family_index family,
                int device)
{
    *call = (struct call){
        .variant = {.family = (uint8_t)family,
                    .architecture = (uint8_t)context->hip.devices[device].architecture},
        .device = device,
    };
}

void call_set_arguments(struct call *call, const void *arguments, size_t size)
{
    memcpy(call->arguments, arguments, size);
    call->arguments_size = size;
}

dsajit_status call_set_grid(struct call *call, int64_t items, int64_t per_workgroup,
                            unsigned workgroup_size, const char *what, dsajit_error *error)
{
    const int64_t workgroups = items / per_workgroup + (items % per_workgroup != 0);
    const int64_t workgroups_max = UINT32_MAX / workgroup_size;
    if (workgroups > workgroups_max)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "%lld %s; up to %lld are served in one call", (long long)items, what,
                         (long long)(workgroups_max * per_workgroup));
    call->workgroups = (unsigned)workgroups;
    call->workgroup_size = workgroup_size;
    return DSAJIT_OK;
}

dsajit_status call_supported(const dsajit_context *context, call_prepare *prepare,
                             const void *arguments, dsajit_error *error)
{
    struct call call;
    return prepare(context, arguments, &call, error);
}

dsajit_status call_variant(const dsajit_context *context, call_prepare *prepare,
                           const void *arguments, dsajit_text *text, dsajit_error *error)
{
    struct call call;
    dsajit_status status = prepare(context, arguments, &call, error);
    if (status)
        return status;
    if (!text)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "variant is NULL");
    struct bytes name = {0};
    variant_format(&call.variant, &name);
    return text_take(&name, text, error);
}

dsajit_status call_launch(dsajit_context *context, const struct call *call, hipStream_t stream,
                          dsajit_error *error)
{
    const struct launch launch = {
        .device = call->device,
        .variant = &call->variant,
        .grid = {call->workgroups, 1, 1},
        .workgroup = call->workgroup_size,
        .arguments = call->arguments,
        .arguments_size = call->arguments_size,
    };
    return launch_kernel(context, &launch, stream, error);
}

dsajit_status call_enqueue(dsajit_context *context, call_prepare *prepare, const void *arguments,
                           hipStream_t stream, dsajit_error *error)
{
    struct call call;
    dsajit_status status = prepare(context, arguments, &call, error);
    return status ? status : call_launch(context, &call, stream, error);
}
