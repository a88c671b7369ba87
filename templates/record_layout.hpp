// The 656-byte key record of the fp8_ds_mla cache.
//
//     bytes        content
//     0 .. 511     latent: 512 e4m3 values
//     512 .. 527   4 f32 scales, scale t for latent 128 t .. 128 t + 127
//     528 .. 655   rope: 64 bf16 values
#pragma once

#include "vectors.hpp"

constexpr u32 latent_size = 512;
constexpr u32 rope_size = 64;
constexpr u32 scales_offset = latent_size;
constexpr u32 rope_offset = scales_offset + 4 * sizeof(float);
constexpr u32 record_bytes = rope_offset + rope_size * sizeof(__bf16);
static_assert(record_bytes == 656, "the fp8_ds_mla record");
