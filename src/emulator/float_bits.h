/* Floats as bits, for loops over lanes: half precision, exact fused multiply-add, and the orderings
   of the machine's minimum and maximum. Everything is branch-free so that the loops vectorise, and
   needs no rounding but the host's default, to nearest even. (numeric.h converts all formats in all
   rounding modes, one number at a time.) */
#ifndef EMULATOR_FLOAT_BITS_H
#define EMULATOR_FLOAT_BITS_H

#include "emulator/numeric.h"

/* The low 16 bits as f16; exact. */
static inline float half_decode(uint32_t half)
{
    uint32_t sign = (half & 0x8000) << 16;
    uint32_t magnitude = (half & 0x7fff) << 13;
    /* Moving the exponent by multiplication makes subnormals normal on the way. */
    uint32_t finite = number_to_bits(number_from_bits(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000;
    return number_from_bits(sign | ((half & 0x7c00) == 0x7c00 ? special : finite));
}

/* To f16, to nearest even; NaNs keep their upper payload bits and become quiet. */
static inline uint32_t half_encode(float value)
{
    uint32_t bits = number_to_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    /* In [0.5, 1) f32 has the spacing of subnormal halves, so the addition rounds to it. */
    uint32_t subnormal = number_to_bits(number_from_bits(magnitude) + 0.5f) - 0x3f000000;
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
    half = magnitude >= 0x47800000
               ? 0x7c00
               : half; /* 65536 and more; what rounds up to it already is infinity */
    half = magnitude > 0x7f800000 ? nan : half;
    return sign | half;
}

/* x + y rounded to odd: the last bit is 1 whenever the sum is inexact. Rounding such a sum once
   more, to a format at least two bits narrower, gives what rounding the exact sum would have given.
   An inexact sum with an even last bit moves by one unit in the direction of the error; infinities
   and NaNs have an error of NaN and stay. */
static inline double add_to_odd_f64(double x, double y)
{
    double sum = x + y;
    double y_part = sum - x;
    double error = (x - (sum - y_part)) + (y - y_part);
    uint64_t bits = number_to_bits64(sum);
    uint64_t opposite = (bits ^ number_to_bits64(error)) >> 63;
    uint64_t inexact = 0 - (uint64_t)((error > 0) | (error < 0));
    return number_from_bits64(bits + ((1 - 2 * opposite) & inexact & ((bits & 1) - 1)));
}

static inline float add_to_odd_f32(float x, float y)
{
    float sum = x + y;
    float y_part = sum - x;
    float error = (x - (sum - y_part)) + (y - y_part);
    uint32_t bits = number_to_bits(sum);
    uint32_t opposite = (bits ^ number_to_bits(error)) >> 31;
    uint32_t inexact = 0 - (uint32_t)((error > 0) | (error < 0));
    return number_from_bits(bits + ((1 - 2 * opposite) & inexact & ((bits & 1) - 1)));
}

/* a * b + c rounded once. The product of two f32 is exact in f64, that of two f16 in f32. */
static inline float fma_f32(float a, float b, float c)
{
    return (float)add_to_odd_f64((double)a * (double)b, (double)c);
}

static inline uint32_t fma_f16(float a, float b, float c)
{
    return half_encode(add_to_odd_f32(a * b, c));
}

/* value * 2^exponent, rounded once. */
static inline float ldexp_f32(float value, int32_t exponent)
{
    /* Beyond 300 every f32 has over- or underflown; within, the product is exact in f64. */
    int32_t bounded = exponent < -300 ? -300 : exponent > 300 ? 300 : exponent;
    return (float)((double)value * number_from_bits64((uint64_t)(bounded + 1023) << 52));
}

/* ---- Bit patterns ----
   For each width: is_nan_, is_signaling_, quiet_, and minimum and maximum. min_ and max_ are the
   machine's v_min and v_max in IEEE mode: a signaling NaN wins (made quiet), a quiet NaN loses, -0
   is less than +0. minimum_ and maximum_ are those of IEEE 754-2019, where any NaN wins. Choices
   are made by masks of all ones or zeros, since a chain of conditions becomes branches. */
#define DEFINE_FLOAT_ORDER(format, bits_type, signed_type, infinity, quiet_bit)                    \
    enum { sign_shift_##format = sizeof(bits_type) * 8 - 1 };                                      \
    static inline bool is_nan_##format(bits_type x)                                                \
    {                                                                                              \
        return (bits_type)(x << 1) > (bits_type)((infinity) << 1);                                 \
    }                                                                                              \
    static inline bits_type nan_mask_##format(bits_type x)                                         \
    {                                                                                              \
        return (bits_type)(0 - (bits_type)is_nan_##format(x));                                     \
    }                                                                                              \
    static inline bits_type signaling_mask_##format(bits_type x)                                   \
    {                                                                                              \
        return (bits_type)(nan_mask_##format(x) & (0 - (bits_type)((x & (quiet_bit)) == 0)));      \
    }                                                                                              \
    static inline bool is_signaling_##format(bits_type x)                                          \
    {                                                                                              \
        return signaling_mask_##format(x) != 0;                                                    \
    }                                                                                              \
    static inline bits_type quiet_##format(bits_type x)                                            \
    {                                                                                              \
        return (bits_type)(x | (quiet_bit));                                                       \
    }                                                                                              \
    static inline bits_type choose_##format(bits_type mask, bits_type if_set, bits_type if_clear)  \
    {                                                                                              \
        return (bits_type)(if_clear ^ ((if_set ^ if_clear) & mask));                               \
    }                                                                                              \
    static inline bits_type less_mask_##format(bits_type a, bits_type b)                           \
    {                                                                                              \
        bits_type magnitude_a = (bits_type)((bits_type)(0 - (a >> sign_shift_##format)) >> 1);     \
        bits_type magnitude_b = (bits_type)((bits_type)(0 - (b >> sign_shift_##format)) >> 1);     \
        bool less = (signed_type)(a ^ magnitude_a) < (signed_type)(b ^ magnitude_b);               \
        return (bits_type)(0 - (bits_type)less);                                                   \
    }                                                                                              \
    /* One of two by v_min's and v_max's rules; `mask` says which when both are numbers. */        \
    static inline bits_type pick_##format(bits_type mask, bits_type a, bits_type b)                \
    {                                                                                              \
        bits_type number = choose_##format(nan_mask_##format(b), a, choose_##format(mask, a, b));  \
        number = choose_##format(nan_mask_##format(a), b, number);                                 \
        number = choose_##format(signaling_mask_##format(b), quiet_##format(b), number);           \
        return choose_##format(signaling_mask_##format(a), quiet_##format(a), number);             \
    }                                                                                              \
    static inline bits_type pick_nan_##format(bits_type mask, bits_type a, bits_type b)            \
    {                                                                                              \
        bits_type number = choose_##format(mask, a, b);                                            \
        number = choose_##format(nan_mask_##format(b), quiet_##format(b), number);                 \
        return choose_##format(nan_mask_##format(a), quiet_##format(a), number);                   \
    }                                                                                              \
    static inline bits_type min_##format(bits_type a, bits_type b)                                 \
    {                                                                                              \
        return pick_##format(less_mask_##format(a, b), a, b);                                      \
    }                                                                                              \
    static inline bits_type max_##format(bits_type a, bits_type b)                                 \
    {                                                                                              \
        return pick_##format(less_mask_##format(b, a), a, b);                                      \
    }                                                                                              \
    static inline bits_type minimum_##format(bits_type a, bits_type b)                             \
    {                                                                                              \
        return pick_nan_##format(less_mask_##format(a, b), a, b);                                  \
    }                                                                                              \
    static inline bits_type maximum_##format(bits_type a, bits_type b)                             \
    {                                                                                              \
        return pick_nan_##format(less_mask_##format(b, a), a, b);                                  \
    }                                                                                              \
    static inline bits_type med3_##format(bits_type a, bits_type b, bits_type c)                   \
    {                                                                                              \
        bits_type low = min_##format(a, b), high = max_##format(a, b);                             \
        bits_type middle = max_##format(low, min_##format(high, c));                               \
        bits_type any_nan =                                                                        \
            (bits_type)(nan_mask_##format(a) | nan_mask_##format(b) | nan_mask_##format(c));       \
        return choose_##format(any_nan, min_##format(low, c), middle);                             \
    }

/* clang-format off */
DEFINE_FLOAT_ORDER(f16, uint16_t, int16_t, 0x7c00u, 0x0200u)
DEFINE_FLOAT_ORDER(f32, uint32_t, int32_t, 0x7f800000u, 0x00400000u)
DEFINE_FLOAT_ORDER(f64, uint64_t, int64_t, 0x7ff0000000000000u, 0x0008000000000000u)
/* clang-format on */
#undef DEFINE_FLOAT_ORDER

#endif
