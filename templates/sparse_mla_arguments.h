/* The one argument of a sparse MLA kernel: written by the runtime, read by the kernel.
 *
 * Plain C without includes, because both sides use this file. Every field has one size and one
 * offset on host and device; there is no padding. Strides count elements, never bytes.
 */
#ifndef DSAJIT_SPARSE_MLA_ARGUMENTS_H
#define DSAJIT_SPARSE_MLA_ARGUMENTS_H

typedef struct sparse_mla_arguments {
    const void *q;       /* [tokens, heads, 576] bf16, 4-byte aligned, even strides */
    const void *kv;      /* records of 656 bytes, 16-byte aligned, no gap between them */
    const void *indptr;  /* [tokens + 1] i32 or i64, see indptr_is_i64 */
    const void *indices; /* [index_count] i32 or i64, as the variant's `index` says */
    void *out;           /* [tokens, heads, >= 512] bf16, 4-byte aligned, even strides */
    float *lse;          /* [tokens, heads] contiguous; not read where return_lse is 0 */

    long long q_token_stride;
    long long q_head_stride;
    long long out_token_stride;
    long long out_head_stride;
    long long indptr_stride;
    long long indices_stride;
    long long index_count; /* entries of indices; row bounds are clamped to it */

    float scale_log2e; /* softmax_scale * log2(e), rounded once to f32 */
    int tokens;        /* also the number of workgroups */
    int indptr_is_i64; /* 0 or 1 */
    int reserved;      /* 0 */
} sparse_mla_arguments;

/* Launch shape: one workgroup per token, in one dimension. LDS is static. */
enum { SPARSE_MLA_WORKGROUP_SIZE = 256 };

#endif
