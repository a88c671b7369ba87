// Radix search for the k best of many: which of them is the last to be selected?
//
// What is compared is a pair of ranks, the score's and, where those are equal, the position's: the
// smaller position goes first. No two are equal. The search narrows an interval of pairs, digit
// after digit from the highest: it counts how often each digit occurs in the interval, and goes on
// with the one in which the k-th best is.
//
//     level     0       1       2      3       4
//     digit     score's bits           position's bits
//               31–21   20–10   9–0    21–11   10–0
#pragma once

#include "lane_counts.hpp"
#include "score_order.hpp"
#include "topk_arguments.h"

constexpr u32 digit_bits = 11;
constexpr u32 digits = 1 << digit_bits;
constexpr u32 score_levels = 3, all_levels = 5;
constexpr u32 positions_max = TOPK_COLUMNS_MAX;
static_assert(positions_max <= 1 << 2 * digit_bits, "two digits hold a position");
static_assert(digits == 2 * TOPK_WORKGROUP_SIZE, "each thread sums two digits");

// Neighbouring lanes count in different copies: scores lie so close together that many lanes have
// the same digit, and adding to one address takes turns.
constexpr u32 copies = 2;

struct digit_counts {
    alignas(16) u32 of_digit[digits][copies];
    u32 of_wave[TOPK_WORKGROUP_SIZE / lanes_per_wave];
    u32 digit, above, inside; // what was found
};

struct interval {
    u32 low, span; // low … low + span

    __device__ __forceinline__ bool has(u32 rank) const
    {
        return rank - low <= span;
    }
    __device__ __forceinline__ u32 high() const
    {
        return low + span;
    }
};

__device__ __forceinline__ u32 rank_of_position(u32 position)
{
    return positions_max - 1 - position;
}

// The same in all threads. While the interval of scores has more than one rank, that of positions
// has all.
struct digit_search {
    interval scores = {0, ~0u};
    interval positions = {0, positions_max - 1};
    u32 level = 0;  // next
    u32 above = 0;  // how many are better than the interval's best
    u32 inside;     // how many are in the interval
    u32 wanted;     // how many of these are to be selected

    __device__ __forceinline__ digit_search(u32 count, u32 k) : inside(count), wanted(k)
    {
    }
    __device__ __forceinline__ bool by_position() const
    {
        return level >= score_levels;
    }
    __device__ __forceinline__ u32 shift() const
    {
        return level == 0 ? 21 : (level == 1 ? 10 : (level == 3 ? 11 : 0));
    }
    // Every one in the interval and all that are better.
    __device__ __forceinline__ bool reaches(float score, u32 position) const
    {
        const u32 rank = rank_of(score);
        return rank > scores.low ||
               (rank == scores.low && rank_of_position(position) >= positions.low);
    }
    __device__ __forceinline__ bool is_above(float score, u32 position) const
    {
        const u32 rank = rank_of(score);
        return rank > scores.high() ||
               (rank == scores.high() && rank_of_position(position) > positions.high());
    }
};

__device__ __forceinline__ void clear(digit_counts &counts)
{
    *(u32x4 *)counts.of_digit[2 * threadIdx.x] = u32x4{};
}

__device__ __forceinline__ void count_digit(digit_counts &counts, u32 digit)
{
    __hip_atomic_fetch_add(&counts.of_digit[digit][threadIdx.x % copies], 1u, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
}

// Counts one at the search's level, if it is in the interval.
__device__ __forceinline__ void count(digit_counts &counts, const digit_search &search, float score,
                                      u32 position)
{
    const u32 rank = rank_of(score), position_rank = rank_of_position(position);
    if (!search.scores.has(rank) || !search.positions.has(position_rank))
        return;
    const u32 offset =
        search.by_position() ? position_rank - search.positions.low : rank - search.scores.low;
    count_digit(counts, offset >> search.shift());
}

// Goes on with the digit in which the last wanted one is, once all waves have counted, and leaves
// the counts cleared. Thread t has the digits 2047 - 2 t and the one below, so that sums over the
// threads up to t are sums from the best digit down.
__device__ __forceinline__ void narrow(digit_search &search, digit_counts &counts)
{
    const thread_place place = find_thread_place();
    const u32 upper = digits - 1 - 2 * threadIdx.x;
    const auto pair = (u32x4 *)counts.of_digit[upper - 1];

    barrier_for_lds();
    const u32x4 found = *pair;
    *pair = u32x4{};
    const u32 in_upper = found[2] + found[3];
    const u32 in_both = found[0] + found[1] + in_upper;
    const u32 up_to_lane = sum_up_to_lane(in_both);
    if (place.lane == lanes_per_wave - 1)
        counts.of_wave[place.wave] = up_to_lane;
    barrier_for_lds();

    const u32 up_to_here = sum_before_wave(counts.of_wave, place.wave) + up_to_lane;
    const u32 before = up_to_here - in_both;
    if (before < search.wanted && search.wanted <= up_to_here) {
        const bool is_upper = search.wanted <= before + in_upper;
        counts.digit = is_upper ? upper : upper - 1;
        counts.above = is_upper ? before : before + in_upper;
        counts.inside = is_upper ? in_upper : in_both - in_upper;
    }
    barrier_for_lds();

    interval &ranks = search.by_position() ? search.positions : search.scores;
    const u32 above = same_in_all_lanes(counts.above);
    ranks.low += same_in_all_lanes(counts.digit) << search.shift();
    ranks.span = (1u << search.shift()) - 1;
    search.above += above;
    search.wanted -= above;
    search.inside = same_in_all_lanes(counts.inside);
    search.level++;
}
