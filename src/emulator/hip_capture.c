#include "emulator/hip_capture.h"

#include "emulator/handles.h"
#include "emulator/hip_event.h"
#include "emulator/hip_stream.h"

#include <stdlib.h>

/* One capture sequence: the stream it began in and those that joined it by waiting for an event. */
struct capture {
    struct capture *next;
    uint64_t id;
    hipStreamCaptureMode mode;
    const void *thread; /* that began it */
    hipStream_t origin, members;
    hipGraph_t graph;
    bool invalidated;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;
static atomic_uint capture_count; /* lets calls pass without the lock while there is none */
static uint64_t last_id;

static _Thread_local hipStreamCaptureMode thread_mode = hipStreamCaptureModeGlobal;
static _Thread_local char thread_identity; /* its address is one */

static bool none_active(void)
{
    return atomic_load(&capture_count) == 0;
}

hipError_t capture_forbid_unsafe(const char *function)
{
    bool forbidden = false;
    if (none_active() || thread_mode == hipStreamCaptureModeRelaxed)
        return hipSuccess;
    pthread_mutex_lock(&lock);
    for (struct capture *capture = captures; capture; capture = capture->next) {
        bool mine =
            capture->thread == &thread_identity && capture->mode != hipStreamCaptureModeRelaxed;
        bool global = capture->mode == hipStreamCaptureModeGlobal &&
                      thread_mode == hipStreamCaptureModeGlobal;
        if (mine || global)
            capture->invalidated = forbidden = true;
    }
    pthread_mutex_unlock(&lock);
    if (forbidden)
        return hip_fail(hipErrorStreamCaptureUnsupported,
                        "%s: not allowed while a stream is being captured, which is now invalid",
                        function);
    return hipSuccess;
}

hipError_t capture_forbid_any(const char *function, hipError_t code)
{
    if (none_active())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    bool forbidden = captures != NULL;
    for (struct capture *capture = captures; capture; capture = capture->next)
        capture->invalidated = true;
    pthread_mutex_unlock(&lock);
    if (forbidden)
        return hip_fail(code,
                        "%s: not allowed while a stream is being captured, which is now "
                        "invalid",
                        function);
    return hipSuccess;
}

hipError_t capture_forbid_wait(const char *function, hipStream_t stream)
{
    pthread_mutex_lock(&lock);
    struct capture *capture = stream->capture;
    if (capture)
        capture->invalidated = true;
    pthread_mutex_unlock(&lock);
    if (capture)
        return hip_fail(hipErrorStreamCaptureUnsupported,
                        "%s: the stream is being captured; its capture is now invalid", function);
    return hipSuccess;
}

static bool is_legacy(const struct ihipStream_t *stream)
{
    return stream == stream->device->legacy;
}

/* Whether the null stream of `device` would wait for a stream of this capture. */
static bool blocks_legacy(const struct capture *capture, const struct device *device)
{
    for (hipStream_t member = capture->members; member; member = member->next_member)
        if (member->device == device && !(member->flags & hipStreamNonBlocking))
            return true;
    return false;
}

/* The two functions that follow need the lock. */
static hipError_t check_legacy(const char *function, const struct ihipStream_t *stream)
{
    bool forbidden = false;
    for (struct capture *capture = captures; capture; capture = capture->next)
        if (blocks_legacy(capture, stream->device))
            capture->invalidated = forbidden = true;
    if (forbidden)
        return hip_fail(hipErrorStreamCaptureImplicit,
                        "%s: the null stream would wait for a stream that is being captured, which "
                        "is now invalid",
                        function);
    return hipSuccess;
}

static hipError_t check_submission(const char *function, hipStream_t stream, bool *capturing)
{
    *capturing = stream->capture != NULL;
    if (is_legacy(stream))
        return check_legacy(function, stream);
    if (*capturing && stream->capture->invalidated)
        return hip_fail(hipErrorStreamCaptureInvalidated,
                        "%s: the stream's capture is invalid since an earlier call", function);
    return hipSuccess;
}

hipError_t capture_check(const char *function, hipStream_t stream, bool *capturing)
{
    *capturing = false;
    if (none_active())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    hipError_t error = check_submission(function, stream, capturing);
    pthread_mutex_unlock(&lock);
    return error;
}

static hipError_t append(const char *function, hipStream_t stream, const struct command *command)
{
    struct ihipGraph *graph = stream->capture->graph;
    hipError_t error = command_check(function, stream->device, command);
    if (error)
        return error;
    struct frontier after = {0};
    if (frontier_set(&after, graph->count) && graph_append(graph, command, &stream->frontier)) {
        frontier_clear(&stream->frontier);
        stream->frontier = after;
        return hipSuccess;
    }
    frontier_clear(&after);
    return hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
}

hipError_t capture_command(const char *function, hipStream_t stream, struct command *command,
                           bool *captured)
{
    *captured = false;
    if (none_active())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    hipError_t error = check_submission(function, stream, captured);
    if (*captured && !error)
        error = append(function, stream, command);
    pthread_mutex_unlock(&lock);
    if (*captured && error)
        command_free(command);
    return error;
}

/* ---- Joining and leaving; all need the lock ---- */

static void join(struct capture *capture, hipStream_t stream)
{
    stream->capture = capture;
    stream->next_member = capture->members;
    capture->members = stream;
}

static void leave(hipStream_t stream)
{
    hipStream_t *link = &stream->capture->members;
    while (*link != stream)
        link = &(*link)->next_member;
    *link = stream->next_member;
    stream->next_member = NULL;
    stream->capture = NULL;
    frontier_clear(&stream->frontier);
}

/* Ends a capture; its graph is the caller's. */
static hipGraph_t finish(struct capture *capture)
{
    while (capture->members)
        leave(capture->members);
    struct capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    hipGraph_t graph = capture->graph;
    free(capture);
    atomic_fetch_sub(&capture_count, 1);
    return graph;
}

static struct capture *find_capture(uint64_t id)
{
    struct capture *capture = captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

void capture_forget_stream(hipStream_t stream)
{
    hipGraph_t graph = NULL;
    pthread_mutex_lock(&lock);
    struct capture *capture = stream->capture;
    if (capture && capture->origin == stream) {
        graph = finish(capture);
    } else if (capture) {
        capture->invalidated = true;
        leave(stream);
    }
    pthread_mutex_unlock(&lock);
    graph_destroy(graph);
}

/* ---- Events ---- */

hipError_t capture_record_event(const char *function, hipStream_t stream, hipEvent_t event,
                                bool *captured)
{
    pthread_mutex_lock(&lock);
    hipError_t error = check_submission(function, stream, captured);
    if (!error && *captured) {
        if (frontier_copy(&event->frontier, &stream->frontier))
            event->capture_id = stream->capture->id;
        else
            error = hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
    } else if (!error) {
        event->capture_id = 0;
        frontier_clear(&event->frontier);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static hipError_t wait_for_captured(const char *function, hipStream_t stream, hipEvent_t event)
{
    struct capture *capture = find_capture(event->capture_id);
    if (!capture)
        return hip_fail(hipErrorCapturedEvent,
                        "%s: the event was last recorded in a capture that has ended", function);
    if (is_legacy(stream)) {
        capture->invalidated = true;
        return hip_fail(hipErrorStreamCaptureImplicit,
                        "%s: the null stream can't join a capture, which is now invalid", function);
    }
    if (stream->capture && stream->capture != capture) {
        capture->invalidated = stream->capture->invalidated = true;
        return hip_fail(hipErrorStreamCaptureMerge,
                        "%s: would join two captures, which are now invalid", function);
    }
    if (capture->invalidated)
        return hip_fail(hipErrorStreamCaptureInvalidated,
                        "%s: the event's capture is invalid since an earlier call", function);
    if (!frontier_merge(&stream->frontier, &event->frontier))
        return hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
    if (!stream->capture)
        join(capture, stream);
    return hipSuccess;
}

hipError_t capture_wait_event(const char *function, hipStream_t stream, hipEvent_t event)
{
    hipError_t error = hipSuccess;
    pthread_mutex_lock(&lock);
    if (event->capture_id) {
        error = wait_for_captured(function, stream, event);
    } else if (stream->capture && event->recorded) {
        stream->capture->invalidated = true;
        error = hip_fail(hipErrorStreamCaptureIsolation,
                         "%s: the event was recorded outside the stream's capture, which is now "
                         "invalid",
                         function);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

hipError_t capture_forbid_event(const char *function, hipEvent_t event)
{
    pthread_mutex_lock(&lock);
    bool captured = event->capture_id != 0;
    struct capture *capture = captured ? find_capture(event->capture_id) : NULL;
    if (capture)
        capture->invalidated = true;
    pthread_mutex_unlock(&lock);
    if (captured)
        return hip_fail(hipErrorCapturedEvent, "%s: the event was last recorded in a capture",
                        function);
    return hipSuccess;
}

/* ---- HIP's calls ---- */

hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status)
{
    hipStream_t stream;
    if (!status)
        return hip_fail(hipErrorInvalidValue, "hipStreamIsCapturing: status is null");
    hipError_t error = stream_find("hipStreamIsCapturing", handle, &stream);
    if (error)
        return error;
    *status = hipStreamCaptureStatusNone;
    if (none_active())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    if (is_legacy(stream))
        error = check_legacy("hipStreamIsCapturing", stream);
    else if (stream->capture)
        *status = stream->capture->invalidated ? hipStreamCaptureStatusInvalidated
                                               : hipStreamCaptureStatusActive;
    pthread_mutex_unlock(&lock);
    return error;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    if (!mode || *mode > hipStreamCaptureModeRelaxed)
        return hip_fail(hipErrorInvalidValue,
                        "hipThreadExchangeStreamCaptureMode: no mode, or none that is known");
    hipStreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode)
{
    hipStream_t stream;
    if (mode > hipStreamCaptureModeRelaxed)
        return hip_fail(hipErrorInvalidValue, "hipStreamBeginCapture: mode %u", mode);
    hipError_t error = stream_find("hipStreamBeginCapture", handle, &stream);
    if (error)
        return error;
    if (is_legacy(stream))
        return hip_fail(hipErrorStreamCaptureUnsupported,
                        "hipStreamBeginCapture: the null stream can't be captured");
    struct capture *capture = calloc(1, sizeof *capture);
    hipGraph_t graph = graph_create();
    if (!capture || !graph) {
        error = hip_fail(hipErrorOutOfMemory, "hipStreamBeginCapture: out of memory");
        goto fail;
    }
    pthread_mutex_lock(&lock);
    if (stream->capture) {
        pthread_mutex_unlock(&lock);
        error = hip_fail(hipErrorIllegalState,
                         "hipStreamBeginCapture: the stream is being captured already");
        goto fail;
    }
    *capture = (struct capture){.next = captures,
                                .id = ++last_id,
                                .mode = mode,
                                .thread = &thread_identity,
                                .origin = stream,
                                .graph = graph};
    captures = capture;
    atomic_fetch_add(&capture_count, 1);
    join(capture, stream);
    pthread_mutex_unlock(&lock);
    return hipSuccess;
fail:
    free(capture);
    graph_destroy(graph);
    return error;
}

/* Needs the lock. On success *graph is the capture's; else it has been thrown away, if it ended. */
static hipError_t end_capture(hipStream_t stream, hipGraph_t *graph)
{
    static const char function[] = "hipStreamEndCapture";
    struct capture *capture = stream->capture;
    if (!capture)
        return hip_fail(hipErrorIllegalState, "%s: the stream isn't being captured", function);
    if (capture->origin != stream)
        return hip_fail(hipErrorStreamCaptureUnmatched, "%s: the capture began in another stream",
                        function);
    if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != &thread_identity)
        return hip_fail(hipErrorStreamCaptureWrongThread, "%s: the capture began in another thread",
                        function);
    hipError_t error = hipSuccess;
    if (capture->invalidated)
        error = hip_fail(hipErrorStreamCaptureInvalidated,
                         "%s: the capture is invalid since an earlier call", function);
    else
        error = graph_check_joined(function, capture->graph, &stream->frontier);
    *graph = finish(capture);
    if (!error && !handle_add(HANDLE_GRAPH, *graph))
        error = hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
    if (error) {
        graph_destroy(*graph);
        *graph = NULL;
    }
    return error;
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph)
{
    hipStream_t stream;
    if (!graph)
        return hip_fail(hipErrorInvalidValue, "hipStreamEndCapture: graph is null");
    hipError_t error = stream_find("hipStreamEndCapture", handle, &stream);
    if (error)
        return error;
    pthread_mutex_lock(&lock);
    error = end_capture(stream, graph);
    pthread_mutex_unlock(&lock);
    return error;
}
