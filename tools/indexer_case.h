/* An indexer problem kept as a folder, with what another implementation made of it. Its files are
   named like the members below, with the type in the name: index_q.bf16.bin and so on. */
#ifndef TOOLS_INDEXER_CASE_H
#define TOOLS_INDEXER_CASE_H

#include <dsajit/indexer.h>

struct indexer_case {
    int format; /* dsajit_indexer_format */
    int norm;   /* dsajit_key_norm */
    double norm_eps;
    int64_t heads, rows, requests, keys, pages, page_tokens, page_stride /* bytes */;
    int64_t max_context; /* columns of the logits */
    int64_t topk;
    int64_t blocks; /* pages of a request, at most: entries of a row of block_table */

    /* What the kernels take. */
    uint16_t *index_q;     /* [rows][heads][128] bf16 */
    uint16_t *index_v;     /* [rows][heads] bf16 */
    uint16_t *index_k_raw; /* [keys][128] bf16, before the norm */
    uint16_t *index_k;     /* [keys][128] bf16, after the norm */
    float *norm_weight;    /* [128] */
    float *norm_bias;      /* [128] */
    int64_t *slot_mapping; /* [keys] */
    uint8_t *cache_before; /* [pages][page_stride] */
    int32_t *block_table;  /* [requests][blocks] */
    int32_t *context_lens; /* [requests]: keys that it has */
    int32_t *row_request;  /* [rows] */
    int32_t *row_len;      /* [rows]: keys of its request that a row sees */

    /* What they should give. */
    uint8_t *q_bytes;  /* [rows][heads][128 or 64] */
    uint8_t *q_scales; /* [rows][heads][4]; NULL for FP8 */
    float *weights;    /* [rows][heads]; NULL for MXFP4 */
    uint8_t *cache;    /* [pages][page_stride] */
    double *logits;    /* [rows][max_context], -inf from row_len on */
    int32_t *topk_ids; /* [rows][topk], ascending, then -1 */
};

/* Every size is checked against the length of its file before memory is taken; every slot, request,
   length and page that the kernels would follow against the sizes. CORRUPT or IO name the file,
   what it is and what it should be. */
dsajit_status indexer_case_read(const char *directory, struct indexer_case *c, dsajit_error *error);
void indexer_case_free(struct indexer_case *c);

/* Bytes of a row of 128 values in the case's format, without scales. */
int64_t indexer_case_row_bytes(const struct indexer_case *c);

#endif
