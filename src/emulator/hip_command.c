#include "emulator/hip_command.h"

#include "emulator/hip_memory.h"
#include "emulator/hip_module.h"

#include <stdlib.h>
#include <string.h>

/* The compiler may load the last dwords of the segment with a wider load than it needs. */
enum { KERNARG_ALIGNMENT = 64, KERNARG_GRANULE = 16 };

uint8_t *kernarg_create(size_t *size)
{
    *size = (*size + KERNARG_GRANULE - 1) / KERNARG_GRANULE * KERNARG_GRANULE;
    size_t allocated = (*size + KERNARG_ALIGNMENT - 1) / KERNARG_ALIGNMENT * KERNARG_ALIGNMENT;
    uint8_t *block = aligned_alloc(KERNARG_ALIGNMENT, allocated);
    if (block)
        memset(block, 0, allocated);
    return block;
}

static hipError_t run_launch(const char *function, struct device *device,
                             const struct launch_command *launch)
{
    const struct settings *settings = device_settings();
    dsajit_error error;
    if (launch->kernarg_size &&
        !device_memory_register(device->memory, launch->kernarg, launch->kernarg_size, false))
        return hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
    struct dispatch dispatch = {
        .program = &launch->function->module->program,
        .kernel = launch->function->kernel,
        .memory = device->memory,
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .dynamic_lds = launch->dynamic_lds,
        .kernarg = launch->kernarg,
        .threads = settings->threads,
        .schedule_seed = settings->schedule_seed,
        .instruction_limit = settings->instruction_limit,
        .check_initialised = settings->check_initialised,
    };
    struct dispatch_counters counters = {0};
    dsajit_status status = dispatch_run(&dispatch, &counters, &error);
    if (launch->kernarg_size)
        device_memory_unregister(device->memory, launch->kernarg);
    device_count_dispatch(&counters);
    if (!status)
        return hipSuccess;
    if (status == DSAJIT_ERROR_KERNEL_FAULT)
        device_fault(device, &error);
    return hip_fail_status(function, &error);
}

hipError_t command_check(const char *function, const struct device *device,
                         const struct command *command)
{
    hipError_t error = device_check(function, device);
    if (error)
        return error;
    switch (command->kind) {
    case COMMAND_LAUNCH:
        if (!handle_known(HANDLE_FUNCTION, command->launch.function))
            return hip_fail(hipErrorInvalidHandle, "%s: kernel %s belongs to an unloaded module",
                            function, command->launch.function->kernel->name);
        return hipSuccess;
    case COMMAND_COPY:
        return memory_check_copy(function, &command->copy);
    case COMMAND_FILL:
        return memory_check_fill(function, &command->fill);
    }
    return hip_fail(hipErrorUnknown, "%s: no such command", function);
}

hipError_t command_run(const char *function, struct device *device, const struct command *command)
{
    hipError_t error = command_check(function, device, command);
    if (error)
        return error;
    switch (command->kind) {
    case COMMAND_LAUNCH:
        return run_launch(function, device, &command->launch);
    case COMMAND_COPY:
        if (command->copy.size)
            memmove(command->copy.destination, command->copy.source, command->copy.size);
        return hipSuccess;
    case COMMAND_FILL:
        if (command->fill.size)
            memset(command->fill.destination, command->fill.value, command->fill.size);
        return hipSuccess;
    }
    return hipSuccess;
}

bool command_copy(const struct command *command, struct command *copy)
{
    *copy = *command;
    if (command->kind != COMMAND_LAUNCH)
        return true;
    const struct launch_command *launch = &command->launch;
    if (launch->kernarg_size) {
        size_t size = launch->kernarg_size;
        copy->launch.kernarg = kernarg_create(&size);
        if (!copy->launch.kernarg)
            return false;
        memcpy(copy->launch.kernarg, launch->kernarg, size);
    }
    module_retain(launch->function->module);
    return true;
}

void command_free(struct command *command)
{
    if (command->kind != COMMAND_LAUNCH)
        return;
    free(command->launch.kernarg);
    module_release(command->launch.function->module);
}
