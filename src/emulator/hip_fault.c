/* What has gone wrong on the devices and what they have done: both outlive any one call. */
#include "emulator/emulator.h"
#include "emulator/hip_device.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dsajit_error fault; /* of the device that faulted last */
static struct dsajit_emulator_counters totals;

void device_fault(struct device *device, const dsajit_error *error)
{
    pthread_mutex_lock(&lock);
    fault = *error;
    pthread_mutex_unlock(&lock);
    atomic_store(&device->faulted, true);
}

const char *dsajit_emulator_fault(void)
{
    static _Thread_local char copy[sizeof fault.message];
    pthread_mutex_lock(&lock);
    memcpy(copy, fault.message, sizeof copy);
    pthread_mutex_unlock(&lock);
    return copy;
}

hipError_t device_check(const char *function, const struct device *device)
{
    if (!atomic_load(&device->faulted))
        return hipSuccess;
    return hip_fail(hipErrorLaunchFailure, "%s: device %d is out of action since: %s", function,
                    device->ordinal, dsajit_emulator_fault());
}

void dsajit_emulator_clear_fault(void)
{
    int count = 0;
    if (device_count("dsajit_emulator_clear_fault", &count))
        return;
    for (int i = 0; i < count; i++) {
        struct device *device;
        if (!device_find("dsajit_emulator_clear_fault", i, &device))
            atomic_store(&device->faulted, false);
    }
    pthread_mutex_lock(&lock);
    fault = (dsajit_error){0};
    pthread_mutex_unlock(&lock);
}

void device_count_dispatch(const struct dispatch_counters *counters)
{
    pthread_mutex_lock(&lock);
    totals.instructions += counters->instructions;
    totals.vector += counters->vector;
    totals.scalar += counters->scalar;
    totals.matrix += counters->matrix;
    totals.lds += counters->lds;
    totals.vector_memory += counters->vector_memory;
    totals.scalar_memory += counters->scalar_memory;
    totals.barriers += counters->barriers;
    totals.workgroups += counters->workgroups;
    totals.waves += counters->waves;
    totals.launches++;
    pthread_mutex_unlock(&lock);
}

void dsajit_emulator_counters(struct dsajit_emulator_counters *counters)
{
    pthread_mutex_lock(&lock);
    *counters = totals;
    pthread_mutex_unlock(&lock);
}

void dsajit_emulator_reset_counters(void)
{
    pthread_mutex_lock(&lock);
    totals = (struct dsajit_emulator_counters){0};
    pthread_mutex_unlock(&lock);
}
