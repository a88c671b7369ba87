/* Kernels compiled by hipRTC and launched through HIP's entry points, end to end. */
#include "support/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static const char scale_source[] =
    "extern \"C\" __global__ void scale(float *out, const float *in, float factor, int count) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count) out[i] = in[i] * factor;\n"
    "}\n";

static void kernel_computes_what_its_source_says(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    float in[COUNT], out[COUNT], factor = 2.5f;
    int count = COUNT;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    hipFunction_t scale = gpu_compile(&gpu, scale_source, "scale");
    void *device_in = gpu_upload(&gpu, in, sizeof in);
    void *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, scale, 4, 256, &device_out, &device_in, &factor, &count);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == (float)i * 2.5f);
}

static void extra_buffer_passes_arguments_like_the_array(void **state)
{
    (void)state;
    float in[64], out[64];
    for (int i = 0; i < 64; i++)
        in[i] = (float)(64 - i);
    hipFunction_t scale = gpu_compile(&gpu, scale_source, "scale");
    struct {
        void *out, *in;
        float factor;
        int count;
    } arguments = {gpu_allocate(&gpu, sizeof out), gpu_upload(&gpu, in, sizeof in), -1.0f, 64};
    size_t size = sizeof arguments;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, HIP_LAUNCH_PARAM_END};
    assert_hip(&gpu, gpu.hip.hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    gpu_download(&gpu, out, arguments.out, sizeof out);
    for (int i = 0; i < 64; i++)
        assert_true(out[i] == -in[i]);

    size = 8; /* an argument is missing */
    assert_int_equal(gpu.hip.hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra),
                     hipErrorInvalidValue);
    assert_non_null(strstr(gpu.error(), "outside the buffer of 8 bytes"));
    extra[0] = HIP_LAUNCH_PARAM_END;
    assert_int_equal(gpu.hip.hipModuleLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra),
                     hipErrorInvalidValue);
}

static void hidden_arguments_describe_the_grid(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void shape(unsigned *out) {\n"
        "    if (threadIdx.x | threadIdx.y | threadIdx.z | blockIdx.x | blockIdx.y | blockIdx.z)\n"
        "        return;\n"
        "    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;\n"
        "    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;\n"
        "    out[6] = __builtin_amdgcn_groupstaticsize();\n"
        "}\n";
    unsigned out[7] = {0};
    hipFunction_t shape = gpu_compile(&gpu, source, "shape");
    void *device = gpu_upload(&gpu, out, sizeof out);
    gpu_launch_with(&gpu, shape, (unsigned[]){3, 5, 2}, (unsigned[]){16, 4, 3}, 1024,
                    (void *[]){&device});
    gpu_download(&gpu, out, device, sizeof out);
    const unsigned expected[7] = {3, 5, 2, 16, 4, 3, 0};
    assert_memory_equal(out, expected, sizeof out);
}

static void arguments_preloaded_into_registers_arrive(void **state)
{
    (void)state;
    static const char *const options[] = {"-mllvm", "-amdgpu-kernarg-preload-count=8", NULL};
    struct bytes code;
    float in[64], out[64], factor = 3;
    int count = 64;
    for (int i = 0; i < 64; i++)
        in[i] = (float)(i - 20);
    gpu_compile_code(&gpu, scale_source, options, &code);
    hipFunction_t scale = gpu_load(&gpu, code.data, "scale");
    bytes_free(&code);
    void *device_in = gpu_upload(&gpu, in, sizeof in);
    void *device_out = gpu_allocate(&gpu, sizeof out);
    gpu_launch(&gpu, scale, 1, 64, &device_out, &device_in, &factor, &count);
    gpu_download(&gpu, out, device_out, sizeof out);
    for (int i = 0; i < 64; i++)
        assert_true(out[i] == 3 * in[i]);
}

static void every_thread_of_a_three_dimensional_grid_runs_once(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void count(unsigned *out) {\n"
        "    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;\n"
        "    unsigned w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;\n"
        "    atomicAdd(&out[(z * h + y) * w + x], 1u);\n"
        "}\n";
    enum { WIDTH = 2 * 10, HEIGHT = 3 * 3, DEPTH = 2 * 4, COUNT = WIDTH * HEIGHT * DEPTH };
    unsigned out[COUNT] = {0};
    hipFunction_t count = gpu_compile(&gpu, source, "count");
    void *device = gpu_upload(&gpu, out, sizeof out);
    gpu_launch_with(&gpu, count, (unsigned[]){2, 3, 2}, (unsigned[]){10, 3, 4}, 0,
                    (void *[]){&device});
    gpu_download(&gpu, out, device, sizeof out);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 1);
}

static void dynamic_lds_is_as_large_as_the_launch_says(void **state)
{
    (void)state;
    static const char source[] =
        "extern __shared__ int buffer[];\n"
        "extern \"C\" __global__ void reverse(int *data, int count) {\n"
        "    for (int i = threadIdx.x; i < count; i += blockDim.x) buffer[i] = data[i];\n"
        "    __syncthreads();\n"
        "    for (int i = threadIdx.x; i < count; i += blockDim.x)\n"
        "        data[i] = buffer[count - 1 - i];\n"
        "}\n";
    enum { COUNT = 160 * 1024 / 4 };
    static int data[COUNT];
    int count = COUNT;
    for (int i = 0; i < COUNT; i++)
        data[i] = i * 7;
    hipFunction_t reverse = gpu_compile(&gpu, source, "reverse");
    void *device = gpu_upload(&gpu, data, sizeof data);
    gpu_launch_with(&gpu, reverse, (unsigned[]){1, 1, 1}, (unsigned[]){256, 1, 1}, sizeof data,
                    (void *[]){&device, &count});
    gpu_download(&gpu, data, device, sizeof data);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(data[i], (COUNT - 1 - i) * 7);

    /* A byte more than the machine has; and a word less than the kernel uses. */
    void *arguments[] = {&device, &count};
    const unsigned one[3] = {1, 1, 1}, block[3] = {256, 1, 1};
    assert_int_equal(gpu_try_launch(&gpu, reverse, one, block, sizeof data + 1, arguments),
                     hipErrorInvalidValue);
    assert_int_equal(gpu_try_launch(&gpu, reverse, one, block, sizeof data - 4, arguments),
                     hipErrorLaunchFailure);
    assert_non_null(strstr(gpu.fault(), "reverse"));
    gpu.clear_fault();
}

static void launches_out_of_bounds_are_refused(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void __launch_bounds__(128) small(int *out) { *out = 1; }\n";
    hipFunction_t small = gpu_compile(&gpu, source, "small");
    int zero = 0;
    void *device = gpu_upload(&gpu, &zero, sizeof zero);
    void *arguments[] = {&device};
    static const struct {
        unsigned grid[3], block[3], lds;
        hipError_t error;
    } cases[] = {
        {{1, 1, 1}, {0, 1, 1}, 0, hipErrorInvalidValue},
        {{1, 1, 1}, {64, 0, 1}, 0, hipErrorInvalidValue},
        {{0, 1, 1}, {64, 1, 1}, 0, hipErrorInvalidValue},
        {{1, 1, 0}, {64, 1, 1}, 0, hipErrorInvalidValue},
        {{1, 1, 1}, {1025, 1, 1}, 0, hipErrorInvalidValue},
        {{1, 1, 1}, {64, 32, 1}, 0, hipErrorInvalidValue},
        {{1, 1, 1}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0, hipErrorInvalidValue},
        {{1, 1, 1}, {129, 1, 1}, 0, hipErrorLaunchFailure}, /* by __launch_bounds__ */
        {{0x80000000u, 1, 1}, {1, 1, 1}, 0, hipErrorInvalidValue},
        {{1, 65537, 1}, {1, 1, 1}, 0, hipErrorInvalidValue},
        {{0x7fffffff, 1, 1}, {64, 1, 1}, 0, hipErrorInvalidValue}, /* 2^32 threads and more */
        {{1, 1, 1}, {64, 1, 1}, 160 * 1024 + 1, hipErrorInvalidValue},
        {{1, 1, 1}, {64, 1, 1}, UINT32_MAX, hipErrorInvalidValue},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            gpu_try_launch(&gpu, small, cases[i].grid, cases[i].block, cases[i].lds, arguments),
            cases[i].error);
    const unsigned one[3] = {1, 1, 1};
    assert_int_equal(gpu_try_launch(&gpu, small, one, one, 0, NULL), hipErrorInvalidValue);
    assert_int_equal(gpu_try_launch(&gpu, small, one, one, 0, (void *[]){NULL}),
                     hipErrorInvalidValue);
    assert_int_equal(gpu_try_launch(&gpu, NULL, one, one, 0, arguments), hipErrorInvalidHandle);
    assert_int_equal(gpu_try_launch(&gpu, (hipFunction_t)&zero, one, one, 0, arguments),
                     hipErrorInvalidHandle);
    assert_int_equal(gpu.hip.hipDeviceSynchronize(), hipSuccess); /* nothing of that has stuck */
    gpu_launch(&gpu, small, 1, 128, &device);
}

static void fault_names_its_place_and_sticks(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void stray(int *out) { out[threadIdx.x + 1] = 1; }\n";
    hipFunction_t stray = gpu_compile(&gpu, source, "stray");
    int zeros[64] = {0};
    void *device = gpu_upload(&gpu, zeros, sizeof zeros), *more;
    void *arguments[] = {&device};
    const unsigned one[3] = {1, 1, 1}, block[3] = {64, 1, 1};
    assert_int_equal(gpu_try_launch(&gpu, stray, one, block, 0, arguments), hipErrorLaunchFailure);
    assert_non_null(strstr(gpu.fault(), "kernel stray"));
    assert_non_null(strstr(gpu.fault(), "lane 63"));
    assert_non_null(strstr(gpu.fault(), "global_store_dword"));
    assert_string_equal(gpu.hip.hipGetErrorString(gpu.hip.hipGetLastError()),
                        "unspecified launch failure");

    assert_int_equal(gpu.hip.hipDeviceSynchronize(), hipErrorLaunchFailure);
    assert_int_equal(gpu.hip.hipStreamQuery(NULL), hipErrorLaunchFailure);
    assert_int_equal(gpu.hip.hipMalloc(&more, 16), hipErrorLaunchFailure);
    assert_int_equal(gpu.hip.hipMemcpy(zeros, device, 4, hipMemcpyDeviceToHost),
                     hipErrorLaunchFailure);
    assert_int_equal(gpu_try_launch(&gpu, stray, one, block, 0, arguments), hipErrorLaunchFailure);
    assert_non_null(strstr(gpu.error(), "out of action since"));

    gpu.clear_fault();
    assert_string_equal(gpu.fault(), "");
    assert_int_equal(gpu.hip.hipDeviceSynchronize(), hipSuccess);
}

static void code_and_constants_are_read_only_and_variables_are_not(void **state)
{
    (void)state;
    static const char source[] = "__device__ int counter = 7;\n"
                                 "__constant__ int table[4] = {1, 2, 3, 4};\n"
                                 "extern \"C\" __global__ void add(int *out, int i) {\n"
                                 "    out[0] = counter; counter = out[0] + table[i]; }\n"
                                 "extern \"C\" __global__ void poke(int *where) { *where = 0; }\n";
    hipFunction_t add = gpu_compile(&gpu, source, "add");
    hipModule_t module = gpu.modules[gpu.module_count - 1];
    hipFunction_t poke;
    assert_hip(&gpu, gpu.hip.hipModuleGetFunction(&poke, module, "poke"));
    int value = 0, index = 2;
    void *out = gpu_upload(&gpu, &value, sizeof value);
    gpu_launch(&gpu, add, 1, 1, &out, &index);
    gpu_launch(&gpu, add, 1, 1, &out, &index);
    gpu_download(&gpu, &value, out, sizeof value);
    assert_int_equal(value, 10);

    void *counter, *table;
    size_t size;
    assert_hip(&gpu, gpu.hip.hipModuleGetGlobal(&counter, &size, module, "counter"));
    assert_int_equal(size, sizeof(int));
    gpu_download(&gpu, &value, counter, sizeof value);
    assert_int_equal(value, 13);
    assert_hip(&gpu, gpu.hip.hipModuleGetGlobal(&table, &size, module, "table"));
    assert_int_equal(size, 4 * sizeof(int));
    assert_int_equal(gpu.hip.hipModuleGetGlobal(&table, &size, module, "no_such"),
                     hipErrorNotFound);

    const unsigned one[3] = {1, 1, 1};
    gpu_launch(&gpu, poke, 1, 1, &counter);
    assert_int_equal(gpu_try_launch(&gpu, poke, one, one, 0, (void *[]){&table}),
                     hipErrorLaunchFailure);
    assert_non_null(strstr(gpu.fault(), "read-only"));
    gpu.clear_fault();
}

static void counters_count_what_ran(void **state)
{
    (void)state;
    hipFunction_t empty = gpu_compile(&gpu, "extern \"C\" __global__ void empty() {}\n", "empty");
    struct dsajit_emulator_counters counters;
    gpu.reset_counters();
    gpu_launch_with(&gpu, empty, (unsigned[]){6, 1, 1}, (unsigned[]){100, 1, 1}, 0, NULL);
    gpu.counters(&counters);
    assert_int_equal(counters.launches, 1);
    assert_int_equal(counters.workgroups, 6);
    assert_int_equal(counters.waves, 12);
    assert_int_equal(counters.instructions, 12); /* s_endpgm */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_computes_what_its_source_says),
        cmocka_unit_test(extra_buffer_passes_arguments_like_the_array),
        cmocka_unit_test(hidden_arguments_describe_the_grid),
        cmocka_unit_test(arguments_preloaded_into_registers_arrive),
        cmocka_unit_test(every_thread_of_a_three_dimensional_grid_runs_once),
        cmocka_unit_test(dynamic_lds_is_as_large_as_the_launch_says),
        cmocka_unit_test(launches_out_of_bounds_are_refused),
        cmocka_unit_test(fault_names_its_place_and_sticks),
        cmocka_unit_test(code_and_constants_are_read_only_and_variables_are_not),
        cmocka_unit_test(counters_count_what_ran),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
