// A tile's worth of key records (record_layout.hpp) in registers.
#pragma once

#include "index_row.hpp"
#include "matrix.hpp"
#include "record_layout.hpp"
#include "vectors.hpp"
#include "wave.hpp"

// One load instruction of a wave takes 64 contiguous bytes of each of its 16 keys: lane
// (group, column) takes bytes 16 * group .. + 15 of them for key `column`. A lane so holds
//
//     latent chunk j (0..7)   values 64 j + 16 group + 0..15
//     rope chunk r (0..1)     values 32 r + 8 group + 0..7
//
// and all four scales. Half a chunk of latent, or a chunk of rope, is 8 values of one key: the
// A operand of a 16x16x32 multiplication, with the k order
//
//     latent step (j, h)   k = 8 group + e   is value 64 j + 16 group + 8 h + e
//     rope step r          k = 8 group + e   is value 32 r + 8 group + e
constexpr u32 bytes_per_load = 16;
constexpr u32 bytes_per_row_of_loads = groups_per_wave * bytes_per_load;
constexpr u32 latent_chunks = latent_size / bytes_per_row_of_loads;
constexpr u32 rope_chunks = rope_size * sizeof(__bf16) / bytes_per_row_of_loads;
constexpr u32 chunks_per_scale = 128 / bytes_per_row_of_loads;

struct key_registers {
    f32x4 scales;
    u32x4 latent[latent_chunks];
    bf16x8 rope[rope_chunks];
    u32 masked; // bit k: key k of this wave's 16 was masked by its index (scalar)
};

// What a masked entry reads instead of a record: its data, which may be anything, never enters.
static __device__ const u32x4 zero_record[record_bytes / sizeof(u32x4)] = {};

// Where the key of a column is. Negative entries are masked where the variant says that they
// exist; 32 bits of a valid slot id are all there are, the row address takes 64.
struct record_place {
    u64 address;
    u32 masked; // as in key_registers
};

__device__ __forceinline__ record_place find_record(const void *kv, index_type index)
{
    record_place place = {(u64)kv + (u64)(u32)index * record_bytes, 0};
    if constexpr (variant::has_invalid) {
        const bool masked = index < 0;
        place.masked = (u32)__builtin_amdgcn_ballot_w64(masked) & 0xffffu;
        place.address = masked ? (u64)zero_record : place.address;
    }
    return place;
}

// Start the loads of one key per column.
__device__ __forceinline__ void load_keys(key_registers &keys, record_place place, u32 group)
{
    const auto record = (global_pointer<const unsigned char>)place.address;
    const auto mine = record + group * bytes_per_load;

    keys.masked = place.masked;
    keys.scales = *(global_pointer<const f32x4>)(record + scales_offset);
    // Needed first, hence loaded first everywhere.
    schedule_fence();
#pragma unroll
    for (u32 j = 0; j < latent_chunks; j++)
        keys.latent[j] = *(global_pointer<const u32x4>)(mine + j * bytes_per_row_of_loads);
#pragma unroll
    for (u32 r = 0; r < rope_chunks; r++)
        keys.rope[r] =
            *(global_pointer<const bf16x8>)(mine + rope_offset + r * bytes_per_row_of_loads);
}

// Two e4m3 values of a dword, times their scale, as bf16.
//
// pow2: the conversion takes the scale's exponent; 4 significant bits always fit, so it is exact.
// any:  the product is rounded to f32, then to bf16 (nearest even), as the format prescribes.
template <bool high> __device__ __forceinline__ bf16x2 dequantise_pair(u32 values, float scale)
{
    if constexpr (variant::scale == variant::scale_values::pow2) {
        return __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(values, scale, high);
    } else {
        return round_to_bf16(__builtin_amdgcn_cvt_pk_f32_fp8(values, high) * scale);
    }
}

__device__ __forceinline__ bf16x8 dequantise(u32 first, u32 second, float scale)
{
    return join(dequantise_pair<false>(first, scale), dequantise_pair<true>(first, scale),
                dequantise_pair<false>(second, scale), dequantise_pair<true>(second, scale));
}
