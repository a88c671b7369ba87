/* Matrix instructions and conversions as hipRTC's builtins use them: operands loaded by the lane
   layouts that kernels rely on, products against float64. */
#include "formats.h"
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

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

#define TYPES                                                                                      \
    "typedef float f4 __attribute__((ext_vector_type(4)));\n"                                      \
    "typedef float f16v __attribute__((ext_vector_type(16)));\n"                                   \
    "typedef float f2 __attribute__((ext_vector_type(2)));\n"                                      \
    "typedef __bf16 bf8v __attribute__((ext_vector_type(8)));\n"                                   \
    "typedef __bf16 bf2v __attribute__((ext_vector_type(2)));\n"                                   \
    "typedef _Float16 h8v __attribute__((ext_vector_type(8)));\n"                                  \
    "typedef int i8v __attribute__((ext_vector_type(8)));\n"                                       \
    "typedef short s2 __attribute__((ext_vector_type(2)));\n"

/* One wave: d = a * b + c; a row-major, b column-major, c and d row-major. */
struct multiplication {
    const char *source;
    unsigned size, depth;
    const struct format *a, *b;
    bool scaled;
};

enum { SIZE_MAX_ = 32, DEPTH_MAX = 128 };

static uint32_t random_code(const struct format *format)
{
    uint32_t code = (uint32_t)random_bits() & (2 * format_sign_bit(format) - 1);
    if (format->bits == 16)
        return format_nearest(format, ldexp((double)(int32_t)(uint32_t)random_bits(), -31));
    return isfinite(format_value(format, code)) ? code : 0;
}

/* Row i, element k, packed as in memory. */
static uint32_t code_at(const uint8_t *packed, const struct format *format, unsigned depth,
                        unsigned i, unsigned k)
{
    uint32_t dwords[1];
    unsigned bit = (i * depth + k) * (unsigned)format->bits;
    memcpy(dwords, packed + bit / 32 * 4, sizeof dwords);
    return format_take_bits(dwords, bit % 32, (unsigned)format->bits);
}

static void check_multiplication(const struct multiplication *m)
{
    unsigned size = m->size, depth = m->depth;
    static uint32_t a[SIZE_MAX_ * DEPTH_MAX], b[SIZE_MAX_ * DEPTH_MAX];
    static float c[SIZE_MAX_ * SIZE_MAX_], d[SIZE_MAX_ * SIZE_MAX_];
    uint8_t a_scales[SIZE_MAX_ * 4], b_scales[SIZE_MAX_ * 4];
    for (unsigned i = 0; i < size * depth; ++i) {
        format_put_bits(a, i * (unsigned)m->a->bits, (unsigned)m->a->bits, random_code(m->a));
        format_put_bits(b, i * (unsigned)m->b->bits, (unsigned)m->b->bits, random_code(m->b));
    }
    for (unsigned i = 0; i < size * size; ++i)
        c[i] = (float)(int32_t)(uint32_t)random_bits() * 0x1p-30f;
    for (unsigned i = 0; i < sizeof a_scales; ++i) {
        a_scales[i] = (uint8_t)(120 + random_bits() % 16);
        b_scales[i] = (uint8_t)(120 + random_bits() % 16);
    }
    hipFunction_t kernel = gpu_compile(&gpu, m->source, "kernel");
    void *a_device = gpu_upload(&gpu, a, sizeof a), *b_device = gpu_upload(&gpu, b, sizeof b);
    void *c_device = gpu_upload(&gpu, c, sizeof c), *d_device = gpu_allocate(&gpu, sizeof d);
    void *a_scale = gpu_upload(&gpu, a_scales, sizeof a_scales);
    void *b_scale = gpu_upload(&gpu, b_scales, sizeof b_scales);
    gpu_launch(&gpu, kernel, 1, 64, &a_device, &b_device, &c_device, &d_device, &a_scale, &b_scale);
    gpu_download(&gpu, d, d_device, sizeof d);

    for (unsigned row = 0; row < size; ++row)
        for (unsigned column = 0; column < size; ++column) {
            double sum = c[row * size + column], magnitude = fabs(sum);
            for (unsigned k = 0; k < depth; ++k) {
                double term = format_value(m->a, code_at((uint8_t *)a, m->a, depth, row, k)) *
                              format_value(m->b, code_at((uint8_t *)b, m->b, depth, column, k));
                if (m->scaled)
                    term = ldexp(term, a_scales[row * depth / 32 + k / 32] +
                                           b_scales[column * depth / 32 + k / 32] - 254);
                sum += term;
                magnitude += fabs(term);
            }
            if (!(fabs(d[row * size + column] - sum) <= magnitude * 0x1p-20))
                fail_msg("D[%u][%u] is %a, expected %a", row, column, d[row * size + column], sum);
        }
}

static void bf16_16x16x32(void **state)
{
    (void)state;
    static const char source[] =
        TYPES "extern \"C\" __global__ void kernel(const bf8v *a, const bf8v *b, const float *c,"
              "                                    float *d) {\n"
              "    int l = threadIdx.x, column = l % 16, row = l / 16 * 4;\n"
              "    f4 x;\n"
              "    for (int i = 0; i < 4; i++) x[i] = c[(row + i) * 16 + column];\n"
              "    bf8v left = a[l % 16 * 4 + l / 16], right = b[l % 16 * 4 + l / 16];\n"
              "    x = __builtin_amdgcn_mfma_f32_16x16x32_bf16(left, right, x, 0, 0, 0);\n"
              "    for (int i = 0; i < 4; i++) d[(row + i) * 16 + column] = x[i];\n"
              "}\n";
    check_multiplication(
        &(struct multiplication){source, 16, 32, &format_bf16, &format_bf16, false});
}

static void f16_32x32x16(void **state)
{
    (void)state;
    static const char source[] = TYPES
        "extern \"C\" __global__ void kernel(const h8v *a, const h8v *b, const float *c,"
        "                                    float *d) {\n"
        "    int l = threadIdx.x, column = l % 32, row = l / 32 * 4;\n"
        "    f16v x;\n"
        "    for (int i = 0; i < 16; i++) x[i] = c[(row + i % 4 + i / 4 * 8) * 32 + column];\n"
        "    h8v left = a[l % 32 * 2 + l / 32], right = b[l % 32 * 2 + l / 32];\n"
        "    x = __builtin_amdgcn_mfma_f32_32x32x16_f16(left, right, x, 0, 0, 0);\n"
        "    for (int i = 0; i < 16; i++) d[(row + i % 4 + i / 4 * 8) * 32 + column] = x[i];\n"
        "}\n";
    check_multiplication(&(struct multiplication){source, 32, 16, &format_f16, &format_f16, false});
}

static void fp8_16x16x32(void **state)
{
    (void)state;
    static const char source[] =
        TYPES "extern \"C\" __global__ void kernel(const long *a, const long *b, const float *c,"
              "                                    float *d) {\n"
              "    int l = threadIdx.x, column = l % 16, row = l / 16 * 4;\n"
              "    f4 x;\n"
              "    for (int i = 0; i < 4; i++) x[i] = c[(row + i) * 16 + column];\n"
              "    long left = a[l % 16 * 4 + l / 16], right = b[l % 16 * 4 + l / 16];\n"
              "    x = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(left, right, x, 0, 0, 0);\n"
              "    for (int i = 0; i < 4; i++) d[(row + i) * 16 + column] = x[i];\n"
              "}\n";
    check_multiplication(&(struct multiplication){source, 16, 32, &format_fp8, &format_bf8, false});
}

/* fp8 and fp4 together, a scale for every 32 elements, in various bytes of the scale registers. */
static void scaled_fp8_and_fp4_16x16x128(void **state)
{
    (void)state;
    static const char source[] = TYPES
        "extern \"C\" __global__ void kernel(const int4 *a, const int4 *b, const float *c, float "
        "*d,"
        "                                    const unsigned char *sa, const unsigned char *sb) {\n"
        "    int l = threadIdx.x, column = l % 16, row = l / 16 * 4;\n"
        "    f4 x;\n"
        "    for (int i = 0; i < 4; i++) x[i] = c[(row + i) * 16 + column];\n"
        "    int4 a0 = a[l % 16 * 8 + l / 16], a1 = a[l % 16 * 8 + 4 + l / 16];\n"
        "    int4 b0 = b[l % 16 * 4 + l / 16];\n"
        "    i8v left = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};\n"
        "    i8v right = {b0.x, b0.y, b0.z, b0.w, 0, 0, 0, 0};\n"
        "    int left_scale = sa[l % 16 * 4 + l / 16] << 8;\n"
        "    int right_scale = sb[l % 16 * 4 + l / 16] << 16;\n"
        "    x = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(left, right, x, 0, 4,\n"
        "            1, left_scale, 2, right_scale);\n"
        "    for (int i = 0; i < 4; i++) d[(row + i) * 16 + column] = x[i];\n"
        "}\n";
    check_multiplication(&(struct multiplication){source, 16, 128, &format_fp8, &format_fp4, true});
}

static void scaled_fp4_32x32x64(void **state)
{
    (void)state;
    static const char source[] = TYPES
        "extern \"C\" __global__ void kernel(const int4 *a, const int4 *b, const float *c, float "
        "*d,"
        "                                    const unsigned char *sa, const unsigned char *sb) {\n"
        "    int l = threadIdx.x, column = l % 32, row = l / 32 * 4;\n"
        "    f16v x;\n"
        "    for (int i = 0; i < 16; i++) x[i] = c[(row + i % 4 + i / 4 * 8) * 32 + column];\n"
        "    int4 a0 = a[l % 32 * 2 + l / 32], b0 = b[l % 32 * 2 + l / 32];\n"
        "    i8v left = {a0.x, a0.y, a0.z, a0.w, 0, 0, 0, 0};\n"
        "    i8v right = {b0.x, b0.y, b0.z, b0.w, 0, 0, 0, 0};\n"
        "    int left_scale = sa[l % 32 * 2 + l / 32], right_scale = sb[l % 32 * 2 + l / 32] << "
        "24;\n"
        "    x = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(left, right, x, 4, 4,\n"
        "            0, left_scale, 3, right_scale);\n"
        "    for (int i = 0; i < 16; i++) d[(row + i % 4 + i / 4 * 8) * 32 + column] = x[i];\n"
        "}\n";
    check_multiplication(&(struct multiplication){source, 32, 64, &format_fp4, &format_fp4, true});
}

/* ---- Conversions ---- */

enum { VALUES = 256, RESULTS = 8 };

static const char conversion_source[] = TYPES
    "extern \"C\" __global__ void kernel(const float *in, const unsigned *codes, unsigned *out) {\n"
    "    unsigned i = blockIdx.x * 64 + threadIdx.x, r = 0;\n"
    "    unsigned *o = out + i * 8, code = codes[i];\n"
    "    float x = in[i], y = in[i ^ 1], scale = 0.25f;\n"
    "    r = __builtin_amdgcn_cvt_pk_fp8_f32(x, y, r, false);\n"
    "    o[0] = __builtin_amdgcn_cvt_pk_bf8_f32(x, y, r, true);\n"
    "    f2 pair = __builtin_amdgcn_cvt_pk_f32_fp8(code, true);\n"
    "    float first = pair.x, second = pair.y;\n"
    "    o[1] = __float_as_uint(first);\n"
    "    o[2] = __float_as_uint(second);\n"
    "    bf2v wide = __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(code, scale, true);\n"
    "    o[3] = __builtin_bit_cast(unsigned, wide);\n"
    "    wide = __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(code, scale, 2);\n"
    "    o[4] = __builtin_bit_cast(unsigned, wide);\n"
    "    s2 old = {0x1111, 0x2222};\n"
    "    old = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(old, x, y, scale, true);\n"
    "    o[5] = __builtin_bit_cast(unsigned, old);\n"
    "    o[6] = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0x77777777, x, y, scale, 3);\n"
    "    bf2v narrow = {(__bf16)x, (__bf16)y};\n"
    "    o[7] = __builtin_bit_cast(unsigned, narrow);\n"
    "}\n";

static uint32_t f32_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static uint32_t pair_of(const struct format *format, double x, double y)
{
    return format_nearest(format, x) | format_nearest(format, y) << format->bits;
}

static void conversions(void **state)
{
    (void)state;
    float in[VALUES];
    uint32_t codes[VALUES], out[VALUES * RESULTS];
    for (unsigned i = 0; i < VALUES; ++i) {
        in[i] = (float)ldexp((double)(int32_t)(uint32_t)random_bits(), (int)(i % 24) - 44);
        /* fp8 without its NaNs: their payload is no one's concern. */
        codes[i] = (uint32_t)random_bits() & 0x7e7e7e7e;
    }
    hipFunction_t kernel = gpu_compile(&gpu, conversion_source, "kernel");
    void *in_device = gpu_upload(&gpu, in, sizeof in);
    void *codes_device = gpu_upload(&gpu, codes, sizeof codes);
    void *out_device = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, kernel, VALUES / 64, 64, &in_device, &codes_device, &out_device);
    gpu_download(&gpu, out, out_device, sizeof out);

    for (unsigned i = 0; i < VALUES; ++i) {
        const uint32_t *o = &out[i * RESULTS];
        double x = in[i], y = in[i ^ 1];
        double first = format_value(&format_fp8, codes[i] >> 16 & 0xff);
        double second = format_value(&format_fp8, codes[i] >> 24);
        assert_int_equal(o[0], pair_of(&format_fp8, x, y) | pair_of(&format_bf8, x, y) << 16);
        assert_int_equal(o[1], f32_bits(first));
        assert_int_equal(o[2], f32_bits(second));
        assert_int_equal(o[3], pair_of(&format_bf16, first / 4, second / 4));
        assert_int_equal(o[4],
                         pair_of(&format_bf16, format_value(&format_fp4, codes[i] >> 16 & 15) / 4,
                                 format_value(&format_fp4, codes[i] >> 20 & 15) / 4));
        assert_int_equal(o[5], 0x1111 | pair_of(&format_fp8, x * 4, y * 4) << 16);
        assert_int_equal(o[6], 0x777777 | pair_of(&format_fp4, x * 4, y * 4) << 24);
        assert_int_equal(o[7], pair_of(&format_bf16, x, y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bf16_16x16x32, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(f16_32x32x16, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(fp8_16x16x32, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(scaled_fp8_and_fp4_16x16x128, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(scaled_fp4_32x32x64, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(conversions, open_gpu, close_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
