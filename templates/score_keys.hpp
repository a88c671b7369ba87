// A wave's 128 keys in registers.
#pragma once

#include "matrix.hpp"
#include "score_operands.hpp"
#include "score_rows.hpp"

constexpr u32 keys_per_tile = 16; // of one multiplication
constexpr u32 tiles_per_unit = 8;
constexpr u32 keys_per_unit = keys_per_tile * tiles_per_unit;
static_assert(keys_per_unit * waves_per_workgroup == INDEXER_SCORE_KEYS);

// Results of 4 tiles become one number a lane: that of key `lane` of 64.
constexpr u32 tiles_per_result = 4;
constexpr u32 results_per_unit = tiles_per_unit / tiles_per_result;

struct key_registers {
    operand values[tiles_per_unit]; // key `column` of the tile
    u32 blocks[tiles_per_unit];     // mxfp4: E8M0 scale of the lane's values
    float scales[results_per_unit]; // fp8: of key `lane` of 64
};

// Keys past either end of the hull may not exist. In their place the nearest ones within are read.
__device__ __forceinline__ u32 cut_to(key_range range, u32 value)
{
    return larger_of(smaller_of(value, range.end - 1), range.start);
}

// Where a tile's keys are: byte offsets from scalar addresses, wherever one will do.
struct tile_place {
    global_pointer<const unsigned char> values, scales;
    u32 value_offset, scale_offset; // of the key of the lane's column
};

// gathered: keys and their scales are arrays.
// tokens:   pages of one token, and each lane looks up its own.
// pages:    of a multiple of 16 tokens, so that a tile lies in one of them, and only what comes
// from
//           the column isn't scalar.
template <variant::addressing_values addressing> struct tile_finder;

template <> struct tile_finder<variant::addressing_values::gathered> {
    u32 first_key, key;

    __device__ __forceinline__ void look_up(const indexer_score_arguments &, const row_group &group,
                                            u32 start, u32 column)
    {
        first_key = cut_to(group.hull, start);
        key = cut_to(group.hull, start + column);
    }

    __device__ __forceinline__ tile_place find(const indexer_score_arguments &arguments) const
    {
        // In 24 bits, which the host has seen to: that multiplies in a quarter of the time.
        const u32 from_first = (key - first_key) % keys_per_unit;
        const u32 stride = (u32)arguments.key_stride & 0xffffff;
        return {(global_pointer<const unsigned char>)arguments.keys +
                    first_key * arguments.key_stride,
                (global_pointer<const unsigned char>)arguments.key_scales +
                    (u64)first_key * scale_bytes,
                from_first * stride, from_first * scale_bytes};
    }
};

template <> struct tile_finder<variant::addressing_values::tokens> {
    u32 page;

    __device__ __forceinline__ void look_up(const indexer_score_arguments &arguments,
                                            const row_group &group, u32 start, u32 column)
    {
        const auto table = (global_pointer<const u32>)arguments.block_table +
                           group.request * arguments.block_table_stride;
        page = table[cut_to(group.hull, start + column)];
    }

    __device__ __forceinline__ tile_place find(const indexer_score_arguments &arguments) const
    {
        const auto first =
            (global_pointer<const unsigned char>)arguments.keys + page * arguments.key_stride;
        return {first, first + vector_bytes, 0, 0};
    }
};

template <> struct tile_finder<variant::addressing_values::pages> {
    u32 page, token;

    __device__ __forceinline__ void look_up(const indexer_score_arguments &arguments,
                                            const row_group &group, u32 start, u32 column)
    {
        const key_range tiles = {group.hull.start / keys_per_tile,
                                 (group.hull.end - 1) / keys_per_tile + 1};
        const u32 tile = cut_to(tiles, start / keys_per_tile);
        const u32 entry = (u32)((u64)tile * arguments.page_reciprocal >> arguments.page_shift);
        const auto table = (constant_pointer<u32>)arguments.block_table +
                           group.request * arguments.block_table_stride;
        page = table[entry];
        token = tile * keys_per_tile - entry * (u32)arguments.page_tokens + column;
    }

    __device__ __forceinline__ tile_place find(const indexer_score_arguments &arguments) const
    {
        const auto first =
            (global_pointer<const unsigned char>)arguments.keys + page * arguments.key_stride;
        const u32 scales = (u32)arguments.page_tokens * vector_bytes;
        return {first, first, token * vector_bytes, scales + token * scale_bytes};
    }
};

// One of four values, by the lane's group.
__device__ __forceinline__ float choose_by_group(f32x4 values, u32 group)
{
    const float low = group & 1 ? values[1] : values[0];
    const float high = group & 1 ? values[3] : values[2];
    return group & 2 ? high : low;
}

__device__ __forceinline__ void load_keys(key_registers &keys,
                                          const indexer_score_arguments &arguments,
                                          const row_group &group, u32 start,
                                          const thread_place &place)
{
    tile_finder<variant::addressing> tiles[tiles_per_unit];
#pragma unroll
    for (u32 t = 0; t < tiles_per_unit; t++) {
        tiles[t].look_up(arguments, group, start + keys_per_tile * t, place.column);
        schedule_fence();
    }

    f32x4 scales[results_per_unit];
#pragma unroll
    for (u32 t = 0; t < tiles_per_unit; t++) {
        const tile_place tile = tiles[t].find(arguments);
        const u32 offset = tile.value_offset + 16 * place.group;
#pragma unroll
        for (u32 i = 0; i < loads_per_operand; i++)
            keys.values[t].chunks[i] =
                *(global_pointer<const u32x4_unaligned>)(tile.values + offset + 64 * i);
        if constexpr (is_fp8)
            scales[t / tiles_per_result][t % tiles_per_result] =
                *(global_pointer<const float>)(tile.scales + tile.scale_offset);
        else
            keys.blocks[t] = tile.scales[tile.scale_offset + place.group];
    }
    if constexpr (is_fp8) {
#pragma unroll
        for (u32 i = 0; i < results_per_unit; i++)
            keys.scales[i] = choose_by_group(scales[i], place.group);
    }
}
