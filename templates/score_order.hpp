// The order in which scores are selected, as numbers of 32 bits: a larger rank goes first.
//
//     rank            score
//     0               NaN, of either sign
//     0x007fffff      -inf
//     …               negative numbers
//     0x80000000      +0 and -0
//     …               positive numbers, subnormal ones included
//     0xff800000      +inf
#pragma once

#include "vectors.hpp"

// Positive numbers are in order as integers already, negative ones in the reverse order.
__device__ __forceinline__ u32 rank_of(float score)
{
    const float without_negative_zero = score + 0.0f;
    const u32 bits = __builtin_bit_cast(u32, without_negative_zero);
    const u32 flipped = (u32)((int)bits >> 31) | 0x80000000;
    return __builtin_isnan(score) ? 0 : bits ^ flipped;
}

// A score with at most this rank's order: `score < first_score_of(rank)` is false for every score
// of that rank or a larger one, and for NaN. (Ranks that no score has become a NaN.)
__device__ __forceinline__ float first_score_of(u32 rank)
{
    return __builtin_bit_cast(float, rank >= 0x80000000 ? rank ^ 0x80000000 : ~rank);
}
