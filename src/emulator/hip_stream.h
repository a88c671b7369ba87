/* Streams. Work runs when it is submitted, so whatever a stream was given has been done; what is
   left of a stream is its device and whether it is being captured. */
#ifndef EMULATOR_HIP_STREAM_H
#define EMULATOR_HIP_STREAM_H

#include "emulator/hip_capture.h"
#include "emulator/hip_command.h"
#include "emulator/hip_device.h"

struct ihipStream_t {
    struct device *device;
    unsigned flags;
    atomic_uint running; /* commands that some thread is running in it */
    /* These belong to hip_capture.c and its lock. */
    struct capture *capture;  /* NULL: none */
    hipStream_t next_member;  /* of the same capture */
    struct frontier frontier; /* the nodes that the stream's next node comes after */
};

/* NULL when memory ran out. */
hipStream_t stream_create(struct device *device, unsigned flags);

/* The stream of a handle, the null stream of the current device included. */
hipError_t stream_find(const char *function, hipStream_t handle, hipStream_t *stream);

/* Around what runs in a stream: waits for the device, and keeps it. */
void stream_begin(hipStream_t stream);
void stream_end(hipStream_t stream);

/* Runs a command, or makes it a node of the graph that the stream is captured into. Takes the
   command over in any case. */
hipError_t stream_submit(const char *function, hipStream_t stream, struct command *command);

#endif
