/* Vector memory instructions of all segments: the operands' places in the text, a lane's address,
   and the execution of loads and stores. */
#ifndef EMULATOR_VECTOR_ACCESS_H
#define EMULATOR_VECTOR_ACCESS_H

#include "emulator/lane_memory.h"

enum segment { SEGMENT_GLOBAL, SEGMENT_FLAT, SEGMENT_SCRATCH, SEGMENT_BUFFER, SEGMENT_COUNT };

enum vector_access_kind {
    VECTOR_LOAD,
    VECTOR_STORE,
    VECTOR_LOAD_TO_LDS,
    VECTOR_ATOMIC,
    VECTOR_ATOMIC_RETURN,
    VECTOR_ACCESS_KIND_COUNT
};

/* What an opcode's row says in its variant (opcode_variant): the segment, and the memory format or
   the atomic operation. */
enum { VARIANT_SEGMENT_SHIFT = 8 };
#define VECTOR_VARIANT(segment, what)                                                              \
    ((uint32_t)((segment) << VARIANT_SEGMENT_SHIFT | (what)) << OPCODE_VARIANT_SHIFT)

static inline enum segment segment_of(const struct instruction *instruction)
{
    return (enum segment)(opcode_variant(instruction->opcode) >> VARIANT_SEGMENT_SHIFT);
}

static inline unsigned variant_of(const struct instruction *instruction)
{
    return opcode_variant(instruction->opcode) & ((1u << VARIANT_SEGMENT_SHIFT) - 1);
}

/* Indices of an instruction's operands; OPERAND_ABSENT where it has none. */
enum { OPERAND_ABSENT = 0xff };
struct vector_operands {
    uint8_t result, data;
    uint8_t address; /* in vector registers, or "off" */
    uint8_t base;    /* the scalar part of the address, or "off"; buffers: the descriptor, behind
                        which stands soffset */
};
const struct vector_operands *vector_operands_of(enum segment segment,
                                                 enum vector_access_kind kind);

/* Finds and checks every active lane's `size` bytes. False after a fault. */
bool vector_locate(struct wave *wave, const struct instruction *instruction,
                   const struct vector_operands *operands, size_t size, enum lds_access access,
                   struct lane_memory *memory);

/* The same for one segment; vector_locate chooses. In buffer_memory.c: */
bool buffer_locate(struct wave *wave, const struct instruction *instruction,
                   const struct vector_operands *operands, size_t size, enum lds_access access,
                   struct lane_memory *memory);

/* Counts the operation: in vmcnt, and in lgkmcnt too if it is a flat one. */
void vector_issue(struct wave *wave, const struct instruction *instruction,
                  const struct operand *result);

/* execute functions; the row's variant holds segment and memory format */
bool vector_load(struct wave *wave, const struct instruction *instruction);
bool vector_store(struct wave *wave, const struct instruction *instruction);
bool vector_load_to_lds(struct wave *wave, const struct instruction *instruction);

#endif
