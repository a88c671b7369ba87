/* From a code object to a finished grid: loading, and running workgroups on all cores. */
#ifndef EMULATOR_DISPATCH_H
#define EMULATOR_DISPATCH_H

#include "base/bytes.h"
#include "base/error.h"
#include "emulator/instruction.h"
#include "emulator/memory.h"

/* What a kernel's descriptor (.kd) and metadata say. */
struct kernel_argument {
    uint32_t offset, size;
    uint8_t kind; /* enum argument_kind in metadata.h */
};

struct kernel {
    char *name;
    uint32_t entry;           /* index of its first instruction, where a preload's prologue is */
    uint32_t workgroup_limit; /* most threads in a workgroup */
    uint32_t lds_size, scratch_size, kernarg_size;
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t code_properties;
    uint16_t kernarg_preload; /* length in bits 0…6, offset in 7…15 */
    uint32_t vector_count, accumulator_offset;
    struct kernel_argument *arguments;
    size_t argument_count;
};

/* A loaded code object: its instructions, kernels and global data. Immutable once loaded. */
struct program {
    struct instruction *instructions; /* and behind the last one that faults: the end of .text */
    size_t instruction_count;
    uint64_t text_address; /* device address of .text's first byte: what s_getpc sees */
    struct kernel *kernels;
    size_t kernel_count;
    uint8_t *image; /* the loaded segments, registered as device memory */
    size_t image_size;
    char *listing; /* the text that instruction.text points into */
};

/* Decodes `listing`, the helper's text for a code object: a line per instruction, "offset size
   text" (hexadecimal, decimal, MC assembly). An instruction that no table has is kept and faults
   when it is reached. */
dsajit_status program_decode(struct program *program, const char *listing, dsajit_error *error);

/* Index of the instruction at `offset` from the first byte of .text, or TARGET_NONE if none starts
 * there. */
uint32_t program_find_instruction(const struct program *program, uint64_t offset);

/* Frees instructions and listing, what program_decode made; not kernels and image. */
void program_free_instructions(struct program *program);

struct dispatch {
    const struct program *program;
    const struct kernel *kernel;
    struct device_memory *memory;
    uint32_t grid[3];  /* workgroups */
    uint32_t block[3]; /* threads */
    uint32_t dynamic_lds;
    const void *kernarg;        /* device-visible, kernarg_size bytes, hidden arguments filled in */
    unsigned threads;           /* worker threads; 0: one per core */
    uint64_t schedule_seed;     /* 0: waves in order; else a pseudo-random order and quanta */
    uint64_t instruction_limit; /* of one wave, against endless loops; 0: 2^36 */
    bool check_initialised;     /* reading a vector register that was never written is a fault */
};

/* What a dispatch executed, summed over waves. */
struct dispatch_counters {
    uint64_t instructions, vector, scalar, matrix, lds, vector_memory, scalar_memory, barriers;
    uint64_t workgroups, waves;
};

/* Runs the whole grid; returns when it has finished or one wave faulted (DSAJIT_ERROR_KERNEL_FAULT,
   the message as wave_fault describes). `counters` may be NULL. Thread-safe for distinct
   dispatches. */
dsajit_status dispatch_run(const struct dispatch *dispatch, struct dispatch_counters *counters,
                           dsajit_error *error);

#endif
