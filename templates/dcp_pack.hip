// A rank's best keys as pairs (score, global id) for the exchange. One workgroup a row.
#include "dcp_place.hpp"

static_assert(sizeof(dcp_pack_arguments) == 64, "the same layout as on the host");

__device__ __forceinline__ f32x2 pack(const dcp_pack_arguments &arguments,
                                      global_pointer<const float> scores, u32 i, int id)
{
    constexpr bool is_list = variant::scores == variant::scores_values::list;
    if (id < 0)
        return {-__builtin_inff(), -1.0f};
    return {scores[is_list ? i : (u32)id], (float)to_global(arguments.place, id)};
}

extern "C" __global__
__launch_bounds__(DCP_PACK_WORKGROUP_SIZE) void DSAJIT_KERNEL(dcp_pack_arguments arguments)
{
    const u32 row = blockIdx.x;
    const auto ids = (global_pointer<const int>)arguments.ids + row * arguments.ids_stride;
    const auto packed = (global_pointer<f32x2>)arguments.packed + (u64)row * arguments.count;
    auto scores = (global_pointer<const float>)arguments.scores + row * arguments.scores_stride;
    if constexpr (variant::scores == variant::scores_values::logits) {
        if (arguments.row_starts)
            scores += ((global_pointer<const int>)arguments.row_starts)[row];
    }
    for (u32 i = threadIdx.x; i < arguments.count; i += DCP_PACK_WORKGROUP_SIZE)
        packed[i] = pack(arguments, scores, i, ids[i]);
}
