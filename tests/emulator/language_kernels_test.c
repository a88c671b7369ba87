/* What the source of a kernel may use beyond arithmetic, at each level of optimisation: calls,
   recursion, pointers to functions, arrays in private memory, jump tables. The kernel's text is the
   host's as well. */
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

enum { COUNT = 200, BLOCK = 100 };

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

typedef uint32_t (*function)(uint32_t);

/* Runs what `source` defines as `tested` on 0, 1, … COUNT - 1, and compares with `expected`. */
static void check(const char *source, function expected)
{
    static const char *const levels[] = {"-O0", "-O1", "-O3"};
    char text[4096];
    snprintf(text, sizeof text,
             "#define FUNCTION static __device__ __attribute__((noinline)) uint32_t\n"
             "typedef unsigned uint32_t;\n%s\n"
             "extern \"C\" __global__ void kernel(uint32_t *out) {\n"
             "    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;\n"
             "    out[i] = tested(i);\n}\n",
             source);
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        struct bytes code;
        gpu_compile_code(&gpu, text, (const char *const[]){levels[level], NULL}, &code);
        hipFunction_t kernel = gpu_load(&gpu, code.data, "kernel");
        bytes_free(&code);
        uint32_t out[COUNT];
        void *device = gpu_allocate(&gpu, sizeof out);
        gpu_launch(&gpu, kernel, COUNT / BLOCK, BLOCK, &device);
        gpu_download(&gpu, out, device, sizeof out);
        for (uint32_t i = 0; i < COUNT; i++) {
            if (out[i] != expected(i))
                fail_msg("%s: tested(%u) is %u, not %u", levels[level], i, out[i], expected(i));
        }
    }
}

#define FUNCTION static uint32_t

/* Defines it for the host, under a name of its own, and as text. */
#define TESTED(name, ...)                                                                          \
    static const char name##_source[] = "#define " #name " tested\n" #__VA_ARGS__;                 \
    __VA_ARGS__

#define TEST(name)                                                                                 \
    static void name##_run_everywhere(void **state)                                                \
    {                                                                                              \
        (void)state;                                                                               \
        check(name##_source, name);                                                                \
    }

/* clang-format off */
TESTED(calls,
    FUNCTION third(uint32_t x) { return x / 3 + 1; }
    FUNCTION mix(uint32_t a, uint32_t b) { return third(a) * 31 ^ third(b); }
    FUNCTION calls(uint32_t x) { return x % 5 ? mix(x, x * x) + mix(x + 1, 7) : third(x); })

/* The depth differs from lane to lane. */
TESTED(recursion,
    FUNCTION recursion(uint32_t x) {
        uint32_t depth = x % 6;
        return depth ? x * recursion(depth - 1) + recursion(depth / 2) : x + 3;
    })

TESTED(pointers_to_functions,
    FUNCTION square(uint32_t x) { return x * x; }
    FUNCTION negate(uint32_t x) { return 0 - x; }
    FUNCTION shift(uint32_t x) { return x << 3; }
    FUNCTION pointers_to_functions(uint32_t x) {
        uint32_t (*chosen)(uint32_t) = x % 3 == 0 ? square : x % 3 == 1 ? negate : shift;
        return chosen(x + 1);
    })

TESTED(private_arrays,
    FUNCTION private_arrays(uint32_t x) {
        uint32_t values[64];
        for (uint32_t i = 0; i < 64; i++)
            values[i] = i * x;
        for (uint32_t i = 0; i < 10; i++)
            values[(x + i * 7) % 64] += values[(x * 5 + i) % 64];
        return values[x % 64] ^ values[(x + 21) % 64];
    })

/* Small enough for registers, with an index that is the same in all lanes. */
TESTED(arrays_in_registers,
    FUNCTION arrays_in_registers(uint32_t x) {
        uint32_t values[8] = {x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7};
        for (uint32_t i = 0; i < 40; i += 3) {
            values[i % 8] ^= i * x;
            values[(i + 3) % 8] += values[i * i % 8];
        }
        return values[0] + values[3] * values[5] + values[7];
    })

TESTED(jump_tables,
    FUNCTION jump_tables(uint32_t x) {
        uint32_t result = 1;
        for (uint32_t i = 0; i < x % 9; i++) {
            switch ((x + i * 3) % 8) {
            case 0: result += 17; break;
            case 1: result *= 3; break;
            case 2: result ^= x; continue;
            case 3: result -= i; break;
            case 4: result += result & 1; break;
            case 5: result = result << 1 | 1; break;
            case 6: result /= 3; break;
            default: result = 0 - result;
            }
            result += i;
        }
        return result;
    })
/* clang-format on */

TEST(calls)
TEST(recursion)
TEST(pointers_to_functions)
TEST(private_arrays)
TEST(arrays_in_registers)
TEST(jump_tables)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_everywhere),
        cmocka_unit_test(recursion_run_everywhere),
        cmocka_unit_test(pointers_to_functions_run_everywhere),
        cmocka_unit_test(private_arrays_run_everywhere),
        cmocka_unit_test(arrays_in_registers_run_everywhere),
        cmocka_unit_test(jump_tables_run_everywhere),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
