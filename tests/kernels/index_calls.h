/* The indexer's quantisers, called with plain arrays. */
#ifndef TESTS_KERNELS_INDEX_CALLS_H
#define TESTS_KERNELS_INDEX_CALLS_H

#include "operand.h"

#include <dsajit/indexer.h>

/* An insertion of keys. Zeroed: FP8, no norm, rows and pages without gaps. */
struct key_insertion {
    dsajit_indexer_format format;
    dsajit_key_norm norm;
    int64_t keys;       /* rows of index_k */
    int64_t key_stride; /* elements; 0: 128 */
    int64_t tokens;     /* of slot_mapping */
    int64_t pages, page_tokens;
    int64_t page_stride; /* bytes; 0: no gap */
    double eps;
    const uint16_t *index_k;     /* [keys][128] */
    const int64_t *slot_mapping; /* [tokens] */
    const float *weight, *bias;  /* [128]; NULL: not given */
};

/* Inserts into pages that are [pages][page_stride] in `cache`, gaps included. */
void insert_keys(const struct key_insertion *insertion, uint8_t *cache);

/* Queries to quantise. Zeroed: FP8, rows without gaps. */
struct query_call {
    dsajit_indexer_format format;
    int64_t rows, heads;
    int64_t row_stride, head_stride; /* elements; 0: no gap */
    int64_t weight_stride;           /* of index_v's rows; 0: no gap */
    const uint16_t *index_q;         /* [rows][heads][128] */
    const uint16_t *index_v;         /* [rows][heads] */
};

struct query_result {
    uint8_t *bytes;  /* [rows][heads][128 or 64] */
    uint8_t *scales; /* [rows][heads][4]; FP8: NULL */
    float *weights;  /* [rows][heads] */
};
void quantise_queries(const struct query_call *call, struct query_result *result);
void query_result_free(struct query_result *result);

#endif
