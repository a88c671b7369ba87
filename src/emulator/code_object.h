/* Reads the ELF file that a gfx950 code object is. The bytes are hostile until they have passed
   through here: everything handed on lies inside the file and inside a segment. */
#ifndef EMULATOR_CODE_OBJECT_H
#define EMULATOR_CODE_OBJECT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One PT_LOAD: `file_size` bytes at `file_offset`, zeros up to `memory_size`. Addresses are
   relative to the loaded image; segments are in ascending order and don't overlap. */
struct code_segment {
    uint64_t address, memory_size;
    uint64_t file_offset, file_size;
    bool writable;
};

/* A kernel (the symbol NAME.kd) or a variable in device memory. */
struct code_symbol {
    char *name; /* owned by the code object; a kernel's without ".kd" */
    uint64_t address, size;
};

enum relocation_width { RELOCATE_64, RELOCATE_32_LOW, RELOCATE_32_HIGH };

/* Store image base + `value` at `address`, which lies in a segment. */
struct code_relocation {
    uint64_t address, value;
    enum relocation_width width;
};

enum { CODE_SEGMENTS_MAX = 16, KERNEL_DESCRIPTOR_SIZE = 64 };

struct code_object {
    const uint8_t *bytes; /* borrowed */
    size_t size;
    struct code_segment segments[CODE_SEGMENTS_MAX];
    size_t segment_count;
    uint64_t image_size;              /* end of the last segment */
    uint64_t text_address, text_size; /* the section .text, inside a segment's file bytes */
    struct code_symbol *kernels, *variables;
    size_t kernel_count, variable_count;
    struct code_relocation *relocations;
    size_t relocation_count;
};

/* How many bytes of file `image` claims to be, from its ELF header alone, as hipModuleLoadData must
   guess since it isn't told; 0 if it doesn't start with an ELF header. Reads 64 bytes. */
size_t code_object_measure(const void *image);

/* Fills `object`, which refers to `bytes` from then on. DSAJIT_ERROR_CORRUPT: not a well-formed
   code object; DSAJIT_ERROR_UNSUPPORTED: well-formed, for another machine or of another ABI. */
dsajit_status code_object_parse(const void *bytes, size_t size, struct code_object *object,
                                dsajit_error *error);
void code_object_free(struct code_object *object);

/* The file's bytes of [address, address + size) in the image, or NULL if they aren't all in one
   segment's file part. */
const uint8_t *code_object_bytes(const struct code_object *object, uint64_t address, uint64_t size);

#endif
