/* The metadata lines that the compiler helper makes of a code object (compiler/compiler.h). */
#ifndef EMULATOR_METADATA_H
#define EMULATOR_METADATA_H

#include "base/error.h"
#include "emulator/dispatch.h"

#include <stddef.h>
#include <stdint.h>

/* Value kinds of kernel arguments, for kernel_argument.kind. The hidden ones are filled in by the
   runtime: "User Guide for AMDGPU Backend", Code Object V5 Metadata. */
enum argument_kind {
    ARGUMENT_VALUE,   /* by_value, global_buffer: what the caller passes */
    ARGUMENT_NOTHING, /* hidden, and zero is right for it here */
    ARGUMENT_BLOCK_COUNT_X,
    ARGUMENT_BLOCK_COUNT_Y,
    ARGUMENT_BLOCK_COUNT_Z,
    ARGUMENT_GROUP_SIZE_X,
    ARGUMENT_GROUP_SIZE_Y,
    ARGUMENT_GROUP_SIZE_Z,
    ARGUMENT_GRID_DIMENSIONS,
    ARGUMENT_DYNAMIC_LDS_SIZE
};

struct kernel_metadata {
    char *name;
    uint32_t kernarg_size, workgroup_limit; /* threads */
    uint32_t vgprs, agprs;
    struct kernel_argument *arguments;
    size_t argument_count;
};

struct metadata {
    struct kernel_metadata *kernels;
    size_t count;
};

/* DSAJIT_ERROR_CORRUPT: not such lines, or an argument that sticks out of its kernel's segment.
   DSAJIT_ERROR_UNSUPPORTED: an argument kind that the emulator can't fill in. */
dsajit_status metadata_parse(const char *text, struct metadata *metadata, dsajit_error *error);
void metadata_free(struct metadata *metadata);

/* NULL when there is none of that name. */
const struct kernel_metadata *metadata_find(const struct metadata *metadata, const char *name);

#endif
