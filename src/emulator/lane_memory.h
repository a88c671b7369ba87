/* What all memory instructions with an address per lane have in common: checked places in memory,
   one for each active lane, and moving data between them and vector registers. */
#ifndef EMULATOR_LANE_MEMORY_H
#define EMULATOR_LANE_MEMORY_H

#include "emulator/wave.h"

/* What lies in memory, and how it looks in a register. */
enum memory_format {
    FORMAT_U8,
    FORMAT_I8,
    FORMAT_U16,
    FORMAT_I16,
    FORMAT_B32,
    FORMAT_B64,
    FORMAT_B96,
    FORMAT_B128,
    FORMAT_U8_D16, /* "d16": in one half of a register, the other half stays */
    FORMAT_U8_D16_HI,
    FORMAT_I8_D16,
    FORMAT_I8_D16_HI,
    FORMAT_B16_D16,
    FORMAT_B16_D16_HI,
    FORMAT_COUNT
};

enum { LANE_DWORDS_MAX = 4 }; /* a lane's data in registers */

uint32_t memory_format_bytes(enum memory_format format);
uint32_t memory_format_dwords(enum memory_format format);

/* Where each lane's access goes, after all checks. */
struct lane_memory {
    uint64_t lanes;         /* those that take part */
    uint8_t *bytes[LANES];  /* host addresses */
    uint8_t present[LANES]; /* how many of a lane's bytes exist: a buffer's range check may have
                               cut the rest off, which reads as 0 and isn't written */
};

/* Registers to memory and back. `data` holds what the registers do, dword by dword; lanes that take
   no part are left alone. Loads of the d16 formats replace one half of what `data` holds. Dwords
   that are aligned are accessed as a whole, whatever other threads do. */
void lane_memory_load(const struct lane_memory *memory, enum memory_format format,
                      uint32_t data[][LANES]);
void lane_memory_store(const struct lane_memory *memory, enum memory_format format,
                       const uint32_t data[][LANES]);

/* Copies an operand's first dwords. */
void lane_memory_read_registers(struct wave *wave, const struct operand *operand, unsigned dwords,
                                uint32_t data[][LANES]);

/* An instruction's load and store with its operand `result` or `data`. */
void lane_memory_load_registers(const struct lane_memory *memory, enum memory_format format,
                                struct wave *wave, const struct instruction *instruction,
                                unsigned result);
void lane_memory_store_registers(const struct lane_memory *memory, enum memory_format format,
                                 struct wave *wave, const struct instruction *instruction,
                                 unsigned data);

/* The natural alignment of an LDS access: its size, and 16 bytes for 12. HSA puts the hardware into
   its "unaligned" mode, where all but atomics may lie anywhere, at a cost, and LLVM makes use of
   that for data which it doesn't know to be aligned. Here it is an error: in the kernels that this
   machine is for, it is never what was meant. */
static inline size_t lds_alignment(size_t size)
{
    return size == 12 ? 16 : size;
}

/* The place of `size` bytes at an LDS address for one lane; false after a fault. The parts of an
   address are added in 32 bits: LLVM folds a constant into the immediate even if what is left in
   the register is negative. */
bool lane_memory_locate_lds(struct lane_memory *memory, struct wave *wave,
                            const struct instruction *instruction, unsigned lane, uint32_t address,
                            size_t size, size_t alignment, enum lds_access access);

/* As above, in the lane's scratch. */
bool lane_memory_locate_scratch(struct lane_memory *memory, struct wave *wave,
                                const struct instruction *instruction, unsigned lane,
                                int64_t offset, size_t size);

/* As above, in global memory. */
bool lane_memory_locate_global(struct lane_memory *memory, struct wave *wave,
                               const struct instruction *instruction, unsigned lane,
                               uint64_t address, size_t size, enum lds_access access);

/* Iterates over the lanes in a mask, lowest first. */
static inline bool next_lane(uint64_t *lanes, unsigned *lane)
{
    if (*lanes == 0)
        return false;
    *lane = (unsigned)__builtin_ctzll(*lanes);
    *lanes &= *lanes - 1;
    return true;
}

/* Puts an operation that will write operand `result` (or nothing, if it is not in the vector file)
   into a queue. */
static inline void issue_result(struct wave *wave, struct outstanding_queue *queue,
                                const struct operand *result)
{
    struct outstanding item = {0};
    if (result && result->kind == OPERAND_VECTOR) {
        item.first = result->index;
        item.count = result->width;
    }
    wave_issue(wave, queue, &item);
}

#endif
