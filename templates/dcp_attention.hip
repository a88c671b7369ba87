// Outputs and LSE of parts of the keys to those of all. One wave a head of a token: 8 values a
// lane.
#include "dcp_arguments.h"
#include "record_layout.hpp"
#include "wave.hpp"

static_assert(sizeof(dcp_attention_arguments) == 120, "the same layout as on the host");
static_assert(DCP_ATTENTION_WORKGROUP_SIZE == DCP_ATTENTION_ROWS_PER_WORKGROUP * lanes_per_wave);

constexpr u32 ranks_max = 8;
constexpr u32 values_per_lane = latent_size / lanes_per_wave;

constexpr float log2_e = 0x1.715476p+0f;
constexpr float ln_2 = 0x1.62e43p-1f;

using rank_values = float[ranks_max];
using lane_values = float __attribute__((ext_vector_type(values_per_lane)));

// Fills `lse` with -inf where there is no rank, and where there is none that counts.
__device__ __forceinline__ void load_lse(rank_values &lse, const dcp_attention_arguments &arguments,
                                         u32 token, u32 head)
{
    const auto mine = (global_pointer<const float>)arguments.lse +
                      token * arguments.lse_strides[1] + head * arguments.lse_strides[2];
#pragma unroll
    for (u32 r = 0; r < ranks_max; r++) {
        const float value =
            r < arguments.ranks ? mine[r * arguments.lse_strides[0]] : -__builtin_inff();
        lse[r] = value < __builtin_inff() ? value : -__builtin_inff();
    }
}

// ln of the sum of e^lse; -inf if there is nothing to sum.
__device__ __forceinline__ float merge_lse(const rank_values &lse)
{
    float largest = lse[0];
#pragma unroll
    for (u32 r = 1; r < ranks_max; r++)
        largest = larger(largest, lse[r]);
    largest = largest == -__builtin_inff() ? 0 : largest;
    float sum = 0;
#pragma unroll
    for (u32 r = 0; r < ranks_max; r++)
        sum += __builtin_amdgcn_exp2f((lse[r] - largest) * log2_e);
    return largest + __builtin_amdgcn_logf(sum) * ln_2;
}

// Which ranks' outputs there are to merge.
__device__ __forceinline__ bool has_part(const dcp_attention_arguments &arguments, u32 rank)
{
    return rank - arguments.first < arguments.parts;
}

// `parts` points at this lane's values of the first part. All loads start before the first use.
__device__ __forceinline__ lane_values merge_parts(const dcp_attention_arguments &arguments,
                                                   global_pointer<const __bf16> parts,
                                                   const rank_values &lse, float merged)
{
    bf16x8 values[ranks_max];
#pragma unroll
    for (u32 r = 0; r < ranks_max; r++)
        if (has_part(arguments, r))
            values[r] = __builtin_bit_cast(
                bf16x8,
                *(global_pointer<const u32x4_unaligned>)(parts + (r - arguments.first) *
                                                                     arguments.partial_strides[0]));
    lane_values sum = 0;
#pragma unroll
    for (u32 r = 0; r < ranks_max; r++) {
        const float factor =
            lse[r] == -__builtin_inff() ? 0 : __builtin_amdgcn_exp2f((lse[r] - merged) * log2_e);
        // Nothing of a part that doesn't count may enter: it may be NaN.
        if (has_part(arguments, r) && factor != 0)
            sum += factor * __builtin_convertvector(values[r], lane_values);
    }
    return sum;
}

__device__ __forceinline__ void store_output(const dcp_attention_arguments &arguments, u64 element,
                                             lane_values values)
{
    if constexpr (variant::out == variant::out_values::bf16) {
        const bf16x8 rounded = __builtin_convertvector(values, bf16x8);
        *(global_pointer<u32x4_unaligned>)((global_pointer<__bf16>)arguments.out + element) =
            __builtin_bit_cast(u32x4, rounded);
    } else {
        typedef lane_values lane_values_unaligned __attribute__((aligned(4)));
        *(global_pointer<lane_values_unaligned>)((global_pointer<float>)arguments.out + element) =
            values;
    }
}

extern "C" __global__ __launch_bounds__(DCP_ATTENTION_WORKGROUP_SIZE) void DSAJIT_KERNEL(
    dcp_attention_arguments arguments)
{
    const thread_place place = find_thread_place();
    const u32 row = blockIdx.x * DCP_ATTENTION_ROWS_PER_WORKGROUP + place.wave;
    if (row >= arguments.rows)
        return;
    const u32 token = row / arguments.heads;
    const u32 head = row % arguments.heads;
    const u32 first_value = place.lane * values_per_lane;

    rank_values lse;
    load_lse(lse, arguments, token, head);
    const float merged = merge_lse(lse);
    const auto parts = (global_pointer<const __bf16>)arguments.partial +
                       token * arguments.partial_strides[1] + head * arguments.partial_strides[2] +
                       first_value;
    store_output(arguments,
                 token * arguments.out_strides[0] + head * arguments.out_strides[1] + first_value,
                 merge_parts(arguments, parts, lse, merged));
    if (arguments.merged_lse && place.lane == 0)
        ((global_pointer<float>)arguments.merged_lse)[row] = merged;
}
