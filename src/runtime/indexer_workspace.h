/* How an indexer call's workspace is divided. */
#ifndef RUNTIME_INDEXER_WORKSPACE_H
#define RUNTIME_INDEXER_WORKSPACE_H

#include "base/error.h"
#include "dsajit/attention.h"

/* Offsets in bytes. */
struct indexer_workspace {
    int64_t q_bytes;   /* [rows, heads, 128 or 64] */
    int64_t q_scales;  /* [rows, heads, 4], MXFP4 only */
    int64_t weights;   /* [rows, heads] f32 */
    int64_t lists;     /* dsajit_index_lists' own */
    int64_t logits;    /* [part_rows, logits_stride] f32 */
    int64_t size;      /* of it all */
    int64_t part_rows; /* scored at once: whole requests */
    int64_t logits_stride;
};

dsajit_status indexer_workspace_divide(const dsajit_indexer_shape *shape,
                                       struct indexer_workspace *workspace, dsajit_error *error);

#endif
