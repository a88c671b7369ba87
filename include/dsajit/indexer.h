/* The lightning indexer's kernels, decode context parallel merging, and the writer of the cache
   that sparse MLA reads.

   All calls: start from a zeroed struct with struct_size set. All tensors are on one ROCm device
   (kDLROCM), on the emulator too. Strides are in elements; NULL strides mean row-major. The call
   enqueues one kernel on `stream` (a hipStream_t of that device, which must be the calling thread's
   current device; NULL is the default stream) and returns without waiting; with nothing to do it
   enqueues nothing. Capture, compiling and lifetimes are as for dsajit_sparse_mla_forward.

   X_supported: DSAJIT_OK when the call X can be served; otherwise UNSUPPORTED or INVALID_ARGUMENT
   and the reason. It reads host metadata only. X_variant: the canonical text of its variant. */
#ifndef DSAJIT_INDEXER_H
#define DSAJIT_INDEXER_H

#include "dsajit/dsajit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dsajit_indexer_format {
    DSAJIT_INDEXER_FP8 = 0,  /* 128 e4m3 values and one f32 scale a key: 132 bytes */
    DSAJIT_INDEXER_MXFP4 = 1 /* 64 bytes of e2m1 pairs and four UE8M0 scales a key: 68 bytes */
} dsajit_indexer_format;

/* What is done to an indexer key before it is quantised. */
typedef enum dsajit_key_norm {
    DSAJIT_KEY_NORM_NONE =
        0, /* the caller has done it, with rotations of its own in between (DeepSeek V3.2) */
    DSAJIT_KEY_NORM_RMSNORM = 1,
    DSAJIT_KEY_NORM_LAYERNORM = 2
} dsajit_key_norm;

enum {
    DSAJIT_INDEX_HEAD_DIM = 128,
    DSAJIT_INDEX_HEADS_MAX = 64,
    DSAJIT_INDEX_GROUP_SIZE = 32,          /* elements under one MXFP4 scale */
    DSAJIT_INDEX_KEY_BYTES_FP8 = 128 + 4,  /* of a token in the index cache */
    DSAJIT_INDEX_KEY_BYTES_MXFP4 = 64 + 4, /* of a token in the index cache */
    DSAJIT_INDEX_PAGE_TOKENS_MAX = 256,
    DSAJIT_INDEX_TOPK_MAX = 2048,
    DSAJIT_DCP_RANKS_MAX = 8
};

/* The index cache is [pages, page tokens, 132 or 68] of a 1-byte type, and block-flat: a page holds
   all its values, then all its scales. In a page of B tokens, for token o,

       FP8     value d       byte 128 o + d            e4m3
               scale         byte 128 B + 4 o          f32, a power of two
       MXFP4   values 2i, 2i+1   byte 64 o + i         e2m1, the even one in the low 4 bits
               scale of 32 g … 32 g + 31   byte 64 B + 4 o + g     UE8M0: 2^(byte - 127)

   B is 1 or a multiple of 16 up to 256. Pages may be further apart than their content is long: by
   any multiple of 4 bytes; the bytes between are never touched. Token slot s is in page s / B,
   place s % B. */

/* ---- Keys ---- */

/* Per token i < M: the key norm, quantisation, insertion at slot_mapping[i]. Of tokens with the
   same slot any one may win. */
typedef struct dsajit_indexer_key_arguments {
    size_t struct_size;      /* sizeof(dsajit_indexer_key_arguments) */
    const DLTensor *index_k; /* [>= M, 128] bf16, last stride 1, the other even, 4-byte aligned */
    const DLTensor *slot_mapping; /* [M] i64, contiguous; negative: the token is skipped */
    const DLTensor *cache;        /* [pages, B, 132 or 68], as above, 4-byte aligned. No pages (a
                                     dummy run): nothing is done */
    dsajit_indexer_format format;
    dsajit_key_norm norm;
    const DLTensor *norm_weight; /* [128] f32, contiguous; NULL without a norm */
    const DLTensor *norm_bias;   /* [128] f32, contiguous; NULL unless LAYERNORM */
    double norm_eps;
} dsajit_indexer_key_arguments;

DSAJIT_API dsajit_status dsajit_indexer_key_supported(const dsajit_context *context,
                                                      const dsajit_indexer_key_arguments *arguments,
                                                      dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_key_variant(const dsajit_context *context,
                                                    const dsajit_indexer_key_arguments *arguments,
                                                    dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_key(dsajit_context *context,
                                            const dsajit_indexer_key_arguments *arguments,
                                            void *stream, dsajit_error *error);

/* ---- Queries ---- */

/* Per token t and head h, quantises q and makes the weight of the head's score:

       FP8     q_bytes[t,h] = e4m3(q / s), s the smallest power of two that no value overflows with
               weights[t,h] = (bf16(v * H^-0.5) * s) * 128^-0.5
       MXFP4   q_bytes[t,h] = e2m1 pairs, q_scales[t,h,g] = UE8M0 scales: as in the cache
               weights[t,h] = v * (H * 128)^-0.5

   so that either way  score[t,n] = sum over h of weights[t,h] * max(0, dot(q[t,h], k[n])),  k with
   its scale, and for MXFP4 q with its scales. */
typedef struct dsajit_indexer_query_arguments {
    size_t struct_size;       /* sizeof(dsajit_indexer_query_arguments) */
    const DLTensor *index_q;  /* [T, H, 128] bf16, last stride 1, others even, 4-byte aligned */
    const DLTensor *index_v;  /* [T, H] bf16: weights of the heads, last stride 1 */
    const DLTensor *q_bytes;  /* [T, H, 128 or 64] of a 1-byte type, contiguous, 16-byte aligned */
    const DLTensor *q_scales; /* MXFP4: [T, H, 4] of a 1-byte type, contiguous, 4-byte aligned;
                                 FP8: NULL */
    const DLTensor *weights;  /* [T, H] f32, contiguous */
    dsajit_indexer_format format; /* FP8: H a multiple of 4 up to 64; MXFP4: H 16, 32 or 64 */
} dsajit_indexer_query_arguments;

DSAJIT_API dsajit_status dsajit_indexer_query_supported(
    const dsajit_context *context, const dsajit_indexer_query_arguments *arguments,
    dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_query_variant(
    const dsajit_context *context, const dsajit_indexer_query_arguments *arguments,
    dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_query(dsajit_context *context,
                                              const dsajit_indexer_query_arguments *arguments,
                                              void *stream, dsajit_error *error);

/* ---- The cache of sparse MLA ---- */

/* Writes fp8_ds_mla records (DSAJIT_RECORD_BYTES) of tokens i < M at slot_mapping[i]: each 128
   latent values as e4m3 with the smallest power of two, 2^-13 or more, as scale that none of them
   overflows with; rope values as they are. Of tokens with the same slot any one may win. */
typedef struct dsajit_mla_cache_write_arguments {
    size_t struct_size;   /* sizeof(dsajit_mla_cache_write_arguments) */
    const DLTensor *kv_c; /* [>= M, 512] bf16, last stride 1, the other even, 4-byte aligned */
    const DLTensor *k_pe; /* [>= M, 64] bf16, last stride 1, the other even, 4-byte aligned */
    const DLTensor *slot_mapping; /* [M] i64, contiguous, below 2^31; negative: skipped */
    const DLTensor *cache; /* [pages, page tokens, 656] of a 1-byte type, 16-byte aligned; pages
                              may be further apart than they are long, by any multiple of 16.
                              No pages (a dummy run): nothing is done */
} dsajit_mla_cache_write_arguments;

DSAJIT_API dsajit_status dsajit_mla_cache_write_supported(
    const dsajit_context *context, const dsajit_mla_cache_write_arguments *arguments,
    dsajit_error *error);
DSAJIT_API dsajit_status dsajit_mla_cache_write_variant(
    const dsajit_context *context, const dsajit_mla_cache_write_arguments *arguments,
    dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_mla_cache_write(dsajit_context *context,
                                                const dsajit_mla_cache_write_arguments *arguments,
                                                void *stream, dsajit_error *error);

/* ---- Decode context parallelism ---- */

/* W ranks share a sequence, token position p of which belongs to rank (p / I) % W, where it is
   number p / (W * I) * I + p % I. One decode step:

       every rank    scores its keys, takes its own top-k, dsajit_dcp_pack
       the caller    all-gathers the packed candidates
       every rank    dsajit_dcp_topk, attends the keys that are its own
       the caller    gathers the ranks' LSE, and maybe their outputs
       every rank    dsajit_dcp_attention
       the caller    where outputs weren't gathered, reduces them */
typedef struct dsajit_dcp_place {
    int ranks;      /* W: 1 to DSAJIT_DCP_RANKS_MAX */
    int rank;       /* 0 to W - 1 */
    int interleave; /* I: 1 or more, W * I < 2^31 */
} dsajit_dcp_place;

typedef enum dsajit_dcp_direction {
    DSAJIT_DCP_TO_GLOBAL = 0, /* the rank's number of a token to its position in the sequence */
    DSAJIT_DCP_TO_LOCAL = 1   /* back; -1 for positions of other ranks */
} dsajit_dcp_direction;

/* Converts ids; negative ones become -1. */
typedef struct dsajit_dcp_ids_arguments {
    size_t struct_size;  /* sizeof(dsajit_dcp_ids_arguments) */
    const DLTensor *ids; /* [rows, k] i32, last stride 1 */
    const DLTensor *out; /* [rows, k] i32, last stride 1; may be `ids` itself */
    dsajit_dcp_place place;
    dsajit_dcp_direction direction;
} dsajit_dcp_ids_arguments;

DSAJIT_API dsajit_status dsajit_dcp_ids_supported(const dsajit_context *context,
                                                  const dsajit_dcp_ids_arguments *arguments,
                                                  dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_ids_variant(const dsajit_context *context,
                                                const dsajit_dcp_ids_arguments *arguments,
                                                dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_ids(dsajit_context *context,
                                        const dsajit_dcp_ids_arguments *arguments, void *stream,
                                        dsajit_error *error);

/* Packs a rank's top-k for the exchange: pairs (score, global id), ids as f32, exact below 2^24;
   (-inf, -1) where the id is negative. */
typedef struct dsajit_dcp_pack_arguments {
    size_t struct_size;     /* sizeof(dsajit_dcp_pack_arguments) */
    const DLTensor *ids;    /* [rows, k] i32, the rank's numbers, last stride 1 */
    const DLTensor *scores; /* [rows, k] f32, of these ids, last stride 1; or NULL, and instead */
    const DLTensor *logits; /* [rows, columns] f32, from which they are taken, last stride 1 */
    const DLTensor
        *row_starts;        /* [rows] i32, contiguous: the column of id 0 in `logits`; NULL: 0 */
    const DLTensor *packed; /* [rows, k, 2] f32, contiguous, 8-byte aligned */
    dsajit_dcp_place place;
} dsajit_dcp_pack_arguments;

DSAJIT_API dsajit_status dsajit_dcp_pack_supported(const dsajit_context *context,
                                                   const dsajit_dcp_pack_arguments *arguments,
                                                   dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_pack_variant(const dsajit_context *context,
                                                 const dsajit_dcp_pack_arguments *arguments,
                                                 dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_pack(dsajit_context *context,
                                         const dsajit_dcp_pack_arguments *arguments, void *stream,
                                         dsajit_error *error);

/* The k best of all ranks' candidates: larger scores first, of equal ones smaller ids. -0 is
   smaller than +0. As many as there are valid ones (id >= 0), up to k, then -1. Their order is
   unspecified, but depends on nothing but the candidates: all ranks get the same bytes. */
typedef struct dsajit_dcp_topk_arguments {
    size_t struct_size;         /* sizeof(dsajit_dcp_topk_arguments) */
    const DLTensor *candidates; /* [rows, W * k, 2] or [W, rows, k, 2] f32 (as a collective leaves
                                   them), pairs side by side, other strides even, 8-byte aligned */
    const DLTensor *global_ids; /* [rows, k] i32, last stride 1; 1 <= k <= 2048 */
    const DLTensor *local_ids;  /* [rows, k] i32, last stride 1: the same as this rank's numbers, -1
                                   for keys of other ranks. NULL: not wanted */
    dsajit_dcp_place place;
} dsajit_dcp_topk_arguments;

DSAJIT_API dsajit_status dsajit_dcp_topk_supported(const dsajit_context *context,
                                                   const dsajit_dcp_topk_arguments *arguments,
                                                   dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_topk_variant(const dsajit_context *context,
                                                 const dsajit_dcp_topk_arguments *arguments,
                                                 dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_topk(dsajit_context *context,
                                         const dsajit_dcp_topk_arguments *arguments, void *stream,
                                         dsajit_error *error);

/* Merges attention over parts of the keys, with all W parts' LSE and the outputs of P of them:
     LSE = ln sum over r < W of exp(lse[r])
     out = sum over p < P of exp(lse[first + p] - LSE) * partial[p]
   P = W, first = 0 is the whole merge; P = 1, first = rank is this rank's share, which the ranks
   then reduce. An LSE of NaN or +inf counts as -inf; where a factor is 0 what it multiplies doesn't
   enter, NaN or not; no part at all gives out = 0, LSE = -inf. */
typedef struct dsajit_dcp_attention_arguments {
    size_t struct_size;      /* sizeof(dsajit_dcp_attention_arguments) */
    const DLTensor *partial; /* [P, T, H, 512] bf16, last stride 1, others even, 4-byte aligned */
    const DLTensor *lse;     /* [W, T, H] f32, natural logarithm, any strides; W <= 8 */
    const DLTensor *out; /* [T, H, 512] bf16 or f32, last stride 1, others even, 4-byte aligned; may
                            be one of the parts */
    const DLTensor *merged_lse; /* [T, H] f32, contiguous; NULL: not wanted */
    int first;                  /* part that partial[0] is; first + P <= W */
} dsajit_dcp_attention_arguments;

DSAJIT_API dsajit_status dsajit_dcp_attention_supported(
    const dsajit_context *context, const dsajit_dcp_attention_arguments *arguments,
    dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_attention_variant(
    const dsajit_context *context, const dsajit_dcp_attention_arguments *arguments,
    dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_dcp_attention(dsajit_context *context,
                                              const dsajit_dcp_attention_arguments *arguments,
                                              void *stream, dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
