#include "lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define VALUES(name, ...)                                                                          \
    static const uint64_t list_##name[] = {__VA_ARGS__};                                           \
    const struct lane_values values_##name = {list_##name, sizeof list_##name / sizeof(uint64_t)}

VALUES(i32, 0, 1, 2, 3, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff,
       0x800000, 0xffffff, 0x1000000, 0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
       0x80008000, 0xdeadbeef, 0xff00ff00, 0xfffffffe, 0xffffffff);
VALUES(i64, 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef0,
       0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xffffffff00000000,
       0xfffffffffffffffe, 0xffffffffffffffff);
VALUES(shift, 0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 0x80000001, 0xffffffff);
VALUES(pk_i16, 0, 1, 0x00010000, 0x7fff8000, 0x80007fff, 0x7fff7fff, 0x80008000, 0xffff0001,
       0x0001ffff, 0xffffffff, 0x12345678, 0xfedc0123, 0x000f0010, 0x0011001f);
/* Zeros, ones, halves, subnormals, the ends of the range, infinities, quiet and signaling NaNs. */
VALUES(f16, 0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x1234, 0x3555, 0x37ff, 0x3800,
       0x3bff, 0x3c00, 0x3c01, 0xbc00, 0x3e00, 0x4100, 0xc248, 0x5640, 0x7800, 0x7bff, 0xfbff,
       0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd00);
VALUES(pk_f16, 0x00000000, 0x80003c00, 0x0001bc00, 0x03ff0400, 0x7bff7bff, 0x7c00fc00, 0xfbff3c01,
       0x7e004100, 0x4100fe12, 0x7c013555, 0x3c007d00, 0x38003e00, 0x56401234);
VALUES(f32, 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
       0x00ffffff, 0x0c800000, 0x33800000, 0x3dcccccd, 0x3effffff, 0x3f000000, 0xbf000000,
       0x3f7fffff, 0x3f800000, 0x3f800001, 0xbf800000, 0x3fc00000, 0x40200000, 0x40490fdb,
       0xc2f60000, 0x4b7fffff, 0x4b800000, 0x4f000000, 0x5f800000, 0x7e800000, 0x7f7fffff,
       0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xffa00000);
VALUES(pk_f32, 0x3f80000000000000, 0xbf8000003f800000, 0x4020000040490fdb, 0x7f7fffff3f7fffff,
       0xff800000c2f60000, 0x0000000180000001, 0x7fc000003f000000, 0x3dcccccd7f800000,
       0x123456785a5a5a5a);
VALUES(f64, 0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x000fffffffffffff,
       0x0010000000000000, 0x3fb999999999999a, 0x3fe0000000000000, 0xbfe0000000000000,
       0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0xbff0000000000000,
       0x3ff8000000000000, 0x4004000000000000, 0x400921fb54442d18, 0xc05ec00000000000,
       0x4330000000000001, 0x7fe0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
       0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
       0xfff8000000012345);

/* ---- One wave ---- */

static uint64_t read_pair(struct wave *wave, unsigned first, unsigned lane)
{
    return wave->vector[first][lane] | (uint64_t)wave->vector[first + 1][lane] << 32;
}

static void write_pair(struct wave *wave, unsigned first, unsigned lane, uint64_t value)
{
    wave->vector[first][lane] = (uint32_t)value;
    wave->vector[first + 1][lane] = (uint32_t)(value >> 32);
}

static uint64_t read_scalar_pair(const struct wave *wave, unsigned first)
{
    return wave->scalar[first] | (uint64_t)wave->scalar[first + 1] << 32;
}

static void write_scalar_pair(struct wave *wave, unsigned first, uint64_t value)
{
    wave->scalar[first] = (uint32_t)value;
    wave->scalar[first + 1] = (uint32_t)(value >> 32);
}

static void run_wave(const char *assembly, enum lane_result result, uint32_t float_mode,
                     const struct lane_sources sources[LANES], uint64_t results[LANES])
{
    struct harness harness;
    harness_create(&harness, assembly);
    harness.kernel.rsrc1 ^= float_mode;
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    for (unsigned lane = 0; lane < LANES; lane++) {
        write_pair(wave, 2, lane, sources[lane].a);
        write_pair(wave, 4, lane, sources[lane].b);
        write_pair(wave, 6, lane, sources[lane].c);
        write_pair(wave, 8, lane, LANES_OLD);
    }
    write_scalar_pair(wave, SCALAR_VCC, LANES_MASK);
    write_scalar_pair(wave, 10, LANES_MASK);
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    uint64_t vcc = read_scalar_pair(wave, SCALAR_VCC), exec = read_scalar_pair(wave, SCALAR_EXEC);
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t value = read_pair(wave, 8, lane);
        if (result == RESULT_VCC)
            value = vcc >> lane & 1;
        else if (result == RESULT_EXEC)
            value = exec >> lane & 1;
        else if (result != RESULT_B64 && result != RESULT_F64 && result != RESULT_PK_F32)
            value = (uint32_t)value;
        results[lane] = value;
    }
    harness_destroy(&harness);
}

/* ---- Comparison ---- */

static bool same_f16(uint64_t x, uint64_t y)
{
    return (isnan(f16(x)) && isnan(f16(y))) || (x & 0xffff) == (y & 0xffff);
}

static bool same_f32(uint64_t x, uint64_t y)
{
    return (isnan(f32(x)) && isnan(f32(y))) || (uint32_t)x == (uint32_t)y;
}

static bool same(enum lane_result result, uint64_t x, uint64_t y)
{
    switch (result) {
    case RESULT_F16:
        return same_f16(x, y) && x >> 16 == y >> 16;
    case RESULT_PK_F16:
        return same_f16(x, y) && same_f16(x >> 16, y >> 16);
    case RESULT_F32:
        return same_f32(x, y);
    case RESULT_PK_F32:
        return same_f32(x, y) && same_f32(x >> 32, y >> 32);
    case RESULT_F64:
        return (isnan(f64(x)) && isnan(f64(y))) || x == y;
    default:
        return x == y;
    }
}

static void check_wave(const struct lane_check *check, const struct lane_sources sources[LANES])
{
    uint64_t results[LANES];
    run_wave(check->assembly, check->result, check->float_mode, sources, results);
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct lane_sources s = sources[lane];
        uint64_t expected = check->expected(s);
        if (!same(check->result, results[lane], expected))
            fail_msg("%s: of 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64 ", bit %d came 0x%" PRIx64
                     ", expected 0x%" PRIx64,
                     check->assembly, s.a, s.b, s.c, s.bit, results[lane], expected);
    }
}

/* ---- Sources ---- */

static uint64_t random_bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t pick(const struct lane_values *values, uint64_t index)
{
    return values ? values->values[index % values->count] : 0;
}

static uint64_t random_of(const struct lane_values *values, uint64_t *state)
{
    return values ? random_bits(state) : 0;
}

static size_t count_of(const struct lane_values *values)
{
    return values ? values->count : 1;
}

void lanes_check(const struct lane_check *check)
{
    uint64_t state = 1;
    size_t of_a = count_of(check->a), of_b = count_of(check->b);
    size_t listed = of_a * of_b;
    size_t total = 2 * ((listed + LANES - 1) / LANES) * LANES;
    struct lane_sources sources[LANES];
    for (size_t i = 0; i < total; i++) {
        struct lane_sources *s = &sources[i % LANES];
        if (i < listed)
            *s = (struct lane_sources){pick(check->a, i % of_a), pick(check->b, i / of_a),
                                       pick(check->c, i * 7 + i / 13), false};
        else
            *s = (struct lane_sources){random_of(check->a, &state), random_of(check->b, &state),
                                       random_of(check->c, &state), false};
        s->bit = LANES_MASK >> (i % LANES) & 1;
        if (i % LANES == LANES - 1)
            check_wave(check, sources);
    }
}

void lanes_check_array(const struct lane_row *rows, size_t count, enum lane_result result,
                       const struct lane_values *a, const struct lane_values *b,
                       const struct lane_values *c)
{
    for (size_t i = 0; i < count; i++)
        lanes_check(&(struct lane_check){rows[i].assembly, result, rows[i].expected, a, b, c, 0});
}

uint64_t lanes_evaluate(const char *assembly, enum lane_result result, uint64_t a, uint64_t b,
                        uint64_t c, uint32_t float_mode)
{
    struct lane_sources sources[LANES];
    uint64_t results[LANES];
    for (unsigned lane = 0; lane < LANES; lane++)
        sources[lane] = (struct lane_sources){a, b, c, false};
    run_wave(assembly, result, float_mode, sources, results);
    return results[0];
}
