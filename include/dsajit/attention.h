/* A layer's sparse attention as one call: the indexer's kernels in order, and sparse MLA over the
   keys that they select. Each kernel can be called by itself, too: dsajit/indexer.h,
   indexer_score.h, topk.h and dsajit.h, whose conventions hold here.

   A call enqueues its kernels on one stream and returns without waiting. All of it is checked, and
   all kernels are loaded, before the first is enqueued: a call that is refused, on a capturing
   stream because one kernel isn't warm (NOT_WARM) or for another reason, has enqueued nothing.
   Nothing is allocated on the device: what kernels hand on to each other lies in the caller's
   workspace, which needs no initialisation and may be used for something else between two calls. */
#ifndef DSAJIT_ATTENTION_H
#define DSAJIT_ATTENTION_H

#include "dsajit/indexer_score.h"
#include "dsajit/topk.h"
#include "dsajit/warmup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Workspace ---- */

/* What the size of a workspace depends on. */
typedef struct dsajit_indexer_shape {
    dsajit_indexer_format format;
    int64_t rows;             /* T */
    int64_t rows_per_request; /* n, where rows come as context_lens; otherwise 1 */
    int64_t heads;            /* H */
    int64_t max_context;
    int64_t logits_bytes_max; /* 0: DSAJIT_LOGITS_BYTES_DEFAULT */
} dsajit_indexer_shape;

/* As many bytes of logits as vLLM allows by default. Rows beyond are scored in parts, one after
   another. */
enum { DSAJIT_LOGITS_BYTES_DEFAULT = 512 << 20 };

/* Bytes of workspace for such a call. It depends on nothing but `shape`, grows with each of its
   numbers, and so is reserved once for the largest call. A dummy run needs no more than this. */
DSAJIT_API dsajit_status dsajit_indexer_workspace_size(const dsajit_indexer_shape *shape,
                                                       size_t *size, dsajit_error *error);

/* ---- Indexer ---- */

/* From projected activations to the keys that each row (a query token) attends:

       1  dsajit_indexer_key     norm, quantisation and insertion of the step's keys
       2  dsajit_indexer_query   quantisation of the queries
       3  dsajit_indexer_score   logits of all keys of a row's request, paged
       4  dsajit_topk            the ids of the k best
       5  dsajit_index_lists     their slots, as a CSR list

   The rows of decode are given by `context_lens`: R requests of n = T / R neighbouring rows each,
   n > 1 with speculative tokens. Those of prefill, or a mix, by `ends` and `row_requests`. Rows of
   padding (a graph's, say) have length 0 and a request outside [0, R): they get no keys. Their
   slots in `slot_mapping` are negative.

   Start from a zeroed struct with struct_size set. */
typedef struct dsajit_indexer_arguments {
    size_t struct_size; /* sizeof(dsajit_indexer_arguments) */
    dsajit_indexer_format format;

    /* The step's keys, see dsajit_indexer_key_arguments. index_k NULL: they are in the cache. */
    const DLTensor *index_k;      /* [>= M, 128] bf16 */
    const DLTensor *slot_mapping; /* [M] i64 */
    dsajit_key_norm norm;
    const DLTensor *norm_weight, *norm_bias; /* [128] f32 */
    double norm_eps;

    /* The step's queries, see dsajit_indexer_query_arguments. */
    const DLTensor *index_q; /* [T, H, 128] bf16 */
    const DLTensor *index_v; /* [T, H] bf16 */

    const DLTensor *cache; /* [pages, B, 132 or 68]. No pages (a dummy run): nothing is done */
    const DLTensor *block_table; /* [R, pages of a request] i32, last stride 1 */

    /* Either: */
    const DLTensor *context_lens; /* [R] i32 lengths after the newest token, row i of its request
                                     ending at length - n + i + 1; or [R, n] i32 ends of the rows */
    /* or, with row_requests: */
    const DLTensor *ends;         /* [T] i32: a row attends tokens 0 … end - 1 of its request */
    const DLTensor *row_requests; /* [T] i32, contiguous; lists need it either way */
    int64_t max_context;          /* columns of the logits, at most DSAJIT_TOPK_COLUMNS_MAX: tokens
                                     from there on are not seen */

    const DLTensor *ids;    /* [T, k] i32, last stride 1: written, see dsajit_topk_arguments */
    const DLTensor *scores; /* [T, k] f32, last stride 1: their logits. NULL: not wanted */
    bool stable;            /* of equal logits the smallest ids */

    /* The lists, see dsajit_index_lists_arguments. Both NULL: not wanted. */
    const DLTensor *kv_indptr;      /* [T + 1] i32: written */
    const DLTensor *kv_indices;     /* [>= T k] i32 or i64: written */
    const DLTensor *kv_block_table; /* of the attended cache; NULL: block_table */
    int64_t kv_pages;               /* of the attended cache */
    int64_t kv_page_tokens;
    int64_t kv_rows_per_page; /* 0: kv_page_tokens */

    const DLTensor *workspace; /* of a 1-byte type, contiguous, 16-byte aligned, at least
                                  dsajit_indexer_workspace_size of the call's shape long */
    int64_t logits_bytes_max;  /* as in the shape */
} dsajit_indexer_arguments;

/* DSAJIT_OK when dsajit_indexer_forward can serve this call; otherwise UNSUPPORTED or
   INVALID_ARGUMENT and the reason, with the step it concerns. Reads host metadata only. */
DSAJIT_API dsajit_status dsajit_indexer_supported(const dsajit_context *context,
                                                  const dsajit_indexer_arguments *arguments,
                                                  dsajit_error *error);

/* Adds every variant that such a call uses. */
DSAJIT_API dsajit_status dsajit_plan_add_indexer(dsajit_plan *plan, const dsajit_context *context,
                                                 const dsajit_indexer_arguments *arguments,
                                                 dsajit_error *error);

DSAJIT_API dsajit_status dsajit_indexer_forward(dsajit_context *context,
                                                const dsajit_indexer_arguments *arguments,
                                                void *stream, dsajit_error *error);

/* ---- Sparse attention ---- */

/* Writes the step's records, runs the indexer and attends the keys that it selects. Start from a
   zeroed struct with struct_size set; the parts' struct_size is set, too. A dummy run, with no
   pages in a cache, does nothing. */
typedef struct dsajit_sparse_attention_arguments {
    size_t struct_size; /* sizeof(dsajit_sparse_attention_arguments) */
    const dsajit_mla_cache_write_arguments *cache_write; /* NULL: the records are there */
    const dsajit_indexer_arguments *indexer;             /* with lists */
    const dsajit_sparse_mla_arguments *attention; /* T tokens; kv_indptr and kv_indices NULL: they
                                                     are the indexer's */
} dsajit_sparse_attention_arguments;

DSAJIT_API dsajit_status dsajit_sparse_attention_supported(
    const dsajit_context *context, const dsajit_sparse_attention_arguments *arguments,
    dsajit_error *error);

/* Adds every variant that such a call uses. */
DSAJIT_API dsajit_status dsajit_plan_add_sparse_attention(
    dsajit_plan *plan, const dsajit_context *context,
    const dsajit_sparse_attention_arguments *arguments, dsajit_error *error);

DSAJIT_API dsajit_status dsajit_sparse_attention(dsajit_context *context,
                                                 const dsajit_sparse_attention_arguments *arguments,
                                                 void *stream, dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
