#include "emulator/handles.h"
#include "emulator/hip_module.h"
#include "emulator/hip_stream.h"
#include "emulator/metadata.h"

#include <stdlib.h>
#include <string.h>

static const char function_name[] = "hipModuleLaunchKernel";

static uint64_t product(const uint32_t size[3])
{
    return (uint64_t)size[0] * size[1] * size[2]; /* each at most 1024: no overflow */
}

static hipError_t check_block(const struct kernel *kernel, const uint32_t block[3])
{
    for (int i = 0; i < 3; i++)
        if (!block[i] || block[i] > DEVICE_WORKGROUP_LIMIT)
            return hip_fail(hipErrorInvalidValue, "%s: %s: a workgroup of %u x %u x %u threads",
                            function_name, kernel->name, block[0], block[1], block[2]);
    if (product(block) > DEVICE_WORKGROUP_LIMIT)
        return hip_fail(hipErrorInvalidValue, "%s: %s: %llu threads in a workgroup, more than %d",
                        function_name, kernel->name, (unsigned long long)product(block),
                        DEVICE_WORKGROUP_LIMIT);
    if (product(block) > kernel->workgroup_limit)
        return hip_fail(hipErrorLaunchFailure,
                        "%s: %s: %llu threads in a workgroup, and the kernel was compiled for at "
                        "most %u",
                        function_name, kernel->name, (unsigned long long)product(block),
                        kernel->workgroup_limit);
    return hipSuccess;
}

static hipError_t check_grid(const struct kernel *kernel, const struct launch_command *launch)
{
    static const uint32_t limits[3] = {DEVICE_GRID_LIMIT_X, DEVICE_GRID_LIMIT_YZ,
                                       DEVICE_GRID_LIMIT_YZ};
    for (int i = 0; i < 3; i++)
        if (!launch->grid[i] || launch->grid[i] > limits[i] ||
            (uint64_t)launch->grid[i] * launch->block[i] > UINT32_MAX)
            return hip_fail(hipErrorInvalidValue,
                            "%s: %s: a grid of %u x %u x %u workgroups of %u x %u x %u threads",
                            function_name, kernel->name, launch->grid[0], launch->grid[1],
                            launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
    return hipSuccess;
}

static hipError_t check_lds(const struct kernel *kernel, uint32_t dynamic_lds)
{
    if ((uint64_t)kernel->lds_size + dynamic_lds > DEVICE_LDS_SIZE)
        return hip_fail(hipErrorInvalidValue,
                        "%s: %s: %u bytes of LDS and %u dynamic ones, more than %d", function_name,
                        kernel->name, kernel->lds_size, dynamic_lds, DEVICE_LDS_SIZE);
    return hipSuccess;
}

/* The value of a hidden argument. */
static uint64_t hidden_value(const struct launch_command *launch, enum argument_kind kind)
{
    switch (kind) {
    case ARGUMENT_BLOCK_COUNT_X:
    case ARGUMENT_BLOCK_COUNT_Y:
    case ARGUMENT_BLOCK_COUNT_Z:
        return launch->grid[kind - ARGUMENT_BLOCK_COUNT_X];
    case ARGUMENT_GROUP_SIZE_X:
    case ARGUMENT_GROUP_SIZE_Y:
    case ARGUMENT_GROUP_SIZE_Z:
        return launch->block[kind - ARGUMENT_GROUP_SIZE_X];
    case ARGUMENT_GRID_DIMENSIONS:
        return 3; /* HIP's grids always have three */
    case ARGUMENT_DYNAMIC_LDS_SIZE:
        return launch->dynamic_lds;
    case ARGUMENT_VALUE:
    case ARGUMENT_NOTHING:
        break;
    }
    return 0;
}

/* The caller's block of arguments, laid out as the kernel's own. */
struct argument_buffer {
    const uint8_t *bytes;
    size_t size;
};

static hipError_t read_extra(void **extra, struct argument_buffer *buffer)
{
    if (extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE ||
        extra[4] != HIP_LAUNCH_PARAM_END || !extra[1] || !extra[3])
        return hip_fail(hipErrorInvalidValue, "%s: `extra` isn't buffer pointer, buffer size, end",
                        function_name);
    buffer->bytes = extra[1];
    memcpy(&buffer->size, extra[3], sizeof buffer->size);
    return hipSuccess;
}

/* Fills launch->kernarg. Little-endian, as the host is: a hidden value's low bytes come first. */
static hipError_t fill_arguments(struct launch_command *launch, const struct kernel *kernel,
                                 void **arguments, const struct argument_buffer *buffer)
{
    size_t position = 0;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct kernel_argument *argument = &kernel->arguments[i];
        uint8_t *to = launch->kernarg + argument->offset;
        if (argument->kind != ARGUMENT_VALUE) {
            uint64_t value = hidden_value(launch, argument->kind);
            memcpy(to, &value, argument->size < sizeof value ? argument->size : sizeof value);
        } else if (arguments) {
            if (!arguments[position])
                return hip_fail(hipErrorInvalidValue, "%s: %s: argument %zu is a null pointer",
                                function_name, kernel->name, position);
            memcpy(to, arguments[position++], argument->size);
        } else if (buffer->bytes) {
            if (argument->offset + (size_t)argument->size > buffer->size)
                return hip_fail(hipErrorInvalidValue,
                                "%s: %s: the argument at %u of %u bytes is outside the buffer of "
                                "%zu bytes",
                                function_name, kernel->name, argument->offset, argument->size,
                                buffer->size);
            memcpy(to, buffer->bytes + argument->offset, argument->size);
        } else {
            return hip_fail(hipErrorInvalidValue, "%s: %s: has arguments, and none are given",
                            function_name, kernel->name);
        }
    }
    return hipSuccess;
}

static hipError_t prepare(struct launch_command *launch, void **arguments, void **extra)
{
    const struct kernel *kernel = launch->function->kernel;
    struct argument_buffer buffer = {0};
    hipError_t error = check_block(kernel, launch->block);
    if (!error)
        error = check_grid(kernel, launch);
    if (!error)
        error = check_lds(kernel, launch->dynamic_lds);
    if (!error && arguments && extra)
        error = hip_fail(hipErrorInvalidValue, "%s: %s: both an argument array and `extra`",
                         function_name, kernel->name);
    if (!error && extra)
        error = read_extra(extra, &buffer);
    if (error || !kernel->kernarg_size)
        return error;
    launch->kernarg_size = kernel->kernarg_size;
    launch->kernarg = kernarg_create(&launch->kernarg_size);
    if (!launch->kernarg)
        return hip_fail(hipErrorOutOfMemory, "%s: out of memory", function_name);
    return fill_arguments(launch, kernel, arguments, &buffer);
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int dynamic_lds, hipStream_t handle,
                                 void **arguments, void **extra)
{
    hipStream_t stream;
    struct device *device;
    if (!function || !handle_known(HANDLE_FUNCTION, function))
        return hip_fail(hipErrorInvalidHandle, "%s: %p is no kernel", function_name,
                        (void *)function);
    hipError_t error = stream_find(function_name, handle, &stream);
    if (!error)
        error = device_current(function_name, &device);
    if (error)
        return error;
    if (stream->device != device || function->module->device != device)
        return hip_fail(hipErrorInvalidHandle,
                        "%s: current device %d, stream of device %d, kernel of device %d",
                        function_name, device->ordinal, stream->device->ordinal,
                        function->module->device->ordinal);
    struct command command = {
        .kind = COMMAND_LAUNCH,
        .launch = {.function = function,
                   .grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z},
                   .dynamic_lds = dynamic_lds},
    };
    module_retain(function->module);
    error = prepare(&command.launch, arguments, extra);
    if (error) {
        command_free(&command);
        return error;
    }
    return stream_submit(function_name, stream, &command);
}
