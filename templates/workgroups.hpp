// Which token a workgroup works on.
#pragma once

#include "vectors.hpp"

// The hardware deals workgroups round-robin to the 8 dies (XCDs), and dies do not share an L2.
// Neighbouring tokens attend mostly the same keys, so each die gets one contiguous range of tokens.
// The first tokens % 8 dies take one token more, which makes the map a bijection for any count.
__device__ __forceinline__ u32 find_token(u32 workgroup, u32 tokens)
{
    constexpr u32 dies = 8;
    const u32 die = workgroup % dies;
    const u32 share = tokens / dies;
    const u32 remainder = tokens % dies;
    return die * share + (die < remainder ? die : remainder) + workgroup / dies;
}
