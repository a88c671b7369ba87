// The queries and weights of a group of rows in LDS, as the multiplications read them.
#pragma once

#include "score_operands.hpp"
#include "score_rows.hpp"

constexpr u32 rows_per_group = INDEXER_SCORE_ROWS;
constexpr u32 heads_per_block = 16; // of one multiplication
constexpr u32 blocks_of_heads = variant::heads / heads_per_block;

// Heads past the query's last repeat it, with a weight of 0.
struct shared_queries {
    // Each of the 64 lanes of a load beside the next, as the loads to LDS leave them.
    alignas(16) u32x4 values[rows_per_group][blocks_of_heads][loads_per_operand][lanes_per_wave];
    // mxfp4: lane (group, column) has in byte b the scale of its values of head 16 b + column.
    u32 scales[is_fp8 ? 1 : rows_per_group][is_fp8 ? 1 : lanes_per_wave];
    alignas(16) float weights[rows_per_group][variant::heads];
};

// Starts loads from memory to LDS without a register in between.
__device__ __forceinline__ void start_query_values(shared_queries &shared,
                                                   const indexer_score_arguments &arguments,
                                                   const row_group &group,
                                                   const thread_place &place)
{
    constexpr u32 loads_per_row = blocks_of_heads * loads_per_operand;
    const u32 last = (u32)arguments.heads - 1;
    for (u32 i = place.wave; i < group.count * loads_per_row; i += waves_per_workgroup) {
        const u32 r = i / loads_per_row;
        const u32 block = i % loads_per_row / loads_per_operand;
        const u32 load = i % loads_per_operand;
        const u32 head = smaller_of(heads_per_block * block + place.column, last);
        const auto row = (global_pointer<const unsigned char>)arguments.q +
                         (group.first + r) * arguments.q_row_stride;
        const u32 offset = head * vector_bytes + 64 * load + 16 * place.group;
        __builtin_amdgcn_global_load_lds((global_pointer<void>)(row + offset),
                                         (lds_pointer<void>)&shared.values[r][block][load][0], 16,
                                         0, 0);
    }
}

// mxfp4
__device__ __forceinline__ void write_query_scales(shared_queries &shared,
                                                   const indexer_score_arguments &arguments,
                                                   const row_group &group, u32 r,
                                                   const thread_place &place)
{
    const auto row = (global_pointer<const unsigned char>)arguments.q_scales +
                     (group.first + r) * arguments.q_scales_row_stride;
    const u32 offset = place.column * scale_bytes + place.group;
    u32 bytes = 0;
#pragma unroll
    for (u32 b = 0; b < blocks_of_heads; b++)
        bytes |= (u32)row[offset + heads_per_block * b * scale_bytes] << 8 * b;
    shared.scales[r][place.lane] = bytes;
}

__device__ __forceinline__ float load_weight(const indexer_score_arguments &arguments, u32 row,
                                             u32 head)
{
    const i64 first = row * arguments.weights_row_stride;
    if (arguments.weights_are_bf16) {
        const u32 bits = ((global_pointer<const unsigned short>)arguments.weights + first)[head];
        return __builtin_bit_cast(float, bits << 16);
    }
    return ((global_pointer<const float>)arguments.weights + first)[head];
}

// One lane a head.
__device__ __forceinline__ void write_weights(shared_queries &shared,
                                              const indexer_score_arguments &arguments,
                                              const row_group &group, u32 r, u32 lane)
{
    static_assert(variant::heads <= lanes_per_wave);
    float weight = 0;
    if (lane < (u32)arguments.heads)
        weight = load_weight(arguments, group.first + r, lane) * arguments.weight_scale;
    if (lane < variant::heads)
        shared.weights[r][lane] = weight;
}

__device__ __forceinline__ void start_queries(shared_queries &shared,
                                              const indexer_score_arguments &arguments,
                                              const row_group &group, const thread_place &place)
{
    start_query_values(shared, arguments, group, place);
    for (u32 r = place.wave; r < group.count; r += waves_per_workgroup) {
        if constexpr (!is_fp8)
            write_query_scales(shared, arguments, group, r, place);
        write_weights(shared, arguments, group, r, place.lane);
    }
}
