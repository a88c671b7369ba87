/* The HIP entry points as this library exports them, and how each of them fails. */
#ifndef EMULATOR_HIP_API_H
#define EMULATOR_HIP_API_H

#include "base/error.h"
#include "base/hip_abi.h"

#define HIP_FUNCTION(result, name, parameters)                                                     \
    __attribute__((visibility("default"))) result name parameters;
#include "base/hip_functions.def"

/* Makes `code` this thread's last error, and the text the reason that dsajit_emulator_error()
   gives. HIP doesn't count hipErrorNotReady as an error, so that one leaves no trace. */
void hip_set_error(hipError_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* hip_set_error, then `code`: a macro, so that a compiler sees that it isn't hipSuccess. */
#define hip_fail(code, ...) (hip_set_error((code), __VA_ARGS__), (code))

/* As hip_fail, for a failure of a part below, whose message it takes. */
hipError_t hip_fail_status(const char *function, const dsajit_error *error);

#endif
