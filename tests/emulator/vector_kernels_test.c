/* The vector ALU by what hipRTC makes of small HIP kernels, against the same computations on the
   host. */
#include "half.h"
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 256 };

static struct gpu gpu;

static int open_gpu(void **state)
{
    (void)state;
    gpu_open(&gpu);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    gpu_close(&gpu);
    return 0;
}

static uint64_t random_bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Runs `kernel(out, in)` with a thread per element: `size` bytes in, `out_size` out. */
static void run(const char *source, const void *in, size_t size, void *out, size_t out_size)
{
    hipFunction_t kernel = gpu_compile(&gpu, source, "kernel");
    void *device_in = gpu_upload(&gpu, in, size);
    void *device_out = gpu_allocate(&gpu, out_size);
    gpu_launch(&gpu, kernel, COUNT / 64, 64, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, out_size);
}

/* No contraction on either side: a * b + c stays two operations. */
#define KERNEL(types, body)                                                                        \
    "#pragma clang fp contract(off)\n"                                                             \
    "extern \"C\" __global__ void kernel(" types ") {\n"                                           \
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n" body "}\n"

/* The same text for both sides. */
#define STRING(...)    STRING_OF(__VA_ARGS__)
#define STRING_OF(...) #__VA_ARGS__

/* ---- Integers ---- */

#define INTEGER_EXPRESSIONS(x, y)                                                                  \
    {                                                                                              \
        x + y, x - y, x *y, x / (y | 1), x % (y | 1), x << (y & 31), x >> (y & 31),                \
            (unsigned)((int)x / 1000), (unsigned)((int)x % 37), x & ~y, (x & y) | 0x55,            \
            x < y ? x : y, (int)x < (int)y ? 7u : 9u,                                              \
            (unsigned)(((unsigned long long)x * y) >> 32),                                         \
            (unsigned)((long long)(int)x * (int)y >> 32), (x >> 5) & 0x3ff,                        \
            (unsigned)(unsigned short)(x + y), (unsigned)(short)((short)x * (short)y),             \
            (unsigned)__builtin_popcount(x), x ? (unsigned)__builtin_clz(x) : 32u,                 \
            (x << 7) | (x >> 25), x ^ y ^ 0x1234567, (x & y) ^ (x | ~y), (x << 3) + y + 11         \
    }
enum { INTEGER_RESULTS = 24 };

static void integer_expressions(void **state)
{
    (void)state;
    static uint32_t in[2 * COUNT], out[COUNT * INTEGER_RESULTS];
    uint64_t seed = 1;
    for (unsigned i = 0; i < 2 * COUNT; i++)
        in[i] = (uint32_t)random_bits(&seed) >> (i / 2 % 32);
    run(KERNEL("unsigned *out, const unsigned *in",
               "    unsigned x = in[2 * i], y = in[2 * i + 1];\n"
               "    unsigned results[] = " STRING(INTEGER_EXPRESSIONS(
                   x, y)) ";\n"
                          "    for (int k = 0; k < 24; k++) out[i * 24 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        uint32_t x = in[2 * i], y = in[2 * i + 1];
        const uint32_t expected[INTEGER_RESULTS] = INTEGER_EXPRESSIONS(x, y);
        for (unsigned k = 0; k < INTEGER_RESULTS; k++)
            assert_int_equal(out[i * INTEGER_RESULTS + k], expected[k]);
    }
}

#define WIDE_EXPRESSIONS(x, y)                                                                     \
    {                                                                                              \
        x + y, x - y, x *y, x / (y >> 20 | 1), x % (y >> 40 | 1), x << (y & 63), x >> (y & 63),    \
            (unsigned long long)((long long)x >> (y & 63)), x < y ? x : y, x * 3 + (y & 0xffff)    \
    }
enum { WIDE_RESULTS = 10 };

static void wide_integer_expressions(void **state)
{
    (void)state;
    static uint64_t in[2 * COUNT], out[COUNT * WIDE_RESULTS];
    uint64_t seed = 2;
    for (unsigned i = 0; i < 2 * COUNT; i++)
        in[i] = random_bits(&seed) >> (i / 2 % 64);
    run(KERNEL("unsigned long long *out, const unsigned long long *in",
               "    unsigned long long x = in[2 * i], y = in[2 * i + 1];\n"
               "    unsigned long long results[] = " STRING(WIDE_EXPRESSIONS(
                   x, y)) ";\n"
                          "    for (int k = 0; k < 10; k++) out[i * 10 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t x = in[2 * i], y = in[2 * i + 1];
        const uint64_t expected[WIDE_RESULTS] = WIDE_EXPRESSIONS(x, y);
        for (unsigned k = 0; k < WIDE_RESULTS; k++)
            assert_true(out[i * WIDE_RESULTS + k] == expected[k]);
    }
}

/* ---- Floats: what the language says is correctly rounded ---- */

#define FLOAT_EXPRESSIONS(x, y, fma, sqrt, floor, rint)                                            \
    {                                                                                              \
        x + y, x - y, x *y, x / y, fma(x, y, x), fma(-x, y, y), sqrt(x *x), floor(x * 8),          \
            rint(x / 3), x<y ? x : y, x> 0 ? y : -y, (x + y) * (x - y), 1 / x                      \
    }
enum { FLOAT_RESULTS = 13 };

static void float_expressions(void **state)
{
    (void)state;
    static float in[2 * COUNT], out[COUNT * FLOAT_RESULTS];
    uint64_t seed = 3;
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        int exponent = (int)(random_bits(&seed) % 253) - 126;
        float significand = 1 + (float)(random_bits(&seed) >> 41) * 0x1p-23f;
        in[i] = ldexpf(i % 3 ? significand : -significand, i < 64 ? exponent : exponent / 8);
    }
    run(KERNEL("float *out, const float *in",
               "    float x = in[2 * i], y = in[2 * i + 1];\n"
               "    float results[] = " STRING(
                   FLOAT_EXPRESSIONS(x, y, __builtin_fmaf, __builtin_sqrtf, __builtin_floorf,
                                     __builtin_rintf)) ";\n"
                                                       "    for (int k = 0; k < 13; k++) out[i * "
                                                       "13 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        float x = in[2 * i], y = in[2 * i + 1];
        const float expected[FLOAT_RESULTS] = FLOAT_EXPRESSIONS(x, y, fmaf, sqrtf, floorf, rintf);
        for (unsigned k = 0; k < FLOAT_RESULTS; k++)
            if (memcmp(&out[i * FLOAT_RESULTS + k], &expected[k], sizeof(float)) != 0)
                fail_msg("expression %u of %a, %a: %a instead of %a", k, (double)x, (double)y,
                         (double)out[i * FLOAT_RESULTS + k], (double)expected[k]);
    }
}

static void double_expressions(void **state)
{
    (void)state;
    static double in[2 * COUNT], out[COUNT * FLOAT_RESULTS];
    uint64_t seed = 4;
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        int exponent = (int)(random_bits(&seed) % 2045) - 1022;
        double significand = 1 + (double)(random_bits(&seed) >> 12) * 0x1p-52;
        in[i] = ldexp(i % 3 ? significand : -significand, i < 64 ? exponent : exponent / 64);
    }
    run(KERNEL("double *out, const double *in",
               "    double x = in[2 * i], y = in[2 * i + 1];\n"
               "    double results[] = " STRING(
                   FLOAT_EXPRESSIONS(x, y, __builtin_fma, __builtin_sqrt, __builtin_floor,
                                     __builtin_rint)) ";\n"
                                                      "    for (int k = 0; k < 13; k++) out[i * 13 "
                                                      "+ k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        double x = in[2 * i], y = in[2 * i + 1];
        const double expected[FLOAT_RESULTS] = FLOAT_EXPRESSIONS(x, y, fma, sqrt, floor, rint);
        for (unsigned k = 0; k < FLOAT_RESULTS; k++)
            if (memcmp(&out[i * FLOAT_RESULTS + k], &expected[k], sizeof(double)) != 0)
                fail_msg("expression %u of %a, %a: %a instead of %a", k, x, y,
                         out[i * FLOAT_RESULTS + k], expected[k]);
    }
}

/* ---- The device's math library, on top of the transcendental unit ---- */

static void math_functions_are_close(void **state)
{
    (void)state;
    enum { RESULTS = 8 };
    static float in[COUNT], out[COUNT * RESULTS];
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = ldexpf(1 + (float)(i % 16) / 16, (int)(i / 16) - 8) * 0.37f;
    run(KERNEL(
            "float *out, const float *in",
            "    float x = in[i];\n"
            "    float results[] = {expf(x / 16), exp2f(-x), logf(x), log2f(x), sinf(x), cosf(x),"
            " rsqrtf(x), powf(x, 1.7f)};\n"
            "    for (int k = 0; k < 8; k++) out[i * 8 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        double x = (double)in[i];
        const double expected[RESULTS] = {exp(x / 16), exp2(-x), log(x),      log2(x),
                                          sin(x),      cos(x),   1 / sqrt(x), pow(x, (double)1.7f)};
        for (unsigned k = 0; k < RESULTS; k++) {
            double error = fabs((double)out[i * RESULTS + k] - expected[k]);
            double unit = fabs(expected[k]) * 0x1p-22 + 0x1p-149;
            if (error > 4 * unit && error > 1e-7)
                fail_msg("function %u of %a: %a instead of %a", k, x, (double)out[i * RESULTS + k],
                         expected[k]);
        }
    }
}

/* ---- Half precision, scalar and packed ---- */

static void half_expressions(void **state)
{
    (void)state;
    enum { RESULTS = 6 };
    static uint16_t in[2 * COUNT], out[COUNT * RESULTS];
    uint64_t seed = 5;
    for (unsigned i = 0; i < 2 * COUNT; i++) /* finite, of moderate size */
        in[i] = (uint16_t)(random_bits(&seed) & 0x8fff) | 0x3000;
    run(KERNEL("_Float16 *out, const _Float16 *in",
               "    typedef _Float16 pair __attribute__((ext_vector_type(2)));\n"
               "    _Float16 x = in[2 * i], y = in[2 * i + 1];\n"
               "    pair p = {x, y}, q = {y, x}, sum = p + p * q;\n"
               "    _Float16 results[] = {x + y, x * y, x - y, x < y ? x : y, sum.x, sum.y};\n"
               "    for (int k = 0; k < 6; k++) out[i * 6 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned i = 0; i < COUNT; i++) {
        double x = f16(in[2 * i]), y = f16(in[2 * i + 1]);
        double product = f16(bits16(x * y));
        const double expected[RESULTS] = {x + y,         product,     x - y,
                                          x < y ? x : y, x + product, y + product};
        for (unsigned k = 0; k < RESULTS; k++)
            assert_int_equal(out[i * RESULTS + k], bits16(expected[k]));
    }
}

/* ---- Across lanes ---- */

static void cross_lane_builtins(void **state)
{
    (void)state;
    enum { RESULTS = 9 };
    static int in[COUNT], out[COUNT * RESULTS];
    uint64_t seed = 6;
    for (unsigned i = 0; i < COUNT; i++)
        in[i] = (int)(random_bits(&seed) % 1000);
    run(KERNEL("int *out, const int *in",
               "    int x = in[i], lane = threadIdx.x & 63;\n"
               "    int sum = x, most = x;\n"
               "    for (int d = 32; d; d /= 2) sum += __shfl_xor(sum, d);\n"
               "    for (int d = 1; d < 64; d *= 2) { int other = __shfl_up(most, d);"
               " if (lane >= d && other > most) most = other; }\n"
               "    auto rows = __builtin_amdgcn_permlane16_swap(x, x + 1000, false, false);\n"
               "    auto halves = __builtin_amdgcn_permlane32_swap(x, x + 1000, false, false);\n"
               "    int results[] = {sum, most, __builtin_amdgcn_readfirstlane(x),\n"
               "        __builtin_amdgcn_readlane(x, 37), (int)__popcll(__ballot(x > 500)),\n"
               "        (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)),\n"
               "        __builtin_amdgcn_mov_dpp(x, 0x140, 0xf, 0xf, true),\n"
               "        (int)(rows[0] * 2000 + rows[1]), (int)(halves[0] * 2000 + halves[1])};\n"
               "    for (int k = 0; k < 9; k++) out[i * 9 + k] = results[k];\n"),
        in, sizeof in, out, sizeof out);
    for (unsigned wave = 0; wave < COUNT; wave += 64) {
        const int *x = &in[wave];
        int sum = 0, above_500 = 0, most = 0;
        for (unsigned lane = 0; lane < 64; lane++) {
            sum += x[lane];
            above_500 += x[lane] > 500;
        }
        for (unsigned lane = 0; lane < 64; lane++) {
            most = x[lane] > most ? x[lane] : most;
            const int *row = &x[lane / 16 * 16];
            bool upper_row = lane & 16, upper_half = lane & 32;
            const int expected[RESULTS] = {
                sum,
                most,
                x[0],
                x[37],
                above_500,
                (int)lane,
                row[15 - lane % 16],
                upper_row ? (x[lane - 16] + 1000) * 2000 + x[lane] + 1000
                          : x[lane] * 2000 + x[lane + 16],
                upper_half ? (x[lane - 32] + 1000) * 2000 + x[lane] + 1000
                           : x[lane] * 2000 + x[lane + 32],
            };
            for (unsigned k = 0; k < RESULTS; k++)
                assert_int_equal(out[(wave + lane) * RESULTS + k], expected[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_expressions),      cmocka_unit_test(wide_integer_expressions),
        cmocka_unit_test(float_expressions),        cmocka_unit_test(double_expressions),
        cmocka_unit_test(math_functions_are_close), cmocka_unit_test(half_expressions),
        cmocka_unit_test(cross_lane_builtins),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
