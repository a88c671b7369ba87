/* What references are made of: two's complement by arithmetic, and the manual's minimum, fraction
   and exponent on doubles. */
#ifndef TESTS_EMULATOR_REFERENCE_H
#define TESTS_EMULATOR_REFERENCE_H

#include "lanes.h"

#include <math.h>

/* ---- Integers ---- */

/* The low `bits` as a signed number. */
static inline int64_t sign(uint64_t x, unsigned bits)
{
    uint64_t low = bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
    int64_t half = INT64_C(1) << (bits - 1);
    return bits == 64 ? (int64_t)x : (int64_t)(low ^ (uint64_t)half) - half;
}

/* floor(x / 2^count) by division, which is what an arithmetic shift is. */
static inline int64_t floor_shift(int64_t x, unsigned count)
{
    int64_t divisor = INT64_C(1) << count;
    int64_t quotient = x / divisor;
    return quotient - (x % divisor < 0);
}

static inline int64_t limit(int64_t value, int64_t least, int64_t greatest)
{
    if (value < least)
        return least;
    return value > greatest ? greatest : value;
}

/* ---- Minimum and maximum of numbers; which NaN comes of NaNs is tested by itself ---- */

static inline bool below(double a, double b)
{
    if (a == 0 && b == 0)
        return signbit(a) && !signbit(b);
    return a < b;
}

static inline double least(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return below(b, a) ? b : a;
}

static inline double greatest(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return below(a, b) ? b : a;
}

static inline double middle(double a, double b, double c)
{
    if (isnan(a) || isnan(b) || isnan(c))
        return least(least(a, b), c);
    double most = greatest(greatest(a, b), c);
    if (bits64(most) == bits64(a))
        return greatest(b, c);
    return bits64(most) == bits64(b) ? greatest(a, c) : greatest(a, b);
}

/* Any NaN wins. */
static inline double minimum3(double a, double b, double c)
{
    return isnan(a) || isnan(b) || isnan(c) ? (double)NAN : least(least(a, b), c);
}

static inline double maximum3(double a, double b, double c)
{
    return isnan(a) || isnan(b) || isnan(c) ? (double)NAN : greatest(greatest(a, b), c);
}

/* ---- Parts of a number ---- */

static inline double fraction(double x, double below_one)
{
    double rest = x - floor(x);
    return rest > below_one ? below_one : rest;
}

static inline double mantissa(double x)
{
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    while (fabs(x) >= 1)
        x /= 2;
    while (fabs(x) < 0.5)
        x *= 2;
    return x;
}

static inline int exponent(double x)
{
    int count = 0;
    if (x == 0 || isnan(x) || isinf(x))
        return 0;
    for (; fabs(x) >= 1; count++)
        x /= 2;
    for (; fabs(x) < 0.5; count--)
        x *= 2;
    return count;
}

#endif
