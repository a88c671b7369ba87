/* The virtual devices. */
#ifndef EMULATOR_HIP_DEVICE_H
#define EMULATOR_HIP_DEVICE_H

#include "emulator/dispatch.h"
#include "emulator/hip_api.h"
#include "emulator/memory.h"
#include "emulator/settings.h"

#include <pthread.h>
#include <stdatomic.h>

/* An MI350X, as HIP describes one. */
enum {
    DEVICE_COMPUTE_UNITS = 256,
    DEVICE_XCCS = 8,
    DEVICE_WAVEFRONT = 64,
    DEVICE_LDS_SIZE = 160 * 1024,
    DEVICE_WORKGROUP_LIMIT = 1024,
    DEVICE_THREADS_PER_CU = 2048,
    DEVICE_REGISTERS_PER_WORKGROUP = 131072,
    DEVICE_GRID_LIMIT_X = INT32_MAX,
    DEVICE_GRID_LIMIT_YZ = 65536,
    DEVICE_CLOCK_KHZ = 2200000,
    DEVICE_L2_SIZE = 4 << 20
};

struct device {
    struct device_memory *memory;
    hipStream_t legacy; /* the null stream */
    /* Held while a command runs: commands of one device run one after the other, which is one of
       the orders that streams permit. */
    pthread_mutex_t execution;
    int ordinal;
    atomic_bool faulted;
};

/* The devices, made at the first call; on failure the HIP error is set. */
hipError_t device_count(const char *function, int *count);

/* hipErrorInvalidDevice when there is none of this ordinal. */
hipError_t device_find(const char *function, int ordinal, struct device **device);

/* This thread's current device. */
hipError_t device_current(const char *function, struct device **device);

/* After a kernel's fault a device does nothing any more: hipErrorLaunchFailure with its message. */
hipError_t device_check(const char *function, const struct device *device);
void device_fault(struct device *device, const dsajit_error *error);

/* Adds to what dsajit_emulator_counters gives. */
void device_count_dispatch(const struct dispatch_counters *counters);

/* The settings; the environment was found good when the devices were made. */
const struct settings *device_settings(void);

#endif
