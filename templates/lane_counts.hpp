// Counting across the lanes of a wave.
#pragma once

#include "wave.hpp"

// Tells the compiler what it cannot see, and so puts the value in a scalar register.
__device__ __forceinline__ u32 same_in_all_lanes(u32 value)
{
    return (u32)__builtin_amdgcn_readfirstlane((int)value);
}

// How many of the lanes below this one are in the set.
__device__ __forceinline__ u32 count_below(u64 lanes)
{
    return __builtin_amdgcn_mbcnt_hi((u32)(lanes >> 32), __builtin_amdgcn_mbcnt_lo((u32)lanes, 0));
}

// Adds to each lane what another lane has, or nothing where the pattern names none. `rows` selects
// rows of 16 lanes, one a bit.
template <int pattern, int rows> __device__ __forceinline__ u32 add_lanes(u32 value)
{
    return value + (u32)__builtin_amdgcn_update_dpp(0, (int)value, pattern, rows, 0xf, false);
}

// The sum of the values up to and including this lane's: within the rows of 16 lanes first, then
// the last lane's sum of row 0 to row 1 and of row 2 to row 3, then that of row 1 to rows 2 and 3.
// All lanes must be active.
__device__ __forceinline__ u32 sum_up_to_lane(u32 value)
{
    constexpr int row_shift_right = 0x110, row_broadcast_15 = 0x142, row_broadcast_31 = 0x143;
    value = add_lanes<row_shift_right + 1, 0xf>(value);
    value = add_lanes<row_shift_right + 2, 0xf>(value);
    value = add_lanes<row_shift_right + 4, 0xf>(value);
    value = add_lanes<row_shift_right + 8, 0xf>(value);
    value = add_lanes<row_broadcast_15, 0xa>(value);
    return add_lanes<row_broadcast_31, 0xc>(value);
}

// Takes a place in a list for each active lane, with one atomic for the wave. `next` is the first
// free place.
__device__ __forceinline__ u32 take_place(u32 &next)
{
    const u64 active = __builtin_amdgcn_ballot_w64(true);
    const u32 place = count_below(active);
    u32 first = 0;
    if (place == 0)
        first = __hip_atomic_fetch_add(&next, (u32)__builtin_popcountll(active), __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_WORKGROUP);
    return same_in_all_lanes(first) + place;
}

// Sums over the waves of a workgroup, wave w having left its own in of_wave[w]; all lanes of the
// calling wave must be active.
template <u32 waves>
__device__ __forceinline__ u32 sum_up_to_wave(const u32 (&of_wave)[waves], u32 wave)
{
    static_assert(lanes_per_wave % waves == 0, "a lane for each wave");
    const u32 sums = sum_up_to_lane(of_wave[threadIdx.x % waves]);
    return (u32)__builtin_amdgcn_readlane((int)sums, (int)wave);
}

template <u32 waves>
__device__ __forceinline__ u32 sum_before_wave(const u32 (&of_wave)[waves], u32 wave)
{
    return sum_up_to_wave(of_wave, wave) - same_in_all_lanes(of_wave[wave]);
}

template <u32 waves> __device__ __forceinline__ u32 sum_of_waves(const u32 (&of_wave)[waves])
{
    return sum_up_to_wave(of_wave, waves - 1);
}
