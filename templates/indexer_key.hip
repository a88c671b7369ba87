// Keys of the indexer: norm, quantisation, insertion in the paged cache. 16 lanes a token.
#include "index_page.hpp"
#include "indexer_key_arguments.h"
#include "key_norm.hpp"

static_assert(sizeof(indexer_key_arguments) == 64, "the same layout as on the host");
static_assert(INDEXER_KEY_WORKGROUP_SIZE == INDEXER_KEY_TOKENS_PER_WORKGROUP * lanes_per_row);

// An FP8 scale is never below that of a key whose largest magnitude is 1e-4.
constexpr u32 key_scale_floor = biased(-22);

extern "C" __global__
__launch_bounds__(INDEXER_KEY_WORKGROUP_SIZE) void DSAJIT_KERNEL(indexer_key_arguments arguments)
{
    const u32 token = blockIdx.x * INDEXER_KEY_TOKENS_PER_WORKGROUP + threadIdx.x / lanes_per_row;
    const u32 part = threadIdx.x % lanes_per_row;
    if (token >= arguments.tokens)
        return;
    const i64 slot = ((global_pointer<const i64>)arguments.slots)[token];
    bf16x8 key = load_values((global_pointer<const __bf16>)arguments.keys +
                             token * arguments.key_stride + part * values_per_lane);
    if (slot < 0)
        return;
    if constexpr (variant::norm != variant::norm_values::none)
        key = normalise(key, arguments, part);

    constexpr u32 page_tokens = variant::page_tokens;
    const u32 place = (u32)((u64)slot % page_tokens);
    const auto page = (global_pointer<unsigned char>)arguments.cache +
                      (u64)slot / page_tokens * arguments.page_stride;
    const auto scales = page + page_tokens * row_bytes + place * row_scale_bytes;
    const scale_factor scale = store_row(key, part, key_scale_floor, page + place * row_bytes);
    if constexpr (!is_fp8)
        store_group_scale(scale, part, scales);
    else if (part == 0)
        *(global_pointer<float>)scales = scale;
}
