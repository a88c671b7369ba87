/* Calls made of several kernels. A function makes the kernels' calls one after another; what is
   done with each (checking, planning, enqueuing) is up to who goes through the sequence. */
#ifndef RUNTIME_SEQUENCE_H
#define RUNTIME_SEQUENCE_H

#include "dsajit/warmup.h"
#include "runtime/call.h"

struct sequence;
typedef dsajit_status sequence_visitor(struct sequence *sequence, const struct call *call,
                                       dsajit_error *error);

struct sequence {
    const dsajit_context *context;
    sequence_visitor *visit;
    void *user;    /* the visitor's own */
    bool is_dummy; /* nothing is to be enqueued; set by who makes the calls, before the first */
    bool has_device;
    int device; /* of all steps, once there was one */
};

/* Makes all kernels' calls of a public function's struct. */
typedef dsajit_status sequence_make(struct sequence *sequence, const void *arguments,
                                    dsajit_error *error);

/* One kernel's call. A failure's message begins with `name`. */
dsajit_status sequence_step(struct sequence *sequence, const char *name, call_prepare *prepare,
                            const void *arguments, dsajit_error *error);

/* The three public functions of a sequence. */
dsajit_status sequence_supported(const dsajit_context *context, sequence_make *make,
                                 const void *arguments, dsajit_error *error);
dsajit_status sequence_plan(const dsajit_context *context, sequence_make *make,
                            const void *arguments, dsajit_plan *plan, dsajit_error *error);
/* Goes through it twice, or three times where kernels are still to be loaded: all calls are checked
   and all kernels resident before the first is enqueued. */
dsajit_status sequence_enqueue(dsajit_context *context, sequence_make *make, const void *arguments,
                               hipStream_t stream, dsajit_error *error);

#endif
