/* Division by a number that a kernel gets with its arguments: without an instruction for it, a
   multiplication and a shift stand in. */
#ifndef RUNTIME_RECIPROCAL_H
#define RUNTIME_RECIPROCAL_H

#include <stdint.h>

/* n / d == (uint64_t)n * multiplier >> shift for all 0 <= n < 2^31. */
struct reciprocal {
    uint32_t multiplier;
    int shift;
};

/* 1 <= d < 2^31. With 2^(b-1) < d <= 2^b the shift is 31 + b and the multiplier 2^shift / d,
   rounded up: less than 2^32, and too large by less than 1, so that the product is too large by
   less than n / 2^shift <= 1 / d, too little to reach the next integer. */
static inline struct reciprocal reciprocal_of(uint32_t d)
{
    int bits = 0;
    while (d > (uint32_t)1 << bits)
        bits++;
    const int shift = 31 + bits;
    return (struct reciprocal){(uint32_t)((((uint64_t)1 << shift) + d - 1) / d), shift};
}

#endif
