/* The one argument of an indexer_query kernel: written by the runtime, read by the kernel. See
   sparse_mla_arguments.h for the rules of such a file. */
#ifndef DSAJIT_INDEXER_QUERY_ARGUMENTS_H
#define DSAJIT_INDEXER_QUERY_ARGUMENTS_H

typedef struct indexer_query_arguments {
    const void *q;            /* [tokens, heads, 128] bf16, 4-byte aligned, even strides */
    const void *head_weights; /* [tokens, heads] bf16 */
    void *q_bytes;            /* [tokens, heads, 128 or 64] */
    void *q_scales;           /* [tokens, heads, 4] UE8M0; fp8: not written */
    float *weights;           /* [tokens, heads] */
    long long q_token_stride; /* elements, as the others */
    long long q_head_stride;
    long long head_weight_stride; /* between tokens */
    unsigned rows;                /* tokens * heads */
    float head_factor;            /* fp8: heads^-0.5; mxfp4: (heads * 128)^-0.5 */
    float dot_factor;             /* fp8: 128^-0.5; mxfp4: not read */
    int reserved;                 /* 0 */
} indexer_query_arguments;

/* 16 threads a row. */
enum { INDEXER_QUERY_WORKGROUP_SIZE = 256, INDEXER_QUERY_ROWS_PER_WORKGROUP = 16 };

#endif
