// Token positions to the CSR list of cache slots that sparse MLA reads.
//
// Four waves to a row, each with 512 of its ids in registers, in order; four rows to a workgroup.
// The entries that are left move together: a wave's first place is the number of entries in the
// waves before it, in its own workgroup (LDS) and in those before (totals, which the first of two
// launches leaves).
#include "index_lists_arguments.h"
#include "index_type.hpp"
#include "lane_counts.hpp"

static_assert(sizeof(index_lists_arguments) == 104, "the same layout as on the host");

constexpr u32 waves = INDEX_LISTS_WORKGROUP_SIZE / lanes_per_wave;
constexpr u32 waves_per_row = waves / INDEX_LISTS_ROWS;
constexpr u32 ids_per_lane = INDEX_LISTS_K_MAX / (waves_per_row * lanes_per_wave);

// Of one wave: lane l has the ids first + l, first + 64 + l, … of the row.
struct row_part {
    u32 row;
    u32 first;
};

__device__ __forceinline__ u32 find_block(const index_lists_arguments &arguments, u32 id)
{
    return (u32)((u64)id * arguments.page_reciprocal >> arguments.page_shift);
}

// The slot, or -1 where there is none: a hole, a position past the table's row, no page of the
// cache. All addresses are valid ones, so that every load can start at once.
__device__ __forceinline__ index_type find_slot(const index_lists_arguments &arguments,
                                                global_pointer<const int> table, int id)
{
    const u32 block = find_block(arguments, (u32)id);
    const bool has_block = id >= 0 && block < (u32)arguments.blocks;
    const u32 page = (u32)table[has_block ? block : 0];
    const u32 offset = (u32)id - block * (u32)arguments.page_tokens;
    const auto slot = (index_type)page * arguments.rows_per_page + (index_type)offset;
    return has_block && page < (u32)arguments.pages ? slot : -1;
}

__device__ __forceinline__ void find_slots(index_type (&slots)[ids_per_lane],
                                           const index_lists_arguments &arguments, row_part part,
                                           u32 lane)
{
#pragma unroll
    for (u32 i = 0; i < ids_per_lane; i++)
        slots[i] = -1;
    if (part.row >= (u32)arguments.rows || part.first >= (u32)arguments.k)
        return;
    const u32 request =
        same_in_all_lanes(((global_pointer<const int>)arguments.row_requests)[part.row]);
    if (request >= (u32)arguments.requests || arguments.blocks == 0)
        return;

    const auto ids = (global_pointer<const int>)arguments.ids + part.row * arguments.ids_stride;
    const auto table =
        (global_pointer<const int>)arguments.block_table + request * arguments.block_table_stride;
    const u32 last = (u32)arguments.k - 1;
    int found[ids_per_lane];
#pragma unroll
    for (u32 i = 0; i < ids_per_lane; i++) {
        const u32 position = part.first + i * lanes_per_wave + lane;
        found[i] = ids[position < last ? position : last];
        if (position > last)
            found[i] = -1;
    }
#pragma unroll
    for (u32 i = 0; i < ids_per_lane; i++)
        slots[i] = find_slot(arguments, table, found[i]);
}

__device__ __forceinline__ u32 count_slots(const index_type (&slots)[ids_per_lane])
{
    u32 count = 0;
#pragma unroll
    for (u32 i = 0; i < ids_per_lane; i++)
        count += (u32)__builtin_popcountll(__builtin_amdgcn_ballot_w64(slots[i] >= 0));
    return count;
}

__device__ __forceinline__ void write_slots(const index_lists_arguments &arguments,
                                            const index_type (&slots)[ids_per_lane], u32 place)
{
    const auto indices = (global_pointer<index_type>)arguments.indices;
#pragma unroll
    for (u32 i = 0; i < ids_per_lane; i++) {
        const u64 present = __builtin_amdgcn_ballot_w64(slots[i] >= 0);
        if (slots[i] >= 0)
            indices[place + count_below(present)] = slots[i];
        place += (u32)__builtin_popcountll(present);
    }
}

// The entries of all workgroups before this one.
__device__ __forceinline__ u32 sum_totals(const index_lists_arguments &arguments,
                                          u32 (&of_wave)[waves], const thread_place &place)
{
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < blockIdx.x; i += INDEX_LISTS_WORKGROUP_SIZE)
        sum += (u32)((global_pointer<const int>)arguments.totals)[i];
    sum = sum_up_to_lane(sum);
    if (place.lane == lanes_per_wave - 1)
        of_wave[place.wave] = sum;
    barrier_for_lds();
    return sum_of_waves(of_wave);
}

extern "C" __global__ __launch_bounds__(INDEX_LISTS_WORKGROUP_SIZE) void DSAJIT_KERNEL(
    index_lists_arguments arguments)
{
    __shared__ u32 count_of_wave[waves], total_of_wave[waves];
    const thread_place place = find_thread_place();
    const u32 part = place.wave % waves_per_row;
    const u32 row = blockIdx.x * INDEX_LISTS_ROWS + place.wave / waves_per_row;

    index_type slots[ids_per_lane];
    find_slots(slots, arguments, {row, part * ids_per_lane * lanes_per_wave}, place.lane);
    const u32 count = count_slots(slots);
    if (place.lane == 0)
        count_of_wave[place.wave] = count;
    barrier_for_lds();

    const auto totals = (global_pointer<int>)arguments.totals;
    if (arguments.stage == INDEX_LISTS_COUNT) {
        const u32 total = sum_of_waves(count_of_wave);
        if (threadIdx.x == 0)
            totals[blockIdx.x] = (int)total;
        return;
    }

    const auto indptr = (global_pointer<int>)arguments.indptr;
    const u32 first = sum_totals(arguments, total_of_wave, place) +
                      sum_before_wave(count_of_wave, place.wave);
    write_slots(arguments, slots, first);
    if (place.lane == 0 && part == waves_per_row - 1 && row < (u32)arguments.rows)
        indptr[row + 1] = (int)(first + count);
    if (threadIdx.x == 0 && blockIdx.x == 0)
        indptr[0] = 0;
}
