// Token ids between a rank's numbers and positions in the sequence. One workgroup a row.
#include "dcp_place.hpp"

static_assert(sizeof(dcp_ids_arguments) == 48, "the same layout as on the host");

extern "C" __global__
__launch_bounds__(DCP_IDS_WORKGROUP_SIZE) void DSAJIT_KERNEL(dcp_ids_arguments arguments)
{
    const auto ids = (global_pointer<const int>)arguments.ids + blockIdx.x * arguments.ids_stride;
    const auto out = (global_pointer<int>)arguments.out + blockIdx.x * arguments.out_stride;
    for (u32 i = threadIdx.x; i < arguments.count; i += DCP_IDS_WORKGROUP_SIZE) {
        if constexpr (variant::direction == variant::direction_values::to_global)
            out[i] = to_global(arguments.place, ids[i]);
        else
            out[i] = to_local(arguments.place, ids[i]);
    }
}
