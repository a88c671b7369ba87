// One token's query as matrix operands.
#pragma once

#include "record.hpp"

// B operands, head = column, in the k order of the key registers (record.hpp).
struct query_registers {
    bf16x8 latent[latent_chunks][2];
    bf16x8 rope[rope_chunks];
};

// Columns past the last head repeat it. Their results are never stored, and being copies they
// change no decision that the wave takes together.
__device__ __forceinline__ void load_query(query_registers &query,
                                           const sparse_mla_arguments &arguments, u32 token,
                                           const thread_place &place)
{
    constexpr u32 last = variant::heads - 1;
    const u32 head = place.column < last ? place.column : last;
    const auto row = (global_pointer<const __bf16>)arguments.q + token * arguments.q_token_stride +
                     head * arguments.q_head_stride;

    const auto latent = row + 16 * place.group;
#pragma unroll
    for (u32 j = 0; j < latent_chunks; j++)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            query.latent[j][h] = __builtin_bit_cast(
                bf16x8, *(global_pointer<const u32x4_unaligned>)(latent + 64 * j + 8 * h));

    const auto rope = row + latent_size + 8 * place.group;
#pragma unroll
    for (u32 r = 0; r < rope_chunks; r++)
        query.rope[r] =
            __builtin_bit_cast(bf16x8, *(global_pointer<const u32x4_unaligned>)(rope + 32 * r));
}

// Wait here for the loads of load_query. Without it the compiler would wait for them at their
// first use, inside the loop over tiles, and there for all that was loaded after them.
__device__ __forceinline__ void wait_for(query_registers &query)
{
#pragma unroll
    for (u32 j = 0; j < latent_chunks; j++)
        asm volatile("" : "+v"(query.latent[j][0]), "+v"(query.latent[j][1]));
    asm volatile("" : "+v"(query.rope[0]), "+v"(query.rope[1]));
}
