#include "emulator/emulator.h"
#include "emulator/hip_api.h"

#include <stdio.h>

static _Thread_local hipError_t last_error = hipSuccess;
static _Thread_local char last_reason[sizeof((dsajit_error *)0)->message];

static const struct error_row {
    hipError_t code;
    const char *name, *text;
} errors[] = {
#define HIP_ERROR(name, value, text) {name, #name, text},
#include "base/hip_constants.def"
};

static const struct error_row *find_error(hipError_t code)
{
    size_t unknown = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == code)
            return &errors[i];
        if (errors[i].code == hipErrorUnknown)
            unknown = i;
    }
    return &errors[unknown];
}

void hip_set_error(hipError_t code, const char *format, ...)
{
    if (code == hipErrorNotReady)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_reason, sizeof last_reason, format, arguments);
    va_end(arguments);
    last_error = code;
}

/* What HIP would have returned for what a part of this library says. */
static hipError_t error_of_status(dsajit_status status)
{
    switch (status) {
    case DSAJIT_ERROR_CORRUPT:
        return hipErrorInvalidImage;
    case DSAJIT_ERROR_UNSUPPORTED:
        return hipErrorNoBinaryForGpu;
    case DSAJIT_ERROR_OUT_OF_MEMORY:
        return hipErrorOutOfMemory;
    case DSAJIT_ERROR_KERNEL_FAULT:
        return hipErrorLaunchFailure;
    case DSAJIT_ERROR_TOOLCHAIN_MISSING:
        return hipErrorSharedObjectInitFailed;
    case DSAJIT_ERROR_TIMEOUT:
        return hipErrorLaunchTimeOut;
    default:
        return hipErrorUnknown;
    }
}

hipError_t hip_fail_status(const char *function, const dsajit_error *error)
{
    hipError_t code = error_of_status(error->status);
    return hip_fail(code, "%s: %s", function, error->message);
}

hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

const char *hipGetErrorName(hipError_t error)
{
    return find_error(error)->name;
}

const char *hipGetErrorString(hipError_t error)
{
    return find_error(error)->text;
}

const char *dsajit_emulator_error(void)
{
    return last_reason;
}
