#include "formats.h"

#include <math.h>

const struct format format_f32 = {"f32", 32, 23, 127, true, 0x7fc00000, 0x7f800000};
const struct format format_f16 = {"f16", 16, 10, 15, true, 0x7e00, 0x7c00};
const struct format format_bf16 = {"bf16", 16, 7, 127, true, 0x7fc0, 0x7f80};
const struct format format_fp8 = {"fp8", 8, 3, 7, false, 0x7f, 0x7f};
const struct format format_bf8 = {"bf8", 8, 2, 15, true, 0x7e, 0x7c};
const struct format format_fp6 = {"fp6", 6, 3, 1, false, 0x1f, 0x1f};
const struct format format_bf6 = {"bf6", 6, 2, 3, false, 0x1f, 0x1f};
const struct format format_fp4 = {"fp4", 4, 1, 1, false, 0x7, 0x7};

uint32_t format_sign_bit(const struct format *format)
{
    return 1u << (format->bits - 1);
}

static uint32_t infinity_code(const struct format *format)
{
    uint32_t exponents = (format_sign_bit(format) >> format->mantissa_bits) - 1;
    return exponents << format->mantissa_bits;
}

uint32_t format_largest(const struct format *format)
{
    if (format->has_infinity)
        return infinity_code(format) - 1;
    return format->bits == 8 ? 0x7e : format_sign_bit(format) - 1; /* fp8: below its one NaN */
}

double format_value(const struct format *format, uint32_t code)
{
    uint32_t sign = code & format_sign_bit(format), magnitude = code - sign;
    double value;
    if (magnitude > format_largest(format)) {
        value = format->has_infinity && magnitude == infinity_code(format) ? INFINITY : NAN;
    } else {
        uint32_t exponent = magnitude >> format->mantissa_bits;
        double mantissa =
            ldexp(magnitude & ((1u << format->mantissa_bits) - 1), -format->mantissa_bits);
        value = exponent ? ldexp(1 + mantissa, (int)exponent - format->bias)
                         : ldexp(mantissa, 1 - format->bias);
    }
    return sign ? -value : value;
}

/* The greatest code whose number is not above a finite magnitude. */
static uint32_t find_below(const struct format *format, double magnitude)
{
    uint32_t low = 0, high = format_largest(format);
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (format_value(format, middle) <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint32_t format_towards_zero(const struct format *format, double value)
{
    return find_below(format, fabs(value)) | (signbit(value) ? format_sign_bit(format) : 0);
}

/* Beyond the largest number the grid goes on for half a step. */
static uint32_t nearest_magnitude(const struct format *format, double magnitude)
{
    if (isinf(magnitude))
        return format->overflow;
    uint32_t low = find_below(format, magnitude), largest = format_largest(format);
    double value = format_value(format, low);
    double step = low < largest ? format_value(format, low + 1) - value
                                : value - format_value(format, low - 1);
    double down = magnitude - value, up = value + step - magnitude;
    uint32_t chosen = down < up || (down == up && low % 2 == 0) ? low : low + 1;
    return chosen > largest ? format->overflow : chosen;
}

uint32_t format_nearest(const struct format *format, double value)
{
    uint32_t magnitude = isnan(value) ? format->nan : nearest_magnitude(format, fabs(value));
    return magnitude | (signbit(value) ? format_sign_bit(format) : 0);
}

uint32_t format_take_bits(const uint32_t *dwords, unsigned first, unsigned count)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < count; ++i)
        bits |= (dwords[(first + i) / 32] >> (first + i) % 32 & 1) << i;
    return bits;
}

void format_put_bits(uint32_t *dwords, unsigned first, unsigned count, uint32_t bits)
{
    for (unsigned i = 0; i < count; ++i) {
        uint32_t bit = 1u << (first + i) % 32;
        uint32_t *dword = &dwords[(first + i) / 32];
        *dword = bits >> i & 1 ? *dword | bit : *dword & ~bit;
    }
}

uint64_t random_bits(void)
{
    static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}
