// One row of logits: where it is, and how a workgroup goes through it.
//
// Thread t has the vectors t, t + 1024, … of 4 scores each.
#pragma once

#include "topk_arguments.h"
#include "vectors.hpp"

constexpr u32 threads = TOPK_WORKGROUP_SIZE;
constexpr u32 scores_per_vector = 4;
constexpr u32 held_vectors = 8; // of a thread, in its registers: rows of up to 32768 scores

// Rows start anywhere.
typedef f32x4 f32x4_unaligned __attribute__((aligned(4)));

struct logits_row {
    global_pointer<const float> first;
    u32 length;
    u32 vectors; // whole ones; length % 4 scores are left behind them
};

__device__ __forceinline__ i64 clamp(i64 value, i64 low, i64 high)
{
    return value < low ? low : (value > high ? high : value);
}

// All scalar. The bounds come from device memory that nobody has checked, so they are cut to the
// row's columns, and a decreasing pair is an empty row.
__device__ __forceinline__ logits_row find_row(const topk_arguments &arguments, u32 row)
{
    const u32 sequence = row / (u32)arguments.rows_per_end;
    const u32 token = row % (u32)arguments.rows_per_end;
    const auto starts = (global_pointer<const int>)arguments.starts;
    const auto ends = (global_pointer<const int>)arguments.ends;
    const i64 start = clamp(starts ? starts[row] : 0, 0, arguments.columns);
    const i64 end = clamp((i64)ends[sequence] - arguments.rows_per_end + 1 + token, start,
                          arguments.columns);
    const u32 length = (u32)(end - start);
    return {(global_pointer<const float>)arguments.logits + row * arguments.logits_stride + start,
            length, length / scores_per_vector};
}

// Past the end the last vector again. (Offsets in bytes of 32 bits are the machine's own.)
__device__ __forceinline__ f32x4 load_vector(const logits_row &row, u32 vector)
{
    const u32 last = row.vectors - 1;
    const u32 offset = sizeof(f32x4) * (vector < last ? vector : last);
    return *(global_pointer<const f32x4_unaligned>)((global_pointer<const char>)row.first + offset);
}

// Calls visit(score, position) for the scores of one vector, if the row has it.
template <class Visit>
__device__ __forceinline__ void visit_vector(const logits_row &row, f32x4 scores, u32 vector,
                                             Visit visit)
{
    if (__builtin_expect(vector < row.vectors, true))
#pragma unroll
        for (u32 i = 0; i < scores_per_vector; i++)
            visit(scores[i], scores_per_vector * vector + i);
}

// What is left behind the vectors.
template <class Visit>
__device__ __forceinline__ void visit_rest(const logits_row &row, Visit visit)
{
    const u32 position = scores_per_vector * row.vectors + threadIdx.x;
    if (position < row.length)
        visit(row.first[position], position);
}

// A row in registers. It must have a vector.
struct held_row {
    const logits_row &row;
    f32x4 vectors[held_vectors];

    __device__ __forceinline__ held_row(const logits_row &row) : row(row)
    {
#pragma unroll
        for (u32 v = 0; v < held_vectors; v++)
            vectors[v] = load_vector(row, v * threads + threadIdx.x);
    }
    template <class Visit> __device__ __forceinline__ void visit_each(Visit visit) const
    {
#pragma unroll
        for (u32 v = 0; v < held_vectors; v++)
            visit_vector(row, vectors[v], v * threads + threadIdx.x, visit);
        visit_rest(row, visit);
    }
};

// A row in memory, read again for each visit.
struct streamed_row {
    const logits_row &row;

    __device__ __forceinline__ streamed_row(const logits_row &row) : row(row)
    {
    }
    template <class Visit> __device__ __forceinline__ void visit_each(Visit visit) const
    {
        constexpr u32 ahead = 4;
        for (u32 start = 0; start < row.vectors; start += ahead * threads) {
            f32x4 vectors[ahead];
#pragma unroll
            for (u32 i = 0; i < ahead; i++)
                vectors[i] = load_vector(row, start + i * threads + threadIdx.x);
#pragma unroll
            for (u32 i = 0; i < ahead; i++)
                visit_vector(row, vectors[i], start + i * threads + threadIdx.x, visit);
        }
        visit_rest(row, visit);
    }
};
