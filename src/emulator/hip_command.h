/* One piece of work for a device, run at once or kept as a node of a graph. */
#ifndef EMULATOR_HIP_COMMAND_H
#define EMULATOR_HIP_COMMAND_H

#include "emulator/hip_api.h"
#include "emulator/hip_device.h"

enum command_kind { COMMAND_LAUNCH, COMMAND_COPY, COMMAND_FILL };

struct launch_command {
    hipFunction_t function; /* its module is retained */
    uint32_t grid[3], block[3];
    uint32_t dynamic_lds;
    uint8_t *kernarg;    /* owned: every argument, the hidden ones too */
    size_t kernarg_size; /* NULL and 0: none */
};

struct copy_command {
    void *destination;
    const void *source;
    size_t size;
    hipMemcpyKind kind;
};

struct fill_command {
    void *destination;
    int value;
    size_t size;
};

struct command {
    enum command_kind kind;
    union {
        struct launch_command launch;
        struct copy_command copy;
        struct fill_command fill;
    };
};

/* Whether the command's memory and module are there; checked again when a graph replays it. */
hipError_t command_check(const char *function, const struct device *device,
                         const struct command *command);

/* Checks and runs it. The caller holds device->execution. */
hipError_t command_run(const char *function, struct device *device, const struct command *command);

/* False when memory ran out. */
bool command_copy(const struct command *command, struct command *copy);
void command_free(struct command *command);

/* A block of kernel arguments: aligned as the hardware's, zeroed, of *size rounded up. */
uint8_t *kernarg_create(size_t *size);

#endif
