// The end of a row: out in bf16, lse in f32.
#pragma once

#include "latent_tile.hpp"
#include "sparse_mla_arguments.h"
#include "wave.hpp"

// Results of 16x16x32 multiplications with latent columns as rows and heads as columns: in block n,
// lane (group, column) has latent columns 16 n + 4 group + 0..3 of head `column`, counted from the
// first column of the wave.
using output_registers = f32x4[output_blocks];

// Rounds output * factor to bf16, once, and stores it.
//
// Exchanging the odd groups of block n with the even groups of block n + 1 leaves every lane with 8
// neighbouring columns, and the 4 lanes of a head with 64 bytes in a row:
//
//     group           0               1                   2                 3
//     block n         0..3            4..7                8..11             12..15
//     block n + 1     0'..3'          4'..7'              8'..11'           12'..15'
//     exchanged       0..3, 4..7      0'..3', 4'..7'      8..11, 12..15     8'..11', 12'..15'
__device__ __forceinline__ void write_output(const sparse_mla_arguments &arguments, u32 token,
                                             const thread_place &place,
                                             const output_registers &output, float factor)
{
    const u32 column =
        place.wave * output_columns_per_wave + 16 * (place.group % 2) + 8 * (place.group / 2);
    const auto row = (global_pointer<__bf16>)arguments.out + token * arguments.out_token_stride +
                     place.column * arguments.out_head_stride + column;
#pragma unroll
    for (u32 n = 0; n < output_blocks; n += 2) {
        const u32x2 even = __builtin_bit_cast(u32x2, round_to_bf16(output[n] * factor));
        const u32x2 odd = __builtin_bit_cast(u32x2, round_to_bf16(output[n + 1] * factor));
        const u32x2 first = __builtin_amdgcn_permlane16_swap(even[0], odd[0], false, false);
        const u32x2 second = __builtin_amdgcn_permlane16_swap(even[1], odd[1], false, false);
        if (place.column < variant::heads)
            *(global_pointer<u32x4_unaligned>)(row + 16 * n) =
                u32x4{first[0], second[0], first[1], second[1]};
    }
}

// Natural logarithm of the sum of 2^score, of which `sum` is relative to 2^reference.
// A sum of 0 gives -infinity. The lanes of one wave store it for all heads.
__device__ __forceinline__ void write_lse(const sparse_mla_arguments &arguments, u32 token,
                                          const thread_place &place, float reference, float sum)
{
    constexpr float ln2 = 0x1.62e43p-1f;
    if (place.wave == 0 && place.lane < variant::heads)
        ((global_pointer<float>)arguments.lse)[(u64)token * variant::heads + place.lane] =
            (reference + __builtin_amdgcn_logf(sum)) * ln2;
}
