#include "index_reference.h"

#include "narrow_floats.h"

#include <math.h>
#include <string.h>

int64_t index_row_bytes(dsajit_indexer_format format)
{
    return format == DSAJIT_INDEXER_FP8 ? INDEX_ROW : INDEX_ROW / 2;
}

int64_t index_token_bytes(dsajit_indexer_format format)
{
    return index_row_bytes(format) + INDEX_SCALE_BYTES;
}

/* 2^ceil(log2(value)), exactly. */
static double round_up_to_power_of_two(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent); /* in [0.5, 1) */
    return ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
}

static double largest_magnitude(const uint16_t *values, int count)
{
    double largest = 0;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, fabs(bf16_to_double(values[i])));
    return largest;
}

/* The nearest e2m1 code; halfway, the even one; beyond 6, 6. */
static unsigned nearest_e2m1(double value)
{
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    unsigned best = 0;
    for (unsigned code = 1; code < 8; code++) {
        const double distance = fabs(fabs(value) - magnitudes[code]);
        const double least = fabs(fabs(value) - magnitudes[best]);
        if (distance < least || (distance == least && code % 2 == 0))
            best = code;
    }
    return best | (signbit(value) ? 8 : 0);
}

static void quantise_fp8(const uint16_t *row, double least, struct index_row *result)
{
    const double amax = fmax(largest_magnitude(row, INDEX_ROW), least);
    const float scale = (float)round_up_to_power_of_two(amax / 448);
    for (int i = 0; i < INDEX_ROW; i++)
        result->values[i] = double_to_e4m3(bf16_to_double(row[i]) / scale);
    memcpy(result->scales, &scale, sizeof scale);
}

static void quantise_mxfp4(const uint16_t *row, struct index_row *result)
{
    for (int g = 0; g < INDEX_GROUPS; g++) {
        const uint16_t *group = row + g * DSAJIT_INDEX_GROUP_SIZE;
        const double amax =
            fmax(largest_magnitude(group, DSAJIT_INDEX_GROUP_SIZE), 6 * ldexp(1, -126));
        const double scale = round_up_to_power_of_two(amax / 6);
        result->scales[g] = (uint8_t)(ilogb(scale) + 127);
        for (int i = 0; i < DSAJIT_INDEX_GROUP_SIZE; i += 2)
            result->values[(g * DSAJIT_INDEX_GROUP_SIZE + i) / 2] =
                (uint8_t)(nearest_e2m1(bf16_to_double(group[i]) / scale) |
                          nearest_e2m1(bf16_to_double(group[i + 1]) / scale) << 4);
    }
}

void index_quantise(dsajit_indexer_format format, const uint16_t row[INDEX_ROW], double least,
                    struct index_row *result)
{
    memset(result, 0, sizeof *result);
    if (format == DSAJIT_INDEXER_FP8)
        quantise_fp8(row, least, result);
    else
        quantise_mxfp4(row, result);
}

float index_row_scale(const struct index_row *row)
{
    float scale;
    memcpy(&scale, row->scales, sizeof scale);
    return scale;
}

unsigned index_stored_code(dsajit_indexer_format format, const struct index_row *row, int value)
{
    return format == DSAJIT_INDEXER_FP8 ? row->values[value]
                                        : row->values[value / 2] >> (value % 2 ? 4 : 0) & 15u;
}

unsigned index_code(dsajit_indexer_format format, double value, double scale)
{
    return format == DSAJIT_INDEXER_FP8 ? double_to_e4m3(value / scale)
                                        : nearest_e2m1(value / scale);
}

double index_stored_scale(dsajit_indexer_format format, const struct index_row *row, int value)
{
    return format == DSAJIT_INDEXER_FP8
               ? index_row_scale(row)
               : ldexp(1, row->scales[value / DSAJIT_INDEX_GROUP_SIZE] - 127);
}

float index_weight(dsajit_indexer_format format, int64_t heads, uint16_t head_weight,
                   float query_scale)
{
    const float weight = (float)bf16_to_double(head_weight);
    if (format == DSAJIT_INDEXER_MXFP4)
        return weight * (float)pow((double)heads * INDEX_ROW, -0.5);
    const float scaled = weight * (float)pow((double)heads, -0.5);
    const float rounded = (float)bf16_to_double(double_to_bf16(scaled));
    return rounded * query_scale * (float)pow(INDEX_ROW, -0.5);
}

void index_page_put(dsajit_indexer_format format, uint8_t *page, int64_t page_tokens, int64_t place,
                    const struct index_row *row)
{
    const int64_t bytes = index_row_bytes(format);
    memcpy(page + place * bytes, row->values, (size_t)bytes);
    memcpy(page + page_tokens * bytes + place * INDEX_SCALE_BYTES, row->scales, INDEX_SCALE_BYTES);
}

void index_page_get(dsajit_indexer_format format, const uint8_t *page, int64_t page_tokens,
                    int64_t place, struct index_row *row)
{
    const int64_t bytes = index_row_bytes(format);
    memset(row, 0, sizeof *row);
    memcpy(row->values, page + place * bytes, (size_t)bytes);
    memcpy(row->scales, page + page_tokens * bytes + place * INDEX_SCALE_BYTES, INDEX_SCALE_BYTES);
}

void index_normalise(dsajit_key_norm norm, const uint16_t row[INDEX_ROW], const float *weight,
                     const float *bias, double eps, double result[INDEX_ROW])
{
    const bool layernorm = norm == DSAJIT_KEY_NORM_LAYERNORM;
    double mean = 0, squares = 0;
    for (int i = 0; layernorm && i < INDEX_ROW; i++)
        mean += bf16_to_double(row[i]) / INDEX_ROW;
    for (int i = 0; i < INDEX_ROW; i++)
        squares += pow(bf16_to_double(row[i]) - mean, 2) / INDEX_ROW;
    for (int i = 0; i < INDEX_ROW; i++) {
        result[i] = (bf16_to_double(row[i]) - mean) / sqrt(squares + eps);
        if (layernorm)
            result[i] = result[i] * bf16_to_double(double_to_bf16(weight[i])) +
                        bf16_to_double(double_to_bf16(bias[i]));
        else
            result[i] *= weight[i];
    }
}
