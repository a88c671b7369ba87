/* The one argument of an indexer_key kernel: written by the runtime, read by the kernel. See
   sparse_mla_arguments.h for the rules of such a file. */
#ifndef DSAJIT_INDEXER_KEY_ARGUMENTS_H
#define DSAJIT_INDEXER_KEY_ARGUMENTS_H

typedef struct indexer_key_arguments {
    const void *keys;         /* [>= tokens, 128] bf16, 4-byte aligned, even stride */
    const long long *slots;   /* [tokens]; negative: skipped */
    void *cache;              /* pages, 4-byte aligned */
    const float *norm_weight; /* [128]; not read where norm is none */
    const float *norm_bias;   /* [128]; not read unless norm is layernorm */
    long long key_stride;     /* elements */
    long long page_stride;    /* bytes, a multiple of 4 */
    unsigned tokens;
    float norm_eps;
} indexer_key_arguments;

/* 16 threads a token. */
enum { INDEXER_KEY_WORKGROUP_SIZE = 256, INDEXER_KEY_TOKENS_PER_WORKGROUP = 16 };

#endif
