/* Buffer instructions: memory through a descriptor in four scalar registers. What the descriptor's
   range check finds outside reads as 0, and writes to it are dropped: that is no fault. What it
   finds inside must lie in a live allocation, as any access. */
#include "emulator/vector_access.h"

#include <stdatomic.h>

struct descriptor {
    uint64_t base;
    uint32_t stride;
    uint32_t records;
};

/* Words 0 and 1: base in bits 0…47, stride in 48…61, then "cache swizzle", which changes no result,
   and "swizzle enable". Word 2: the number of records. Word 3: formats, which untyped accesses
   ignore, and in bit 23 "add the lane's index". */
static bool read_descriptor(struct wave *wave, const struct instruction *instruction,
                            const struct operand *operand, struct descriptor *descriptor)
{
    if (operand->kind != OPERAND_SCALAR)
        return wave_fault(wave, instruction, -1,
                          "the buffer descriptor is not in scalar registers");
    const uint32_t *words = &wave->scalar[operand->index];
    if (words[1] >> 31)
        return wave_fault(wave, instruction, -1,
                          "the buffer descriptor enables swizzled addresses, which are not "
                          "supported");
    if (words[3] >> 23 & 1)
        return wave_fault(wave, instruction, -1,
                          "the buffer descriptor adds the lane's index, which is not supported");
    descriptor->base = (uint64_t)(words[1] & 0xffff) << 32 | words[0];
    descriptor->stride = words[1] >> 16 & 0x3fff;
    descriptor->records = words[2];
    return true;
}

/* How many of `size` bytes at `offset` the range check lets through. In GFX9 the records are bytes
   unless there is an index and a stride; then they are strides, and only the index is checked. Of a
   load or store of several dwords each one is checked for itself. */
static size_t count_present(const struct descriptor *descriptor, bool structured, uint64_t index,
                            uint64_t offset, size_t size, enum lds_access access)
{
    if (structured)
        return index < descriptor->records ? size : 0;
    uint64_t left = offset < descriptor->records ? descriptor->records - offset : 0;
    if (left >= size)
        return size;
    if (access == LDS_ATOMIC || size < sizeof(uint32_t))
        return 0;
    return (size_t)(left / sizeof(uint32_t) * sizeof(uint32_t));
}

bool buffer_locate(struct wave *wave, const struct instruction *instruction,
                   const struct vector_operands *operands, size_t size, enum lds_access access,
                   struct lane_memory *memory)
{
    struct descriptor descriptor = {0};
    const struct operand *address = &instruction->operands[operands->address];
    if (!read_descriptor(wave, instruction, &instruction->operands[operands->base], &descriptor))
        return false;
    uint64_t start =
        (uint64_t)wave_scalar_source(wave, &instruction->operands[operands->base + 1]) +
        (uint32_t)instruction->offset0;

    /* With both, the index comes first. */
    uint32_t index_scratch[LANES], offset_scratch[LANES];
    const uint32_t *indices =
        instruction->idxen ? wave_register(wave, address, 0, index_scratch) : NULL;
    const uint32_t *offsets = instruction->offen
                                  ? wave_register(wave, address, instruction->idxen, offset_scratch)
                                  : NULL;

    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        uint64_t index = indices ? indices[lane] : 0;
        uint64_t offset = start + (offsets ? offsets[lane] : 0);
        size_t present =
            count_present(&descriptor, indices && descriptor.stride, index, offset, size, access);
        if (present == 0) {
            memory->lanes |= (uint64_t)1 << lane;
            memory->bytes[lane] = NULL;
            memory->present[lane] = 0;
            continue;
        }
        uint64_t at = descriptor.base + index * descriptor.stride + offset;
        if (!lane_memory_locate_global(memory, wave, instruction, lane, at, present, access))
            return false;
    }
    return true;
}

/* The "lds" modifier makes another instruction of a load: its result goes to LDS. */
static bool load(struct wave *wave, const struct instruction *instruction)
{
    return instruction->lds ? vector_load_to_lds(wave, instruction)
                            : vector_load(wave, instruction);
}

/* Caches are not modelled, but what these order for other workgroups is ordered on the host. */
static bool write_back(struct wave *wave, const struct instruction *instruction)
{
    atomic_thread_fence(memory_order_seq_cst);
    vector_issue(wave, instruction, NULL);
    return true;
}

static bool invalidate(struct wave *wave, const struct instruction *instruction)
{
    (void)wave, (void)instruction;
    atomic_thread_fence(memory_order_seq_cst);
    return true;
}

#define LOAD(name, type, format)                                                                   \
    {                                                                                              \
        "buffer_load_" name, "[d:" type "] s:b32 s:b128 s:b32", load,                              \
            OPCODE_VECTOR_MEMORY | VECTOR_VARIANT(SEGMENT_BUFFER, format)                          \
    }
#define STORE(name, type, format)                                                                  \
    {                                                                                              \
        "buffer_store_" name, "s:" type " s:b32 s:b128 s:b32", vector_store,                       \
            OPCODE_VECTOR_MEMORY | VECTOR_VARIANT(SEGMENT_BUFFER, format)                          \
    }

static const struct opcode rows[] = {
    LOAD("ubyte", "b32", FORMAT_U8),
    LOAD("sbyte", "b32", FORMAT_I8),
    LOAD("ushort", "b32", FORMAT_U16),
    LOAD("sshort", "b32", FORMAT_I16),
    LOAD("dword", "b32", FORMAT_B32),
    LOAD("dwordx2", "b64", FORMAT_B64),
    LOAD("dwordx3", "b96", FORMAT_B96),
    LOAD("dwordx4", "b128", FORMAT_B128),
    LOAD("ubyte_d16", "b32", FORMAT_U8_D16),
    LOAD("ubyte_d16_hi", "b32", FORMAT_U8_D16_HI),
    LOAD("sbyte_d16", "b32", FORMAT_I8_D16),
    LOAD("sbyte_d16_hi", "b32", FORMAT_I8_D16_HI),
    LOAD("short_d16", "b32", FORMAT_B16_D16),
    LOAD("short_d16_hi", "b32", FORMAT_B16_D16_HI),
    STORE("byte", "b32", FORMAT_U8),
    STORE("byte_d16_hi", "b32", FORMAT_U8_D16_HI),
    STORE("short", "b32", FORMAT_U16),
    STORE("short_d16_hi", "b32", FORMAT_B16_D16_HI),
    STORE("dword", "b32", FORMAT_B32),
    STORE("dwordx2", "b64", FORMAT_B64),
    STORE("dwordx3", "b96", FORMAT_B96),
    STORE("dwordx4", "b128", FORMAT_B128),
    {"buffer_wbl2", "", write_back, OPCODE_VECTOR_MEMORY},
    {"buffer_inv", "", invalidate, OPCODE_VECTOR_MEMORY},
};

const struct opcode_table opcodes_buffer_memory = {rows, sizeof rows / sizeof rows[0]};
