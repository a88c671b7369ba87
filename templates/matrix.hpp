// The matrix instruction of the bf16 kernels.
#pragma once

#include "vectors.hpp"

// D = A * B + C with A [16 x 32], B [32 x 16] in bf16 and C, D [16 x 16] in f32.
//
//     operand   lane = 16 * group + column holds
//     A         row `column`,  k = 8 * group + 0..7      (4 registers)
//     B         column `column`, k = 8 * group + 0..7    (4 registers)
//     C, D      column `column`, rows 4 * group + 0..3   (4 registers)
//
// Which k is which does not matter as long as A and B agree: every user of this function picks the
// order that suits its loads and says so.
__device__ __forceinline__ f32x4 multiply_16x16x32(bf16x8 a, bf16x8 b, f32x4 c)
{
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
}

// Ask the scheduler for a number of instructions of a kind, in the order of the calls.
constexpr int matrix_instructions = 0x8;
constexpr int lds_reads = 0x100;

template <int kind, int count> __device__ __forceinline__ void schedule()
{
    __builtin_amdgcn_sched_group_barrier(kind, count, 0);
}

// Nothing moves over this line.
__device__ __forceinline__ void schedule_fence()
{
    __builtin_amdgcn_sched_barrier(0);
}
