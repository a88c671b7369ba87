#include "runtime/resident.h"

#include "runtime/code.h"

#include <stdatomic.h>
#include <stdlib.h>

struct slot {
    _Atomic(struct resident *) resident; /* NULL until it is loaded, then never changed */
    pthread_mutex_t mutex;               /* held by who loads it */
};

static struct slot *find_slot(const dsajit_context *context, int device,
                              const struct variant *variant)
{
    struct slot *slots = context->slots[(size_t)device * family_count + variant->family];
    return &slots[variant_index(variant)];
}

dsajit_status resident_create(dsajit_context *context, dsajit_error *error)
{
    size_t tables = (size_t)context->hip.device_count * family_count;
    context->slots = calloc(tables ? tables : 1, sizeof *context->slots);
    if (!context->slots)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the kernel table");
    for (size_t i = 0; i < tables; i++) {
        size_t count = variant_count(i % family_count);
        context->slots[i] = calloc(count, sizeof **context->slots);
        if (!context->slots[i])
            return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the kernel table");
        for (size_t j = 0; j < count; j++)
            pthread_mutex_init(&context->slots[i][j].mutex, NULL);
    }
    return DSAJIT_OK;
}

void resident_destroy(dsajit_context *context)
{
    size_t tables = (size_t)context->hip.device_count * family_count;
    for (size_t i = 0; context->slots && i < tables; i++) {
        for (size_t j = 0; context->slots[i] && j < variant_count(i % family_count); j++) {
            struct resident *resident = atomic_load(&context->slots[i][j].resident);
            if (resident)
                context->hip.table.hipModuleUnload(resident->module);
            free(resident);
            pthread_mutex_destroy(&context->slots[i][j].mutex);
        }
        free(context->slots[i]);
    }
    free(context->slots);
    context->slots = NULL;
}

const struct resident *resident_find(const dsajit_context *context, int device,
                                     const struct variant *variant)
{
    return atomic_load_explicit(&find_slot(context, device, variant)->resident,
                                memory_order_acquire);
}

/* NOT_WARM when `stream` is capturing. HIP before 7.14 does not report what is illegal in a
   capture, so the question is asked, not waited for. */
static dsajit_status refuse_capture(const dsajit_context *context, const struct variant *variant,
                                    hipStream_t stream, dsajit_error *error)
{
    hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
    hipError_t result = context->hip.table.hipStreamIsCapturing(stream, &capture);
    if (result != hipSuccess && result != hipErrorStreamCaptureImplicit)
        return hip_check(&context->hip, result, "hipStreamIsCapturing", error);
    if (result == hipSuccess && capture == hipStreamCaptureStatusNone)
        return DSAJIT_OK;
    struct bytes name = {0};
    variant_format(variant, &name);
    error_set(error, DSAJIT_ERROR_NOT_WARM,
              "%s is not resident on this device and the stream is capturing: warm it up before "
              "the capture begins",
              bytes_text(&name));
    bytes_free(&name);
    return DSAJIT_ERROR_NOT_WARM;
}

static dsajit_status load_module(const dsajit_context *context, const struct code *code,
                                 struct resident *resident, hipError_t *result, dsajit_error *error)
{
    const struct hip_table *hip = &context->hip.table;
    *result = hip->hipModuleLoadData(&resident->module, code->image);
    if (*result != hipSuccess)
        return hip_check(&context->hip, *result, "hipModuleLoadData", error);
    *result = hip->hipModuleGetFunction(&resident->function, resident->module, code->symbol);
    if (*result == hipSuccess)
        return DSAJIT_OK;
    hip->hipModuleUnload(resident->module);
    return hip_check(&context->hip, *result, "hipModuleGetFunction", error);
}

/* Loads the code object; one that came from the cache and that the driver refuses is compiled anew,
 * once. */
static dsajit_status load_variant(dsajit_context *context, const struct variant *variant,
                                  struct resident *resident, dsajit_error *error)
{
    struct code code;
    struct code_request request = {.variant = variant};
    dsajit_status status = code_obtain(context, &request, &code, error);
    if (status)
        return status;
    hipError_t result;
    status = load_module(context, &code, resident, &result, error);
    bool unusable = result == hipErrorInvalidImage || result == hipErrorNoBinaryForGpu ||
                    result == hipErrorNotFound;
    if (status && unusable && code.info.origin != DSAJIT_ORIGIN_COMPILED) {
        log_message(&context->log, DSAJIT_LOG_WARNING,
                    "the device refuses a cached kernel, compiling it again: %s", code.entry.path);
        code_free(&code);
        request.recompile = true;
        status = code_obtain(context, &request, &code, error);
        if (!status)
            status = load_module(context, &code, resident, &result, error);
    }
    code_free(&code);
    return status;
}

/* Loading is illegal for a thread while any capture in global mode is open, even one of another
   stream; in relaxed mode it is allowed, and a module is no part of any capture. */
static dsajit_status load_on_device(dsajit_context *context, int device,
                                    const struct variant *variant, struct resident *resident,
                                    dsajit_error *error)
{
    const struct hip_table *hip = &context->hip.table;
    int current;
    dsajit_status status =
        hip_check(&context->hip, hip->hipGetDevice(&current), "hipGetDevice", error);
    if (!status && current != device)
        status = hip_check(&context->hip, hip->hipSetDevice(device), "hipSetDevice", error);
    if (status)
        return status;
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hip->hipThreadExchangeStreamCaptureMode(&mode);
    status = load_variant(context, variant, resident, error);
    hip->hipThreadExchangeStreamCaptureMode(&mode);
    if (current != device)
        hip->hipSetDevice(current);
    return status;
}

dsajit_status resident_get(dsajit_context *context, int device, const struct variant *variant,
                           hipStream_t stream, const struct resident **result, dsajit_error *error)
{
    *result = resident_find(context, device, variant);
    if (*result)
        return DSAJIT_OK;
    dsajit_status status = refuse_capture(context, variant, stream, error);
    if (status)
        return status;
    struct slot *slot = find_slot(context, device, variant);
    pthread_mutex_lock(&slot->mutex);
    *result = atomic_load_explicit(&slot->resident, memory_order_acquire);
    if (!*result) {
        struct resident *resident = calloc(1, sizeof *resident);
        status = resident ? load_on_device(context, device, variant, resident, error)
                          : error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
        if (!status) {
            atomic_store_explicit(&slot->resident, resident, memory_order_release);
            *result = resident;
        } else {
            free(resident);
        }
    }
    pthread_mutex_unlock(&slot->mutex);
    return status;
}
