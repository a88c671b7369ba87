// The norm of an indexer key, in f32, rounded to bf16 at the end.
#pragma once

#include "index_page.hpp"
#include "indexer_key_arguments.h"

constexpr bool is_layernorm = variant::norm == variant::norm_values::layernorm;

using lane_values = float[values_per_lane];

__device__ __forceinline__ float sum_of_row(const lane_values &values)
{
    const float sum = ((values[0] + values[1]) + (values[2] + values[3])) +
                      ((values[4] + values[5]) + (values[6] + values[7]));
    return combine_lanes<lanes_per_row>(sum, [](float a, float b) { return a + b; });
}

__device__ __forceinline__ float mean_of_squares(const lane_values &values)
{
    lane_values squares;
#pragma unroll
    for (u32 i = 0; i < values_per_lane; i++)
        squares[i] = values[i] * values[i];
    return sum_of_row(squares) * (1.0f / index_size);
}

__device__ __forceinline__ void load_parameters(lane_values &parameters, const float *from,
                                                u32 part)
{
    const auto mine = (global_pointer<const float>)from + part * values_per_lane;
#pragma unroll
    for (u32 i = 0; i < values_per_lane; i++) {
        parameters[i] = mine[i];
        // A LayerNorm's parameters are kept in f32 but take part in the activations' type.
        if constexpr (is_layernorm)
            parameters[i] = (float)(__bf16)parameters[i];
    }
}

// rmsnorm     x / sqrt(mean of squares + eps) * weight
// layernorm   (x - mean) / sqrt(population variance + eps) * weight + bias
__device__ __forceinline__ bf16x8 normalise(bf16x8 key, const indexer_key_arguments &arguments,
                                            u32 part)
{
    lane_values values, weight, bias = {};
    load_parameters(weight, arguments.norm_weight, part);
#pragma unroll
    for (u32 i = 0; i < values_per_lane; i++)
        values[i] = (float)key[i];
    if constexpr (is_layernorm) {
        load_parameters(bias, arguments.norm_bias, part);
        const float mean = sum_of_row(values) * (1.0f / index_size);
#pragma unroll
        for (u32 i = 0; i < values_per_lane; i++)
            values[i] -= mean;
    }
    const float factor = __builtin_amdgcn_rsqf(mean_of_squares(values) + arguments.norm_eps);
    bf16x8 result;
#pragma unroll
    for (u32 i = 0; i < values_per_lane; i++)
        result[i] = (__bf16)(values[i] * factor * weight[i] + bias[i]);
    return result;
}
