/* What libdsajit_emulator.so exports beside HIP's own entry points. No call of HIP needs any of it:
   a program that knows only HIP runs unchanged. */
#ifndef EMULATOR_EMULATOR_H
#define EMULATOR_EMULATOR_H

#include "dsajit/status.h"

#include <stddef.h>
#include <stdint.h>

/* Where code objects loaded from then on are inspected and the results kept. NULL members mean the
   environment's and the default places, as in the library. Strings are copied. */
struct dsajit_emulator_options {
    size_t struct_size; /* sizeof(struct dsajit_emulator_options), so that members can be added */
    const char *cache_directory; /* "": keep nothing */
    const char *compiler;        /* the dsajit-compiler program */
    const char *rocm_path;
    dsajit_log_function log;
    void *log_user;
    const char *const *prebuilt; /* read-only cache directories, NULL-terminated */
};

DSAJIT_API dsajit_status dsajit_emulator_configure(const struct dsajit_emulator_options *options,
                                                   dsajit_error *error);

/* Why the last HIP call of this thread that failed did so, in words; "" if none has failed. Valid
   until this thread's next call into the emulator. */
DSAJIT_API const char *dsajit_emulator_error(void);

/* The message of the fault that put a device of this process out of action: kernel, workgroup,
   wave, lane, pc, instruction and what was wrong; "" if there was none. Valid as above. */
DSAJIT_API const char *dsajit_emulator_fault(void);

/* Makes every device usable again after a fault, which on a GPU would take a new process. */
DSAJIT_API void dsajit_emulator_clear_fault(void);

/* What all devices have executed since the process started, or since the last reset. Instructions
   are counted once a wave. */
struct dsajit_emulator_counters {
    uint64_t instructions, vector, scalar, matrix, lds, vector_memory, scalar_memory, barriers;
    uint64_t workgroups, waves, launches;
};

DSAJIT_API void dsajit_emulator_counters(struct dsajit_emulator_counters *counters);
DSAJIT_API void dsajit_emulator_reset_counters(void);

#endif
