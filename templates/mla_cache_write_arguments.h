/* The one argument of an mla_cache_write kernel: written by the runtime, read by the kernel. See
   sparse_mla_arguments.h for the rules of such a file. */
#ifndef DSAJIT_MLA_CACHE_WRITE_ARGUMENTS_H
#define DSAJIT_MLA_CACHE_WRITE_ARGUMENTS_H

typedef struct mla_cache_write_arguments {
    const void *latent;      /* [>= tokens, 512] bf16, 4-byte aligned, even stride */
    const void *rope;        /* [>= tokens, 64] bf16, 4-byte aligned, even stride */
    const long long *slots;  /* [tokens], below 2^31; negative: skipped */
    void *cache;             /* pages of records, 16-byte aligned */
    long long latent_stride; /* elements */
    long long rope_stride;   /* elements */
    long long page_stride;   /* bytes, a multiple of 16 */
    unsigned page_tokens;
    unsigned tokens;
} mla_cache_write_arguments;

/* One wave a token. */
enum { MLA_CACHE_WRITE_WORKGROUP_SIZE = 256, MLA_CACHE_WRITE_TOKENS_PER_WORKGROUP = 4 };

#endif
