#include "emulator/hip_event.h"

#include "emulator/handles.h"
#include "emulator/hip_stream.h"

#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* recorded and nanoseconds of all events */

static hipError_t check_event(const char *function, hipEvent_t event)
{
    if (!event)
        return hip_fail(hipErrorInvalidHandle, "%s: event is null", function);
    if (!handle_known(HANDLE_EVENT, event))
        return hip_fail(hipErrorContextIsDestroyed, "%s: %p is no event", function, (void *)event);
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *result, unsigned int flags)
{
    struct device *device;
    if (!result)
        return hip_fail(hipErrorInvalidValue, "hipEventCreateWithFlags: event is null");
    if (flags & ~(unsigned)(hipEventBlockingSync | hipEventDisableTiming))
        return hip_fail(hipErrorInvalidValue, "hipEventCreateWithFlags: flags 0x%x", flags);
    hipError_t error = device_current("hipEventCreateWithFlags", &device);
    if (error)
        return error;
    hipEvent_t event = calloc(1, sizeof *event);
    if (event)
        *event = (struct ihipEvent_t){.device = device, .flags = flags};
    if (!event || !handle_add(HANDLE_EVENT, event)) {
        free(event);
        return hip_fail(hipErrorOutOfMemory, "hipEventCreateWithFlags: out of memory");
    }
    *result = event;
    return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    hipError_t error = check_event("hipEventDestroy", event);
    if (error)
        return error;
    if (handle_remove(HANDLE_EVENT, event)) {
        frontier_clear(&event->frontier);
        free(event);
    }
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t handle)
{
    hipStream_t stream;
    bool captured;
    hipError_t error = check_event("hipEventRecord", event);
    if (!error)
        error = stream_find("hipEventRecord", handle, &stream);
    if (error)
        return error;
    if (event->device != stream->device)
        return hip_fail(hipErrorInvalidHandle,
                        "hipEventRecord: an event of device %d, a stream of device %d",
                        event->device->ordinal, stream->device->ordinal);
    error = capture_record_event("hipEventRecord", stream, event, &captured);
    if (!error && !captured)
        error = device_check("hipEventRecord", stream->device);
    if (error || captured)
        return error;
    struct timespec now;
    stream_begin(stream);
    clock_gettime(CLOCK_MONOTONIC, &now);
    stream_end(stream);
    pthread_mutex_lock(&lock);
    event->recorded = true;
    event->nanoseconds = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

/* What an event stands for has been done when hipEventRecord returns. */
static hipError_t check_done(const char *function, hipEvent_t event)
{
    hipError_t error = check_event(function, event);
    if (!error)
        error = capture_forbid_event(function, event);
    return error ? error : device_check(function, event->device);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return check_done("hipEventSynchronize", event);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return check_done("hipEventQuery", event);
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned int flags)
{
    hipStream_t stream;
    if (flags)
        return hip_fail(hipErrorInvalidValue, "hipStreamWaitEvent: flags 0x%x", flags);
    hipError_t error = check_event("hipStreamWaitEvent", event);
    if (!error)
        error = stream_find("hipStreamWaitEvent", handle, &stream);
    if (!error)
        error = capture_wait_event("hipStreamWaitEvent", stream, event);
    return error ? error : device_check("hipStreamWaitEvent", stream->device);
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    static const char function[] = "hipEventElapsedTime";
    if (!milliseconds)
        return hip_fail(hipErrorInvalidValue, "%s: milliseconds is null", function);
    hipError_t error = check_event(function, start);
    if (!error)
        error = check_event(function, stop);
    if (!error)
        error = capture_forbid_event(function, start);
    if (!error)
        error = capture_forbid_event(function, stop);
    if (error)
        return error;
    if (start->device != stop->device)
        return hip_fail(hipErrorInvalidHandle, "%s: events of two devices", function);
    if ((start->flags | stop->flags) & hipEventDisableTiming)
        return hip_fail(hipErrorInvalidHandle, "%s: an event has no timing", function);
    pthread_mutex_lock(&lock);
    bool recorded = start->recorded && stop->recorded;
    int64_t elapsed = stop->nanoseconds - start->nanoseconds;
    pthread_mutex_unlock(&lock);
    if (!recorded)
        return hip_fail(hipErrorInvalidHandle, "%s: an event was never recorded", function);
    *milliseconds = (float)((double)elapsed * 1e-6);
    return hipSuccess;
}
