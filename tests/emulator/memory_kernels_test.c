/* Memory by what hipRTC makes of small HIP kernels: LDS, global and private memory, buffers, loads
   to LDS, transposing reads, exchanges between lanes, atomics. */
#include "half.h"
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
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

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 7 ^ *state << 13;
}

static void fill_random(void *data, size_t size, uint32_t *state)
{
    uint8_t *bytes = data;
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (uint8_t)(next_random(state) >> 8);
}

/* Launches one workgroup of kernel(out, in) that is meant to fault, with `text` in the reason. */
static void assert_fault(hipFunction_t kernel, unsigned block, void *out, void *in,
                         const char *text)
{
    hipError_t error = gpu_try_launch(&gpu, kernel, (unsigned[3]){1, 1, 1},
                                      (unsigned[3]){block, 1, 1}, 0, (void *[]){&out, &in});
    assert_int_not_equal(error, hipSuccess);
    if (!gpu.fault() || !strstr(gpu.fault(), text))
        fail_msg("expected \"%s\" in: %s", text, gpu.fault() ? gpu.fault() : "no fault");
    gpu.clear_fault();
}

/* ---- LDS ---- */

static void a_tree_sum_in_lds(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void sum(unsigned *out, const unsigned *in) {\n"
        "    __shared__ unsigned partial[256];\n"
        "    unsigned t = threadIdx.x;\n"
        "    partial[t] = in[blockIdx.x * 256 + t];\n"
        "    __syncthreads();\n"
        "    for (unsigned step = 128; step > 0; step /= 2) {\n"
        "        if (t < step) partial[t] += partial[t + step];\n"
        "        __syncthreads();\n"
        "    }\n"
        "    if (t == 0) out[blockIdx.x] = partial[0];\n"
        "}\n";
    static uint32_t in[8 * 256];
    uint32_t random = 1, out[8];
    fill_random(in, sizeof in, &random);
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "sum"), 8, 256, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (size_t b = 0; b < 8; ++b) {
        uint32_t expected = 0;
        for (size_t t = 0; t < 256; ++t)
            expected += in[b * 256 + t];
        assert_int_equal(out[b], expected);
    }
}

static void a_forgotten_barrier_is_found(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void reverse(unsigned *out, const unsigned *in) {\n"
        "    __shared__ unsigned all[128];\n"
        "    unsigned t = threadIdx.x;\n"
        "    all[t] = 0;\n"
        "    __syncthreads();\n"
        "    all[t] = in[t];\n"
        "    out[t] = all[127 - t];\n"
        "}\n";
    uint32_t in[128] = {0};
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof in);
    hipFunction_t reverse = gpu_compile(&gpu, source, "reverse");
    assert_fault(reverse, 128, device_out, device_in, "LDS race at 0x");
}

static void uninitialised_lds_is_found(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void copy(unsigned *out, const unsigned *in) {\n"
        "    __shared__ unsigned all[65];\n"
        "    unsigned t = threadIdx.x;\n"
        "    all[t] = in[t];\n"
        "    __syncthreads();\n"
        "    out[t] = all[t + 1];\n"
        "}\n";
    uint32_t in[64] = {0};
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof in);
    assert_fault(gpu_compile(&gpu, source, "copy"), 64, device_out, device_in,
                 "LDS byte 0x100 is read, but nothing was written there in this workgroup");
}

static void all_of_160_kilobytes_of_lds(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void turn(unsigned *out, const unsigned *in) {\n"
        "    extern __shared__ unsigned all[];\n"
        "    for (unsigned i = threadIdx.x; i < 40960; i += 1024) all[i] = in[i];\n"
        "    __syncthreads();\n"
        "    for (unsigned i = threadIdx.x; i < 40960; i += 1024) out[i] = all[40959 - i];\n"
        "}\n";
    enum { COUNT = 40960 };
    static uint32_t in[COUNT], out[COUNT];
    uint32_t random = 2;
    fill_random(in, sizeof in, &random);
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch_with(&gpu, gpu_compile(&gpu, source, "turn"), (unsigned[3]){1, 1, 1},
                    (unsigned[3]){1024, 1, 1}, sizeof in, (void *[]){&device_out, &device_in});
    gpu_download(&gpu, out, device_out, sizeof out);
    for (unsigned i = 0; i < COUNT; ++i)
        assert_int_equal(out[i], in[COUNT - 1 - i]);
}

/* Each type goes from global memory through LDS and private memory to global memory, with its
   elements in another order at each step. */
static void values_of_every_width_travel(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        unsigned size;
    } types[] = {{"unsigned char", 1}, {"signed char", 1}, {"short", 2},   {"_Float16", 2},
                 {"int", 4},           {"double", 8},      {"float3", 12}, {"int4", 16}};
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; ++i) {
        char source[1024];
        snprintf(
            source, sizeof source,
            "typedef %s T;\n"
            "extern \"C\" __global__ void travel(T *out, const T *in) {\n"
            "    __shared__ T shared[256];\n"
            "    T own[4];\n"
            "    unsigned t = threadIdx.x;\n"
            "    for (unsigned i = 0; i < 4; ++i) shared[i * 64 + t] = in[t * 4 + i];\n"
            "    __syncthreads();\n"
            "    for (unsigned i = 0; i < 4; ++i) own[(i + t) %% 4] = shared[255 - i - 4 * t];\n"
            "    for (unsigned i = 0; i < 4; ++i) out[t * 4 + i] = own[i];\n"
            "}\n",
            types[i].type);
        static uint8_t in[256 * 16], out[256 * 16];
        size_t size = types[i].size;
        uint32_t random = 3;
        fill_random(in, sizeof in, &random);
        void *device_in = gpu_upload(&gpu, in, 256 * size);
        void *device_out = gpu_allocate(&gpu, 256 * size);
        gpu_launch(&gpu, gpu_compile(&gpu, source, "travel"), 1, 64, &device_out, &device_in);
        gpu_download(&gpu, out, device_out, 256 * size);
        for (size_t t = 0; t < 64; ++t) {
            for (size_t k = 0; k < 4; ++k) {
                size_t in_lds = 255 - k - 4 * t;
                size_t in_global = in_lds % 64 * 4 + in_lds / 64;
                assert_memory_equal(out + (t * 4 + (k + t) % 4) * size, in + in_global * size,
                                    size);
            }
        }
    }
}

static void generic_pointers_reach_all_memories(void **state)
{
    (void)state;
    static const char source[] =
        "__attribute__((noinline)) __device__ void bump(unsigned *p) { *p += 7; }\n"
        "extern \"C\" __global__ void mixed(unsigned *out, const unsigned *in) {\n"
        "    __shared__ unsigned shared[64];\n"
        "    unsigned t = threadIdx.x, own[2] = {in[t], 5};\n"
        "    shared[t] = in[t] * 2;\n"
        "    out[t] = in[t] * 3;\n"
        "    unsigned *places[3] = {&own[t & 1], &shared[t], &out[t]};\n"
        "    bump(places[t % 3]);\n"
        "    out[t] += own[0] + own[1] * 1000 + shared[t] * 100000;\n"
        "}\n";
    uint32_t in[64], out[64];
    for (size_t t = 0; t < 64; ++t)
        in[t] = 10 + t;
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "mixed"), 1, 64, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (size_t t = 0; t < 64; ++t) {
        uint32_t own[2] = {in[t], 5}, shared = in[t] * 2, global = in[t] * 3;
        *(t % 3 == 0 ? &own[t & 1] : t % 3 == 1 ? &shared : &global) += 7;
        assert_int_equal(out[t], global + own[0] + own[1] * 1000 + shared * 100000);
    }
}

/* ---- Transposing reads ---- */

/* 16 lanes read a matrix of 16 columns, row by row, 8 bytes each; lane j receives column j. */
static void transposing_reads(void **state)
{
    (void)state;
    static const struct {
        const char *builtin, *vector;
        unsigned bytes; /* of an element */
    } forms[] = {{"__builtin_amdgcn_ds_read_tr16_b64_v4i16", "short", 2},
                 {"__builtin_amdgcn_ds_read_tr8_b64_v2i32", "int", 1}};
    for (unsigned i = 0; i < 2; ++i) {
        char source[1024];
        snprintf(source, sizeof source,
                 "typedef %s V __attribute__((ext_vector_type(%u)));\n"
                 "extern \"C\" __global__ void transpose(V *out, const V *in) {\n"
                 "    __shared__ V tile[64];\n"
                 "    unsigned t = threadIdx.x;\n"
                 "    tile[t] = in[t];\n"
                 "    __syncthreads();\n"
                 "    out[t] = %s((__attribute__((address_space(3))) V *)&tile[t]);\n"
                 "}\n",
                 forms[i].vector, forms[i].bytes == 2 ? 4 : 2, forms[i].builtin);
        uint8_t in[512], out[512];
        uint32_t random = 4;
        fill_random(in, sizeof in, &random);
        void *device_in = gpu_upload(&gpu, in, sizeof in);
        void *device_out = gpu_allocate(&gpu, sizeof out);
        gpu_launch(&gpu, gpu_compile(&gpu, source, "transpose"), 1, 64, &device_out, &device_in);
        gpu_download(&gpu, out, device_out, sizeof out);
        unsigned size = forms[i].bytes, rows = 8 / size;
        for (size_t lane = 0; lane < 64; ++lane) {
            const uint8_t *matrix = in + lane / 16 * 128;
            for (size_t row = 0; row < rows; ++row)
                assert_memory_equal(out + 8 * lane + row * size,
                                    matrix + (row * 16 + lane % 16) * size, size);
        }
    }
}

/* ---- Buffers and loads to LDS ---- */

static void buffers_check_their_range(void **state)
{
    (void)state;
    static const char source[] =
        "typedef unsigned V __attribute__((ext_vector_type(4)));\n"
        "extern \"C\" __global__ void copy(unsigned *out, unsigned *in) {\n"
        "    auto from = __builtin_amdgcn_make_buffer_rsrc(in, 0, 1000, 0x27000);\n"
        "    auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, 840, 0x27000);\n"
        "    unsigned t = threadIdx.x;\n"
        "    V v = __builtin_amdgcn_raw_buffer_load_b128(from, 16 * t, 0, 0);\n"
        "    unsigned char b = __builtin_amdgcn_raw_buffer_load_b8(from, t + 960, 0, 0);\n"
        "    v.x += b;\n"
        "    __builtin_amdgcn_raw_buffer_store_b128(v, to, 16 * t, 0, 0);\n"
        "}\n";
    uint8_t in[1024], out[1024];
    uint32_t random = 5;
    fill_random(in, sizeof in, &random);
    memset(out, 0xee, sizeof out);
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_upload(&gpu, out, 1024);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "copy"), 1, 64, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (unsigned at = 0; at < 1024; at += 4) {
        uint32_t expected = 0xeeeeeeee, actual;
        if (at < 840) {
            memcpy(&expected, in + at, 4);
            if (at % 16 == 0)
                expected += at / 16 + 960 < 1000 ? in[at / 16 + 960] : 0;
        }
        memcpy(&actual, out + at, 4);
        assert_int_equal(actual, expected);
    }
}

#define TO_LDS(load, wait)                                                                         \
    "typedef unsigned V __attribute__((ext_vector_type(4)));\n"                                    \
    "typedef __attribute__((address_space(3))) void *lds_pointer;\n"                               \
    "typedef __attribute__((address_space(1))) void *global_pointer;\n"                            \
    "extern \"C\" __global__ void copy(V *out, V *in) {\n"                                         \
    "    __shared__ V tile[128];\n"                                                                \
    "    unsigned t = threadIdx.x, wave = __builtin_amdgcn_readfirstlane(t / 64);\n" load          \
    "    asm volatile(\"" wait "\" ::: \"memory\");\n"                                             \
    "    __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\", \"local\");\n"                    \
    "    __builtin_amdgcn_s_barrier();\n"                                                          \
    "    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\", \"local\");\n"                    \
    "    out[t] = *(volatile V *)&tile[127 - t];\n"                                                \
    "}\n"

static void loads_go_to_lds_directly(void **state)
{
    (void)state;
    /* The 16-byte pieces of a wave are permuted at the source. */
    static const char *const sources[] = {
        TO_LDS("__builtin_amdgcn_global_load_lds((global_pointer)(in + (t ^ 5)), "
               "(lds_pointer)(tile + 64 * wave), 16, 0, 0);\n",
               "s_waitcnt vmcnt(0)"),
        TO_LDS(
            "auto from = __builtin_amdgcn_make_buffer_rsrc(in, 0, 2048, 0x27000);\n"
            "__builtin_amdgcn_raw_ptr_buffer_load_lds(from, (lds_pointer)(tile + 64 * wave), 16, "
            "16 * (t ^ 5), 0, 0, 0);\n",
            "s_waitcnt vmcnt(0)"),
    };
    for (unsigned i = 0; i < 2; ++i) {
        uint8_t in[2048], out[2048];
        uint32_t random = 6;
        fill_random(in, sizeof in, &random);
        void *device_in = gpu_upload(&gpu, in, sizeof in);
        void *device_out = gpu_allocate(&gpu, sizeof out);
        gpu_launch(&gpu, gpu_compile(&gpu, sources[i], "copy"), 1, 128, &device_out, &device_in);
        gpu_download(&gpu, out, device_out, sizeof out);
        for (size_t t = 0; t < 128; ++t)
            assert_memory_equal(out + 16 * t, in + 16 * ((127 - t) ^ 5), 16);
    }
}

/* ---- Exchanges between lanes ---- */

static void lanes_exchange_values(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void exchange(unsigned *out, const unsigned *in) {\n"
        "    unsigned t = threadIdx.x, v = in[t], *to = out + 6 * t;\n"
        "    to[0] = __shfl(v, (t * 5 + 1) % 64);\n"
        "    to[1] = __shfl_xor(v, 9);\n"
        "    to[2] = __shfl_down(v, 3);\n"
        "    to[3] = __builtin_amdgcn_ds_bpermute(4 * (t ^ 21), v);\n"
        "    to[4] = __builtin_amdgcn_ds_permute(4 * ((t + 10) % 64), v);\n"
        "    to[5] = __builtin_amdgcn_ds_swizzle(v, 0x041f);\n"
        "}\n";
    uint32_t in[64], out[64][6], random = 7;
    fill_random(in, sizeof in, &random);
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "exchange"), 1, 64, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (size_t t = 0; t < 64; ++t) {
        assert_int_equal(out[t][0], in[(t * 5 + 1) % 64]);
        assert_int_equal(out[t][1], in[t ^ 9]);
        assert_int_equal(out[t][2], in[t + 3 < 64 ? t + 3 : t]);
        assert_int_equal(out[t][3], in[t ^ 21]);
        assert_int_equal(out[t][4], in[(t + 54) % 64]);
        assert_int_equal(out[t][5], in[t ^ 1]);
    }
}

/* ---- Atomics ---- */

enum { ATOMIC_BLOCKS = 16, ATOMIC_ITEMS = ATOMIC_BLOCKS * 256 };

struct totals {
    uint64_t wide;
    double real;
    uint32_t count, greatest, least, bits, toggled, wrapped, locked, last;
    int32_t lowest;
    float single;
};

static void atomics_of_many_workgroups(void **state)
{
    (void)state;
    static const char source[] =
        "struct totals { unsigned long long wide; double real; unsigned count, greatest, least, "
        "bits,\n"
        "    toggled, wrapped, locked, last; int lowest; float single; };\n"
        "extern \"C\" __global__ void total(totals *out, const unsigned *in) {\n"
        "    __shared__ unsigned histogram[16], first;\n"
        "    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t, v = in[i];\n"
        "    if (t < 16) histogram[t] = 0;\n"
        "    if (t == 64) first = 0xffffffff;\n"
        "    __syncthreads();\n"
        "    atomicAdd(&histogram[v % 16], 1u);\n"
        "    atomicMin(&first, v);\n"
        "    __syncthreads();\n"
        "    if (t < 16) atomicAdd(&out->count, histogram[t] * t);\n"
        "    if (t == 0) atomicMin(&out->least, first);\n"
        "    atomicAdd(&out->wide, (unsigned long long)v << 20);\n"
        "    unsafeAtomicAdd(&out->real, v * 0.5);\n"
        "    unsafeAtomicAdd(&out->single, 1.0f);\n"
        "    atomicMax(&out->greatest, v);\n"
        "    atomicMin(&out->lowest, (int)v);\n"
        "    atomicOr(&out->bits, v & 0x0f0f0f0f);\n"
        "    atomicXor(&out->toggled, v);\n"
        "    atomicInc(&out->wrapped, 99);\n"
        "    for (unsigned old = out->locked, seen;; old = seen) {\n"
        "        seen = atomicCAS(&out->locked, old, old + 1);\n"
        "        if (seen == old) break;\n"
        "    }\n"
        "    __threadfence();\n"
        "    __syncthreads();\n"
        "    if (t == 0 && atomicAdd(&out->last, 1) == gridDim.x - 1) out->last = out->count;\n"
        "}\n";
    static uint32_t in[ATOMIC_ITEMS];
    uint32_t random = 8;
    fill_random(in, sizeof in, &random);
    struct totals expected = {.least = UINT32_MAX}, actual = {.least = UINT32_MAX};
    for (unsigned i = 0; i < ATOMIC_ITEMS; ++i) {
        uint32_t v = in[i];
        expected.count += v % 16;
        expected.wide += (uint64_t)v << 20;
        expected.real += v * 0.5;
        expected.single += 1;
        expected.greatest = v > expected.greatest ? v : expected.greatest;
        expected.least = v < expected.least ? v : expected.least;
        expected.lowest = (int32_t)v < expected.lowest ? (int32_t)v : expected.lowest;
        expected.bits |= v & 0x0f0f0f0f;
        expected.toggled ^= v;
        expected.wrapped = expected.wrapped >= 99 ? 0 : expected.wrapped + 1;
        expected.locked += 1;
    }
    expected.last = expected.count;
    void *device_in = gpu_upload(&gpu, in, sizeof in);
    void *device_out = gpu_upload(&gpu, &actual, sizeof actual);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "total"), ATOMIC_BLOCKS, 256, &device_out,
               &device_in);
    gpu_download(&gpu, &actual, device_out, sizeof actual);
    assert_int_equal(actual.count, expected.count);
    assert_int_equal(actual.wide, expected.wide);
    assert_true(actual.real == expected.real);
    assert_true(actual.single == expected.single);
    assert_int_equal(actual.greatest, expected.greatest);
    assert_int_equal(actual.least, expected.least);
    assert_int_equal(actual.lowest, expected.lowest);
    assert_int_equal(actual.bits, expected.bits);
    assert_int_equal(actual.toggled, expected.toggled);
    assert_int_equal(actual.wrapped, expected.wrapped);
    assert_int_equal(actual.locked, expected.locked);
    assert_int_equal(actual.last, expected.last);
}

static void packed_atomics(void **state)
{
    (void)state;
    static const char source[] =
        "typedef _Float16 H __attribute__((ext_vector_type(2)));\n"
        "typedef short B __attribute__((ext_vector_type(2)));\n"
        "extern \"C\" __global__ void packed(unsigned *out, const unsigned *in) {\n"
        "    __shared__ unsigned cells[2];\n"
        "    unsigned t = threadIdx.x;\n"
        "    if (t < 2) cells[t] = 0;\n"
        "    __syncthreads();\n"
        "    H h = {(_Float16)1, (_Float16)(t % 2)};\n"
        "    B b = {(short)0x3f80, (short)0xc000};\n"
        "    typedef __attribute__((address_space(1))) H *global_h;\n"
        "    typedef __attribute__((address_space(1))) B *global_b;\n"
        "    typedef __attribute__((address_space(3))) H *lds_h;\n"
        "    typedef __attribute__((address_space(3))) B *lds_b;\n"
        "    __builtin_amdgcn_global_atomic_fadd_v2f16((global_h)out, h);\n"
        "    __builtin_amdgcn_global_atomic_fadd_v2bf16((global_b)(out + 1), b);\n"
        "    __builtin_amdgcn_ds_atomic_fadd_v2f16((lds_h)&cells[0], h);\n"
        "    __builtin_amdgcn_ds_atomic_fadd_v2bf16((lds_b)&cells[1], b);\n"
        "    __syncthreads();\n"
        "    if (t < 2) out[2 + t] = cells[t] + in[0];\n"
        "}\n";
    uint32_t out[4] = {0}, zero = 0;
    void *device_in = gpu_upload(&gpu, &zero, sizeof zero);
    void *device_out = gpu_upload(&gpu, out, sizeof out);
    gpu_launch(&gpu, gpu_compile(&gpu, source, "packed"), 1, 64, &device_out, &device_in);
    gpu_download(&gpu, out, device_out, sizeof out);
    uint32_t halves = (uint32_t)(bits16(64) | bits16(32) << 16);
    uint32_t brains = 0xc3004280; /* 64 and -128 */
    assert_int_equal(out[0], halves);
    assert_int_equal(out[1], brains);
    assert_int_equal(out[2], halves);
    assert_int_equal(out[3], brains);
}

/* ---- Faults ---- */

static void an_access_behind_an_allocation_is_found(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void copy(unsigned *out, const unsigned *in) {\n"
        "    out[threadIdx.x] = in[threadIdx.x];\n"
        "}\n";
    uint32_t in[63] = {0};
    void *device_in = gpu_upload(&gpu, in, sizeof in), *device_out = gpu_allocate(&gpu, 256);
    assert_fault(gpu_compile(&gpu, source, "copy"), 64, device_out, device_in,
                 "begin 0 bytes past the end of a 252-byte allocation");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_gpu, close_gpu)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_sum_in_lds),
        TEST(a_forgotten_barrier_is_found),
        TEST(uninitialised_lds_is_found),
        TEST(all_of_160_kilobytes_of_lds),
        TEST(values_of_every_width_travel),
        TEST(generic_pointers_reach_all_memories),
        TEST(transposing_reads),
        TEST(buffers_check_their_range),
        TEST(loads_go_to_lds_directly),
        TEST(lanes_exchange_values),
        TEST(atomics_of_many_workgroups),
        TEST(packed_atomics),
        TEST(an_access_behind_an_allocation_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
