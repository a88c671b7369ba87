// Combining what neighbouring lanes hold, by DPP: no LDS, no wait.
#pragma once

#include "vectors.hpp"

// How a lane picks another lane's value, as the dpp_ctrl field encodes it.
constexpr int dpp_swap_neighbours = 0xb1; // quad_perm [1, 0, 3, 2]
constexpr int dpp_swap_pairs = 0x4e;      // quad_perm [2, 3, 0, 1]
constexpr int dpp_half_mirror = 0x141;    // lane i of 8 from lane 7 - i
constexpr int dpp_mirror = 0x140;         // lane i of 16 from lane 15 - i

template <int control, class T> __device__ __forceinline__ T from_lane(T value)
{
    const int bits = __builtin_bit_cast(int, value);
    return __builtin_bit_cast(T, __builtin_amdgcn_mov_dpp(bits, control, 0xf, 0xf, true));
}

// Combines aligned groups of 4 or 16 lanes; all of them get the same result. `combine` must be
// commutative; each step joins groups that agree already, so that a mirror is as good as a swap.
template <u32 lanes, class T, class Combine>
__device__ __forceinline__ T combine_lanes(T value, Combine combine)
{
    static_assert(lanes == 4 || lanes == 16, "a quad or a row of lanes");
    value = combine(value, from_lane<dpp_swap_neighbours>(value));
    value = combine(value, from_lane<dpp_swap_pairs>(value));
    if constexpr (lanes == 16) {
        value = combine(value, from_lane<dpp_half_mirror>(value));
        value = combine(value, from_lane<dpp_mirror>(value));
    }
    return value;
}
