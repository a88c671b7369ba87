// Sparse MLA forward over fp8_ds_mla records with bf16 matrix instructions.
//
// One workgroup of 4 waves per token, two workgroups per CU, tiles of 64 keys. Per tile:
//
//     1  wave w has keys 16 w .. + 15 in registers. It dequantises them, once, multiplies them
//        with the query (S = K Q^T: 16 keys x 16 heads) and leaves the latent in LDS
//     2  starts the loads of its keys two tiles ahead, into the registers just freed
//     3  masks its scores and leaves each head's largest in LDS
//                                                                              -- barrier --
//     4  moves the softmax reference, turns its scores into weights, leaves those in LDS
//                                                                              -- barrier --
//     5  multiplies the 64 keys' weights with latent columns 128 w .. + 127
//        (O^T = V^T P^T: 128 columns x 16 heads)
//                                                                              -- barrier --
//
// Per wave and tile 18 multiplications in step 1 (16 of latent, 2 of rope) and 16 in step 5.
#include "latent_tile.hpp"
#include "matrix.hpp"
#include "output.hpp"
#include "query.hpp"
#include "record.hpp"
#include "softmax.hpp"
#include "workgroups.hpp"

static_assert(sizeof(sparse_mla_arguments) == 120, "the same layout as on the host");

// 66.25 KiB, so that two workgroups fit in the 160 KiB of a CU.
struct shared_memory {
    alignas(16) unsigned char latent[latent_tile_bytes];
    bf16x4 weights[waves_per_workgroup][lanes_per_wave]; // as the lanes of step 4 hold them
    f32x4 by_wave[columns_per_wave];                     // one number per head and wave
};

// Tiles in registers: one in use, the others in flight.
constexpr u32 stages = 2;

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
    output_registers output = {}; // not yet divided by the sum of the weights
};

// The position of this wave's first key in the tile that starts at `start`.
__device__ __forceinline__ u32 first_key(const row_attention &state, u32 start)
{
    return start + keys_per_wave * state.place.wave;
}

__device__ __forceinline__ index_type load_my_index(const row_attention &state, u32 start)
{
    return load_index(state.row, first_key(state, start) + state.place.column);
}

// Loads in the order in which they are needed; the loads of the keys are left in flight.
__device__ __forceinline__ void start_row(row_attention &state, u32 token)
{
    index_type first_indices[stages];
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        first_indices[s] = load_my_index(state, s * keys_per_tile);
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        state.indices[s] = load_my_index(state, (stages + s) * keys_per_tile);
    load_query(state.query, state.arguments, token, state.place);
    schedule_fence();
#pragma unroll
    for (u32 s = 0; s < stages; s++)
        load_keys(state.keys[s], find_record(state.arguments.kv, first_indices[s]),
                  state.place.group);
    wait_for(state.query);
}

// Step 1. Two independent sums, so that no multiplication waits for the one before.
__device__ __forceinline__ f32x4 score_keys(const key_registers &keys, const query_registers &query,
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
        // Bounds how many dequantised chunks are alive at once.
        if (j % 2 == 1)
            schedule_fence();
    }
#pragma unroll
    for (u32 r = 0; r < rope_chunks; r++)
        sum[r % 2] = multiply_16x16x32(keys.rope[r], query.rope[r], sum[r % 2]);
    // Finished here, or else the compiler moves the last multiplications behind the loads of
    // step 2, which then could not have the registers.
    asm volatile("" : "+v"(sum[0]), "+v"(sum[1]));
    return sum[0] + sum[1];
}

// Step 2.
__device__ __forceinline__ void start_loads(row_attention &state, u32 s, u32 start)
{
    const record_place record = find_record(state.arguments.kv, state.indices[s]);
    state.indices[s] = load_my_index(state, start + 2 * stages * keys_per_tile);
    load_keys(state.keys[s], record, state.place.group);
}

// Operands of step 5. Multiplication `step` is block step / halves, half step % halves of the keys;
// the latent of a few steps is read ahead of the multiplications.
constexpr u32 halves = keys_per_tile / 32;
constexpr u32 output_steps = output_blocks * halves;
constexpr u32 steps_ahead = 4;

struct output_operands {
    bf16x8 weights[halves]; // B: columns are heads, k in the order of latent_reader::read
    bf16x8 latent[steps_ahead];
};

__device__ __forceinline__ void read_latent(output_operands &operands, const latent_reader &reader,
                                            u32 step)
{
    operands.latent[step % steps_ahead] = reader.read(step / halves, step % halves);
}

__device__ __forceinline__ void read_weights(output_operands &operands, const shared_memory &shared,
                                             u32 lane)
{
#pragma unroll
    for (u32 half = 0; half < halves; half++)
        operands.weights[half] =
            join(shared.weights[2 * half][lane], shared.weights[2 * half + 1][lane]);
}

// Step 5.
__device__ __forceinline__ void accumulate(output_registers &output, output_operands &operands,
                                           const latent_reader &reader)
{
#pragma unroll
    for (u32 step = 0; step < output_steps; step++) {
        f32x4 &sum = output[step / halves];
        sum = multiply_16x16x32(operands.latent[step % steps_ahead],
                                operands.weights[step % halves], sum);
        schedule<matrix_instructions, 1>();
        if (step + steps_ahead < output_steps) {
            read_latent(operands, reader, step + steps_ahead);
            schedule<lds_reads, 2>();
        }
    }
}

// One tile: its first key is at position `start` of the row, its keys are in stage s.
template <bool more_tiles>
__device__ __forceinline__ void attend_tile(row_attention &state, u32 s, u32 start)
{
    const thread_place &place = state.place;
    shared_memory &shared = state.shared;
    running_softmax &softmax = state.softmax;

    // Hides from the compiler that these stay the same: it would keep all the addresses that
    // derive from them in registers, where there is no room.
    asm volatile("" : "+v"(state.writer.place), "+v"(state.reader.place));

    const f32x4 products = score_keys(state.keys[s], state.query, state.writer);
    const u32 masked_keys =
        find_masked_keys(state.keys[s].masked, state.row.length, first_key(state, start));
    if constexpr (more_tiles)
        start_loads(state, s, start);
    schedule_fence();

    four_keys scores, weights;
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        scores[i] = products[i] * state.arguments.scale_log2e;
    if (masked_keys)
        mask_scores(scores, masked_keys, place.group);
    const float largest = combine_groups(largest_of(scores), larger);
    if (place.group == 0)
        shared.by_wave[place.column][place.wave] = largest;
    barrier_for_lds();

    const f32x4 by_wave = shared.by_wave[place.column];
    schedule_fence();
    output_operands operands;
#pragma unroll
    for (u32 step = 0; step < steps_ahead; step++)
        read_latent(operands, state.reader, step);
    const float reference = larger(softmax.reference, largest_of(by_wave));
    if (__builtin_amdgcn_ballot_w64(reference > softmax.reference) != 0) {
        const float factor = __builtin_amdgcn_exp2f(softmax.reference - reference);
        softmax.sum *= factor;
#pragma unroll
        for (u32 n = 0; n < output_blocks; n++)
            state.output[n] *= factor;
        softmax.reference = reference;
    }
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

// Stages take turns, and the loop has one way out. (With another between the turns, the compiler
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

extern "C" __global__ __launch_bounds__(SPARSE_MLA_WORKGROUP_SIZE,
                                        2) void DSAJIT_KERNEL(sparse_mla_arguments arguments)
{
    __shared__ shared_memory shared;
    const thread_place place = find_thread_place();
    const u32 token = find_token(blockIdx.x, arguments.tokens);
    const index_row row = find_row(arguments, token);
    const auto tile = (lds_pointer<unsigned char>)shared.latent;

    row_attention state = {
        arguments, row, place, shared, latent_writer(tile, place), latent_reader(tile, place)};
    if (row.length > 0)
        attend_row(state, token);

    const float sum_of_wave = combine_groups(state.softmax.sum, sum_of);
    if (place.group == 0)
        shared.by_wave[place.column][place.wave] = sum_of_wave;
    barrier_for_lds();
    const f32x4 by_wave = shared.by_wave[place.column];
    const float sum = (by_wave[0] + by_wave[1]) + (by_wave[2] + by_wave[3]);

    // No key at all: every weight was 0, and so is the output.
    const float factor = sum == 0 ? 0 : __builtin_amdgcn_rcpf(sum);
    write_output(arguments, token, place, state.output, factor);
    if constexpr (variant::return_lse)
        write_lse(arguments, token, place, state.softmax.reference, sum);
}
