// The dequantised latent of one tile of 64 keys in LDS: written by rows, read by columns.
//
// Row of key k: 1024 bytes at 1024 k, as 64 pieces of 16 bytes (8 bf16 values). Piece p is stored
// at place p ^ swizzle(k), where
//
//     swizzle(k) = 2 * (k % 8) + (k / 8) % 2          a permutation of 0..15 over 16 keys
//
// LDS has 64 banks of 4 bytes: 16 pieces of 16 bytes, so place % 16 names the banks.
//
//     write  16 bytes a lane. 16 lanes of one group write the same piece of 16 keys: 16 different
//            swizzles, hence 16 different places, no conflict.
//     read   8 bytes a lane. 32 lanes read 2 neighbouring pieces (2 c, 2 c + 1) of 8 keys with
//            8 different k % 8: 8 different pairs of places, no conflict.
#pragma once

#include "record.hpp"

constexpr u32 keys_per_wave = 16;
constexpr u32 keys_per_tile = keys_per_wave * waves_per_workgroup;
constexpr u32 piece_bytes = 16;
constexpr u32 latent_row_bytes = latent_size * sizeof(__bf16);
constexpr u32 latent_tile_bytes = keys_per_tile * latent_row_bytes;

__device__ __forceinline__ u32 swizzle(u32 key)
{
    return 2 * (key % 8) + (key / 8) % 2;
}

// Both sides keep one address and derive the others by XOR: a row starts at a multiple of 1024, so
// (p ^ x) ^ swizzle lies at the address of p ^ swizzle, XOR 16 x.
//
// Latent step (j, h) of the key registers is piece 8 j + 2 group + h of its key. The swizzle
// reaches 4 bits of the piece: three from group and h, one from j. What is left of j adds a plain
// offset, and so there are four addresses for 16 writes.
struct latent_writer {
    u32 place; // of step (0, 0)

    __device__ __forceinline__ latent_writer(lds_pointer<unsigned char> tile,
                                             const thread_place &thread)
    {
        const u32 key = thread.column;
        place = (u32)tile + (keys_per_wave * thread.wave + key) * latent_row_bytes +
                piece_bytes * ((2 * thread.group) ^ swizzle(key));
    }

    __device__ __forceinline__ void write(u32 j, u32 h, bf16x8 values) const
    {
        const u32 address = place ^ (piece_bytes * (8 * (j % 2) + h));
        *(lds_pointer<bf16x8>)(address + piece_bytes * 8 * (j / 2 * 2)) = values;
    }
};

// Transposed read: ds_read_b64_tr_b16 turns 4 rows of 16 values into 16 columns of 4, within each
// group of 16 lanes.
//
//     lane 4 i + u of the group gives the address of values 4 u .. 4 u + 3 of row i
//     lane r of the group receives value r of rows 0, 1, 2, 3
//
// Wave w computes output columns 128 w .. 128 w + 127, in 8 blocks of 16. In block n, group g
// reads keys 16 s + 4 g + 0..3 (s = the wave that wrote them), columns 128 w + 16 n + 0..15: pieces
// 16 w + 2 n and + 1. The rows of all s have the same swizzle, so that s is a plain offset.
constexpr u32 output_columns_per_wave = latent_size / waves_per_workgroup;
constexpr u32 output_blocks = output_columns_per_wave / 16;

struct latent_reader {
    u32 place; // of block 0, keys 4 g + i

    __device__ __forceinline__ latent_reader(lds_pointer<unsigned char> tile,
                                             const thread_place &thread)
    {
        const u32 i = thread.column / 4, u = thread.column % 4;
        const u32 key = 4 * thread.group + i;
        place = (u32)tile + key * latent_row_bytes +
                thread.wave * output_columns_per_wave * sizeof(__bf16) +
                piece_bytes * ((u / 2) ^ swizzle(key)) + 8 * (u % 2);
    }

    // A operand of a 16x16x32 multiplication: rows are the 16 columns of block n, and
    //
    //     k = 8 group + e   is key 16 (2 half) + 4 group + e            for e = 0..3
    //                              16 (2 half + 1) + 4 group + e - 4    for e = 4..7
    __device__ __forceinline__ bf16x8 read(u32 n, u32 half) const
    {
        constexpr u32 bytes_per_wave = keys_per_wave * latent_row_bytes;
        const u32 first = (place ^ (piece_bytes * 2 * n)) + 2 * half * bytes_per_wave;
        return join(__builtin_amdgcn_ds_read_tr16_b64_v4bf16((lds_pointer<bf16x4>)first),
                    __builtin_amdgcn_ds_read_tr16_b64_v4bf16(
                        (lds_pointer<bf16x4>)(first + bytes_per_wave)));
    }
};
