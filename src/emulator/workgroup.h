/* A workgroup: its waves, its LDS, and the turns in which the waves run. */
#ifndef EMULATOR_WORKGROUP_H
#define EMULATOR_WORKGROUP_H

#include "emulator/dispatch.h"
#include "emulator/wave.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORKGROUP_THREADS_MAX = 1024, WORKGROUP_WAVES_MAX = WORKGROUP_THREADS_MAX / LANES };

/* What the workers of one dispatch share. */
struct grid {
    const struct dispatch *dispatch;
    const void *packet; /* the dispatch packet, device-visible */
    uint64_t instruction_limit;
    uint64_t workgroup_count;
    atomic_uint_fast64_t next; /* workgroup */
    atomic_bool stopped;       /* a wave faulted */
    pthread_mutex_t mutex;     /* of what follows */
    dsajit_error error;        /* the first fault */
    uint64_t counts[CLASS_COUNT];
};

/* Owned by one worker, which runs one workgroup after another in it. */
struct workgroup {
    struct grid *grid;
    uint32_t id[3];
    uint64_t index; /* of the grid's workgroups, x fastest */
    struct lds *lds;
    unsigned wave_count;
    struct wave *waves;
    uint32_t (*vectors)[LANES]; /* the waves' vector files */
    uint8_t *scratch;           /* the waves' private segments */
    uint64_t executed[WORKGROUP_WAVES_MAX];
    uint64_t counts[CLASS_COUNT];
};

/* False: no memory. Free in either case. */
bool workgroup_create(struct workgroup *workgroup, struct grid *grid);
void workgroup_free(struct workgroup *workgroup);

/* Makes it the grid's workgroup `index`, with its waves at the kernel's entry. */
void workgroup_start(struct workgroup *workgroup, uint64_t index);

/* Runs its waves to their ends; false after a fault. */
bool workgroup_finish(struct workgroup *workgroup);

/* Puts a wave into the state in which the kernel's descriptor has it started. */
void wave_start(struct wave *wave);

/* Index of the instruction at which the kernel's waves begin; may be none. */
uint32_t wave_entry(const struct dispatch *dispatch);

/* What of a kernel's descriptor the emulator cannot serve; NULL if nothing. */
const char *wave_start_defect(const struct kernel *kernel);

#endif
