// Vector types and address spaces.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

using u32x2 = u32 __attribute__((ext_vector_type(2)));
using u32x4 = u32 __attribute__((ext_vector_type(4)));
using f32x2 = float __attribute__((ext_vector_type(2)));
using f32x4 = float __attribute__((ext_vector_type(4)));
using bf16x2 = __bf16 __attribute__((ext_vector_type(2)));
using bf16x4 = __bf16 __attribute__((ext_vector_type(4)));
using bf16x8 = __bf16 __attribute__((ext_vector_type(8)));

// Pointers that say where they point. A generic pointer would become a flat access, which counts
// as an LDS access too, and so would make every wait for LDS wait for the key loads in flight.
template <class T> using global_pointer = __attribute__((address_space(1))) T *;
template <class T> using lds_pointer = __attribute__((address_space(3))) T *;

// The same bytes, aligned only to dwords, as rows of 2-byte elements with even strides are.
typedef u32x4 u32x4_unaligned __attribute__((aligned(4)));
typedef u32x2 u32x2_unaligned __attribute__((aligned(4)));

__device__ __forceinline__ bf16x8 join(bf16x4 low, bf16x4 high)
{
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

__device__ __forceinline__ bf16x8 join(bf16x2 a, bf16x2 b, bf16x2 c, bf16x2 d)
{
    return join(__builtin_shufflevector(a, b, 0, 1, 2, 3),
                __builtin_shufflevector(c, d, 0, 1, 2, 3));
}

// Round to nearest even: v_cvt_pk_bf16_f32.
__device__ __forceinline__ bf16x4 round_to_bf16(f32x4 value)
{
    return __builtin_convertvector(value, bf16x4);
}

__device__ __forceinline__ bf16x4 round_to_bf16(const float (&value)[4])
{
    return round_to_bf16(f32x4{value[0], value[1], value[2], value[3]});
}

__device__ __forceinline__ bf16x2 round_to_bf16(f32x2 value)
{
    return __builtin_convertvector(value, bf16x2);
}
