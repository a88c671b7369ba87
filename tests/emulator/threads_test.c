/* HIP's entry points from many threads at once: each has its own stream, memory and module, and all
   of them one device. Meant for the thread sanitizer too. */
#include "support/gpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 25, COUNT = 256 };

static struct gpu gpu;
static struct hip_table *const hip = &gpu.hip;
static struct bytes code;

static int open_gpu(void **state)
{
    (void)state;
    gpu_open(&gpu);
    gpu_compile_code(&gpu,
                     "extern \"C\" __global__ void add(int *x, int n)"
                     "{ x[blockIdx.x * blockDim.x + threadIdx.x] += n; }\n",
                     NULL, &code);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    bytes_free(&code);
    gpu_close(&gpu);
    return 0;
}

/* cmocka's assertions belong to the main thread, so a worker only says which line went wrong. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static int work_eagerly(hipFunction_t add, hipStream_t stream, int n)
{
    int values[COUNT], expected = 3 * n;
    void *device;
    EXPECT(!hip->hipMalloc(&device, sizeof values));
    EXPECT(!hip->hipMemsetAsync(device, 0, sizeof values, stream));
    for (int i = 0; i < 3; i++)
        EXPECT(!hip->hipModuleLaunchKernel(add, COUNT / 64, 1, 1, 64, 1, 1, 0, stream,
                                           (void *[]){&device, &n}, NULL));
    EXPECT(!hip->hipMemcpyAsync(values, device, sizeof values, hipMemcpyDeviceToHost, stream));
    EXPECT(!hip->hipStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        EXPECT(values[i] == expected);
    EXPECT(!hip->hipFree(device));
    return 0;
}

static int work_with_graphs(hipFunction_t add, hipStream_t stream, int n)
{
    int values[COUNT];
    void *device;
    hipGraph_t graph;
    hipGraphExec_t executable;
    EXPECT(!hip->hipMalloc(&device, sizeof values));
    EXPECT(!hip->hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    EXPECT(!hip->hipMemsetAsync(device, 0, sizeof values, stream));
    EXPECT(!hip->hipModuleLaunchKernel(add, COUNT / 64, 1, 1, 64, 1, 1, 0, stream,
                                       (void *[]){&device, &n}, NULL));
    EXPECT(!hip->hipMemcpyAsync(values, device, sizeof values, hipMemcpyDeviceToHost, stream));
    EXPECT(!hip->hipStreamEndCapture(stream, &graph));
    EXPECT(!hip->hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
    EXPECT(!hip->hipGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        memset(values, 0, sizeof values);
        EXPECT(!hip->hipGraphLaunch(executable, stream));
        EXPECT(!hip->hipStreamSynchronize(stream));
        for (int j = 0; j < COUNT; j++)
            EXPECT(values[j] == n);
    }
    EXPECT(!hip->hipGraphExecDestroy(executable));
    EXPECT(!hip->hipFree(device));
    return 0;
}

static int run_rounds(int index)
{
    hipModule_t module;
    hipFunction_t add;
    hipStream_t stream;
    hipEvent_t event;
    EXPECT(!hip->hipModuleLoadData(&module, code.data));
    EXPECT(!hip->hipModuleGetFunction(&add, module, "add"));
    EXPECT(!hip->hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    EXPECT(!hip->hipEventCreateWithFlags(&event, hipEventDefault));
    for (int round = 0; round < ROUNDS; round++) {
        int n = 1000 * index + round;
        int line =
            (round + index) % 2 ? work_eagerly(add, stream, n) : work_with_graphs(add, stream, n);
        if (line)
            return line;
        EXPECT(!hip->hipEventRecord(event, stream));
        EXPECT(!hip->hipEventSynchronize(event));
        EXPECT(!hip->hipStreamQuery(stream));
        EXPECT(hip->hipFree(&line) == hipErrorInvalidDevicePointer);
        EXPECT(hip->hipGetLastError() == hipErrorInvalidDevicePointer);
    }
    EXPECT(!hip->hipEventDestroy(event));
    EXPECT(!hip->hipStreamDestroy(stream));
    EXPECT(!hip->hipModuleUnload(module));
    return 0;
}

static void *run_thread(void *argument)
{
    int *index = argument;
    *index = run_rounds(*index);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int results[THREADS];
    for (int i = 0; i < THREADS; i++) {
        results[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &results[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(results[i], 0); /* else the line that failed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
