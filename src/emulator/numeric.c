#include "emulator/numeric.h"

#include <math.h>

const struct number_format number_formats[NUMBER_FORMAT_COUNT] = {
    [NUMBER_F32] = {32, 23, -126, 0x7f7fffff, 0x7f800000, 0x7fc00000, true},
    [NUMBER_F16] = {16, 10, -14, 0x7bff, 0x7c00, 0x7e00, true},
    [NUMBER_BF16] = {16, 7, -126, 0x7f7f, 0x7f80, 0x7fc0, true},
    [NUMBER_E4M3] = {8, 3, -6, 0x7e, 0x7f, 0x7f, false},
    [NUMBER_E5M2] = {8, 2, -14, 0x7b, 0x7c, 0x7e, false},
    [NUMBER_E2M3] = {6, 3, 0, 0x1f, 0x1f, 0x1f, false},
    [NUMBER_E3M2] = {6, 2, -2, 0x1f, 0x1f, 0x1f, false},
    [NUMBER_E2M1] = {4, 1, 0, 0x7, 0x7, 0x7, false},
};

enum { DOUBLE_MANTISSA_BITS = 52, DOUBLE_BIAS = 1023 };

/* Of an exponent in the range of the normal doubles. */
static double power_of_two(int exponent)
{
    return number_from_bits64((uint64_t)(exponent + DOUBLE_BIAS) << DOUBLE_MANTISSA_BITS);
}

float number_decode(enum number_format_id format, uint32_t code)
{
    const struct number_format *f = &number_formats[format];
    uint32_t sign = code >> (f->bits - 1) & 1;
    uint32_t magnitude = code & ((1u << (f->bits - 1)) - 1);

    if (magnitude > f->largest) {
        /* E4M3 has NaN next to the largest number; the others infinity, then NaNs. */
        bool infinite = magnitude == f->infinity && f->infinity != f->nan;
        uint32_t payload = f->keeps_payload ? magnitude << (23 - f->mantissa_bits) & 0x7fffff : 0;
        return number_from_bits(sign << 31 | 0x7f800000u | (infinite ? 0 : payload | 0x00400000u));
    }
    uint32_t exponent = magnitude >> f->mantissa_bits;
    uint32_t mantissa = magnitude & ((1u << f->mantissa_bits) - 1);
    int unit = f->minimum_exponent - f->mantissa_bits; /* of the subnormal numbers */
    float value = exponent
                      ? number_from_bits((exponent + (uint32_t)(126 + f->minimum_exponent)) << 23 |
                                         mantissa << (23 - f->mantissa_bits))
                      : (float)((double)mantissa * power_of_two(unit));
    return sign ? -value : value;
}

double number_decode_scale(uint8_t code)
{
    return code == 255 ? (double)NAN : power_of_two(code - 127);
}

static uint32_t encode_nan(const struct number_format *f, double value)
{
    if (!f->keeps_payload)
        return f->nan;
    uint64_t payload = number_to_bits64(value) & (((uint64_t)1 << DOUBLE_MANTISSA_BITS) - 1);
    return f->nan | (uint32_t)(payload >> (DOUBLE_MANTISSA_BITS - f->mantissa_bits));
}

/* A finite value's magnitude as significand * 2^(exponent - 52). The significand has its top bit at
   52, but for subnormal doubles, which are far below every format. */
struct parts {
    uint64_t significand;
    int exponent;
};

static struct parts split(double value)
{
    uint64_t bits = number_to_bits64(value) & ~((uint64_t)1 << 63);
    uint64_t mantissa = bits & (((uint64_t)1 << DOUBLE_MANTISSA_BITS) - 1);
    int exponent = (int)(bits >> DOUBLE_MANTISSA_BITS);
    if (!exponent)
        return (struct parts){mantissa, 1 - DOUBLE_BIAS};
    return (struct parts){mantissa | (uint64_t)1 << DOUBLE_MANTISSA_BITS, exponent - DOUBLE_BIAS};
}

/* How many bits of the significand lie below the last bit that the format can hold. */
static int bits_dropped(const struct number_format *f, int exponent)
{
    int dropped = DOUBLE_MANTISSA_BITS - f->mantissa_bits;
    return exponent < f->minimum_exponent ? dropped + f->minimum_exponent - exponent : dropped;
}

static int at_most_63(int shift)
{
    return shift < 63 ? shift : 63;
}

/* The code of a significand in units of the last place. A carry out of the mantissa runs into the
   exponent, where it belongs. */
static uint32_t assemble(const struct number_format *f, uint64_t kept, int exponent)
{
    if (exponent <= f->minimum_exponent)
        return (uint32_t)kept;
    uint64_t steps = (uint64_t)(exponent - f->minimum_exponent);
    uint64_t code = (steps << f->mantissa_bits) + kept;
    return code > UINT32_MAX ? UINT32_MAX : (uint32_t)code;
}

static bool rounds_away(uint64_t kept, uint64_t rest, uint64_t half, bool negative,
                        enum rounding rounding)
{
    switch (rounding) {
    case ROUND_NEAREST_EVEN:
        return rest > half || (rest == half && (kept & 1));
    case ROUND_UP:
        return rest && !negative;
    case ROUND_DOWN:
        return rest && negative;
    case ROUND_TO_ZERO:
        break;
    }
    return false;
}

/* A directed rounding never crosses into infinity from the far side of it. */
static uint32_t overflowed(const struct number_format *f, bool negative, enum rounding rounding,
                           enum overflow overflow)
{
    bool towards_zero = rounding == ROUND_TO_ZERO || (rounding == ROUND_UP && negative) ||
                        (rounding == ROUND_DOWN && !negative);
    return overflow == OVERFLOW_SATURATE || towards_zero ? f->largest : f->infinity;
}

/* The common case of the common format: an f32 to nearest even, by one addition. */
static uint32_t encode_bf16(float value)
{
    uint32_t bits = number_to_bits(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint32_t number_encode(enum number_format_id format, double value, enum rounding rounding,
                       enum overflow overflow)
{
    const struct number_format *f = &number_formats[format];
    if (format == NUMBER_BF16 && rounding == ROUND_NEAREST_EVEN && overflow == OVERFLOW_INFINITY &&
        (float)value == value)
        return encode_bf16((float)value);
    bool negative = signbit(value);
    uint32_t sign = (uint32_t)negative << (f->bits - 1);

    if (isnan(value))
        return sign | encode_nan(f, value);
    if (isinf(value))
        return sign | f->infinity;
    if (value == 0)
        return sign;
    struct parts parts = split(value);
    int dropped = at_most_63(bits_dropped(f, parts.exponent));
    uint64_t kept = parts.significand >> dropped;
    uint64_t rest = parts.significand & (((uint64_t)1 << dropped) - 1);
    if (rounds_away(kept, rest, (uint64_t)1 << (dropped - 1), negative, rounding))
        kept++;
    uint32_t code = assemble(f, kept, parts.exponent);
    return sign | (code <= f->largest ? code : overflowed(f, negative, rounding, overflow));
}

uint32_t number_encode_stochastic(enum number_format_id format, double value,
                                  unsigned source_mantissa_bits, uint32_t random,
                                  enum overflow overflow)
{
    const struct number_format *f = &number_formats[format];
    bool negative = signbit(value);
    uint32_t sign = (uint32_t)negative << (f->bits - 1);

    if (isnan(value))
        return sign | encode_nan(f, value);
    if (isinf(value))
        return sign | f->infinity;
    if (value == 0)
        return sign;
    struct parts parts = split(value);
    /* In units of the source's last place, counted from the format's smallest exponent where the
       value lies below it: what is shifted out there is lost before the random bits come in. */
    int added = (int)source_mantissa_bits - f->mantissa_bits;
    uint64_t significand = parts.significand >> at_most_63(bits_dropped(f, parts.exponent) - added);
    significand += random >> (32 - added);
    uint32_t code = assemble(f, significand >> added, parts.exponent);
    return sign |
           (code <= f->largest ? code : overflowed(f, negative, ROUND_NEAREST_EVEN, overflow));
}
