// Sparse MLA forward over fp8_ds_mla records, bf16 matrix instructions.
//
// One workgroup of 4 waves per token; tiles of 64 keys. Per tile
//
//     1  wave w holds keys 16 w .. + 15 in registers, dequantises them once, multiplies them with
//        the query (S = K Q^T, 16 keys x 16 heads) and leaves the latent in LDS
//     2  it starts the loads of its keys two tiles ahead, into the registers just freed
//     3  it turns its scores into weights and leaves those in LDS          -- barrier --
//     4  wave w multiplies all 64 keys' weights with latent columns 128 w .. + 127
//        (O^T = V^T P)                                                     -- barrier --
//
// Per wave and tile 18 multiplications in step 1 (16 latent, 2 rope) and 16 in step 4.
#include "latent_tile.hpp"
#include "matrix.hpp"
#include "query.hpp"
#include "record.hpp"
#include "softmax.hpp"
#include "workgroups.hpp"

struct shared_memory {
    // First, so that its addresses need no base.
    alignas(16) unsigned char latent[latent_tile_bytes];
    // [wave][lane]: the lane's 4 weights, as the lane of the same number reads them in step 4.
    bf16x4 weights[waves_per_workgroup][lanes_per_wave];
    float by_wave[columns_per_wave][waves_per_workgroup]; // one number per head and wave
    u32 outgrown[waves_per_workgroup];
};

// Tiles in registers: one in use, the others in flight.
constexpr u32 stages = 2;

// Step 1. Two independent sums, so that no multiplication waits for the one before.
__device__ __forceinline__ f32x4 score_keys(const key_registers &keys,
                                            const query_registers &query,
                                            const latent_writer &writer)
{
    f32x4 sum[2] = {};
#pragma unroll
    for (u32 j = 0; j < latent_chunks; j++) {
        const float scale = keys.scales[j / chunks_per_scale];
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const bf16x8 latent =
                dequantise(keys.latent[j][2 * h], keys.latent[j][2 * h + 1], scale);
            sum[h] = multiply_16x16x32(latent, query.latent[j][h], sum[h]);
            writer.write(j, h, latent);
        }
    }
#pragma unroll
    for (u32 r = 0; r < rope_chunks; r++)
        sum[r] = multiply_16x16x32(keys.rope[r], query.rope[r], sum[r]);
    return sum[0] + sum[1];
}

// Step 4.
__device__ __forceinline__ void accumulate(f32x4 (&output)[output_blocks],
                                           const latent_reader &reader,
                                           const shared_memory &shared, u32 lane)
{
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        // B operand: columns are heads, k is the key order of latent_reader::read.
        const bf16x8 weights =
            join(shared.weights[2 * half][lane], shared.weights[2 * half + 1][lane]);
#pragma unroll
        for (u32 n = 0; n < output_blocks; n++)
            output[n] = multiply_16x16x32(reader.read(n, half), weights, output[n]);
    }
}

// Combine one number per head over the workgroup. `shared.by_wave` must be free.
template <class Combine>
__device__ __forceinline__ float combine_waves(shared_memory &shared, const thread_place &place,
                                               float value, Combine combine)
{
    value = combine_groups(value, combine);
    if (place.group == 0)
        shared.by_wave[place.column][place.wave] = value;
    barrier_for_lds();
    const float(&all)[waves_per_workgroup] = shared.by_wave[place.column];
    return combine(combine(all[0], all[1]), combine(all[2], all[3]));
}

__device__ __forceinline__ void write_output(const sparse_mla_arguments &arguments, u32 token,
                                             const thread_place &place,
                                             const f32x4 (&output)[output_blocks], float factor)
{
    if (place.column >= variant::heads)
        return;
    const auto row = (global_pointer<__bf16>)arguments.out + token * arguments.out_token_stride +
                     place.column * arguments.out_head_stride +
                     place.wave * output_columns_per_wave + 4 * place.group;
#pragma unroll
    for (u32 n = 0; n < output_blocks; n++)
        *(global_pointer<u32x2_unaligned>)(row + 16 * n) =
            __builtin_bit_cast(u32x2, round_to_bf16(output[n] * factor));
}

extern "C" __global__ __launch_bounds__(SPARSE_MLA_WORKGROUP_SIZE, 2) void
DSAJIT_KERNEL(sparse_mla_arguments arguments)
{
    __shared__ shared_memory shared;
    const thread_place place = find_thread_place();
    const u32 token = find_token(blockIdx.x, arguments.tokens);
    const index_row row = find_row(arguments, token);
    const auto tile = (lds_pointer<unsigned char>)shared.latent;
    const latent_writer writer(tile, place);
    const latent_reader reader(tile, place);

    f32x4 output[output_blocks] = {};
    running_softmax softmax;

    if (row.length > 0) {
        const u32 first_key = keys_per_wave * place.wave;
        index_type indices[stages];
        key_registers keys[stages];
        query_registers query;
#pragma unroll
        for (u32 s = 0; s < stages; s++) {
            const index_type index =
                load_index(row, s * keys_per_tile + first_key + place.column);
            indices[s] =
                load_index(row, (s + stages) * keys_per_tile + first_key + place.column);
            load_keys(keys[s], arguments.kv, index, place.group);
        }
        load_query(query, arguments, token, place);

        for (u32 start = 0; start < row.length;) {
#pragma unroll
            for (u32 s = 0; s < stages; s++) {
                f32x4 scores = score_keys(keys[s], query, writer) * arguments.scale_log2e;
                const u32 masked =
                    find_masked_keys(keys[s].masked, (int)(row.length - start - first_key));
                __builtin_amdgcn_sched_barrier(0);
                const index_type index = indices[s];
                indices[s] = load_index(row, start + 2 * stages * keys_per_tile + first_key +
                                                 place.column);
                load_keys(keys[s], arguments.kv, index, place.group);
                __builtin_amdgcn_sched_barrier(0);

                if (masked)
                    scores = mask_scores(scores, masked, place.group);
                f32x4 excess = scores - softmax.reference;
                const bool outgrown =
                    __builtin_amdgcn_ballot_w64(largest_of(excess) > tolerated_excess) != 0;
                f32x4 weights = exp2_of(excess);
                shared.weights[place.wave][place.lane] = round_to_bf16(weights);
                if (place.lane == 0)
                    shared.outgrown[place.wave] = outgrown;
                barrier_for_lds();

                const u32 any_outgrown = shared.outgrown[0] | shared.outgrown[1] |
                                         shared.outgrown[2] | shared.outgrown[3];
                if (__builtin_amdgcn_readfirstlane(any_outgrown)) {
                    const float largest =
                        combine_waves(shared, place, largest_of(scores), larger);
                    const float reference = larger(softmax.reference, largest);
                    const float factor = __builtin_amdgcn_exp2f(softmax.reference - reference);
                    softmax.reference = reference;
                    softmax.sum *= factor;
#pragma unroll
                    for (u32 n = 0; n < output_blocks; n++)
                        output[n] *= factor;
                    weights = exp2_of(scores - reference);
                    shared.weights[place.wave][place.lane] = round_to_bf16(weights);
                    barrier_for_lds();
                }
                softmax.sum += (weights[0] + weights[1]) + (weights[2] + weights[3]);
                accumulate(output, reader, shared, place.lane);
                barrier_for_lds();
                start += keys_per_tile;
                if (start >= row.length)
                    break;
            }
        }
    }

    const float sum = combine_waves(shared, place, softmax.sum, sum_of);
    write_output(arguments, token, place, output, sum == 0 ? 0 : __builtin_amdgcn_rcpf(sum));
    if constexpr (variant::return_lse) {
        constexpr float ln2 = 0x1.62e43p-1f;
        if (place.wave == 0 && place.lane < variant::heads)
            arguments.lse[token * variant::heads + place.lane] =
                (softmax.reference + __builtin_amdgcn_logf(sum)) * ln2;
    }
}
