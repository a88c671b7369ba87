// One token's row of the CSR index list: its bounds and its entries.
#pragma once

#include "index_type.hpp"
#include "sparse_mla_arguments.h"

struct index_row {
    global_pointer<const index_type> first;
    i64 stride;
    u32 length;
};

__device__ __forceinline__ i64 clamp(i64 value, i64 low, i64 high)
{
    return value < low ? low : (value > high ? high : value);
}

// All scalar. The bounds come from device memory that nobody has checked, so they are cut to
// [0, index_count], and a decreasing pair is an empty row: no bound leads outside the list.
__device__ __forceinline__ index_row find_row(const sparse_mla_arguments &arguments, u32 token)
{
    const i64 entry = token * arguments.indptr_stride;
    i64 begin, end;
    if (arguments.indptr_is_i64) {
        const auto indptr = (global_pointer<const i64>)arguments.indptr + entry;
        begin = indptr[0];
        end = indptr[arguments.indptr_stride];
    } else {
        const auto indptr = (global_pointer<const int>)arguments.indptr + entry;
        begin = indptr[0];
        end = indptr[arguments.indptr_stride];
    }
    begin = clamp(begin, 0, arguments.index_count);
    end = clamp(end, begin, arguments.index_count);

    const auto indices = (global_pointer<const index_type>)arguments.indices;
    return {indices + begin * arguments.indices_stride, arguments.indices_stride,
            (u32)(end - begin)};
}

// Positions past the end read the last entry again, so that they too name a key of this row.
// The row must not be empty.
__device__ __forceinline__ index_type load_index(const index_row &row, u32 position)
{
    const u32 last = row.length - 1;
    return row.first[(position < last ? position : last) * row.stride];
}
