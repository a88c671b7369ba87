#include "random_numbers.h"

#include "narrow_floats.h"

/* SplitMix64: one addition and a mixing function a number, any seed is good. */
uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

double random_uniform(uint64_t *state)
{
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

int64_t random_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(random_bits(state) % (uint64_t)limit);
}

/* Free of the differences between maths libraries: the sum of four uniform numbers, shifted and
   stretched. */
uint16_t random_bf16(uint64_t *state)
{
    const uint64_t bits = random_bits(state);
    const int sum = (int)(bits >> 48) + (int)(bits >> 32 & 0xffff) + (int)(bits >> 16 & 0xffff) +
                    (int)(bits & 0xffff);
    const double root_3 = 0x1.bb67ae8584caap0;
    return double_to_bf16((sum - 2 * 0xffff) * 0x1p-16 * root_3);
}
