// Online softmax over tiles of keys, in base 2.
//
// A lane's four scores or weights are one result of a 16x16x32 multiplication with keys as rows
// and heads as columns: lane (group, column) has keys 4 group + 0..3 of its wave's 16, for head
// `column`.
//
// Weights are 2^(score - reference), and the reference is the largest score so far, exactly: the
// weights that decide the result are then 1 or just below, where rounding to bf16 costs least.
// (Any reference near it would do for the range of f32, and spare most rescaling, but the error of
// the result grows by a seventh.)
#pragma once

#include "latent_tile.hpp"
#include "vectors.hpp"
#include "wave.hpp"

using four_keys = float[4];

// "No key yet". Finite: a masked score minus it is still -infinity, never NaN.
constexpr float no_reference = -0x1.fffffep127f;
constexpr float masked_score = -__builtin_inff();

struct running_softmax {
    float reference = no_reference; // the same in all waves and groups
    float sum = 0;                  // of the weights, not rounded; this lane's keys only
};

// Keys that do not count: masked by their index, or past the end of the row. Bit k is key k of the
// wave. All scalar; `first` is the position of the wave's first key.
__device__ __forceinline__ u32 find_masked_keys(u32 masked_by_index, u32 row_length, u32 first)
{
    constexpr u32 all = (1u << keys_per_wave) - 1;
    const u32 end = first + keys_per_wave;
    const u32 present =
        (row_length < end ? row_length : end) - (row_length < first ? row_length : first);
    return masked_by_index | (all & all << present);
}

__device__ __forceinline__ void mask_scores(four_keys &scores, u32 masked_keys, u32 group)
{
    const u32 mine = masked_keys >> (4 * group);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        scores[i] = mine >> i & 1 ? masked_score : scores[i];
}

__device__ __forceinline__ void set_weights(four_keys &weights, const four_keys &scores,
                                            float reference)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        weights[i] = __builtin_amdgcn_exp2f(scores[i] - reference);
}

template <class Four> __device__ __forceinline__ float largest_of(const Four &v)
{
    return larger(larger(v[0], v[1]), larger(v[2], v[3]));
}
