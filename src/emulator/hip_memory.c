#include "emulator/hip_memory.h"

#include "emulator/hip_capture.h"
#include "emulator/hip_stream.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Host memory that hipHostMalloc gave out: the devices may touch it, but it isn't theirs. */
struct host_block {
    struct host_block *next;
    void *address;
    size_t size;
    unsigned flags;
};

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_block *host_blocks;

static bool find_host_block(const void *pointer, struct host_block *found)
{
    pthread_mutex_lock(&host_lock);
    const struct host_block *block = host_blocks;
    while (block && (uintptr_t)pointer - (uintptr_t)block->address >= block->size)
        block = block->next;
    if (block)
        *found = *block;
    pthread_mutex_unlock(&host_lock);
    return block != NULL;
}

/* The device in whose memory `pointer` lies, or NULL. */
static const struct device *find_owner(const void *pointer)
{
    int count = 0;
    struct host_block block;
    if (find_host_block(pointer, &block) || device_count("hipMemcpy", &count))
        return NULL;
    for (int i = 0; i < count; i++) {
        struct device *device;
        struct memory_hint hint = {0};
        char why[MEMORY_WHY_SIZE];
        if (!device_find("hipMemcpy", i, &device) &&
            device_memory_check(device->memory, &hint, (uintptr_t)pointer, 1, false, why))
            return device;
    }
    return NULL;
}

/* A range of device memory must lie in one allocation, and a range that has to be device memory
   must be. What host memory holds only the host knows. */
static hipError_t check_range(const char *function, const char *name, const void *pointer,
                              size_t size, bool write, bool must_be_device)
{
    if (!pointer)
        return hip_fail(hipErrorInvalidValue, "%s: %s is null", function, name);
    const struct device *owner = find_owner(pointer);
    struct host_block block;
    if (owner) {
        struct memory_hint hint = {0};
        char why[MEMORY_WHY_SIZE];
        if (device_memory_check(owner->memory, &hint, (uintptr_t)pointer, size, write, why))
            return hipSuccess;
        return hip_fail(hipErrorInvalidValue, "%s: %s: %s", function, name, why);
    }
    if (find_host_block(pointer, &block)) {
        if (size <= block.size - ((uintptr_t)pointer - (uintptr_t)block.address))
            return hipSuccess;
        return hip_fail(hipErrorInvalidValue,
                        "%s: %s: %zu bytes at %p leave the %zu bytes of host memory at %p",
                        function, name, size, pointer, block.size, block.address);
    }
    if (must_be_device)
        return hip_fail(hipErrorInvalidValue, "%s: %s %p isn't device memory", function, name,
                        pointer);
    return hipSuccess;
}

hipError_t memory_check_copy(const char *function, const struct copy_command *copy)
{
    /* A side that is said to be on the host may be device memory too: HIP looks for itself. */
    static const struct {
        bool destination, source;
    } on_device[] = {
        [hipMemcpyHostToHost] = {false, false},  [hipMemcpyHostToDevice] = {true, false},
        [hipMemcpyDeviceToHost] = {false, true}, [hipMemcpyDeviceToDevice] = {true, true},
        [hipMemcpyDefault] = {false, false},
    };
    if (copy->kind >= sizeof on_device / sizeof *on_device)
        return hip_fail(hipErrorInvalidMemcpyDirection, "%s: kind %u", function, copy->kind);
    if (!copy->size)
        return hipSuccess;
    hipError_t error = check_range(function, "destination", copy->destination, copy->size, true,
                                   on_device[copy->kind].destination);
    if (error)
        return error;
    return check_range(function, "source", copy->source, copy->size, false,
                       on_device[copy->kind].source);
}

hipError_t memory_check_fill(const char *function, const struct fill_command *fill)
{
    if (!fill->size)
        return hipSuccess;
    return check_range(function, "destination", fill->destination, fill->size, true, true);
}

hipError_t hipMalloc(void **pointer, size_t size)
{
    struct device *device;
    if (!pointer)
        return hip_fail(hipErrorInvalidValue, "hipMalloc: pointer is null");
    hipError_t error = device_current("hipMalloc", &device);
    if (!error)
        error = capture_forbid_unsafe("hipMalloc");
    if (!error)
        error = device_check("hipMalloc", device);
    if (error)
        return error;
    *pointer = NULL;
    if (!size)
        return hipSuccess;
    *pointer = device_memory_allocate(device->memory, size);
    if (*pointer)
        return hipSuccess;
    size_t used, capacity;
    device_memory_usage(device->memory, &used, &capacity);
    return hip_fail(hipErrorOutOfMemory, "hipMalloc: %zu bytes, and %zu of %zu are in use", size,
                    used, capacity);
}

/* Waits for the device's commands, so that none of them loses its memory. */
hipError_t hipFree(void *pointer)
{
    int count;
    hipError_t error = device_count("hipFree", &count);
    if (!error)
        error = capture_forbid_unsafe("hipFree");
    if (error || !pointer)
        return error;
    for (int i = 0; i < count; i++) {
        struct device *device;
        if (device_find("hipFree", i, &device))
            continue;
        pthread_mutex_lock(&device->execution);
        bool freed = device_memory_free(device->memory, pointer);
        pthread_mutex_unlock(&device->execution);
        if (freed)
            return hipSuccess;
    }
    return hip_fail(hipErrorInvalidDevicePointer,
                    "hipFree: %p is no allocation that hipMalloc returned", pointer);
}

/* Takes the block away from the first `count` devices, each when its commands are done. */
static void destroy_host_block(struct host_block *block, int count)
{
    for (int i = 0; i < count; i++) {
        struct device *device;
        if (device_find("hipHostFree", i, &device))
            continue;
        pthread_mutex_lock(&device->execution);
        device_memory_unregister(device->memory, block->address);
        pthread_mutex_unlock(&device->execution);
    }
    munmap(block->address, block->size);
    free(block);
}

static struct host_block *create_host_block(size_t size, unsigned flags, int count)
{
    struct host_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    *block = (struct host_block){.size = size, .flags = flags};
    int registered = 0;
    block->address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->address == MAP_FAILED) {
        free(block);
        return NULL;
    }
    for (; registered < count; registered++) {
        struct device *device;
        if (device_find("hipHostMalloc", registered, &device) ||
            !device_memory_register(device->memory, block->address, size, true))
            goto fail;
    }
    return block;
fail:
    destroy_host_block(block, registered);
    return NULL;
}

hipError_t hipHostMalloc(void **pointer, size_t size, unsigned int flags)
{
    int count;
    if (!pointer)
        return hip_fail(hipErrorInvalidValue, "hipHostMalloc: pointer is null");
    if (flags & ~(unsigned)(hipHostMallocPortable | hipHostMallocMapped))
        return hip_fail(hipErrorInvalidValue, "hipHostMalloc: flags 0x%x", flags);
    hipError_t error = device_count("hipHostMalloc", &count);
    if (!error)
        error = capture_forbid_unsafe("hipHostMalloc");
    if (error)
        return error;
    *pointer = NULL;
    if (!size)
        return hipSuccess;
    struct host_block *block = create_host_block(size, flags, count);
    if (!block)
        return hip_fail(hipErrorOutOfMemory, "hipHostMalloc: %zu bytes", size);
    pthread_mutex_lock(&host_lock);
    block->next = host_blocks;
    host_blocks = block;
    pthread_mutex_unlock(&host_lock);
    *pointer = block->address;
    return hipSuccess;
}

hipError_t hipHostFree(void *pointer)
{
    int count;
    hipError_t error = device_count("hipHostFree", &count);
    if (!error)
        error = capture_forbid_unsafe("hipHostFree");
    if (error || !pointer)
        return error;
    pthread_mutex_lock(&host_lock);
    struct host_block **link = &host_blocks;
    while (*link && (*link)->address != pointer)
        link = &(*link)->next;
    struct host_block *block = *link;
    if (block)
        *link = block->next;
    pthread_mutex_unlock(&host_lock);
    if (!block)
        return hip_fail(hipErrorInvalidValue,
                        "hipHostFree: %p is no allocation that hipHostMalloc returned", pointer);
    destroy_host_block(block, count);
    return hipSuccess;
}

/* The calls that wait for the copy: they use the null stream, which no capture tolerates. */
static hipError_t run_synchronous(const char *function, struct command *command)
{
    struct device *device;
    hipError_t error = device_current(function, &device);
    if (!error)
        error = capture_forbid_any(function, hipErrorStreamCaptureImplicit);
    return error ? error : stream_submit(function, device->legacy, command);
}

static hipError_t run_asynchronous(const char *function, hipStream_t handle,
                                   struct command *command)
{
    hipStream_t stream;
    hipError_t error = stream_find(function, handle, &stream);
    return error ? error : stream_submit(function, stream, command);
}

hipError_t hipMemcpy(void *destination, const void *source, size_t size, hipMemcpyKind kind)
{
    struct command command = {.kind = COMMAND_COPY, .copy = {destination, source, size, kind}};
    return run_synchronous("hipMemcpy", &command);
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t size, hipMemcpyKind kind,
                          hipStream_t stream)
{
    struct command command = {.kind = COMMAND_COPY, .copy = {destination, source, size, kind}};
    return run_asynchronous("hipMemcpyAsync", stream, &command);
}

hipError_t hipMemset(void *destination, int value, size_t size)
{
    struct command command = {.kind = COMMAND_FILL, .fill = {destination, value, size}};
    return run_synchronous("hipMemset", &command);
}

hipError_t hipMemsetAsync(void *destination, int value, size_t size, hipStream_t stream)
{
    struct command command = {.kind = COMMAND_FILL, .fill = {destination, value, size}};
    return run_asynchronous("hipMemsetAsync", stream, &command);
}

hipError_t hipMemGetInfo(size_t *available, size_t *total)
{
    struct device *device;
    if (!available || !total)
        return hip_fail(hipErrorInvalidValue, "hipMemGetInfo: a result pointer is null");
    hipError_t error = device_current("hipMemGetInfo", &device);
    if (error)
        return error;
    size_t used;
    device_memory_usage(device->memory, &used, total);
    *available = *total - used;
    return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer)
{
    struct device *current;
    if (!attributes || !pointer)
        return hip_fail(hipErrorInvalidValue, "hipPointerGetAttributes: a null pointer");
    hipError_t error = device_current("hipPointerGetAttributes", &current);
    if (error)
        return error;
    *attributes = (hipPointerAttribute_t){.type = hipMemoryTypeUnregistered};
    struct host_block block;
    const struct device *owner = find_owner(pointer);
    if (find_host_block(pointer, &block)) {
        *attributes = (hipPointerAttribute_t){.type = hipMemoryTypeHost,
                                              .device = current->ordinal,
                                              .devicePointer = (void *)pointer,
                                              .hostPointer = (void *)pointer,
                                              .allocationFlags = block.flags};
    } else if (owner) {
        *attributes = (hipPointerAttribute_t){.type = hipMemoryTypeDevice,
                                              .device = owner->ordinal,
                                              .devicePointer = (void *)pointer};
    } else {
        return hip_fail(hipErrorInvalidValue,
                        "hipPointerGetAttributes: %p is neither device nor registered memory",
                        pointer);
    }
    return hipSuccess;
}
