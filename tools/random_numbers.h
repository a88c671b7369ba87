/* Random numbers that are the same on every machine. `state` is any seed, and changes. */
#ifndef TOOLS_RANDOM_NUMBERS_H
#define TOOLS_RANDOM_NUMBERS_H

#include <stdint.h>

uint64_t random_bits(uint64_t *state);

/* In [0, 1), a multiple of 2^-53. */
double random_uniform(uint64_t *state);

/* From 0 to limit - 1; `limit` far below 2^64, so that the bias is of no importance. */
int64_t random_below(uint64_t *state, int64_t limit);

/* A bf16 value, nearly normal with mean 0 and variance 1. */
uint16_t random_bf16(uint64_t *state);

#endif
