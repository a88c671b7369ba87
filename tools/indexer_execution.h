/* Runs an indexer case through the library: insertion, query quantisation, scores and top-k, each
   kernel by itself. */
#ifndef TOOLS_INDEXER_EXECUTION_H
#define TOOLS_INDEXER_EXECUTION_H

#include "indexer_case.h"

enum { INDEXER_STEPS = 4 };

/* One kernel's part of a run. */
struct indexer_step {
    dsajit_text variant;
    dsajit_kernel_info kernel; /* origin: where this run found the code object */
    double run_ms;             /* from the call until the device was idle */
};

/* Of the sizes and in the order of the case's tensors. */
struct indexer_execution {
    struct indexer_step steps[INDEXER_STEPS]; /* in the order in which they ran */
    uint8_t *q_bytes, *q_scales;              /* q_scales NULL for FP8 */
    float *weights;
    uint8_t *cache;
    float *logits;
    int32_t *topk_ids;
};

dsajit_status indexer_execution_run(dsajit_context *context, const struct indexer_case *problem,
                                    struct indexer_execution *execution, dsajit_error *error);
void indexer_execution_free(struct indexer_execution *execution);

/* Writes q_bytes, q_scales or weights, cache, logits (f32) and topk under the names that a case has
   for them, making the folder if it is missing. */
dsajit_status indexer_execution_write(const char *directory, const struct indexer_case *c,
                                      const struct indexer_execution *execution,
                                      dsajit_error *error);

#endif
