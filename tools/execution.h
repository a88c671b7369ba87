/* Runs a problem through the library on the context's device. */
#ifndef TOOLS_EXECUTION_H
#define TOOLS_EXECUTION_H

#include "problem.h"

struct execution_options {
    dsajit_scale_format scale;
    int index_bits; /* 32 or 64: type of both index tensors */
    bool return_lse;
    int repeat; /* timed launches, at least 1 */
};

struct execution {
    dsajit_text variant;
    dsajit_kernel_info kernel; /* origin: where this run found the code object */
    double load_ms;            /* first launch, of one row without keys: loads the kernel */
    double run_ms;             /* the fastest timed launch, until the device was idle */
    uint16_t *out;             /* [tokens][heads][512] */
    float *lse;                /* [tokens][heads]; NULL without return_lse */
};

dsajit_status execution_run(dsajit_context *context, const struct problem *problem,
                            const struct execution_options *options, struct execution *execution,
                            dsajit_error *error);
void execution_free(struct execution *execution);

#endif
