#include "captures.h"

#include "harness.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct hip_table hip;
unsigned long (*count_calls)(const char *name);
void (*reset_counts)(void);

static void load(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof symbol);
}

int captures_open(void **state)
{
    (void)state;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_HIP;
    options.hip_library = COUNTING_HIP;
    if (harness_open_with(&options))
        return -1;
    void *library = dlopen(COUNTING_HIP, RTLD_NOW | RTLD_NOLOAD);
    load(library, "counting_hip_count", &count_calls);
    load(library, "counting_hip_reset", &reset_counts);
#define HIP_FUNCTION(result, name, parameters) load(library, #name, &hip.name);
#include "base/hip_functions.def"
    return 0;
}

hipStream_t create_stream(void)
{
    hipStream_t stream;
    assert_int_equal(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess);
    return stream;
}

void begin_capture(hipStream_t stream)
{
    assert_int_equal(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
}

void end_capture(hipStream_t stream)
{
    hipGraph_t graph;
    assert_int_equal(hip.hipStreamEndCapture(stream, &graph), hipSuccess);
    assert_int_equal(hip.hipGraphDestroy(graph), hipSuccess);
}

hipGraphExec_t end_capture_as_graph(hipStream_t stream)
{
    hipGraph_t graph;
    hipGraphExec_t executable;
    assert_int_equal(hip.hipStreamEndCapture(stream, &graph), hipSuccess);
    assert_int_equal(hip.hipGraphInstantiate(&executable, graph, NULL, NULL, 0), hipSuccess);
    assert_int_equal(hip.hipGraphDestroy(graph), hipSuccess);
    return executable;
}

void replay_graph(hipGraphExec_t graph, hipStream_t stream)
{
    assert_int_equal(hip.hipGraphLaunch(graph, stream), hipSuccess);
    assert_int_equal(hip.hipStreamSynchronize(stream), hipSuccess);
}
