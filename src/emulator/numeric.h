/* Number formats of gfx950 and the conversions between them, as pure functions.

   Every narrow format's values are exact in f32, and an f32 times a power of two in the range of
   scales is exact in double. So "decode" goes to float and "encode" comes from double, and between
   the two nothing is rounded. */
#ifndef EMULATOR_NUMERIC_H
#define EMULATOR_NUMERIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum number_format_id {
    NUMBER_F32,
    NUMBER_F16,
    NUMBER_BF16,
    NUMBER_E4M3, /* "fp8": OCP, no infinity */
    NUMBER_E5M2, /* "bf8" */
    NUMBER_E2M3, /* "fp6": finite values only */
    NUMBER_E3M2, /* "bf6": finite values only */
    NUMBER_E2M1, /* "fp4": finite values only */
    NUMBER_FORMAT_COUNT
};

/* A code is the sign, then exponent, then mantissa bits; codes below are those of positive numbers.
   Where a format has no infinity or no NaN, the field holds what a conversion gives instead. */
struct number_format {
    uint8_t bits;
    uint8_t mantissa_bits;
    int8_t minimum_exponent; /* of the normal numbers; 1 - bias */
    uint32_t largest;        /* the greatest finite value */
    uint32_t infinity;
    uint32_t nan;
    bool keeps_payload; /* a NaN's upper mantissa bits survive the conversion */
};

extern const struct number_format number_formats[NUMBER_FORMAT_COUNT];

enum rounding {
    ROUND_NEAREST_EVEN, /* in the encoding of the MODE register's fields */
    ROUND_UP,
    ROUND_DOWN,
    ROUND_TO_ZERO
};

/* What a finite value too large for the format becomes. */
enum overflow {
    OVERFLOW_INFINITY, /* the format's infinity, or what it has in its place */
    OVERFLOW_SATURATE  /* the largest finite number, unless the value was infinite to begin with */
};

/* Bits above the format's are ignored. */
float number_decode(enum number_format_id format, uint32_t code);

uint32_t number_encode(enum number_format_id format, double value, enum rounding rounding,
                       enum overflow overflow);

/* Stochastic rounding: the upper bits of `random` are added just below the last mantissa bit kept,
   and what remains is cut off. The addition has the width of the source's mantissa
   (`source_mantissa_bits`), as AMD's host model of these instructions has it. */
uint32_t number_encode_stochastic(enum number_format_id format, double value,
                                  unsigned source_mantissa_bits, uint32_t random,
                                  enum overflow overflow);

/* The power of two that an E8M0 byte stands for; 255 is NaN. */
double number_decode_scale(uint8_t code);

static inline float number_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t number_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double number_from_bits64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t number_to_bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The E8M0 byte inside an f32: the scale that the v_cvt_scalef32_* instructions see. */
static inline uint8_t number_scale_of(uint32_t f32_bits)
{
    return f32_bits >> 23 & 0xff;
}

#endif
