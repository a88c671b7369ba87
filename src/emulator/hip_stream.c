#include "emulator/hip_stream.h"

#include "emulator/handles.h"

#include <stdlib.h>

hipStream_t stream_create(struct device *device, unsigned flags)
{
    hipStream_t stream = calloc(1, sizeof *stream);
    if (stream) {
        stream->device = device;
        stream->flags = flags;
    }
    return stream;
}

hipError_t stream_find(const char *function, hipStream_t handle, hipStream_t *stream)
{
    struct device *device;
    hipError_t error = device_current(function, &device);
    if (error)
        return error;
    if (!handle || handle == hipStreamLegacy) {
        *stream = device->legacy;
        return hipSuccess;
    }
    if (handle == hipStreamPerThread)
        return hip_fail(hipErrorNotSupported, "%s: the emulator has no hipStreamPerThread",
                        function);
    if (!handle_known(HANDLE_STREAM, handle))
        return hip_fail(hipErrorContextIsDestroyed, "%s: %p is no stream", function,
                        (void *)handle);
    *stream = handle;
    return hipSuccess;
}

void stream_begin(hipStream_t stream)
{
    atomic_fetch_add(&stream->running, 1);
    pthread_mutex_lock(&stream->device->execution);
}

void stream_end(hipStream_t stream)
{
    pthread_mutex_unlock(&stream->device->execution);
    atomic_fetch_sub(&stream->running, 1);
}

hipError_t stream_submit(const char *function, hipStream_t stream, struct command *command)
{
    bool captured;
    hipError_t error = capture_command(function, stream, command, &captured);
    if (captured)
        return error;
    if (!error) {
        stream_begin(stream);
        error = command_run(function, stream->device, command);
        stream_end(stream);
    }
    command_free(command);
    return error;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *result, unsigned int flags)
{
    struct device *device;
    if (!result)
        return hip_fail(hipErrorInvalidValue, "hipStreamCreateWithFlags: stream is null");
    if (flags != hipStreamDefault && flags != hipStreamNonBlocking)
        return hip_fail(hipErrorInvalidValue, "hipStreamCreateWithFlags: flags 0x%x", flags);
    hipError_t error = device_current("hipStreamCreateWithFlags", &device);
    if (error)
        return error;
    hipStream_t stream = stream_create(device, flags);
    if (!stream || !handle_add(HANDLE_STREAM, stream)) {
        free(stream);
        return hip_fail(hipErrorOutOfMemory, "hipStreamCreateWithFlags: out of memory");
    }
    *result = stream;
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    if (!stream || stream == hipStreamLegacy || stream == hipStreamPerThread)
        return hip_fail(hipErrorInvalidHandle, "hipStreamDestroy: not a stream that was created");
    if (!handle_remove(HANDLE_STREAM, stream))
        return hip_fail(hipErrorContextIsDestroyed, "hipStreamDestroy: %p is no stream",
                        (void *)stream);
    capture_forget_stream(stream);
    free(stream);
    return hipSuccess;
}

static hipError_t find_to_wait(const char *function, hipStream_t handle, hipStream_t *stream)
{
    hipError_t error = stream_find(function, handle, stream);
    return error ? error : capture_forbid_wait(function, *stream);
}

static hipError_t wait_for(const char *function, hipStream_t handle)
{
    hipStream_t stream;
    hipError_t error = find_to_wait(function, handle, &stream);
    if (error)
        return error;
    stream_begin(stream);
    stream_end(stream);
    return device_check(function, stream->device);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return wait_for("hipStreamSynchronize", stream);
}

hipError_t hipStreamQuery(hipStream_t handle)
{
    hipStream_t stream;
    hipError_t error = find_to_wait("hipStreamQuery", handle, &stream);
    if (!error)
        error = device_check("hipStreamQuery", stream->device);
    if (!error && atomic_load(&stream->running))
        return hip_fail(hipErrorNotReady, "hipStreamQuery: busy");
    return error;
}

hipError_t hipDeviceSynchronize(void)
{
    hipError_t error = capture_forbid_any("hipDeviceSynchronize", hipErrorStreamCaptureUnsupported);
    return error ? error : wait_for("hipDeviceSynchronize", NULL);
}

hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device)
{
    hipStream_t stream;
    if (!device)
        return hip_fail(hipErrorInvalidValue, "hipStreamGetDevice: device is null");
    hipError_t error = stream_find("hipStreamGetDevice", handle, &stream);
    if (!error)
        *device = stream->device->ordinal;
    return error;
}
