/* From a parsed code object and what LLVM reads back from it to a program in device memory. */
#ifndef EMULATOR_PROGRAM_H
#define EMULATOR_PROGRAM_H

#include "base/error.h"
#include "emulator/code_object.h"
#include "emulator/dispatch.h"
#include "emulator/memory.h"

/* Maps the segments, relocates them, registers them with `memory` (text and constants read-only),
   decodes the instructions and joins descriptors with metadata. `metadata` and `listing` are the
   inspection's texts. */
dsajit_status program_load(const struct code_object *object, const char *metadata,
                           const char *listing, struct device_memory *memory,
                           struct program *program, dsajit_error *error);

/* `object` as given to program_load, or at least its segments. */
void program_unload(struct program *program, const struct code_object *object,
                    struct device_memory *memory);

#endif
