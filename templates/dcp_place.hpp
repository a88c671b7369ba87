// Who owns a token under decode context parallelism, and its number there.
#pragma once

#include "dcp_arguments.h"
#include "vectors.hpp"

// Position p = (n * ranks + r) * interleave + o is number n * interleave + o of rank r.
__device__ __forceinline__ int to_global(const dcp_place &place, int id)
{
    if (id < 0)
        return -1;
    const u32 turn = (u32)id / place.interleave;
    const u32 offset = (u32)id % place.interleave;
    return (int)((turn * place.ranks + place.rank) * place.interleave + offset);
}

// -1 for tokens of other ranks.
__device__ __forceinline__ int to_local(const dcp_place &place, int id)
{
    if (id < 0)
        return -1;
    const u32 turn = (u32)id / place.interleave;
    const u32 offset = (u32)id % place.interleave;
    return turn % place.ranks == place.rank ? (int)(turn / place.ranks * place.interleave + offset)
                                            : -1;
}
