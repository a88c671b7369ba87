/* Integers as bits, for loops over lanes: signed meanings, shifts and limits without relying on
   what C leaves to the implementation or undefined. */
#ifndef EMULATOR_INTEGER_BITS_H
#define EMULATOR_INTEGER_BITS_H

#include <stdint.h>

/* The low bits of a lane as a number. */
static inline int32_t signed_16(uint32_t lane)
{
    return (int16_t)lane;
}

static inline int32_t unsigned_16(uint32_t lane)
{
    return (uint16_t)lane;
}

static inline int64_t unsigned_24(uint32_t lane)
{
    return (int64_t)(lane & 0xffffff);
}

static inline int64_t signed_24(uint32_t lane)
{
    return (int64_t)((lane & 0xffffff) ^ 0x800000) - 0x800000;
}

static inline int64_t signed_32(uint32_t lane)
{
    return (int32_t)lane;
}

/* Arithmetic shifts to the right. */
static inline uint32_t shift_right_signed(uint32_t x, unsigned count)
{
    uint32_t sign = 0 - (x >> 31);
    return ((x ^ sign) >> count) ^ sign;
}

static inline uint64_t shift_right_signed64(uint64_t x, unsigned count)
{
    uint64_t sign = 0 - (x >> 63);
    return ((x ^ sign) >> count) ^ sign;
}

static inline int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t greatest_of(int64_t a, int64_t b)
{
    return a < b ? b : a;
}

static inline int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
    return greatest_of(least_of(a, b), least_of(greatest_of(a, b), c));
}

static inline int64_t saturate(int64_t value, int64_t least, int64_t greatest)
{
    return least_of(greatest_of(value, least), greatest);
}

/* Of 16-bit factors and addends: exact. */
static inline int64_t multiply_add_16(int64_t a, int64_t b, int64_t c)
{
    return a * b + c;
}

#endif
