// Rows of bf16 to narrow formats with power-of-two scales.
//
// Everywhere a lane holds 8 neighbouring values of a row, 16 bytes, so that 16 lanes hold the 128
// values that share an FP8 scale, and 4 lanes the 32 values that share an MXFP4 scale.
#pragma once

#include "lanes.hpp"

constexpr u32 values_per_lane = 8;

// The largest number of a format.
struct e4m3 {
    static constexpr float largest = 448;
    static constexpr u32 values_per_scale = 128;
};
struct e2m1 {
    static constexpr float largest = 6;
    static constexpr u32 values_per_scale = 32;
};

// 2^exponent, of which the biased exponent is also the UE8M0 byte.
struct scale_factor {
    u32 biased_exponent;

    __device__ __forceinline__ operator float() const
    {
        return __builtin_bit_cast(float, biased_exponent << 23);
    }
};

// The biased exponent of a power of two.
constexpr u32 biased(int exponent)
{
    return 127 + exponent;
}

__device__ __forceinline__ bf16x8 load_values(global_pointer<const __bf16> values)
{
    return __builtin_bit_cast(bf16x8, *(global_pointer<const u32x4_unaligned>)values);
}

// NaN loses.
__device__ __forceinline__ float largest_magnitude(bf16x8 values)
{
    float largest = 0;
#pragma unroll
    for (u32 i = 0; i < values_per_lane; i++)
        largest = __builtin_fmaxf(largest, __builtin_fabsf((float)values[i]));
    return largest;
}

// The smallest power of two, `floor` or more, by which all values under one scale can be divided
// without exceeding the format.
//
// With the format's largest number f * 2^x and the largest magnitude m * 2^y, 1 <= f, m < 2, it is
// 2^(y - x) if m <= f, else twice that. Adding what f's fraction lacks to be all ones carries into
// the exponent exactly when m > f. This is exact: no division, no logarithm.
template <class Format> __device__ __forceinline__ scale_factor find_scale(bf16x8 values, u32 floor)
{
    constexpr u32 limit = __builtin_bit_cast(u32, Format::largest);
    constexpr u32 fraction_mask = (1u << 23) - 1;
    constexpr u32 carry = fraction_mask - (limit & fraction_mask);
    constexpr int exponent = (int)(limit >> 23) - (int)biased(0);

    const float largest = combine_lanes<Format::values_per_scale / values_per_lane>(
        largest_magnitude(values), [](float a, float b) { return __builtin_fmaxf(a, b); });
    const int found = (int)((__builtin_bit_cast(u32, largest) + carry) >> 23) - exponent;
    return {(u32)(found > (int)floor ? found : (int)floor)};
}

__device__ __forceinline__ bf16x2 pair_of(bf16x8 values, u32 pair)
{
    return bf16x2{values[2 * pair], values[2 * pair + 1]};
}

// values / scale, rounded to nearest even.
__device__ __forceinline__ u32x2 to_e4m3(bf16x8 values, float scale)
{
    using i16x2 = short __attribute__((ext_vector_type(2)));
    i16x2 words[2] = {};
#pragma unroll
    for (u32 w = 0; w < 2; w++) {
        words[w] = __builtin_amdgcn_cvt_scalef32_pk_fp8_bf16(words[w], pair_of(values, 2 * w),
                                                             scale, false);
        words[w] = __builtin_amdgcn_cvt_scalef32_pk_fp8_bf16(words[w], pair_of(values, 2 * w + 1),
                                                             scale, true);
    }
    return {__builtin_bit_cast(u32, words[0]), __builtin_bit_cast(u32, words[1])};
}

// The same to pairs of e2m1, the even value in the low 4 bits.
__device__ __forceinline__ u32 to_e2m1(bf16x8 values, float scale)
{
    u32 word = 0;
    word = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(word, pair_of(values, 0), scale, 0);
    word = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(word, pair_of(values, 1), scale, 1);
    word = __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(word, pair_of(values, 2), scale, 2);
    return __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(word, pair_of(values, 3), scale, 3);
}
