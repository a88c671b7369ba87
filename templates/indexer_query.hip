// Queries of the indexer: quantisation, and the weights of the heads' scores. 16 lanes a row, which
// is one head of one token.
#include "index_page.hpp"
#include "indexer_query_arguments.h"

static_assert(sizeof(indexer_query_arguments) == 80, "the same layout as on the host");
static_assert(INDEXER_QUERY_WORKGROUP_SIZE == INDEXER_QUERY_ROWS_PER_WORKGROUP * lanes_per_row);

// An FP8 scale is never below that of a query whose largest magnitude is 1e-10.
constexpr u32 query_scale_floor = biased(-42);

// FP8 folds the scales into the weight, whose product with the head count's factor is rounded as
// the projection's own type would have rounded it. MXFP4's scales stay with the values.
__device__ __forceinline__ float fold(float head_weight, float scale,
                                      const indexer_query_arguments &arguments)
{
    const float scaled = head_weight * arguments.head_factor;
    if constexpr (is_fp8)
        return (float)(__bf16)scaled * scale * arguments.dot_factor;
    else
        return scaled;
}

extern "C" __global__ __launch_bounds__(INDEXER_QUERY_WORKGROUP_SIZE) void DSAJIT_KERNEL(
    indexer_query_arguments arguments)
{
    const u32 row = blockIdx.x * INDEXER_QUERY_ROWS_PER_WORKGROUP + threadIdx.x / lanes_per_row;
    const u32 part = threadIdx.x % lanes_per_row;
    if (row >= arguments.rows)
        return;
    const u32 token = row / variant::heads;
    const u32 head = row % variant::heads;
    const bf16x8 values =
        load_values((global_pointer<const __bf16>)arguments.q + token * arguments.q_token_stride +
                    head * arguments.q_head_stride + part * values_per_lane);
    const float head_weight =
        ((global_pointer<const __bf16>)
             arguments.head_weights)[token * arguments.head_weight_stride + head];

    const scale_factor scale =
        store_row(values, part, query_scale_floor,
                  (global_pointer<unsigned char>)arguments.q_bytes + (u64)row * row_bytes);
    if constexpr (!is_fp8)
        store_group_scale(scale, part,
                          (global_pointer<unsigned char>)arguments.q_scales +
                              (u64)row * row_scale_bytes);
    if (part == 0)
        ((global_pointer<float>)arguments.weights)[row] = fold(head_weight, scale, arguments);
}
