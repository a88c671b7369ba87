// Indexer vectors of 128 values as matrix operands.
//
//     format   a vector                  multiplied with
//     fp8      128 bytes e4m3            unit scales; the key's f32 scale comes after the sum over
//                                        heads, the query's is part of the weights
//     mxfp4    64 bytes of e2m1 pairs    an E8M0 scale for each 32 values of either side
#pragma once

#include "vectors.hpp"
#include "wave.hpp"

constexpr bool is_fp8 = variant::format == variant::format_values::fp8;
constexpr u32 vector_bytes = is_fp8 ? 128 : 64;
constexpr u32 scale_bytes = 4; // of a vector: one f32 or four E8M0

// One load of a wave takes 64 contiguous bytes of 16 vectors, 16 bytes a lane. The lane
// (group, column) gets, of vector `column`,
//
//     fp8      load 0   values 16 group + 0..15         load 1   values 64 + 16 group + 0..15
//     mxfp4    load 0   values 32 group + 0..31
//
// which are the A and B operands of multiplications of 16 x 16 vectors.
constexpr u32 loads_per_operand = vector_bytes / 64;

struct operand {
    u32x4 chunks[loads_per_operand];
};

// The builtin takes 8 registers. Of e2m1 values the instruction has, and reads, only the lower 4.
using wide_operand = int __attribute__((ext_vector_type(8)));

__device__ __forceinline__ wide_operand widen(const operand &value)
{
    return (wide_operand)__builtin_shufflevector(
        value.chunks[0], value.chunks[loads_per_operand - 1], 0, 1, 2, 3, 4, 5, 6, 7);
}

// 16 vectors a times 16 vectors b. The lane (group, column) gets the products of a's vectors
// 4 group + 0..3 with b's vector `column`.
//
// mxfp4: the lane gives the scales of the values it has, which are one block of 32: byte `block` of
// a_scales and the lowest byte of b_scales.
template <int block>
__device__ __forceinline__ f32x4 multiply_16x16x128(const operand &a, u32 a_scales,
                                                    const operand &b, u32 b_scales)
{
    constexpr int e4m3 = 0, e2m1 = 4;
    const f32x4 zero = {};
    if constexpr (is_fp8) // with scales of constant 0, the instruction is the one without
        return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(widen(a), widen(b), zero, e4m3,
                                                                e4m3, 0, 0, 0, 0);
    else
        return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
            widen(a), widen(b), zero, e2m1, e2m1, block, (int)a_scales, 0, (int)b_scales);
}
