/* Stream capture: which streams are being captured into which graph, and which calls that forbids.
   Everything here is thread-safe; the state of all captures has one lock. */
#ifndef EMULATOR_HIP_CAPTURE_H
#define EMULATOR_HIP_CAPTURE_H

#include "emulator/hip_graph.h"

struct capture;

/* A call that is unsafe while a stream is captured (it allocates, frees, loads): an error, which
   invalidates the capture, if this thread has a capture that isn't relaxed, or any thread has a
   global one; unless this thread's own mode, as hipThreadExchangeStreamCaptureMode sets it, is more
   relaxed. */
hipError_t capture_forbid_unsafe(const char *function);

/* A call that no capture of any mode tolerates; `code` is its error. */
hipError_t capture_forbid_any(const char *function, hipError_t code);

/* Waiting for a stream that is being captured, or asking for its state. */
hipError_t capture_forbid_wait(const char *function, hipStream_t stream);

/* Whether what is submitted to `stream` now becomes part of a graph. An error if its capture is
   invalid, or if it is the null stream and would wait for a stream that is being captured. */
hipError_t capture_check(const char *function, hipStream_t stream, bool *capturing);

/* As capture_check, and takes the command over if *captured: on an error too. */
hipError_t capture_command(const char *function, hipStream_t stream, struct command *command,
                           bool *captured);

/* hipEventRecord and hipStreamWaitEvent, as far as captures go. *captured: that was all. */
hipError_t capture_record_event(const char *function, hipStream_t stream, hipEvent_t event,
                                bool *captured);
hipError_t capture_wait_event(const char *function, hipStream_t stream, hipEvent_t event);

/* An error if the event was last recorded in a capture. */
hipError_t capture_forbid_event(const char *function, hipEvent_t event);

/* Before a stream is freed: ends its capture, or leaves the one that it had joined. */
void capture_forget_stream(hipStream_t stream);

#endif
