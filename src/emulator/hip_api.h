/* The HIP entry points as this library exports them, and how each of them fails. */
#ifndef EMULATOR_HIP_API_H
#define EMULATOR_HIP_API_H

#include "base/error.h"
#include "base/hip_abi.h"

#define HIP_FUNCTION(result, name, parameters)                                                     \
    __attribute__((visibility("default"))) result name parameters;
#include "base/hip_functions.def"

/* Makes `code` this thread's last error, the text the reason that dsajit_emulator_error() gives,
   and returns `code`. HIP doesn't count hipErrorNotReady as an error, so that one leaves no trace.
 */
hipError_t hip_fail(hipError_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As hip_fail, for a failure of a part below, whose message it takes. */
hipError_t hip_fail_status(const char *function, const dsajit_error *error);

#endif
