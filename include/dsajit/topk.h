/* Selecting the keys that a token attends: the positions of the largest logits, and the lists of
   cache slots that sparse MLA reads.

   All calls: start from a zeroed struct with struct_size set. All tensors are on one ROCm device
   (kDLROCM), on the emulator too. Strides are in elements; NULL strides mean row-major. The call
   enqueues its kernels on `stream` (a hipStream_t of that device, which must be the calling
   thread's current device; NULL is the default stream) and returns without waiting. Capture,
   compiling and lifetimes are as for dsajit_sparse_mla_forward.

   X_supported: DSAJIT_OK when the call X can be served; otherwise UNSUPPORTED or INVALID_ARGUMENT
   and the reason. It reads host metadata only. X_variant: the canonical text of its variant. */
#ifndef DSAJIT_TOPK_H
#define DSAJIT_TOPK_H

#include "dsajit/indexer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Top-k ---- */

enum { DSAJIT_TOPK_COLUMNS_MAX = 1 << 22 };

/* Per row t: the positions of the k largest of logits[t, start … end - 1], counted from start. They
   come in any order, without holes; -1 fills up what a row shorter than k leaves. A row of at most
   k is 0, 1, 2, … in order.

   Larger first: +inf, the numbers, -inf, NaN. -0 and +0 are equal. Of equal logits any may be
   selected, or the smallest positions (`stable`), so that the same logits always give the same set.

   Bounds outside [0, N] are cut to it; a row that ends before it starts is empty. Logits outside a
   row's bounds are not read. */
typedef struct dsajit_topk_arguments {
    size_t struct_size;     /* sizeof(dsajit_topk_arguments) */
    const DLTensor *logits; /* [T, N] f32, last stride 1, N <= DSAJIT_TOPK_COLUMNS_MAX */
    const DLTensor *starts; /* [T] i32, contiguous; NULL: all rows start at 0 */
    /* One of these two says where each row ends: */
    const DLTensor *ends;         /* [T] i32, contiguous */
    const DLTensor *context_lens; /* [R, n] i32, contiguous, R n = T: the same; or [R] lengths after
                                     the newest token: row i of its request ends at
                                     length - n + i + 1 */
    const DLTensor *ids;          /* [T, k] i32, last stride 1, k <= DSAJIT_INDEX_TOPK_MAX */
    const DLTensor *scores;       /* [T, k] f32, last stride 1: the logits at `ids`, -inf beside -1.
                                     NULL: not wanted */
    bool stable;
} dsajit_topk_arguments;

DSAJIT_API dsajit_status dsajit_topk_supported(const dsajit_context *context,
                                               const dsajit_topk_arguments *arguments,
                                               dsajit_error *error);
DSAJIT_API dsajit_status dsajit_topk_variant(const dsajit_context *context,
                                             const dsajit_topk_arguments *arguments,
                                             dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_topk(dsajit_context *context,
                                     const dsajit_topk_arguments *arguments, void *stream,
                                     dsajit_error *error);

/* ---- Index lists ---- */

/* Per row t and each id of it, in order, with B = page_tokens:

       slot = block_table[row_requests[t], id / B] * rows_per_page + id % B

   The slots of all rows lie in kv_indices without gaps, those of row t from kv_indptr[t] to
   kv_indptr[t + 1] - 1. An entry is dropped if its id is negative, if the id lies past the table's
   row, or if the table has no page of the cache there; so kv_indices never has a slot that doesn't
   exist. What it holds beyond kv_indptr[T] is not touched. */
typedef struct dsajit_index_lists_arguments {
    size_t struct_size;           /* sizeof(dsajit_index_lists_arguments) */
    const DLTensor *ids;          /* [T, k] i32, last stride 1, 1 <= k <= DSAJIT_INDEX_TOPK_MAX */
    const DLTensor *row_requests; /* [T] i32, contiguous; outside [0, R) (padding): an empty row */
    const DLTensor *block_table;  /* [R, blocks] i32, last stride 1 */
    const DLTensor *kv_indptr;    /* [T + 1] i32, contiguous: written */
    const DLTensor *kv_indices;   /* [>= T k] i32 or i64, contiguous: written */
    const DLTensor *workspace;    /* of a 1-byte type, contiguous, 4-byte aligned, at least
                                     dsajit_index_lists_workspace_size(T) long; NULL if that is 0 */
    int64_t pages;                /* of the cache: 0 <= page < pages, or the entry is dropped */
    int64_t page_tokens;          /* B */
    int64_t rows_per_page;        /* slots from one page to the next; 0: page_tokens */
} dsajit_index_lists_arguments;

/* Bytes of workspace for that many rows; needs no initialisation, and may be used for something
   else between two calls. */
DSAJIT_API size_t dsajit_index_lists_workspace_size(int64_t rows);

DSAJIT_API dsajit_status dsajit_index_lists_supported(const dsajit_context *context,
                                                      const dsajit_index_lists_arguments *arguments,
                                                      dsajit_error *error);
DSAJIT_API dsajit_status dsajit_index_lists_variant(const dsajit_context *context,
                                                    const dsajit_index_lists_arguments *arguments,
                                                    dsajit_text *variant, dsajit_error *error);
/* One kernel for up to 4 rows, two beyond. */
DSAJIT_API dsajit_status dsajit_index_lists(dsajit_context *context,
                                            const dsajit_index_lists_arguments *arguments,
                                            void *stream, dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
