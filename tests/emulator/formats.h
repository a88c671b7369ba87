/* The number formats as their specifications put them, independent of the emulator's tables: a
   sign, an exponent with a bias, a mantissa. Slow and plain, to check against. */
#ifndef TESTS_EMULATOR_FORMATS_H
#define TESTS_EMULATOR_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

struct format {
    const char *name; /* as in mnemonics */
    int bits, mantissa_bits, bias;
    bool has_infinity; /* and NaNs above it */
    uint32_t nan;      /* the code a NaN becomes; the largest number's where there is none */
    uint32_t overflow; /* what too large a number becomes */
};

extern const struct format format_f32, format_f16, format_bf16, format_fp8, format_bf8, format_fp6,
    format_bf6, format_fp4;

uint32_t format_sign_bit(const struct format *format);

/* Of a code with or without its sign; infinity and NaN where the format has them. */
double format_value(const struct format *format, uint32_t code);

/* The largest finite number. */
uint32_t format_largest(const struct format *format);

/* The nearest number's code, by search; of two equally near the even one. */
uint32_t format_nearest(const struct format *format, double value);

/* The neighbour towards zero, by search. */
uint32_t format_towards_zero(const struct format *format, double value);

/* `count` bits from a stream of dwords, lowest first. */
uint32_t format_take_bits(const uint32_t *dwords, unsigned first, unsigned count);
void format_put_bits(uint32_t *dwords, unsigned first, unsigned count, uint32_t bits);

/* A generator of its own, so that every run is the same. */
uint64_t random_bits(void);

#endif
