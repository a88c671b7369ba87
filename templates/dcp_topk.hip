// The best of all ranks' candidates, by score and then by smaller id. One workgroup of 16 waves a
// row, candidate `thread + 1024 i` in register i of a thread.
//
// The threshold is found bit by bit from the top: each step counts the candidates at or above a
// trial, with one ballot a register and one word of LDS a wave. That takes the same time for any
// distribution of the scores, and stops as soon as exactly as many as wanted are left.
#include "dcp_place.hpp"
#include "lane_counts.hpp"
#include "lanes.hpp"
#include "wave.hpp"

static_assert(sizeof(dcp_topk_arguments) == 72, "the same layout as on the host");

constexpr u32 waves_per_row = DCP_TOPK_WORKGROUP_SIZE / lanes_per_wave;
constexpr u32 candidates_per_thread = variant::capacity / DCP_TOPK_WORKGROUP_SIZE;

// Two sets, so that one barrier a count will do: a set is written again only after the barrier of
// the count between.
struct shared_memory {
    u32 by_wave[2][waves_per_row];
};
static_assert(waves_per_row == 16, "as many as combine_lanes combines");

// As unsigned numbers that order like what they stand for. 0 is a candidate that doesn't exist,
// which no score's is (-inf is 0x007fffff).
struct candidate {
    u32 score;
    u32 rank_of_id; // larger for smaller ids
};

__device__ __forceinline__ u32 to_ordered(float score)
{
    const u32 bits = __builtin_bit_cast(u32, score);
    return bits ^ ((u32)((int)bits >> 31) | 0x80000000u);
}

struct row_selection {
    shared_memory &shared;
    const thread_place &place;
    candidate candidates[candidates_per_thread];
    u32 set = 0; // of shared_memory, for the next count
};

// Which candidate a thread's register i is.
__device__ __forceinline__ u32 candidate_index(u32 i)
{
    return i * DCP_TOPK_WORKGROUP_SIZE + threadIdx.x;
}

__device__ __forceinline__ void load_candidates(row_selection &row,
                                                const dcp_topk_arguments &arguments)
{
    const auto pairs =
        (global_pointer<const f32x2>)arguments.candidates + blockIdx.x * arguments.row_stride;
    const u32 total = arguments.place.ranks * arguments.count;
    // c / count for c < total <= 16384: half a step away from the next integer, the quotient's
    // error of some 2^-19 decides nothing.
    const float reciprocal = __builtin_amdgcn_rcpf((float)arguments.count);
    f32x2 loaded[candidates_per_thread];
#pragma unroll
    for (u32 i = 0; i < candidates_per_thread; i++) {
        const u32 c = candidate_index(i) < total ? candidate_index(i) : 0;
        const u32 rank = (u32)(((float)c + 0.5f) * reciprocal);
        loaded[i] = pairs[rank * arguments.rank_stride + (c - rank * arguments.count)];
    }
#pragma unroll
    for (u32 i = 0; i < candidates_per_thread; i++) {
        const bool exists = candidate_index(i) < total && loaded[i].y >= 0;
        row.candidates[i].score = exists ? to_ordered(loaded[i].x) : 0;
        row.candidates[i].rank_of_id = exists ? ~(u32)loaded[i].y : 0;
    }
}

// What all waves counted: this lane's is that of wave lane % 16.
__device__ __forceinline__ u32 exchange_counts(row_selection &row, u32 of_wave)
{
    auto &by_wave = row.shared.by_wave[row.set];
    row.set ^= 1;
    if (row.place.lane == 0)
        by_wave[row.place.wave] = of_wave;
    barrier_for_lds();
    return by_wave[row.place.lane % waves_per_row];
}

__device__ __forceinline__ u32 sum_of_waves(u32 by_wave)
{
    return same_in_all_lanes(
        combine_lanes<waves_per_row>(by_wave, [](u32 a, u32 b) { return a + b; }));
}

// How many candidates of the workgroup match; the same in all threads, in a scalar register.
template <class Predicate> __device__ __forceinline__ u32 count(row_selection &row, Predicate match)
{
    u32 of_wave = 0;
#pragma unroll
    for (u32 i = 0; i < candidates_per_thread; i++)
        of_wave += __builtin_popcountll(__builtin_amdgcn_ballot_w64(match(row.candidates[i])));
    return sum_of_waves(exchange_counts(row, of_wave));
}

struct threshold {
    u32 value;
    u32 count; // of candidates at or above it
};

// The largest value that `wanted` candidates or more are at or above; a smaller one if just as
// many are. match(candidate, value) says whether a candidate is.
template <class Match>
__device__ __forceinline__ threshold find_threshold(row_selection &row, u32 wanted, Match match)
{
    threshold found = {0, ~0u};
    for (u32 bit = 1u << 31; bit != 0 && found.count != wanted; bit >>= 1) {
        const u32 trial = found.value | bit;
        const u32 matches = count(row, [&](const candidate &c) { return match(c, trial); });
        if (matches >= wanted)
            found = {trial, matches};
    }
    return found;
}

// A candidate is selected if its score is above `score`, or at it and its id no larger than this.
struct selection {
    u32 score;
    u32 rank_of_id;

    __device__ __forceinline__ bool takes(const candidate &c) const
    {
        return c.score > score || (c.score == score && c.rank_of_id >= rank_of_id);
    }
};

__device__ __forceinline__ selection select(row_selection &row, u32 wanted)
{
    if (count(row, [](const candidate &c) { return c.score > 0; }) <= wanted)
        return {1, 0};
    const threshold by_score =
        find_threshold(row, wanted, [](const candidate &c, u32 trial) { return c.score >= trial; });
    if (by_score.count == wanted)
        return {by_score.value, 0};
    const u32 above = count(row, [&](const candidate &c) { return c.score > by_score.value; });
    const threshold by_id = find_threshold(row, wanted - above, [&](const candidate &c, u32 trial) {
        return c.score == by_score.value && c.rank_of_id >= trial;
    });
    return {by_score.value, by_id.value};
}

struct row_output {
    global_pointer<int> global_ids;
    global_pointer<int> local_ids;
    const dcp_topk_arguments &arguments;

    // Positions that do not exist are ignored: the same pair twice may be one too many.
    __device__ __forceinline__ void store(u32 position, int id) const
    {
        if (position >= arguments.count)
            return;
        global_ids[position] = id;
        if (arguments.local_ids)
            local_ids[position] = to_local(arguments.place, id);
    }
};

// Lane by lane, register by register, wave by wave: an order that no timing changes.
__device__ __forceinline__ void store_selected(row_selection &row, const selection &chosen,
                                               const row_output &output)
{
    u64 taken[candidates_per_thread];
    u32 of_wave = 0;
#pragma unroll
    for (u32 i = 0; i < candidates_per_thread; i++) {
        taken[i] = __builtin_amdgcn_ballot_w64(chosen.takes(row.candidates[i]));
        of_wave += __builtin_popcountll(taken[i]);
    }
    const u32 by_wave = exchange_counts(row, of_wave);
    const u32 total = sum_of_waves(by_wave);
    const bool is_before = row.place.lane % waves_per_row < row.place.wave;
    u32 before = sum_of_waves(is_before ? by_wave : 0);
#pragma unroll
    for (u32 i = 0; i < candidates_per_thread; i++) {
        if (taken[i] >> row.place.lane & 1)
            output.store(before + count_below(taken[i]), (int)~row.candidates[i].rank_of_id);
        before += __builtin_popcountll(taken[i]);
    }
    for (u32 i = total + threadIdx.x; i < output.arguments.count; i += DCP_TOPK_WORKGROUP_SIZE)
        output.store(i, -1);
}

extern "C" __global__
__launch_bounds__(DCP_TOPK_WORKGROUP_SIZE) void DSAJIT_KERNEL(dcp_topk_arguments arguments)
{
    __shared__ shared_memory shared;
    const thread_place place = find_thread_place();
    row_selection row = {shared, place};
    load_candidates(row, arguments);

    const u64 line = blockIdx.x;
    const row_output output = {
        (global_pointer<int>)arguments.global_ids + line * arguments.global_stride,
        (global_pointer<int>)arguments.local_ids + line * arguments.local_stride, arguments};
    store_selected(row, select(row, arguments.count), output);
}
