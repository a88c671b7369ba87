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
    f32x4 by_wave[columns_per_wave]; // one number per head and wave
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
        if (j % 2)
            __builtin_amdgcn_sched_barrier(0);
    }
#pragma unroll
    for (u32 r = 0; r < rope_chunks; r++)
        sum[r] = multiply_16x16x32(keys.rope[r], query.rope[r], sum[r]);
    // Pinned here, before the loads that follow: those need the registers of the keys.
    asm volatile("" : "+v"(sum[0]), "+v"(sum[1]));
    return sum[0] + sum[1];
}

// Step 4, in the order of the reads: block n, then half of the keys.
constexpr u32 halves = keys_per_tile / 32;
constexpr u32 steps_ahead = 4;

struct output_operands {
    bf16x8 weights[halves]; // B: columns are heads, k in the order of latent_reader::read
    bf16x8 latent[steps_ahead];
};

__device__ __forceinline__ void read_weights(output_operands &operands,
                                             const shared_memory &shared, u32 lane)
{
#pragma unroll
    for (u32 half = 0; half < halves; half++)
        operands.weights[half] =
            join(shared.weights[2 * half][lane], shared.weights[2 * half + 1][lane]);
}

__device__ __forceinline__ void start_output(output_operands &operands,
                                             const latent_reader &reader)
{
#pragma unroll
    for (u32 step = 0; step < steps_ahead; step++)
        operands.latent[step] = reader.read(step / halves, step % halves);
}

__device__ __forceinline__ void accumulate(f32x4 (&output)[output_blocks],
                                           output_operands &operands, const latent_reader &reader)
{
    constexpr u32 steps = output_blocks * halves;
#pragma unroll
    for (u32 step = 0; step < steps; step++) {
        bf16x8 &latent = operands.latent[step % steps_ahead];
        f32x4 &sum = output[step / halves];
        sum = multiply_16x16x32(latent, operands.weights[step % halves], sum);
        if (step + steps_ahead < steps) {
            latent = reader.read((step + steps_ahead) / halves, step % halves);
            __builtin_amdgcn_sched_group_barrier(0x8, 1, 0);
            __builtin_amdgcn_sched_group_barrier(0x100, 2, 0);
        }
    }
    __builtin_amdgcn_sched_group_barrier(0x8, steps_ahead, 0);
}

// The result, in bf16. Lane (group, column) of block n has columns 16 n + 4 group + 0..3 of head
// `column`. Exchanging its odd groups with the even groups of block n + 1 leaves every lane with
// 8 neighbouring columns, and the 4 lanes of a head with 64 bytes in a row:
//
//     group           0                 1                   2                 3
//     block n         n: 0..3           n: 4..7             n: 8..11          n: 12..15
//     block n + 1     n + 1: 0..3       n + 1: 4..7         n + 1: 8..11      n + 1: 12..15
//     after           n: 0..3, 4..7     n + 1: 0..3, 4..7   n: 8..11, 12..15  n + 1: 8..11, 12..15
__device__ __forceinline__ void write_output(const sparse_mla_arguments &arguments, u32 token,
                                             const thread_place &place,
                                             const f32x4 (&output)[output_blocks], float factor)
{
    const u32 column = place.wave * output_columns_per_wave + 16 * (place.group % 2) +
                       8 * (place.group / 2);
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

// What a wave keeps while it works on one row.
struct row_attention {
    const sparse_mla_arguments &arguments;
    const index_row &row;
    const thread_place &place;
    shared_memory &shared;
    latent_writer writer;
    latent_reader reader;
    query_registers query;
    key_registers keys[stages];
    index_type indices[stages]; // of the keys after those in `keys`
    running_softmax softmax;
    f32x4 output[output_blocks] = {}; // not yet divided by the sum of the weights
};

// The first key of a wave in a tile.
__device__ __forceinline__ u32 first_key(const thread_place &place)
{
    return keys_per_wave * place.wave;
}

// Loads in the order in which they are waited for.
__device__ __forceinline__ void start_row(row_attention &state, u32 token)
{
    const u32 key = first_key(state.place) + state.place.column;
    index_type first_indices[stages];
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        first_indices[s] = load_index(state.row, s * keys_per_tile + key);
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        state.indices[s] = load_index(state.row, (stages + s) * keys_per_tile + key);
    load_query(state.query, state.arguments, token, state.place);
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        load_keys(state.keys[s], find_record(state.arguments.kv, first_indices[s]),
                  state.place.group);
    wait_for(state.query);
}

// One tile, its first key at position `start` of the row, its keys in stage s.
template <bool more> __device__ __forceinline__ void attend_tile(row_attention &state, u32 s, u32 start)
{
    const thread_place &place = state.place;
    shared_memory &shared = state.shared;
    running_softmax &softmax = state.softmax;

    asm volatile("" : "+v"(state.writer.place), "+v"(state.reader.place));
    f32x4 products = score_keys(state.keys[s], state.query, state.writer);
    const u32 masked = find_masked_keys(state.keys[s].masked, state.row.length,
                                        start + first_key(place));
    __builtin_amdgcn_sched_barrier(0);
    if constexpr (more) {
        const record_place record = find_record(state.arguments.kv, state.indices[s]);
        state.indices[s] = load_index(
            state.row, start + 2 * stages * keys_per_tile + first_key(place) + place.column);
        load_keys(state.keys[s], record, place.group);
        __builtin_amdgcn_sched_barrier(0);
    }

    float scores[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        scores[i] = products[i] * state.arguments.scale_log2e;
    if (masked)
        mask_scores(scores, masked, place.group);
    const float of_wave = combine_groups(largest_of(scores), larger);
    if (place.group == 0)
        shared.by_wave[place.column][place.wave] = of_wave;
    barrier_for_lds();

    const f32x4 of_waves = shared.by_wave[place.column];
    __builtin_amdgcn_sched_barrier(0);
    output_operands operands;
    start_output(operands, state.reader);
    const float reference = larger(softmax.reference, largest_of(of_waves));
    if (__builtin_amdgcn_ballot_w64(reference > softmax.reference) != 0) {
        const float factor = __builtin_amdgcn_exp2f(softmax.reference - reference);
        softmax.sum *= factor;
#pragma unroll
        for (u32 n = 0; n < output_blocks; n++)
            state.output[n] *= factor;
        softmax.reference = reference;
    }
    float weights[4];
    set_weights(weights, scores, softmax.reference);
    shared.weights[place.wave][place.lane] = round_to_bf16(weights);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        softmax.sum += weights[i];
    barrier_for_lds();

    read_weights(operands, shared, place.lane);
    accumulate(state.output, operands, state.reader);
    barrier_for_lds();
}

// Stages take turns, and the loop has one exit. (With a way out between the turns the compiler
// would no longer know how many loads are in flight, and wait for all.)
__device__ __forceinline__ void attend_row(row_attention &state, u32 token)
{
    start_row(state, token);
    u32 start = 0;
    for (; start + keys_per_tile < state.row.length; start += stages * keys_per_tile) {
#pragma unroll
        for (u32 s = 0; s < stages; s++)
            attend_tile<true>(state, s, start + s * keys_per_tile);
    }
    if (start < state.row.length)
        attend_tile<false>(state, 0, start);
}

extern "C" __global__ __launch_bounds__(SPARSE_MLA_WORKGROUP_SIZE, 2) void
DSAJIT_KERNEL(sparse_mla_arguments arguments)
{
    __shared__ shared_memory shared;
    const thread_place place = find_thread_place();
    const u32 token = find_token(blockIdx.x, arguments.tokens);
    const index_row row = find_row(arguments, token);
    const auto tile = (lds_pointer<unsigned char>)shared.latent;

    row_attention state = {arguments, row, place, shared, latent_writer(tile, place),
                           latent_reader(tile, place)};
    if (row.length > 0)
        attend_row(state, token);

    const float of_wave = combine_groups(state.softmax.sum, sum_of);
    if (place.group == 0)
        shared.by_wave[place.column][place.wave] = of_wave;
    barrier_for_lds();
    const f32x4 of_waves = shared.by_wave[place.column];
    const float sum = (of_waves[0] + of_waves[1]) + (of_waves[2] + of_waves[3]);
    write_output(arguments, token, place, state.output, sum == 0 ? 0 : __builtin_amdgcn_rcpf(sum));
    if constexpr (variant::return_lse) {
        constexpr float ln2 = 0x1.62e43p-1f;
        if (place.wave == 0 && place.lane < variant::heads)
            arguments.lse[token * variant::heads + place.lane] =
                (state.softmax.reference + __builtin_amdgcn_logf(sum)) * ln2;
    }
}
