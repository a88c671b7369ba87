#include "emulator/program.h"

#include "emulator/metadata.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of kernel_code_properties: the depth of the calls is not known, so neither is the scratch memory
   they need. HIP gives such kernels hipLimitStackSize, by default this many bytes a lane. */
enum { PROPERTY_DYNAMIC_STACK = 1 << 11, DYNAMIC_STACK_SIZE = 1024 };

/* A wave starts behind this much code if its arguments are preloaded: wave_start.c. */
enum { PRELOAD_PROLOGUE_SIZE = 256, PRELOAD_LENGTH = 0x7f };

static void unregister(const struct code_object *object, size_t count, uint8_t *image,
                       struct device_memory *memory)
{
    for (size_t i = 0; i < count; i++)
        device_memory_unregister(memory, image + object->segments[i].address);
}

static void relocate(const struct code_object *object, uint8_t *image)
{
    for (size_t i = 0; i < object->relocation_count; i++) {
        const struct code_relocation *relocation = &object->relocations[i];
        uint64_t value = (uint64_t)(uintptr_t)image + relocation->value;
        uint32_t half = (uint32_t)(relocation->width == RELOCATE_32_HIGH ? value >> 32 : value);
        if (relocation->width == RELOCATE_64)
            memcpy(image + relocation->address, &value, sizeof value);
        else
            memcpy(image + relocation->address, &half, sizeof half);
    }
}

static dsajit_status map_image(const struct code_object *object, struct device_memory *memory,
                               struct program *program, dsajit_error *error)
{
    uint8_t *image =
        mmap(NULL, object->image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "code object: no memory for %zu bytes",
                         (size_t)object->image_size);
    for (size_t i = 0; i < object->segment_count; i++) {
        const struct code_segment *segment = &object->segments[i];
        memcpy(image + segment->address, object->bytes + segment->file_offset, segment->file_size);
    }
    relocate(object, image);
    for (size_t i = 0; i < object->segment_count; i++) {
        const struct code_segment *segment = &object->segments[i];
        if (!device_memory_register(memory, image + segment->address, segment->memory_size,
                                    segment->writable)) {
            unregister(object, i, image, memory);
            munmap(image, object->image_size);
            return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "code object: out of memory");
        }
    }
    program->image = image;
    program->image_size = object->image_size;
    program->text_address = (uint64_t)(uintptr_t)image + object->text_address;
    return DSAJIT_OK;
}

static uint32_t read_u32(const uint8_t *bytes, size_t offset)
{
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* The 64 bytes of amd_kernel_descriptor: offsets as in the backend guide's "Kernel Descriptor". */
static dsajit_status read_descriptor(const struct code_object *object,
                                     const struct code_symbol *symbol,
                                     const struct program *program, struct kernel *kernel,
                                     dsajit_error *error)
{
    const uint8_t *bytes = code_object_bytes(object, symbol->address, KERNEL_DESCRIPTOR_SIZE);
    uint64_t entry;
    memcpy(&entry, bytes + 16, sizeof entry);
    kernel->lds_size = read_u32(bytes, 0);
    kernel->scratch_size = read_u32(bytes, 4);
    kernel->kernarg_size = read_u32(bytes, 8);
    kernel->rsrc3 = read_u32(bytes, 44);
    kernel->rsrc1 = read_u32(bytes, 48);
    kernel->rsrc2 = read_u32(bytes, 52);
    kernel->code_properties = (uint16_t)read_u32(bytes, 56);
    kernel->kernarg_preload = (uint16_t)(read_u32(bytes, 56) >> 16);
    if (kernel->code_properties & PROPERTY_DYNAMIC_STACK &&
        kernel->scratch_size < DYNAMIC_STACK_SIZE)
        kernel->scratch_size = DYNAMIC_STACK_SIZE;
    /* Granules of 8 registers; where the accumulation registers start, in granules of 4. */
    kernel->vector_count = ((kernel->rsrc1 & 0x3f) + 1) * 8;
    kernel->accumulator_offset = ((kernel->rsrc3 & 0x3f) + 1) * 4;

    /* Unsigned arithmetic wraps, so an entry before the descriptor works and nonsense is caught. */
    uint64_t offset = symbol->address + entry - object->text_address;
    kernel->entry = program_find_instruction(program, offset);
    bool preloads = kernel->kernarg_preload & PRELOAD_LENGTH;
    if (kernel->entry == TARGET_NONE ||
        (preloads &&
         program_find_instruction(program, offset + PRELOAD_PROLOGUE_SIZE) == TARGET_NONE))
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "kernel %s: its entry is no instruction of .text", symbol->name);
    return DSAJIT_OK;
}

static dsajit_status read_kernel(const struct code_object *object, const struct code_symbol *symbol,
                                 const struct metadata *metadata, const struct program *program,
                                 struct kernel *kernel, dsajit_error *error)
{
    const struct kernel_metadata *described = metadata_find(metadata, symbol->name);
    if (!described)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "kernel %s: has no metadata", symbol->name);
    dsajit_status status = read_descriptor(object, symbol, program, kernel, error);
    if (status)
        return status;
    if (kernel->kernarg_size != described->kernarg_size)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "kernel %s: %u bytes of arguments by its descriptor, %u by its metadata",
                         symbol->name, kernel->kernarg_size, described->kernarg_size);
    kernel->workgroup_limit = described->workgroup_limit;
    kernel->argument_count = described->argument_count;
    kernel->name = strdup(symbol->name);
    kernel->arguments = calloc(described->argument_count + 1, sizeof *kernel->arguments);
    if (!kernel->name || !kernel->arguments)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "kernel %s: out of memory",
                         symbol->name);
    if (described->argument_count)
        memcpy(kernel->arguments, described->arguments,
               described->argument_count * sizeof *kernel->arguments);
    return DSAJIT_OK;
}

static dsajit_status read_kernels(const struct code_object *object, const char *text,
                                  struct program *program, dsajit_error *error)
{
    struct metadata metadata;
    dsajit_status status = metadata_parse(text, &metadata, error);
    if (status)
        return status;
    program->kernels = calloc(object->kernel_count + 1, sizeof *program->kernels);
    if (!program->kernels)
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "code object: out of memory");
    for (size_t i = 0; i < object->kernel_count && !status; i++) {
        program->kernel_count++;
        status = read_kernel(object, &object->kernels[i], &metadata, program, &program->kernels[i],
                             error);
    }
    metadata_free(&metadata);
    return status;
}

dsajit_status program_load(const struct code_object *object, const char *metadata,
                           const char *listing, struct device_memory *memory,
                           struct program *program, dsajit_error *error)
{
    *program = (struct program){0};
    dsajit_status status = map_image(object, memory, program, error);
    if (!status)
        status = program_decode(program, listing, error);
    if (!status)
        status = read_kernels(object, metadata, program, error);
    if (status)
        program_unload(program, object, memory);
    return status;
}

void program_unload(struct program *program, const struct code_object *object,
                    struct device_memory *memory)
{
    for (size_t i = 0; i < program->kernel_count; i++) {
        free(program->kernels[i].name);
        free(program->kernels[i].arguments);
    }
    free(program->kernels);
    program_free_instructions(program);
    if (program->image) {
        unregister(object, object->segment_count, program->image, memory);
        munmap(program->image, program->image_size);
    }
    *program = (struct program){0};
}
