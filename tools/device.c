#include "gpu.h"

#include "failure.h"

#include <string.h>

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, LAUNCH_FAILURE = 719 };

dsajit_status gpu_open(const dsajit_context *context, struct gpu *gpu, dsajit_error *error)
{
    const struct {
        const char *name;
        void *member;
        bool optional;
    } functions[] = {
        {"hipMalloc", &gpu->malloc, false},
        {"hipFree", &gpu->free, false},
        {"hipMemcpy", &gpu->memcpy, false},
        {"hipDeviceSynchronize", &gpu->synchronize, false},
        {"hipGetErrorString", &gpu->error_string, false},
        {"dsajit_emulator_fault", &gpu->describe_fault, true},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dsajit_hip_symbol(context, functions[i].name);
        if (!symbol && !functions[i].optional)
            return failure_set(error, DSAJIT_ERROR_NO_DEVICE, "the HIP runtime has no %s",
                               functions[i].name);
        memcpy(functions[i].member, &symbol, sizeof symbol);
    }
    return DSAJIT_OK;
}

static dsajit_status check(const struct gpu *gpu, int result, const char *what, dsajit_error *error)
{
    if (result == 0)
        return DSAJIT_OK;
    const char *fault = gpu->describe_fault ? gpu->describe_fault() : NULL;
    if (result == LAUNCH_FAILURE && fault && *fault)
        return failure_set(error, DSAJIT_ERROR_KERNEL_FAULT, "%s", fault);
    return failure_set(error,
                       result == LAUNCH_FAILURE ? DSAJIT_ERROR_KERNEL_FAULT : DSAJIT_ERROR_DEVICE,
                       "%s: %s", what, gpu->error_string(result));
}

dsajit_status gpu_allocate(const struct gpu *gpu, size_t size, void **pointer, dsajit_error *error)
{
    return check(gpu, gpu->malloc(pointer, size ? size : 1), "hipMalloc", error);
}

dsajit_status gpu_upload(const struct gpu *gpu, void *to, const void *from, size_t size,
                         dsajit_error *error)
{
    return size ? check(gpu, gpu->memcpy(to, from, size, HOST_TO_DEVICE), "hipMemcpy", error)
                : DSAJIT_OK;
}

dsajit_status gpu_download(const struct gpu *gpu, void *to, const void *from, size_t size,
                           dsajit_error *error)
{
    return size ? check(gpu, gpu->memcpy(to, from, size, DEVICE_TO_HOST), "hipMemcpy", error)
                : DSAJIT_OK;
}

void gpu_free(const struct gpu *gpu, void *pointer)
{
    if (pointer)
        gpu->free(pointer);
}

dsajit_status gpu_synchronize(const struct gpu *gpu, dsajit_error *error)
{
    return check(gpu, gpu->synchronize(), "hipDeviceSynchronize", error);
}
