// Who is who in a workgroup of 4 waves of 64 lanes, and how lanes and waves meet.
#pragma once

#include "vectors.hpp"

constexpr u32 lanes_per_wave = 64;
constexpr u32 waves_per_workgroup = 4;

// A wave as the matrix instructions see it: lane = 16 * group + column.
constexpr u32 columns_per_wave = 16;
constexpr u32 groups_per_wave = lanes_per_wave / columns_per_wave;

struct thread_place {
    u32 wave; // in a scalar register
    u32 lane;
    u32 group;
    u32 column;
};

__device__ __forceinline__ thread_place find_thread_place()
{
    const u32 thread = threadIdx.x;
    const u32 lane = thread % lanes_per_wave;
    return {(u32)__builtin_amdgcn_readfirstlane(thread / lanes_per_wave), lane,
            lane / columns_per_wave, lane % columns_per_wave};
}

// Workgroup barrier that orders LDS only. The plain __syncthreads() also waits for every global
// load, and with that for the keys of the tiles to come.
__device__ __forceinline__ void barrier_for_lds()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// Combine the 4 lanes of a column (lane, lane ^ 16, lane ^ 32, lane ^ 48); all 4 get the result.
// A swap of a register with itself pairs the groups up:
//
//                      group 0   1   2   3
//     permlane16_swap  first 0   0   2   2     second 1   1   3   3
//     permlane32_swap  first 0   1   0   1     second 2   3   2   3
template <class Combine>
__device__ __forceinline__ float combine_groups(float value, Combine combine)
{
    u32 bits = __builtin_bit_cast(u32, value);
    u32x2 pair = __builtin_amdgcn_permlane16_swap(bits, bits, false, false);
    u32 first = pair.x, second = pair.y;
    value = combine(__builtin_bit_cast(float, first), __builtin_bit_cast(float, second));

    bits = __builtin_bit_cast(u32, value);
    pair = __builtin_amdgcn_permlane32_swap(bits, bits, false, false);
    first = pair.x, second = pair.y;
    return combine(__builtin_bit_cast(float, first), __builtin_bit_cast(float, second));
}

// NaN wins. (fmaxf, which drops it, costs two instructions more for each operand whose origin the
// compiler does not know.)
__device__ __forceinline__ float larger(float a, float b)
{
    return __builtin_elementwise_maximum(a, b);
}

__device__ __forceinline__ float sum_of(float a, float b)
{
    return a + b;
}
