/* Stream capture and graphs. */
#include "support/gpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct gpu gpu;
static struct hip_table *const hip = &gpu.hip;
static hipFunction_t add;
static hipStream_t stream, other;
static int *numbers; /* 64 of device memory */

static const char source[] = "extern \"C\" __global__ void add(int *x, int n)"
                             "{ x[threadIdx.x] += n; }\n";

static int open_gpu(void **state)
{
    (void)state;
    gpu_open(&gpu);
    add = gpu_compile(&gpu, source, "add");
    numbers = gpu_allocate(&gpu, 64 * sizeof(int));
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    gpu_close(&gpu);
    return 0;
}

static int create_streams(void **state)
{
    (void)state;
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    assert_hip(&gpu, hip->hipMemset(numbers, 0, 64 * sizeof(int)));
    return 0;
}

static int destroy_streams(void **state)
{
    (void)state;
    assert_hip(&gpu, hip->hipStreamDestroy(stream));
    assert_hip(&gpu, hip->hipStreamDestroy(other));
    return 0;
}

static hipError_t launch_add(hipStream_t where, int n)
{
    /* Both are gone when the call returns: the values are what counts. */
    int *pointer = numbers;
    void *arguments[] = {&pointer, &n};
    hipError_t error =
        hip->hipModuleLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, where, arguments, NULL);
    n = -1000;
    pointer = NULL;
    return error;
}

static int number(int index)
{
    int value;
    assert_hip(&gpu, hip->hipMemcpy(&value, numbers + index, sizeof value, hipMemcpyDeviceToHost));
    return value;
}

static hipStreamCaptureStatus status_of(hipStream_t which)
{
    hipStreamCaptureStatus status = 99;
    assert_hip(&gpu, hip->hipStreamIsCapturing(which, &status));
    return status;
}

static void begin(hipStreamCaptureMode mode)
{
    assert_hip(&gpu, hip->hipStreamBeginCapture(stream, mode));
}

/* Ends a capture that must have been invalidated. */
static void end_invalid(void)
{
    hipGraph_t graph = (hipGraph_t)&gpu;
    assert_int_equal(status_of(stream), hipStreamCaptureStatusInvalidated);
    assert_int_equal(hip->hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(status_of(stream), hipStreamCaptureStatusNone);
}

static hipGraph_t end_valid(void)
{
    hipGraph_t graph = NULL;
    assert_int_equal(status_of(stream), hipStreamCaptureStatusActive);
    assert_hip(&gpu, hip->hipStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

static hipGraphExec_t instantiate(hipGraph_t graph)
{
    hipGraphExec_t executable = NULL;
    assert_hip(&gpu, hip->hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
    assert_hip(&gpu, hip->hipGraphDestroy(graph)); /* an executable graph stands alone */
    return executable;
}

static void captured_work_runs_at_each_replay_and_not_before(void **state)
{
    (void)state;
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, launch_add(stream, 3));
    assert_hip(&gpu, launch_add(stream, 4));
    hipGraphExec_t executable = instantiate(end_valid());
    assert_int_equal(number(0), 0);
    for (int i = 1; i <= 3; i++) {
        assert_hip(&gpu, hip->hipGraphLaunch(executable, stream));
        assert_hip(&gpu, hip->hipStreamSynchronize(stream));
        assert_int_equal(number(63), 7 * i);
    }
    assert_hip(&gpu, hip->hipGraphExecDestroy(executable));
}

static void replay_sees_what_the_buffers_hold_then(void **state)
{
    (void)state;
    int in = 5, out = 0;
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipMemcpyAsync(numbers, &in, 4, hipMemcpyHostToDevice, stream));
    assert_hip(&gpu, hip->hipMemsetAsync(numbers + 1, 0, 4, stream));
    assert_hip(&gpu, launch_add(stream, 1));
    assert_hip(&gpu, hip->hipMemcpyAsync(&out, numbers, 4, hipMemcpyDeviceToHost, stream));
    hipGraphExec_t executable = instantiate(end_valid());
    assert_int_equal(out, 0);
    assert_hip(&gpu, hip->hipGraphLaunch(executable, stream));
    assert_int_equal(out, 6);
    in = 70;
    assert_hip(&gpu, hip->hipGraphLaunch(executable, other));
    assert_int_equal(out, 71);
    assert_int_equal(number(1), 1);
    assert_int_equal(number(2), 2);
    assert_hip(&gpu, hip->hipGraphExecDestroy(executable));
}

static void empty_capture_makes_an_empty_graph(void **state)
{
    (void)state;
    char log[8] = "garbage";
    hipGraphNode_t node = (hipGraphNode_t)&gpu;
    hipGraphExec_t executable;
    begin(hipStreamCaptureModeRelaxed);
    hipGraph_t graph = end_valid();
    assert_hip(&gpu, hip->hipGraphInstantiate(&executable, graph, &node, log, sizeof log));
    assert_string_equal(log, "");
    assert_null(node);
    assert_hip(&gpu, hip->hipGraphDestroy(graph));
    assert_hip(&gpu, hip->hipGraphLaunch(executable, NULL));
    assert_hip(&gpu, hip->hipGraphExecDestroy(executable));
}

/* The calls that allocate, free or load are unsafe in a capture that isn't relaxed. */
static hipError_t unsafe_call(int which)
{
    static char image[64];
    void *pointer;
    hipModule_t module;
    switch (which) {
    case 0:
        return hip->hipMalloc(&pointer, 16);
    case 1:
        return hip->hipFree(numbers);
    case 2:
        return hip->hipHostMalloc(&pointer, 16, 0);
    case 3:
        return hip->hipModuleLoadData(&module, image);
    case 4:
        return hip->hipModuleUnload(gpu.modules[0]);
    default:
        return hip->hipHostFree(image);
    }
}

static void unsafe_calls_invalidate_a_global_capture(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        begin(hipStreamCaptureModeGlobal);
        assert_int_equal(unsafe_call(which), hipErrorStreamCaptureUnsupported);
        assert_int_equal(launch_add(stream, 1), hipErrorStreamCaptureInvalidated);
        end_invalid();
    }
    assert_hip(&gpu, launch_add(stream, 1)); /* an ordinary stream again */
    assert_int_equal(number(0), 1);
}

static void *call_malloc(void *result)
{
    void *pointer = NULL;
    *(hipError_t *)result = hip->hipMalloc(&pointer, 16);
    hip->hipFree(pointer);
    return NULL;
}

static hipError_t malloc_in_another_thread(void)
{
    pthread_t thread;
    hipError_t error = hipErrorUnknown;
    assert_int_equal(pthread_create(&thread, NULL, call_malloc, &error), 0);
    pthread_join(thread, NULL);
    return error;
}

static void capture_mode_says_which_threads_it_restricts(void **state)
{
    (void)state;
    void *pointer;
    begin(hipStreamCaptureModeGlobal);
    assert_int_equal(malloc_in_another_thread(), hipErrorStreamCaptureUnsupported);
    end_invalid();

    begin(hipStreamCaptureModeThreadLocal);
    assert_int_equal(malloc_in_another_thread(), hipSuccess);
    assert_int_equal(status_of(stream), hipStreamCaptureStatusActive);
    assert_int_equal(hip->hipMalloc(&pointer, 16), hipErrorStreamCaptureUnsupported);
    end_invalid();

    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(malloc_in_another_thread(), hipSuccess);
    assert_hip(&gpu, hip->hipMalloc(&pointer, 16));
    assert_hip(&gpu, hip->hipFree(pointer));
    assert_hip(&gpu, hip->hipGraphDestroy(end_valid()));
}

static void thread_can_relax_its_own_mode(void **state)
{
    (void)state;
    void *pointer;
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipMalloc(&pointer, 16));
    assert_hip(&gpu, hip->hipFree(pointer));
    assert_hip(&gpu, hip->hipThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, hipStreamCaptureModeRelaxed);
    assert_hip(&gpu, hip->hipGraphDestroy(end_valid()));
    mode = 3;
    assert_int_equal(hip->hipThreadExchangeStreamCaptureMode(&mode), hipErrorInvalidValue);
    assert_int_equal(hip->hipThreadExchangeStreamCaptureMode(NULL), hipErrorInvalidValue);
}

static void waiting_invalidates_the_capture(void **state)
{
    (void)state;
    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(hip->hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
    end_invalid();
    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(hip->hipStreamQuery(stream), hipErrorStreamCaptureUnsupported);
    end_invalid();
    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(hip->hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported);
    end_invalid();
    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(hip->hipMemset(numbers, 0, 4), hipErrorStreamCaptureImplicit);
    end_invalid();
    begin(hipStreamCaptureModeRelaxed);
    assert_hip(&gpu, hip->hipStreamSynchronize(other)); /* not of this capture */
    assert_hip(&gpu, hip->hipGraphDestroy(end_valid()));
}

static void null_stream_minds_only_blocking_streams(void **state)
{
    (void)state;
    hipStreamCaptureStatus status = 99;
    begin(hipStreamCaptureModeRelaxed);
    assert_hip(&gpu, launch_add(NULL, 2));
    assert_hip(&gpu, hip->hipStreamIsCapturing(NULL, &status));
    assert_int_equal(status, hipStreamCaptureStatusNone);
    assert_hip(&gpu, hip->hipGraphDestroy(end_valid()));
    assert_int_equal(number(0), 2);

    hipStream_t blocking;
    hipGraph_t graph;
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&blocking, hipStreamDefault));
    assert_hip(&gpu, hip->hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed));
    assert_int_equal(launch_add(NULL, 2), hipErrorStreamCaptureImplicit);
    assert_int_equal(hip->hipStreamIsCapturing(NULL, &status), hipErrorStreamCaptureImplicit);
    assert_int_equal(hip->hipStreamEndCapture(blocking, &graph), hipErrorStreamCaptureInvalidated);
    assert_hip(&gpu, hip->hipStreamDestroy(blocking));
    assert_int_equal(number(0), 2);
}

static void fork_and_join_through_events(void **state)
{
    (void)state;
    hipEvent_t fork, join;
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&fork, hipEventDisableTiming));
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&join, hipEventDisableTiming));
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, launch_add(stream, 1));
    assert_hip(&gpu, hip->hipEventRecord(fork, stream));
    assert_hip(&gpu, hip->hipStreamWaitEvent(other, fork, 0));
    assert_int_equal(status_of(other), hipStreamCaptureStatusActive);
    assert_hip(&gpu, launch_add(other, 10));
    assert_hip(&gpu, launch_add(stream, 100));
    assert_int_equal(hip->hipStreamEndCapture(other, (hipGraph_t[1]){0}),
                     hipErrorStreamCaptureUnmatched);
    assert_hip(&gpu, hip->hipEventRecord(join, other));
    assert_hip(&gpu, hip->hipStreamWaitEvent(stream, join, 0));
    assert_hip(&gpu, launch_add(stream, 1000));
    hipGraphExec_t executable = instantiate(end_valid());
    assert_int_equal(status_of(other), hipStreamCaptureStatusNone);
    assert_hip(&gpu, hip->hipGraphLaunch(executable, NULL));
    assert_int_equal(number(5), 1111);
    assert_hip(&gpu, hip->hipGraphExecDestroy(executable));

    /* The events belonged to a capture that is over. */
    assert_int_equal(hip->hipEventQuery(join), hipErrorCapturedEvent);
    assert_int_equal(hip->hipStreamWaitEvent(stream, join, 0), hipErrorCapturedEvent);
    assert_hip(&gpu, hip->hipEventRecord(join, stream));
    assert_hip(&gpu, hip->hipEventQuery(join));
    assert_hip(&gpu, hip->hipEventDestroy(fork));
    assert_hip(&gpu, hip->hipEventDestroy(join));
}

static void forked_work_that_is_not_joined_is_an_error(void **state)
{
    (void)state;
    hipEvent_t fork;
    hipGraph_t graph;
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&fork, hipEventDisableTiming));
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipEventRecord(fork, stream));
    assert_hip(&gpu, hip->hipStreamWaitEvent(other, fork, 0));
    assert_hip(&gpu, launch_add(other, 10));
    assert_hip(&gpu, launch_add(stream, 10));
    assert_int_equal(hip->hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
    assert_null(graph);
    assert_int_equal(status_of(other), hipStreamCaptureStatusNone);
    assert_hip(&gpu, hip->hipEventDestroy(fork));
}

static void events_tie_no_two_captures_together(void **state)
{
    (void)state;
    hipEvent_t event;
    hipGraph_t graph;
    assert_hip(&gpu, hip->hipEventCreateWithFlags(&event, hipEventDisableTiming));
    begin(hipStreamCaptureModeRelaxed);
    assert_hip(&gpu, hip->hipStreamBeginCapture(other, hipStreamCaptureModeRelaxed));
    assert_hip(&gpu, hip->hipEventRecord(event, other));
    assert_int_equal(hip->hipStreamWaitEvent(stream, event, 0), hipErrorStreamCaptureMerge);
    end_invalid();
    assert_int_equal(hip->hipStreamEndCapture(other, &graph), hipErrorStreamCaptureInvalidated);

    assert_hip(&gpu, hip->hipEventRecord(event, other));
    begin(hipStreamCaptureModeRelaxed);
    assert_int_equal(hip->hipStreamWaitEvent(stream, event, 0), hipErrorStreamCaptureIsolation);
    end_invalid();

    begin(hipStreamCaptureModeRelaxed);
    assert_hip(&gpu, hip->hipEventRecord(event, stream));
    assert_int_equal(hip->hipEventSynchronize(event), hipErrorCapturedEvent);
    end_invalid();
    assert_hip(&gpu, hip->hipEventDestroy(event));
}

static void *end_capture(void *result)
{
    hipGraph_t graph;
    *(hipError_t *)result = hip->hipStreamEndCapture(stream, &graph);
    return NULL;
}

static void capture_is_begun_and_ended_as_hip_wants_it(void **state)
{
    (void)state;
    hipGraph_t graph = NULL;
    hipStreamCaptureStatus status;
    assert_int_equal(hip->hipStreamBeginCapture(NULL, hipStreamCaptureModeGlobal),
                     hipErrorStreamCaptureUnsupported);
    assert_int_equal(hip->hipStreamBeginCapture(stream, 3), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamBeginCapture((hipStream_t)&gpu, 0), hipErrorContextIsDestroyed);
    assert_int_equal(hip->hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
    assert_int_equal(hip->hipStreamEndCapture(NULL, &graph), hipErrorIllegalState);
    assert_int_equal(hip->hipStreamEndCapture(stream, NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamIsCapturing(stream, NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipStreamIsCapturing((hipStream_t)&gpu, &status),
                     hipErrorContextIsDestroyed);
    begin(hipStreamCaptureModeThreadLocal);
    assert_int_equal(hip->hipStreamBeginCapture(stream, 0), hipErrorIllegalState);
    pthread_t thread;
    hipError_t error = hipSuccess;
    assert_int_equal(pthread_create(&thread, NULL, end_capture, &error), 0);
    pthread_join(thread, NULL);
    assert_int_equal(error, hipErrorStreamCaptureWrongThread);
    assert_hip(&gpu, hip->hipGraphDestroy(end_valid()));
}

static void bad_graph_handles_are_refused(void **state)
{
    (void)state;
    hipGraphExec_t executable;
    begin(hipStreamCaptureModeGlobal);
    hipGraph_t graph = end_valid();
    assert_int_equal(hip->hipGraphInstantiate(NULL, graph, NULL, NULL, 0), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphInstantiate(&executable, NULL, NULL, NULL, 0),
                     hipErrorInvalidValue);
    assert_hip(&gpu, hip->hipGraphDestroy(graph));
    assert_int_equal(hip->hipGraphDestroy(graph), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphDestroy(NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphInstantiate(&executable, graph, NULL, NULL, 0),
                     hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphLaunch(NULL, stream), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphLaunch((hipGraphExec_t)&gpu, stream), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphExecDestroy(NULL), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphExecDestroy((hipGraphExec_t)&gpu), hipErrorInvalidValue);
}

static void graph_launched_into_a_capture_becomes_part_of_it(void **state)
{
    (void)state;
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, launch_add(stream, 5));
    hipGraphExec_t inner = instantiate(end_valid());
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipGraphLaunch(inner, stream));
    assert_hip(&gpu, hip->hipGraphLaunch(inner, stream));
    hipGraphExec_t outer = instantiate(end_valid());
    assert_hip(&gpu, hip->hipGraphExecDestroy(inner));
    assert_int_equal(number(0), 0);
    assert_hip(&gpu, hip->hipGraphLaunch(outer, stream));
    assert_int_equal(number(0), 10);
    assert_hip(&gpu, hip->hipGraphExecDestroy(outer));
}

static void replay_notices_what_has_gone_meanwhile(void **state)
{
    (void)state;
    struct bytes code;
    hipModule_t module;
    hipFunction_t function;
    void *memory;
    gpu_compile_code(&gpu, source, NULL, &code);
    assert_hip(&gpu, hip->hipModuleLoadData(&module, code.data));
    assert_hip(&gpu, hip->hipModuleGetFunction(&function, module, "add"));
    bytes_free(&code);
    assert_hip(&gpu, hip->hipMalloc(&memory, 256));

    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipMemsetAsync(memory, 0, 256, stream));
    hipGraphExec_t fill = instantiate(end_valid());
    assert_hip(&gpu, hip->hipGraphLaunch(fill, stream));
    int n = 1;
    begin(hipStreamCaptureModeGlobal);
    assert_hip(&gpu, hip->hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream,
                                                (void *[]){&memory, &n}, NULL));
    hipGraphExec_t launch = instantiate(end_valid());
    assert_hip(&gpu, hip->hipGraphLaunch(launch, stream));

    assert_hip(&gpu, hip->hipFree(memory));
    assert_hip(&gpu, hip->hipModuleUnload(module));
    assert_int_equal(hip->hipGraphLaunch(fill, stream), hipErrorInvalidValue);
    assert_int_equal(hip->hipGraphLaunch(launch, stream), hipErrorInvalidHandle);
    assert_non_null(strstr(gpu.error(), "unloaded"));
    assert_hip(&gpu, hip->hipGraphExecDestroy(fill));
    assert_hip(&gpu, hip->hipGraphExecDestroy(launch));
}

static void destroying_a_capturing_stream_drops_its_graph(void **state)
{
    (void)state;
    hipStream_t short_lived;
    void *pointer;
    assert_hip(&gpu, hip->hipStreamCreateWithFlags(&short_lived, hipStreamNonBlocking));
    assert_hip(&gpu, hip->hipStreamBeginCapture(short_lived, hipStreamCaptureModeGlobal));
    assert_hip(&gpu, launch_add(short_lived, 1));
    assert_hip(&gpu, hip->hipStreamDestroy(short_lived));
    assert_hip(&gpu, hip->hipMalloc(&pointer, 16));
    assert_hip(&gpu, hip->hipFree(pointer));
    assert_int_equal(number(0), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, create_streams, destroy_streams)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(captured_work_runs_at_each_replay_and_not_before),
        TEST(replay_sees_what_the_buffers_hold_then),
        TEST(empty_capture_makes_an_empty_graph),
        TEST(unsafe_calls_invalidate_a_global_capture),
        TEST(capture_mode_says_which_threads_it_restricts),
        TEST(thread_can_relax_its_own_mode),
        TEST(waiting_invalidates_the_capture),
        TEST(null_stream_minds_only_blocking_streams),
        TEST(fork_and_join_through_events),
        TEST(forked_work_that_is_not_joined_is_an_error),
        TEST(events_tie_no_two_captures_together),
        TEST(capture_is_begun_and_ended_as_hip_wants_it),
        TEST(bad_graph_handles_are_refused),
        TEST(graph_launched_into_a_capture_becomes_part_of_it),
        TEST(replay_notices_what_has_gone_meanwhile),
        TEST(destroying_a_capturing_stream_drops_its_graph),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
