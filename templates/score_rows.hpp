// Rows of one request and their windows of keys.
#pragma once

#include "indexer_score_arguments.h"
#include "vectors.hpp"
#include "wave.hpp"

// Scalar loads, of memory that does not change during the kernel.
template <class T> using constant_pointer = const __attribute__((address_space(4))) T *;

constexpr bool is_paged = variant::addressing != variant::addressing_values::gathered;

// Keys start <= n < end.
struct key_range {
    u32 start, end;
};

// Up to INDEXER_SCORE_ROWS neighbouring rows of one request.
struct row_group {
    u32 first, count;
    u32 request;
    key_range window; // lane r has that of row first + r; empty in lanes past the last row
    key_range hull;   // of all the windows
};

__device__ __forceinline__ u32 smaller_of(u32 a, u32 b)
{
    return a < b ? a : b;
}

__device__ __forceinline__ u32 larger_of(u32 a, u32 b)
{
    return a > b ? a : b;
}

__device__ __forceinline__ u32 read_lane(u32 value, u32 lane)
{
    return (u32)__builtin_amdgcn_readlane((int)value, (int)lane);
}

__device__ __forceinline__ key_range row_window(const row_group &group, u32 row)
{
    return {read_lane(group.window.start, row), read_lane(group.window.end, row)};
}

// `value` cut to [0, limit].
__device__ __forceinline__ u32 cut(int value, u32 limit)
{
    return value < 0 ? 0 : smaller_of((u32)value, limit);
}

// Where the row's window ends, cut to [0, limit].
__device__ __forceinline__ u32 find_end(const indexer_score_arguments &arguments, u32 request,
                                        u32 row)
{
    const auto ends = (global_pointer<const int>)arguments.ends;
    if (!arguments.ends_are_lengths)
        return cut(ends[row], (u32)arguments.limit);
    const int length = ends[request];
    const int rows_after = (int)((request + 1) * (u32)arguments.rows_per_request - 1 - row);
    return length < rows_after ? 0 : cut(length - rows_after, (u32)arguments.limit);
}

// The window of the lane's row.
__device__ __forceinline__ key_range find_window(const indexer_score_arguments &arguments,
                                                 const row_group &group, u32 lane)
{
    const bool known = !is_paged || group.request < (u32)arguments.requests;
    if (lane >= group.count || !known)
        return {0, 0};
    const u32 row = group.first + lane;
    const u32 end = find_end(arguments, group.request, row);
    if (!arguments.starts)
        return {0, end};
    const u32 start = cut(((global_pointer<const int>)arguments.starts)[row], end);
    return {start, end};
}

__device__ __forceinline__ key_range find_hull(const row_group &group)
{
    key_range hull = {~0u, 0};
    for (u32 r = 0; r < group.count; r++) {
        const key_range window = row_window(group, r);
        if (window.start < window.end)
            hull = {smaller_of(hull.start, window.start), larger_of(hull.end, window.end)};
    }
    return hull;
}

// Rows from `first` on, before `end`, that have the request of row `first`.
__device__ __forceinline__ row_group find_group(const indexer_score_arguments &arguments, u32 first,
                                                u32 end, u32 request, u32 lane)
{
    row_group group = {first, end - first, request, {}, {}};
    if (is_paged && arguments.row_requests) {
        const u32 last = end - 1;
        const u32 row = smaller_of(first + lane, last);
        const u32 mine = (u32)((global_pointer<const int>)arguments.row_requests)[row];
        group.request = read_lane(mine, 0);
        const u64 others = __builtin_amdgcn_ballot_w64(mine != group.request);
        group.count = smaller_of(group.count, others ? (u32)__builtin_ctzll(others) : ~0u);
    }
    group.window = find_window(arguments, group, lane);
    group.hull = find_hull(group);
    return group;
}

// Which rows' windows meet these keys: bit r is row r of the group.
__device__ __forceinline__ u32 find_rows(const row_group &group, key_range keys)
{
    const u32 start = larger_of(group.window.start, keys.start);
    const u32 end = smaller_of(group.window.end, keys.end);
    return (u32)__builtin_amdgcn_ballot_w64(start < end);
}

// Waits for what this wave loads from memory to LDS.
__device__ __forceinline__ void wait_for_loads_to_lds()
{
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
}
