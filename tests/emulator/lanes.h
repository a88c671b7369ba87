/* Checks one vector instruction against a function of its sources, lane by lane.

   The instruction's text uses these registers: sources a, b, c in v[2:3], v[4:5], v[6:7], the
   result in v[8:9] (of each, the first register alone for 32 bits and less), which holds LANES_OLD
   before; vcc and s[10:11] hold LANES_MASK before. */
#ifndef TESTS_EMULATOR_LANES_H
#define TESTS_EMULATOR_LANES_H

#include "half.h"
#include "harness.h"

#include <string.h>

#define LANES_OLD  UINT64_C(0xfedcba9876543210)
#define LANES_MASK UINT64_C(0xf0f0a5a53c3c6699)

/* What a result is, and when two are the same. Of NaNs only that they are NaNs counts. */
enum lane_result {
    RESULT_B32,
    RESULT_B64,
    RESULT_F16, /* the upper half must be equal */
    RESULT_PK_F16,
    RESULT_F32,
    RESULT_F64,
    RESULT_PK_F32,
    RESULT_VCC, /* 1 bit */
    RESULT_EXEC
};

/* `bit` is the lane's bit of LANES_MASK. */
struct lane_sources {
    uint64_t a, b, c;
    bool bit;
};

typedef uint64_t (*lane_function)(struct lane_sources sources);

/* Interesting values to make sources of. */
struct lane_values {
    const uint64_t *values;
    size_t count;
};
extern const struct lane_values values_i32, values_i64, values_f16, values_f32, values_f64,
    values_pk_i16, values_pk_f16, values_pk_f32, values_shift;

struct lane_check {
    const char *assembly;
    enum lane_result result;
    lane_function expected;
    const struct lane_values *a, *b, *c; /* NULL: 0 */
    uint32_t float_mode;                 /* bits of rsrc1 to flip, see harness.c */
};

/* Bits of rsrc1. */
enum {
    FLIP_DENORMAL_F32 = 3 << 16,
    FLIP_DENORMAL_F16_F64 = 3 << 18,
    FLIP_DX10_CLAMP = 1 << 21,
    FLIP_IEEE = 1 << 23
};

/* All pairs of values of a and b with values of c, and then as many pseudo-random ones. */
void lanes_check(const struct lane_check *check);

/* Many at once, with the same values. */
struct lane_row {
    const char *assembly;
    lane_function expected;
};
#define lanes_check_rows(rows, result, a, b, c)                                                    \
    lanes_check_array((rows), sizeof(rows) / sizeof(rows)[0], (result), (a), (b), (c))
void lanes_check_array(const struct lane_row *rows, size_t count, enum lane_result result,
                       const struct lane_values *a, const struct lane_values *b,
                       const struct lane_values *c);

/* The result of one lane. */
uint64_t lanes_evaluate(const char *assembly, enum lane_result result, uint64_t a, uint64_t b,
                        uint64_t c, uint32_t float_mode);

static inline float f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static inline uint64_t bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
