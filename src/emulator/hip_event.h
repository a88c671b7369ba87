/* Events. */
#ifndef EMULATOR_HIP_EVENT_H
#define EMULATOR_HIP_EVENT_H

#include "emulator/hip_device.h"
#include "emulator/hip_graph.h"

struct ihipEvent_t {
    struct device *device;
    unsigned flags;
    atomic_bool recorded;
    int64_t nanoseconds; /* when; CLOCK_MONOTONIC */
    /* These two belong to hip_capture.c and its lock. */
    uint64_t capture_id; /* the capture it was last recorded in; 0: in none */
    struct frontier frontier;
};

#endif
