/* What the files of LDS instructions share. */
#ifndef EMULATOR_LDS_OPERATIONS_H
#define EMULATOR_LDS_OPERATIONS_H

#include "emulator/lane_memory.h"

#define LDS_ROW(mnemonic, operands, execute, variant)                                              \
    {                                                                                              \
        mnemonic, operands, execute, OPCODE_LDS | (uint32_t)(variant) << OPCODE_VARIANT_SHIFT      \
    }

/* Locates every active lane's `size` bytes at the address in `address` plus `offset`. */
bool lds_locate(struct wave *wave, const struct instruction *instruction,
                const struct operand *address, uint32_t offset, size_t size, size_t alignment,
                enum lds_access access, struct lane_memory *memory);

/* The operation is done; its result is operand 0, or there is none. */
void lds_issue(struct wave *wave, const struct instruction *instruction, bool has_result);

/* execute function of ds_read_b64_tr_*; variant: bits of an element. In lds_transpose.c. */
bool lds_read_transposed(struct wave *wave, const struct instruction *instruction);

#endif
