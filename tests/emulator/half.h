/* Half precision by its definition: sign, exponent, fraction; for expected values. */
#ifndef TESTS_EMULATOR_HALF_H
#define TESTS_EMULATOR_HALF_H

#include <math.h>
#include <stdint.h>

/* Of the low 16 bits; exact. */
static inline double f16(uint64_t bits)
{
    double sign = bits & 0x8000 ? -1 : 1;
    int exponent = bits >> 10 & 31;
    double fraction = (double)(bits & 0x3ff);
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* To nearest even, of an exact double. */
static inline uint64_t bits16(double value)
{
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value))
        return sign | 0x7e00;
    if (magnitude >= 65520)
        return sign | 0x7c00;
    if (magnitude < 0x1p-14)
        return sign | (uint64_t)rint(ldexp(magnitude, 24));
    int exponent = ilogb(magnitude);
    uint64_t fraction = (uint64_t)rint(ldexp(magnitude, 10 - exponent)); /* 1024…2048 */
    /* A carry out of the fraction runs into the exponent. */
    return sign | (((uint64_t)(exponent + 14) << 10) + fraction);
}

#endif
