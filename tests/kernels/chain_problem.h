/* One layer's sparse attention for a batch of requests, in host memory: from projected activations
   to what is attended. */
#ifndef TESTS_KERNELS_CHAIN_PROBLEM_H
#define TESTS_KERNELS_CHAIN_PROBLEM_H

#include <dsajit/indexer.h>

struct chain_shape {
    dsajit_indexer_format format;
    dsajit_key_norm norm;
    int64_t index_heads, heads;
    int64_t requests, rows_per_request; /* a request's rows are its last tokens */
    int64_t context;                    /* tokens of the longest request */
    int64_t page_tokens, k;
    int64_t padding; /* requests of length 0 behind the others, with rows too */
};

struct chain_problem {
    struct chain_shape shape;
    int64_t requests; /* padding included */
    int64_t rows;     /* padding included */
    int64_t tokens;   /* of all requests together */
    int64_t blocks, pages;
    double softmax_scale, norm_eps;
    int32_t *context_lens;       /* [requests] */
    int32_t *ends;               /* [rows] */
    int32_t *row_requests;       /* [rows]; -1 for padding */
    int32_t *block_table;        /* [requests][blocks]; -1 where a request has no page */
    int64_t *first_token;        /* [requests]: number of a request's token 0 */
    int64_t *slot_mapping;       /* [tokens] */
    uint16_t *index_k;           /* [tokens][128] bf16 */
    uint16_t *kv_c, *k_pe;       /* [tokens][512], [tokens][64] bf16 */
    uint16_t *index_q, *index_v; /* [rows][index heads][128], [rows][index heads] bf16 */
    uint16_t *q;                 /* [rows][heads][576] bf16 */
    float norm_weight[DSAJIT_INDEX_HEAD_DIM], norm_bias[DSAJIT_INDEX_HEAD_DIM];
};

/* Random activations; requests of unequal lengths, one of them with no more tokens than k; pages in
   no order. */
void chain_problem_create(struct chain_problem *problem, const struct chain_shape *shape);
void chain_problem_free(struct chain_problem *problem);

#endif
