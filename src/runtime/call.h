/* What the calls of the public API that launch one kernel have in common: their first checks, and
   the launch that a checked call becomes. */
#ifndef RUNTIME_CALL_H
#define RUNTIME_CALL_H

#include "runtime/launch.h"
#include "runtime/tensor.h"

/* A checked call. */
struct call {
    struct variant variant;
    int device;
    unsigned workgroups; /* 0: nothing to do */
    unsigned workgroup_size;
    size_t arguments_size;
    _Alignas(16) unsigned char arguments[256]; /* the kernel's struct, from templates/ */
};

/* The context, and the caller's struct, which starts with a size_t of value `size`. */
dsajit_status call_check_struct(const dsajit_context *context, const void *arguments, size_t size,
                                dsajit_error *error);

/* Finds the device that `first`, the call's first tensor, is on. UNSUPPORTED when there are no
   kernels for it. */
dsajit_status call_find_device(const dsajit_context *context, struct named_tensor first,
                               int *device, dsajit_error *error);

/* A call of the first variant of `family` on `device`, of workgroups that do not exist yet. */
void call_begin(struct call *call, const dsajit_context *context, enum family_index family,
                int device);

/* What the kernel gets. */
void call_set_arguments(struct call *call, const void *arguments, size_t size);

/* `items`, of which a workgroup does `per_workgroup`; UNSUPPORTED when that is more than HIP's 32
   bits for the threads of a grid. `what` names them for the message. */
dsajit_status call_set_grid(struct call *call, int64_t items, int64_t per_workgroup,
                            unsigned workgroup_size, const char *what, dsajit_error *error);

/* Makes a call out of the arguments of one public function, or says why there is none. */
typedef dsajit_status call_prepare(const dsajit_context *context, const void *arguments,
                                   struct call *call, dsajit_error *error);

/* Enqueues a call that was made. */
dsajit_status call_launch(dsajit_context *context, const struct call *call, hipStream_t stream,
                          dsajit_error *error);

/* The three public functions of a call. */
dsajit_status call_supported(const dsajit_context *context, call_prepare *prepare,
                             const void *arguments, dsajit_error *error);
dsajit_status call_variant(const dsajit_context *context, call_prepare *prepare,
                           const void *arguments, dsajit_text *text, dsajit_error *error);
dsajit_status call_enqueue(dsajit_context *context, call_prepare *prepare, const void *arguments,
                           hipStream_t stream, dsajit_error *error);

#endif
