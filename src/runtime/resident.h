/* Kernels loaded on a device. Each variant of each device has a slot, so that finding a resident
   kernel is one atomic load: no lock, no allocation, no hash. */
#ifndef RUNTIME_RESIDENT_H
#define RUNTIME_RESIDENT_H

#include "codegen/variant.h"
#include "runtime/context.h"

/* A loaded kernel. Lives until the context is closed. */
struct resident {
    hipModule_t module;
    hipFunction_t function;
};

dsajit_status resident_create(dsajit_context *context, dsajit_error *error);
void resident_destroy(dsajit_context *context);

/* NULL when the variant is not loaded on that device. */
const struct resident *resident_find(const dsajit_context *context, int device,
                                     const struct variant *variant);

/* As resident_find, but compiles or finds the code object and loads it where that is still to do.
   On a capturing `stream` that is refused with NOT_WARM before anything else happens. Concurrent
   callers for one variant wait for the first. */
dsajit_status resident_get(dsajit_context *context, int device, const struct variant *variant,
                           hipStream_t stream, const struct resident **resident,
                           dsajit_error *error);

#endif
