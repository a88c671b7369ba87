/* Which memory a pointer points into. */
#ifndef EMULATOR_HIP_MEMORY_H
#define EMULATOR_HIP_MEMORY_H

#include "emulator/hip_command.h"

/* hipErrorInvalidValue for a range that leaves its allocation, a null pointer, or a side that isn't
   where `kind` says; hipErrorInvalidMemcpyDirection for a kind that is none. */
hipError_t memory_check_copy(const char *function, const struct copy_command *copy);
hipError_t memory_check_fill(const char *function, const struct fill_command *fill);

#endif
