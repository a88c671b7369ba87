/* The 656-byte fp8_ds_mla record: 512 e4m3 bytes, 4 little-endian f32 scales (one per 128 of them),
   64 bf16 rope values. */
#ifndef TOOLS_RECORD_H
#define TOOLS_RECORD_H

#include <dsajit/dsajit.h>

/* The record, the tensor files and the GPU are little-endian; so must the host be. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian hosts only");

enum {
    RECORD_SCALES = 4,
    RECORD_LATENT_PER_SCALE = DSAJIT_KV_LORA_RANK / RECORD_SCALES,
    RECORD_SCALES_OFFSET = DSAJIT_KV_LORA_RANK,
    RECORD_ROPE_OFFSET = RECORD_SCALES_OFFSET + 4 * RECORD_SCALES,
    RECORD_KEY_SIZE = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM
};

/* Quantises `key` (latent, then rope; rope must be bf16 values) as the cache writers do: POW2 with
   the current scale rule, ANY with the older one. */
void record_write(const float key[RECORD_KEY_SIZE], dsajit_scale_format format,
                  uint8_t record[DSAJIT_RECORD_BYTES]);

/* The key that a record stands for. A latent element is the f32 product of value and scale, rounded
   to bf16, which changes nothing where the scale is a power of two. */
void record_read(const uint8_t record[DSAJIT_RECORD_BYTES], double key[RECORD_KEY_SIZE]);

/* One field. */
float record_scale(const uint8_t record[DSAJIT_RECORD_BYTES], size_t tile);
void record_set_scale(uint8_t record[DSAJIT_RECORD_BYTES], size_t tile, float scale);

#endif
