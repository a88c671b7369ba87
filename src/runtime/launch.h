/* Launching one kernel of a variant: what every call of the public API ends in. */
#ifndef RUNTIME_LAUNCH_H
#define RUNTIME_LAUNCH_H

#include "runtime/resident.h"

struct launch {
    int device;
    const struct variant *variant;
    unsigned grid[3];      /* workgroups */
    unsigned workgroup;    /* threads, in one dimension */
    const void *arguments; /* the kernel's one struct, from templates/ */
    size_t arguments_size;
};

/* Enqueues it on `stream`, loading the kernel first where it isn't resident (see resident_get). A
   grid without workgroups is nothing to do. With a resident kernel this makes one HIP call, takes
   no lock and allocates nothing. */
dsajit_status launch_kernel(dsajit_context *context, const struct launch *launch,
                            hipStream_t stream, dsajit_error *error);

/* Enqueues an already loaded kernel. */
dsajit_status launch_resident(const dsajit_context *context, const struct resident *resident,
                              const struct launch *launch, hipStream_t stream, dsajit_error *error);

#endif
