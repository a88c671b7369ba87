/* Contexts on the counting HIP runtime, and streams that capture. What fails fails the test. */
#ifndef TESTS_RUNTIME_CAPTURES_H
#define TESTS_RUNTIME_CAPTURES_H

#include "base/hip_table.h"

/* A cmocka setup: the harness's context, with nothing resident, on the counting runtime. */
int captures_open(void **state);

/* The runtime's functions. */
extern struct hip_table hip;

/* Calls of one HIP function since the last reset, or of all for NULL. */
extern unsigned long (*count_calls)(const char *name);
extern void (*reset_counts)(void);

hipStream_t create_stream(void);
void begin_capture(hipStream_t stream);
/* Ends it and throws the graph away. */
void end_capture(hipStream_t stream);
/* Ends it and makes what can be launched. */
hipGraphExec_t end_capture_as_graph(hipStream_t stream);
/* And waits. */
void replay_graph(hipGraphExec_t graph, hipStream_t stream);

#endif
