#include "record.h"

#include "narrow_floats.h"

#include <float.h>
#include <math.h>
#include <string.h>

float record_scale(const uint8_t record[DSAJIT_RECORD_BYTES], size_t tile)
{
    float scale;
    memcpy(&scale, record + RECORD_SCALES_OFFSET + 4 * tile, sizeof scale);
    return scale;
}

void record_set_scale(uint8_t record[DSAJIT_RECORD_BYTES], size_t tile, float scale)
{
    memcpy(record + RECORD_SCALES_OFFSET + 4 * tile, &scale, sizeof scale);
}

/* The smallest power of two that is not below `value`, a positive normal number. */
static float round_up_to_power_of_two(float value)
{
    int exponent;
    const float significand = frexpf(value, &exponent); /* in [0.5, 1) */
    return ldexpf(1, significand == 0.5F ? exponent - 1 : exponent);
}

/* The current rule of vLLM's and FlashMLA's writers, and the one that vLLM had before it. */
static float choose_scale(float largest, dsajit_scale_format format)
{
    const float scale = largest / 448;
    if (format == DSAJIT_SCALE_POW2)
        return round_up_to_power_of_two(fmaxf(scale, 1e-4F));
    return fmaxf(scale, FLT_MIN);
}

void record_write(const float key[RECORD_KEY_SIZE], dsajit_scale_format format,
                  uint8_t record[DSAJIT_RECORD_BYTES])
{
    for (size_t tile = 0; tile < RECORD_SCALES; tile++) {
        const float *latent = key + RECORD_LATENT_PER_SCALE * tile;
        float largest = 0;
        for (size_t d = 0; d < RECORD_LATENT_PER_SCALE; d++)
            largest = fmaxf(largest, fabsf(latent[d]));
        const float scale = choose_scale(largest, format);
        record_set_scale(record, tile, scale);
        for (size_t d = 0; d < RECORD_LATENT_PER_SCALE; d++)
            record[RECORD_LATENT_PER_SCALE * tile + d] = double_to_e4m3(latent[d] / scale);
    }
    for (size_t r = 0; r < DSAJIT_QK_ROPE_HEAD_DIM; r++) {
        const uint16_t bits = double_to_bf16(key[DSAJIT_KV_LORA_RANK + r]);
        memcpy(record + RECORD_ROPE_OFFSET + 2 * r, &bits, sizeof bits);
    }
}

void record_read(const uint8_t record[DSAJIT_RECORD_BYTES], double key[RECORD_KEY_SIZE])
{
    for (size_t d = 0; d < DSAJIT_KV_LORA_RANK; d++) {
        const float scale = record_scale(record, d / RECORD_LATENT_PER_SCALE);
        const float product = (float)e4m3_to_double(record[d]) * scale;
        key[d] = bf16_to_double(double_to_bf16(product));
    }
    for (size_t r = 0; r < DSAJIT_QK_ROPE_HEAD_DIM; r++) {
        uint16_t bits;
        memcpy(&bits, record + RECORD_ROPE_OFFSET + 2 * r, sizeof bits);
        key[DSAJIT_KV_LORA_RANK + r] = bf16_to_double(bits);
    }
}
