/* How an indexer run's results differ from those of its case. */
#ifndef TOOLS_INDEXER_COMPARISON_H
#define TOOLS_INDEXER_COMPARISON_H

#include "indexer_execution.h"

#include <stdbool.h>

/* Bytes that should be equal. */
struct indexer_bytes {
    const char *name;
    size_t wrong; /* how many differ */
    size_t first; /* the first that does */
};

enum { INDEXER_BYTES = 3 };

struct indexer_comparison {
    struct indexer_bytes bytes[INDEXER_BYTES]; /* q_bytes; q_scales or weights; cache */
    double logits_difference;     /* 1 - 2<x,y> / (<x,x> + <y,y>) over the rows' keys, 0 if there
                                     are none; NaN if a logit is */
    int64_t logits_outside_wrong; /* columns outside a row that aren't -inf */
    int64_t topk_rows_wrong; /* rows whose ids aren't the best, up to values tied with the k-th,
                                each once and then -1 */
};

#define INDEXER_LOGITS_TOLERANCE 5e-6

struct indexer_comparison indexer_comparison_make(const struct indexer_case *expected,
                                                  const struct indexer_execution *actual);

bool indexer_comparison_right(const struct indexer_comparison *comparison);

#endif
