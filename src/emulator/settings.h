/* The environment variables of docs/emulator.md, read once. */
#ifndef EMULATOR_SETTINGS_H
#define EMULATOR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEVICES_MAX = 16 };

struct settings {
    unsigned devices;           /* DSAJIT_EMULATOR_DEVICES */
    size_t memory;              /* DSAJIT_EMULATOR_MEMORY_GIB, in bytes */
    unsigned threads;           /* DSAJIT_EMULATOR_THREADS; 0: one a core */
    uint64_t schedule_seed;     /* DSAJIT_EMULATOR_SCHEDULE */
    uint64_t instruction_limit; /* DSAJIT_EMULATOR_INSTRUCTION_LIMIT; 0: the dispatcher's own */
    bool check_initialised;     /* DSAJIT_EMULATOR_CHECK_UNINITIALISED */
};

/* NULL when a variable has a value that can't be: `*problem` then says which, in static storage.
   Thread-safe. */
const struct settings *settings_get(const char **problem);

#endif
