/* How many compiles may run at once: in one process, and on this machine for this user. */
#ifndef COMPILER_JOBS_H
#define COMPILER_JOBS_H

#include <stdatomic.h>
#include <stdint.h>

/* The number of helpers that one process should run at once: `requested` (0: as many as make
   sense), but no more than the cores this process may use and no more than free memory holds,
   control-group limits included. At least 1. */
int jobs_limit(int requested);

/* The free memory behind that limit, in bytes: what the kernel calls available, or less where a
   control group (of either version) or one around it leaves less. UINT64_MAX when nothing is known.
   The kernel's files are looked for below `root`, "" but in tests. */
uint64_t jobs_free_memory(const char *root);

/* Takes one of the machine-wide places for a running compile, as many as this process may use
   cores. All processes of this user share them, so that eight ranks don't start eight times as many
   helpers. The kernel frees a place when its holder dies. Waits until one is free, `cancel` (may be
   NULL) turns true, or timeout_ms have passed; -1 when there is no place to be had, which costs a
   crowded machine and nothing else. */
int jobs_enter(int timeout_ms, const atomic_bool *cancel);
void jobs_leave(int place);

#endif
