/* What the indexer's quantisers must give, by the definitions of the formats, in float64. */
#ifndef TESTS_KERNELS_INDEX_REFERENCE_H
#define TESTS_KERNELS_INDEX_REFERENCE_H

#include <dsajit/indexer.h>

enum {
    INDEX_ROW = DSAJIT_INDEX_HEAD_DIM,
    INDEX_GROUPS = DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE,
    INDEX_SCALE_BYTES = 4
};

/* Bytes of a row's values. */
int64_t index_row_bytes(dsajit_indexer_format format);

/* Bytes of a token in the cache. */
int64_t index_token_bytes(dsajit_indexer_format format);

/* A row quantised. */
struct index_row {
    uint8_t values[INDEX_ROW];         /* MXFP4: half of it */
    uint8_t scales[INDEX_SCALE_BYTES]; /* an f32, or four UE8M0 */
};

/* `least` is what the largest magnitude of a row counts as at least (FP8). */
void index_quantise(dsajit_indexer_format format, const uint16_t row[INDEX_ROW], double least,
                    struct index_row *result);
#define INDEX_KEY_LEAST   1e-4
#define INDEX_QUERY_LEAST 1e-10

/* The scale of an FP8 row. */
float index_row_scale(const struct index_row *row);

/* One value: its byte or 4 bits as stored, what these should be under a scale, and its scale. */
unsigned index_stored_code(dsajit_indexer_format format, const struct index_row *row, int value);
unsigned index_code(dsajit_indexer_format format, double value, double scale);
double index_stored_scale(dsajit_indexer_format format, const struct index_row *row, int value);

/* The weight of a head's score. */
float index_weight(dsajit_indexer_format format, int64_t heads, uint16_t head_weight,
                   float query_scale);

/* Puts a row in its place of a page of `page_tokens`, and takes one from there. */
void index_page_put(dsajit_indexer_format format, uint8_t *page, int64_t page_tokens, int64_t place,
                    const struct index_row *row);
void index_page_get(dsajit_indexer_format format, const uint8_t *page, int64_t page_tokens,
                    int64_t place, struct index_row *row);

/* The key norm of a row, not rounded. Weight and bias as the caller's f32. */
void index_normalise(dsajit_key_norm norm, const uint16_t row[INDEX_ROW], const float *weight,
                     const float *bias, double eps, double result[INDEX_ROW]);

#endif
