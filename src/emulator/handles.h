/* The set of handles that the HIP calls have given out and not taken back, so that a stale or made
   up one is an error and never a stray access. Thread-safe. */
#ifndef EMULATOR_HANDLES_H
#define EMULATOR_HANDLES_H

#include <stdbool.h>

enum handle_kind {
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_GRAPH,
    HANDLE_GRAPH_EXEC
};

/* False when memory ran out. */
bool handle_add(enum handle_kind kind, const void *handle);

bool handle_known(enum handle_kind kind, const void *handle);

/* False if it wasn't known: of several threads that remove a handle exactly one gets true. */
bool handle_remove(enum handle_kind kind, const void *handle);

#endif
