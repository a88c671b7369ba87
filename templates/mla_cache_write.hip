// Latent and rope to fp8_ds_mla records. One wave a token: 8 latent values a lane.
#include "mla_cache_write_arguments.h"
#include "quantise.hpp"
#include "record_layout.hpp"
#include "wave.hpp"

static_assert(sizeof(mla_cache_write_arguments) == 64, "the same layout as on the host");
static_assert(MLA_CACHE_WRITE_WORKGROUP_SIZE ==
              MLA_CACHE_WRITE_TOKENS_PER_WORKGROUP * lanes_per_wave);
static_assert(latent_size == lanes_per_wave * values_per_lane);
static_assert(variant::scale == variant::scale_values::pow2);

// No scale is below 1e-4, which is rounded up to a power of two as all are.
constexpr u32 record_scale_floor = biased(-13);

__device__ __forceinline__ global_pointer<unsigned char>
find_record(const mla_cache_write_arguments &arguments, u32 slot)
{
    const u32 page = slot / arguments.page_tokens;
    const u32 place = slot - page * arguments.page_tokens;
    return (global_pointer<unsigned char>)arguments.cache + page * arguments.page_stride +
           (u64)place * record_bytes;
}

extern "C" __global__ __launch_bounds__(MLA_CACHE_WRITE_WORKGROUP_SIZE) void DSAJIT_KERNEL(
    mla_cache_write_arguments arguments)
{
    constexpr u32 lanes_per_scale = e4m3::values_per_scale / values_per_lane;
    constexpr u32 lanes_of_rope = rope_size / values_per_lane;

    const thread_place place = find_thread_place();
    const u32 token = blockIdx.x * MLA_CACHE_WRITE_TOKENS_PER_WORKGROUP + place.wave;
    if (token >= arguments.tokens)
        return;
    const i64 slot = arguments.slots[token];
    if (slot < 0)
        return;
    const auto record = find_record(arguments, (u32)slot);
    const bf16x8 latent =
        load_values((global_pointer<const __bf16>)arguments.latent +
                    token * arguments.latent_stride + place.lane * values_per_lane);
    // By all lanes, the same few bytes again and again: a branch would cost more.
    const bf16x8 rope =
        load_values((global_pointer<const __bf16>)arguments.rope + token * arguments.rope_stride +
                    place.lane % lanes_of_rope * values_per_lane);

    const scale_factor scale = find_scale<e4m3>(latent, record_scale_floor);
    *(global_pointer<u32x2>)(record + place.lane * values_per_lane) = to_e4m3(latent, scale);
    if (place.lane % lanes_per_scale == 0)
        *(global_pointer<float>)(record + scales_offset +
                                 place.lane / lanes_per_scale * sizeof(float)) = scale;
    if (place.lane < lanes_of_rope)
        *(global_pointer<bf16x8>)(record + rope_offset + place.lane * sizeof rope) = rope;
}
