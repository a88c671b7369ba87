// Online softmax over tiles of 64 keys, in base 2.
//
// Scores and weights live in the layout of a multiplication's result: lane (group, column) has
// keys 4 group + 0..3 of its wave's 16, for head `column`.
//
// Weights are 2^(score - reference). The reference is not the running maximum: any number close to
// it does as well, since weights are floating point. It moves, to the maximum so far, only when a
// score has outgrown it by more than a factor of 2^8. All four waves move it together; otherwise
// no wave needs to know the others' maxima, and nothing is rescaled.
#ifndef DSAJIT_SOFTMAX_HPP
#define DSAJIT_SOFTMAX_HPP

#include "latent_tile.hpp"
#include "vectors.hpp"
#include "wave.hpp"

constexpr float tolerated_excess = 8;

// "No key yet". Finite: a masked score of -infinity minus it is still -infinity, never NaN.
constexpr float no_reference = -0x1.fffffep127f;
constexpr float masked_score = -__builtin_inff();

struct running_softmax {
    float reference = no_reference; // the same in all waves and groups
    float sum = 0;                  // this lane's keys only
};

// Keys that do not count: masked by their index, or past the end of the row. All scalar;
// `first` is the position of this wave's first key.
__device__ __forceinline__ u32 find_masked_keys(u32 masked_by_index, u32 row_length, u32 first)
{
    constexpr u32 all = (1u << keys_per_wave) - 1;
    const u32 end = first + keys_per_wave;
    const u32 present = (row_length < end ? row_length : end) -
                        (row_length < first ? row_length : first);
    return masked_by_index | (all & all << present);
}

__device__ __forceinline__ void mask_scores(float (&scores)[4], u32 masked_keys, u32 group)
{
    const u32 mine = masked_keys >> (4 * group);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        scores[i] = mine >> i & 1 ? masked_score : scores[i];
}

template <class Four> __device__ __forceinline__ float largest_of(const Four &v)
{
    return larger(larger(v[0], v[1]), larger(v[2], v[3]));
}

__device__ __forceinline__ void set_weights(float (&weights)[4], const float (&scores)[4],
                                            float reference)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        weights[i] = __builtin_amdgcn_exp2f(scores[i] - reference);
}

#endif
