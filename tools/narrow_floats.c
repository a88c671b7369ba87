#include "narrow_floats.h"

#include <math.h>
#include <string.h>

double bf16_to_double(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* `value` in units of the last place of a format with `fraction_bits` whose smallest normal number
   is 2^minimum_exponent, rounded to nearest even; *exponent is that of a significand 1.f. The
   result may be 2^(fraction_bits + 1): the number rounded up to the next power of two. */
static long round_to_units(double magnitude, int fraction_bits, int minimum_exponent, int *exponent)
{
    *exponent = magnitude == 0 ? minimum_exponent : ilogb(magnitude);
    if (*exponent < minimum_exponent)
        *exponent = minimum_exponent;
    /* The scaling is exact and rint rounds to even, so this is the only rounding. */
    return lrint(ldexp(magnitude, fraction_bits - *exponent));
}

/* Exponent and fraction fields. An implicit bit that is missing (a subnormal number) or one too
   many (rounded up) carries into the exponent field, as the encoding is made for. */
static uint32_t encode(long units, int exponent, int fraction_bits, int minimum_exponent)
{
    return ((uint32_t)(exponent - minimum_exponent) << fraction_bits) + (uint32_t)units;
}

uint16_t double_to_bf16(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const uint16_t infinity = 0x7f80;
    if (isnan(value))
        return sign | infinity | 0x40;
    if (isinf(value))
        return sign | infinity;
    int exponent;
    long units = round_to_units(fabs(value), 7, -126, &exponent);
    uint32_t bits = exponent > 127 ? infinity : encode(units, exponent, 7, -126);
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

double e4m3_to_double(uint8_t byte)
{
    const double sign = byte & 0x80 ? -1 : 1;
    const int exponent = byte >> 3 & 15;
    const int fraction = byte & 7;
    if (exponent == 15 && fraction == 7)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, -9);
    return sign * ldexp(8 + fraction, exponent - 10);
}

uint8_t double_to_e4m3(double value)
{
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    const double largest = 448;
    if (isnan(value))
        return sign | 0x7f;
    const double magnitude = fabs(value) < largest ? fabs(value) : largest;
    int exponent;
    long units = round_to_units(magnitude, 3, -6, &exponent);
    return (uint8_t)(sign | encode(units, exponent, 3, -6));
}
