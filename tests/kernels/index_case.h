/* One indexer_* case of tests/vectors: what the quantisers take and must give. */
#ifndef TESTS_KERNELS_INDEX_CASE_H
#define TESTS_KERNELS_INDEX_CASE_H

#include <dsajit/indexer.h>

struct index_case {
    int format; /* dsajit_indexer_format */
    int norm;   /* dsajit_key_norm */
    double norm_eps;
    int64_t heads, rows, keys, pages, page_tokens, page_stride;
    uint16_t *index_q;     /* [rows][heads][128] bf16 */
    uint16_t *index_v;     /* [rows][heads] bf16 */
    uint8_t *q_bytes;      /* [rows][heads][128 or 64] */
    uint8_t *q_scales;     /* MXFP4: [rows][heads][4] */
    float *weights;        /* FP8: [rows][heads] */
    uint16_t *index_k_raw; /* [keys][128] bf16, before the norm */
    uint16_t *index_k;     /* [keys][128] bf16, after the norm, one key zeroed */
    float *norm_weight;    /* [128] */
    float *norm_bias;      /* [128] */
    int64_t *slot_mapping; /* [keys] */
    uint8_t *cache_before; /* [pages][page_stride] */
    uint8_t *cache;        /* [pages][page_stride] */
};

/* Reads the case NAME; what fails fails the running test. */
void index_case_read(const char *name, struct index_case *index_case);
void index_case_free(struct index_case *index_case);

#endif
