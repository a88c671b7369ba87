#include "device.h"

#include "failure.h"

#include <string.h>

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, LAUNCH_FAILURE = 719 };

dsajit_status device_open(const dsajit_context *context, struct device *device, dsajit_error *error)
{
    const struct {
        const char *name;
        void *member;
        bool optional;
    } functions[] = {
        {"hipMalloc", &device->malloc, false},
        {"hipFree", &device->free, false},
        {"hipMemcpy", &device->memcpy, false},
        {"hipDeviceSynchronize", &device->synchronize, false},
        {"hipGetErrorString", &device->error_string, false},
        {"dsajit_emulator_fault", &device->describe_fault, true},
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

static dsajit_status check(const struct device *device, int result, const char *what,
                           dsajit_error *error)
{
    if (result == 0)
        return DSAJIT_OK;
    const char *fault = device->describe_fault ? device->describe_fault() : NULL;
    if (result == LAUNCH_FAILURE && fault && *fault)
        return failure_set(error, DSAJIT_ERROR_KERNEL_FAULT, "%s", fault);
    return failure_set(error,
                       result == LAUNCH_FAILURE ? DSAJIT_ERROR_KERNEL_FAULT : DSAJIT_ERROR_DEVICE,
                       "%s: %s", what, device->error_string(result));
}

dsajit_status device_allocate(const struct device *device, size_t size, void **pointer,
                              dsajit_error *error)
{
    return check(device, device->malloc(pointer, size ? size : 1), "hipMalloc", error);
}

dsajit_status device_upload(const struct device *device, void *to, const void *from, size_t size,
                            dsajit_error *error)
{
    return size ? check(device, device->memcpy(to, from, size, HOST_TO_DEVICE), "hipMemcpy", error)
                : DSAJIT_OK;
}

dsajit_status device_download(const struct device *device, void *to, const void *from, size_t size,
                              dsajit_error *error)
{
    return size ? check(device, device->memcpy(to, from, size, DEVICE_TO_HOST), "hipMemcpy", error)
                : DSAJIT_OK;
}

void device_free(const struct device *device, void *pointer)
{
    if (pointer)
        device->free(pointer);
}

dsajit_status device_synchronize(const struct device *device, dsajit_error *error)
{
    return check(device, device->synchronize(), "hipDeviceSynchronize", error);
}
