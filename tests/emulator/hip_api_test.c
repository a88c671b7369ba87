/* HIP's entry points beside launches and graphs: what each does, and what each refuses. Expected
   errors are those that HIP's documentation and its own library give. */
#include "support/gpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gpu gpu;
static struct hip_table *const hip = &gpu.hip;

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

static int not_a_handle; /* its address is none of HIP's */

static void devices_are_those_of_the_environment(void **state)
{
    (void)state;
    int count = 0, device = -1, value = 0;
    assert_hip(&gpu, hip->hipInit(0));
    assert_int_equal(hip->hipInit(1), hipErrorInvalidValue);
    assert_hip(&gpu, hip->hipGetDeviceCount(&count));
    assert_int_equal(count, 2); /* DSAJIT_EMULATOR_DEVICES of this test */
    assert_int_equal(hip->hipGetDeviceCount(NULL), hipErrorInvalidValue);

    assert_hip(&gpu, hip->hipGetDevice(&device));
    assert_int_equal(device, 0);
    assert_int_equal(hip->hipGetDevice(NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipSetDevice(2), hipErrorInvalidDevice);
    assert_int_equal(hip->hipSetDevice(-1), hipErrorInvalidDevice);
    assert_hip(&gpu, hip->hipSetDevice(1));
    assert_hip(&gpu, hip->hipGetDevice(&device));
    assert_int_equal(device, 1);
    assert_hip(&gpu, hip->hipSetDevice(0));

    assert_hip(&gpu, hip->hipRuntimeGetVersion(&value));
    assert_true(value >= 70000000);
    assert_hip(&gpu, hip->hipDriverGetVersion(&value));
    assert_int_equal(hip->hipRuntimeGetVersion(NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipDriverGetVersion(NULL), hipErrorInvalidValue);
}

static void properties_are_those_of_an_mi350x(void **state)
{
    (void)state;
    hipDeviceProp_tR0600 properties;
    memset(&properties, 0xff, sizeof properties);
    assert_hip(&gpu, hip->hipGetDevicePropertiesR0600(&properties, 1));
    assert_string_equal(properties.gcnArchName, "gfx950:sramecc+:xnack-");
    assert_non_null(strstr(properties.name, "MI350X"));
    assert_int_equal(properties.multiProcessorCount, 256);
    assert_int_equal(properties.warpSize, 64);
    assert_int_equal(properties.sharedMemPerBlock, 163840);
    assert_int_equal(properties.maxThreadsPerBlock, 1024);
    assert_int_equal(properties.major, 9);
    assert_int_equal(properties.minor, 5);
    assert_int_equal(hip->hipGetDevicePropertiesR0600(NULL, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipGetDevicePropertiesR0600(&properties, 2), hipErrorInvalidDevice);

    int value;
    assert_hip(&gpu, hip->hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
    assert_int_equal(value, 64);
    assert_hip(&gpu, hip->hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
    assert_int_equal(value, 256);
    assert_hip(&gpu, hip->hipDeviceGetAttribute(&value, hipDeviceAttributePciBusId, 1));
    assert_int_equal(value, 1);
    assert_int_equal(hip->hipDeviceGetAttribute(NULL, hipDeviceAttributeWarpSize, 0),
                     hipErrorInvalidValue);
    assert_int_equal(hip->hipDeviceGetAttribute(&value, 9998, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 7),
                     hipErrorInvalidDevice);
}

static void *ask_for_thread_state(void *result)
{
    int *values = result;
    values[0] = (int)hip->hipPeekAtLastError();
    hip->hipGetDevice(&values[1]);
    values[2] = (unsigned char)gpu.error()[0];
    return NULL;
}

static void last_error_and_current_device_belong_to_the_thread(void **state)
{
    (void)state;
    assert_hip(&gpu, hip->hipSetDevice(1));
    assert_int_equal(hip->hipFree(&not_a_handle), hipErrorInvalidDevicePointer);
    pthread_t thread;
    int values[3] = {-1, -1, -1};
    assert_int_equal(pthread_create(&thread, NULL, ask_for_thread_state, values), 0);
    pthread_join(thread, NULL);
    assert_int_equal(values[0], hipSuccess);
    assert_int_equal(values[1], 0);
    assert_int_equal(values[2], '\0');

    assert_int_equal(hip->hipPeekAtLastError(), hipErrorInvalidDevicePointer);
    assert_hip(&gpu, hip->hipSetDevice(0)); /* success takes no error away */
    assert_int_equal(hip->hipGetLastError(), hipErrorInvalidDevicePointer);
    assert_int_equal(hip->hipGetLastError(), hipSuccess);
    assert_non_null(strstr(gpu.error(), "hipFree"));
}

static void errors_have_hips_names_and_texts(void **state)
{
    (void)state;
    assert_string_equal(hip->hipGetErrorName(hipSuccess), "hipSuccess");
    assert_string_equal(hip->hipGetErrorString(hipSuccess), "no error");
    assert_string_equal(hip->hipGetErrorName(hipErrorStreamCaptureUnsupported),
                        "hipErrorStreamCaptureUnsupported");
    assert_string_equal(hip->hipGetErrorString(hipErrorNoBinaryForGpu),
                        "no kernel image is available for execution on the device");
    assert_string_equal(hip->hipGetErrorName((hipError_t)12345), "hipErrorUnknown");
    assert_string_equal(hip->hipGetErrorString((hipError_t)12345), "unknown error");
}

static void memory_is_allocated_and_freed(void **state)
{
    (void)state;
    size_t before, after, total;
    void *pointer = &not_a_handle;
    assert_hip(&gpu, hip->hipMemGetInfo(&before, &total));
    assert_int_equal(hip->hipMemGetInfo(NULL, &total), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemGetInfo(&before, NULL), hipErrorInvalidValue);
    assert_hip(&gpu, hip->hipMalloc(&pointer, 1000));
    assert_int_equal((uintptr_t)pointer % 256, 0);
    assert_hip(&gpu, hip->hipMemGetInfo(&after, &total));
    assert_true(after <= before - 1000);
    assert_hip(&gpu, hip->hipFree(pointer));
    assert_hip(&gpu, hip->hipMemGetInfo(&after, &total));
    assert_int_equal(after, before);

    assert_int_equal(hip->hipFree(pointer), hipErrorInvalidDevicePointer);
    assert_int_equal(hip->hipFree(&not_a_handle), hipErrorInvalidDevicePointer);
    assert_hip(&gpu, hip->hipFree(NULL));
    assert_int_equal(hip->hipMalloc(NULL, 16), hipErrorInvalidValue);
    assert_hip(&gpu, hip->hipMalloc(&pointer, 0));
    assert_null(pointer);
    assert_int_equal(hip->hipMalloc(&pointer, total + 1), hipErrorOutOfMemory);
    assert_int_equal(hip->hipMalloc(&pointer, SIZE_MAX), hipErrorOutOfMemory);
    assert_null(pointer);
}

static void host_memory_is_visible_to_kernels(void **state)
{
    (void)state;
    hipFunction_t twice = gpu_compile(
        &gpu, "extern \"C\" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }\n", "twice");
    void *pointer;
    assert_hip(&gpu, hip->hipHostMalloc(&pointer, 64 * sizeof(int), hipHostMallocMapped));
    int *values = pointer;
    for (int i = 0; i < 64; i++)
        values[i] = i;
    gpu_launch(&gpu, twice, 1, 64, &pointer);
    for (int i = 0; i < 64; i++)
        assert_int_equal(values[i], 2 * i);

    hipPointerAttribute_t attributes;
    assert_hip(&gpu, hip->hipPointerGetAttributes(&attributes, values + 3));
    assert_int_equal(attributes.type, hipMemoryTypeHost);
    assert_ptr_equal(attributes.hostPointer, values + 3);
    assert_int_equal(hip->hipFree(pointer), hipErrorInvalidDevicePointer);
    assert_hip(&gpu, hip->hipHostFree(pointer));
    assert_int_equal(hip->hipHostFree(pointer), hipErrorInvalidValue);
    assert_hip(&gpu, hip->hipHostFree(NULL));
    assert_int_equal(hip->hipHostMalloc(NULL, 16, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipHostMalloc(&pointer, 16, 0x8000), hipErrorInvalidValue);
    assert_int_equal(hip->hipHostMalloc(&pointer, SIZE_MAX / 2, 0), hipErrorOutOfMemory);
}

static void copies_move_bytes_and_stay_in_bounds(void **state)
{
    (void)state;
    char host[64], back[64] = {0};
    for (int i = 0; i < 64; i++)
        host[i] = (char)i;
    char *a = gpu_allocate(&gpu, 64), *b = gpu_allocate(&gpu, 64);
    assert_hip(&gpu, hip->hipMemcpy(a, host, 64, hipMemcpyHostToDevice));
    assert_hip(&gpu, hip->hipMemcpyAsync(b, a, 64, hipMemcpyDeviceToDevice, NULL));
    assert_hip(&gpu, hip->hipMemcpyAsync(back, b, 64, hipMemcpyDefault, NULL));
    assert_memory_equal(host, back, 64);
    assert_hip(&gpu, hip->hipMemcpy(back, host + 1, 8, hipMemcpyHostToHost));
    assert_memory_equal(back, host + 1, 8);
    assert_hip(&gpu, hip->hipMemset(a + 8, 0x5a, 4));
    assert_hip(&gpu, hip->hipMemsetAsync(a + 12, -1, 4, NULL));
    assert_hip(&gpu, hip->hipMemcpy(back, a, 64, hipMemcpyDeviceToHost));
    assert_memory_equal(back + 8, "\x5a\x5a\x5a\x5a\xff\xff\xff\xff", 8);
    assert_int_equal(back[7], 7);
    assert_int_equal(back[16], 16);

    /* Nothing is copied where there is nothing to copy, whatever the pointers. */
    assert_hip(&gpu, hip->hipMemcpy(NULL, NULL, 0, hipMemcpyDeviceToHost));
    assert_hip(&gpu, hip->hipMemset(NULL, 0, 0));

    assert_int_equal(hip->hipMemcpy(a, host, 64, 5), hipErrorInvalidMemcpyDirection);
    assert_int_equal(hip->hipMemcpy(NULL, host, 64, hipMemcpyHostToDevice), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(a, NULL, 64, hipMemcpyHostToDevice), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(a, b, 65, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(a + 1, b, 64, hipMemcpyDeviceToDevice), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(back, a + 60, 5, hipMemcpyDefault), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(back, host, 8, hipMemcpyHostToDevice), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemcpy(back, host, 8, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemset(back, 0, 8), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemset(NULL, 0, 8), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemset(a, 0, 65), hipErrorInvalidValue);
    assert_int_equal(hip->hipMemsetAsync(a, 0, 8, (hipStream_t)&not_a_handle),
                     hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipMemcpyAsync(a, b, 8, hipMemcpyDefault, (hipStream_t)&not_a_handle),
                     hipErrorContextIsDestroyed);
}

static void pointers_have_attributes(void **state)
{
    (void)state;
    hipPointerAttribute_t attributes;
    char *device = gpu_allocate(&gpu, 64);
    assert_hip(&gpu, hip->hipPointerGetAttributes(&attributes, device + 10));
    assert_int_equal(attributes.type, hipMemoryTypeDevice);
    assert_int_equal(attributes.device, 0);
    assert_ptr_equal(attributes.devicePointer, device + 10);
    assert_int_equal(hip->hipPointerGetAttributes(&attributes, &not_a_handle),
                     hipErrorInvalidValue);
    assert_int_equal(hip->hipPointerGetAttributes(NULL, device), hipErrorInvalidValue);
    assert_int_equal(hip->hipPointerGetAttributes(&attributes, NULL), hipErrorInvalidValue);
}

static void streams_live_until_destroyed(void **state)
{
    (void)state;
    hipStream_t stream;
    hipDevice_t device = -1;
    assert_hip(&gpu, hip->hipSetDevice(1));
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    assert_hip(&gpu, hip->hipSetDevice(0));
    assert_hip(&gpu, hip->hipStreamGetDevice(stream, &device));
    assert_int_equal(device, 1);
    assert_hip(&gpu, hip->hipStreamGetDevice(NULL, &device));
    assert_int_equal(device, 0);
    assert_hip(&gpu, hip->hipStreamSynchronize(stream));
    assert_hip(&gpu, hip->hipStreamQuery(stream));
    assert_hip(&gpu, hip->hipStreamQuery(hipStreamLegacy));
    assert_hip(&gpu, hip->hipStreamDestroy(stream));

    assert_int_equal(hip->hipStreamDestroy(stream), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipStreamSynchronize(stream), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipStreamQuery(stream), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipStreamGetDevice(stream, &device), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipStreamGetDevice(NULL, NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamDestroy(NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipStreamDestroy(hipStreamLegacy), hipErrorInvalidHandle);
    assert_int_equal(hip->hipStreamCreateWithFlags(NULL, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamCreateWithFlags(&stream, 2), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamQuery(hipStreamPerThread), hipErrorNotSupported);
}

static void events_tell_the_time_between_them(void **state)
{
    (void)state;
    hipEvent_t start, stop, untimed;
    float milliseconds = -1;
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&start, hipEventDefault));
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&stop, hipEventBlockingSync));
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    assert_hip(&gpu, hip->hipEventQuery(start)); /* never recorded: done */
    assert_int_equal(hip->hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle);
    assert_hip(&gpu, hip->hipEventRecord(start, NULL));
    assert_hip(&gpu, hip->hipEventRecord(stop, NULL));
    assert_hip(&gpu, hip->hipEventRecord(untimed, NULL));
    assert_hip(&gpu, hip->hipEventSynchronize(stop));
    assert_hip(&gpu, hip->hipEventQuery(stop));
    assert_hip(&gpu, hip->hipStreamWaitEvent(NULL, stop, 0));
    assert_hip(&gpu, hip->hipEventElapsedTime(&milliseconds, start, stop));
    assert_true(milliseconds >= 0 && milliseconds < 60000);
    assert_hip(&gpu, hip->hipEventElapsedTime(&milliseconds, stop, start));
    assert_true(milliseconds <= 0);

    assert_int_equal(hip->hipEventElapsedTime(NULL, start, stop), hipErrorInvalidValue);
    assert_int_equal(hip->hipEventElapsedTime(&milliseconds, start, untimed),
                     hipErrorInvalidHandle);
    assert_int_equal(hip->hipEventElapsedTime(&milliseconds, NULL, stop), hipErrorInvalidHandle);
    assert_int_equal(hip->hipEventCreateWithFlags(NULL, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipEventCreateWithFlags(&stop, 0x100), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamWaitEvent(NULL, stop, 8), hipErrorInvalidValue);
    assert_int_equal(hip->hipEventRecord(start, (hipStream_t)&not_a_handle),
                     hipErrorContextIsDestroyed);

    hipEvent_t elsewhere;
    assert_hip(&gpu, hip->hipSetDevice(1));
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&elsewhere, 0));
    assert_hip(&gpu, hip->hipSetDevice(0));
    assert_int_equal(hip->hipEventRecord(elsewhere, NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipEventElapsedTime(&milliseconds, start, elsewhere),
                     hipErrorInvalidHandle);

    assert_hip(&gpu, hip->hipEventDestroy(start));
    assert_hip(&gpu, hip->hipEventDestroy(stop));
    assert_hip(&gpu, hip->hipEventDestroy(untimed));
    assert_hip(&gpu, hip->hipEventDestroy(elsewhere));
    assert_int_equal(hip->hipEventDestroy(start), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipEventDestroy(NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipEventRecord(start, NULL), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipEventRecord(NULL, NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipEventSynchronize(start), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipEventQuery(NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipStreamWaitEvent(NULL, start, 0), hipErrorContextIsDestroyed);
}

static const char kernel_source[] =
    "extern \"C\" __global__ void __launch_bounds__(256) one(int *x)"
    "{ __shared__ int y[100]; y[threadIdx.x % 100] = 1;"
    "  __syncthreads(); *x = y[threadIdx.x % 100]; }\n";

static void modules_give_out_their_kernels(void **state)
{
    (void)state;
    struct bytes code;
    gpu_compile_code(&gpu, kernel_source, NULL, &code);
    hipModule_t module;
    hipFunction_t function;
    int value;
    assert_hip(&gpu, hip->hipModuleLoadData(&module, code.data));
    assert_hip(&gpu, hip->hipModuleGetFunction(&function, module, "one"));
    assert_int_equal(hip->hipModuleGetFunction(&function, module, "two"), hipErrorNotFound);
    assert_int_equal(hip->hipModuleGetFunction(&function, module, "one.kd"), hipErrorNotFound);
    assert_int_equal(hip->hipModuleGetFunction(NULL, module, "one"), hipErrorInvalidValue);
    assert_int_equal(hip->hipModuleGetFunction(&function, module, ""), hipErrorInvalidValue);
    assert_int_equal(hip->hipModuleGetFunction(&function, module, NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipModuleGetFunction(&function, NULL, "one"), hipErrorInvalidHandle);
    assert_int_equal(hip->hipModuleGetGlobal(NULL, NULL, module, "one"), hipErrorInvalidValue);

    assert_hip(
        &gpu, hip->hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    assert_int_equal(value, 256);
    assert_hip(&gpu,
               hip->hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 400);
    assert_hip(&gpu, hip->hipFuncGetAttribute(
                         &value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 163840 - 400);
    assert_hip(&gpu,
               hip->hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
    assert_int_equal(value, 0);
    assert_hip(&gpu, hip->hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, function));
    assert_true(value >= 4 && value <= 512);
    assert_int_equal(hip->hipFuncGetAttribute(&value, 77, function), hipErrorInvalidValue);
    assert_int_equal(hip->hipFuncGetAttribute(NULL, 0, function), hipErrorInvalidValue);
    assert_int_equal(hip->hipFuncGetAttribute(&value, 0, NULL), hipErrorInvalidDeviceFunction);

    assert_hip(&gpu, hip->hipModuleUnload(module));
    assert_int_equal(hip->hipModuleUnload(module), hipErrorNotFound);
    assert_int_equal(hip->hipModuleUnload(NULL), hipErrorInvalidHandle);
    assert_int_equal(hip->hipModuleGetFunction(&function, module, "one"), hipErrorInvalidHandle);
    assert_int_equal(hip->hipFuncGetAttribute(&value, 0, function), hipErrorInvalidDeviceFunction);
    assert_int_equal(hip->hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     hipErrorInvalidHandle);
    bytes_free(&code);
}

static void a_kernel_belongs_to_the_device_it_was_loaded_on(void **state)
{
    (void)state;
    hipFunction_t one = gpu_compile(&gpu, kernel_source, "one");
    void *pointer = gpu_allocate(&gpu, 4);
    hipStream_t here;
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&here, 0));
    assert_hip(&gpu, hip->hipSetDevice(1));
    void *arguments[] = {&pointer};
    assert_int_equal(hip->hipModuleLaunchKernel(one, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL),
                     hipErrorInvalidHandle);
    assert_int_equal(hip->hipModuleLaunchKernel(one, 1, 1, 1, 64, 1, 1, 0, here, arguments, NULL),
                     hipErrorInvalidHandle);
    assert_hip(&gpu, hip->hipSetDevice(0));
    assert_hip(&gpu, hip->hipModuleLaunchKernel(one, 1, 1, 1, 64, 1, 1, 0, here, arguments, NULL));
    assert_hip(&gpu, hip->hipStreamDestroy(here));
}

static void images_that_are_no_code_objects_are_refused(void **state)
{
    (void)state;
    hipModule_t module = NULL;
    static const char text[64] = "this is no code object";
    assert_int_equal(hip->hipModuleLoadData(&module, text), hipErrorInvalidImage);
    assert_int_equal(hip->hipModuleLoadData(&module, NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipModuleLoadData(NULL, text), hipErrorInvalidValue);

    struct bytes code;
    gpu_compile_code(&gpu, kernel_source, NULL, &code);
    code.data[48] = 0x4c; /* e_flags: another machine, gfx942 */
    assert_int_equal(hip->hipModuleLoadData(&module, code.data), hipErrorNoBinaryForGpu);
    assert_non_null(strstr(gpu.error(), "gfx950"));
    assert_null(module);
    bytes_free(&code);
}

int main(void)
{
    setenv("DSAJIT_EMULATOR_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_those_of_the_environment),
        cmocka_unit_test(properties_are_those_of_an_mi350x),
        cmocka_unit_test(last_error_and_current_device_belong_to_the_thread),
        cmocka_unit_test(errors_have_hips_names_and_texts),
        cmocka_unit_test(memory_is_allocated_and_freed),
        cmocka_unit_test(host_memory_is_visible_to_kernels),
        cmocka_unit_test(copies_move_bytes_and_stay_in_bounds),
        cmocka_unit_test(pointers_have_attributes),
        cmocka_unit_test(streams_live_until_destroyed),
        cmocka_unit_test(events_tell_the_time_between_them),
        cmocka_unit_test(modules_give_out_their_kernels),
        cmocka_unit_test(a_kernel_belongs_to_the_device_it_was_loaded_on),
        cmocka_unit_test(images_that_are_no_code_objects_are_refused),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
