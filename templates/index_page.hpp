// The indexer's rows of 128 values in either format, and its cache pages.
//
// Pages are block-flat: of a page of B tokens the values come first, then the scales.
//
//                          fp8                        mxfp4
//     values of token o    128 o .. + 127             64 o .. + 63
//     scale of token o     128 B + 4 o: f32           64 B + 4 o + g: UE8M0 of values 32 g .. + 31
#pragma once

#include "quantise.hpp"

constexpr u32 index_size = 128;
constexpr u32 lanes_per_row = index_size / values_per_lane;
constexpr bool is_fp8 = variant::format == variant::format_values::fp8;
constexpr u32 row_bytes = is_fp8 ? index_size : index_size / 2;
constexpr u32 row_scale_bytes = 4; // one f32, or four UE8M0

// Quantises a row of which this lane has part `part`, stores it, and returns the scale of the part.
// `fp8_floor` is the biased exponent below which an FP8 scale does not go.
__device__ __forceinline__ scale_factor store_row(bf16x8 values, u32 part, u32 fp8_floor,
                                                  global_pointer<unsigned char> row)
{
    if constexpr (is_fp8) {
        const scale_factor scale = find_scale<e4m3>(values, fp8_floor);
        *(global_pointer<u32x2_unaligned>)(row + part * 8) = to_e4m3(values, scale);
        return scale;
    } else {
        // Where all is zero the largest value counts as 6 * 2^-126.
        const scale_factor scale = find_scale<e2m1>(values, biased(-126));
        *(global_pointer<u32>)(row + part * 4) = to_e2m1(values, scale);
        return scale;
    }
}

// MXFP4: one lane of each group stores its scale.
__device__ __forceinline__ void store_group_scale(scale_factor scale, u32 part,
                                                  global_pointer<unsigned char> scales)
{
    constexpr u32 lanes_per_group = e2m1::values_per_scale / values_per_lane;
    if (part % lanes_per_group == 0)
        scales[part / lanes_per_group] = (unsigned char)scale.biased_exponent;
}
