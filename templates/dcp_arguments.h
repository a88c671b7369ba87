/* The arguments of the dcp_* kernels: written by the runtime, read by the kernels. See
   sparse_mla_arguments.h for the rules of such a file. Lists have rows that are `stride` elements
   apart, and no gaps inside a row. */
#ifndef DSAJIT_DCP_ARGUMENTS_H
#define DSAJIT_DCP_ARGUMENTS_H

/* Where this rank is among those that share a sequence. */
typedef struct dcp_place {
    unsigned ranks;
    unsigned rank;
    unsigned interleave; /* consecutive tokens of one rank */
} dcp_place;

/* One workgroup a row. */
typedef struct dcp_ids_arguments {
    const int *ids; /* [rows, count] */
    int *out;       /* [rows, count] */
    long long ids_stride;
    long long out_stride;
    unsigned count;
    dcp_place place;
} dcp_ids_arguments;
enum { DCP_IDS_WORKGROUP_SIZE = 256 };

/* One workgroup a row. */
typedef struct dcp_pack_arguments {
    const int *ids;        /* [rows, count] */
    const float *scores;   /* of the ids, or the logits they are taken from */
    const int *row_starts; /* [rows]; NULL: all 0; not read where scores is list */
    void *packed;          /* [rows, count] pairs of f32 */
    long long ids_stride;
    long long scores_stride;
    unsigned count;
    dcp_place place;
} dcp_pack_arguments;
enum { DCP_PACK_WORKGROUP_SIZE = 256 };

/* One workgroup a row. */
typedef struct dcp_topk_arguments {
    const void
        *candidates;       /* pairs of f32: candidate j of rank r at r * rank_stride + j of a row */
    int *global_ids;       /* [rows, count] */
    int *local_ids;        /* [rows, count]; NULL: not written */
    long long row_stride;  /* pairs */
    long long rank_stride; /* pairs */
    long long global_stride;
    long long local_stride;
    unsigned count; /* candidates of a rank, and results */
    dcp_place place;
} dcp_topk_arguments;
enum { DCP_TOPK_WORKGROUP_SIZE = 1024 };

/* One wave a head of a token. */
typedef struct dcp_attention_arguments {
    const void *partial; /* [parts, tokens, heads, 512] bf16 */
    const float *lse;    /* [ranks, tokens, heads] */
    void *out;           /* [tokens, heads, 512] */
    float *merged_lse;   /* [tokens, heads] contiguous; NULL: not written */
    long long partial_strides[3];
    long long lse_strides[3];
    long long out_strides[2];
    unsigned rows; /* tokens * heads */
    unsigned heads;
    unsigned ranks;
    unsigned first; /* rank that partial[0] is of */
    unsigned parts;
    unsigned reserved; /* 0 */
} dcp_attention_arguments;
enum { DCP_ATTENTION_WORKGROUP_SIZE = 256, DCP_ATTENTION_ROWS_PER_WORKGROUP = 4 };

#endif
