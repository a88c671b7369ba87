/* Vector registers chosen at run time: while s_set_gpr_idx_on holds, M0 says how far the numbers of
   an instruction's vector registers are moved, and which of its operands that concerns. */
#include "emulator/register_index.h"

#include "emulator/scalar_alu.h"

#include <string.h>

/* M0's fields: the distance, and a bit each for the three sources and the destination. */
enum {
    DISTANCE_MASK = 0xff,
    SELECT_SHIFT = 12,
    SELECT_MASK = 0xf,
    SELECT_SOURCE_0 = 1,
    SELECT_DESTINATION = 8
};

static bool set_m0(struct wave *wave, const struct instruction *instruction, uint32_t mask,
                   uint32_t bits)
{
    if (!wave_check_scalar(wave, instruction, SCALAR_M0, 1))
        return false;
    wave->scalar[SCALAR_M0] = (wave->scalar[SCALAR_M0] & ~mask) | (bits & mask);
    return true;
}

static bool execute_s_set_gpr_idx_on(struct wave *wave, const struct instruction *instruction)
{
    uint32_t distance = scalar_read_b32(wave, instruction, 0) & DISTANCE_MASK;
    uint32_t selected = (uint32_t)instruction->operands[1].value & SELECT_MASK;
    wave->mode |= MODE_REGISTER_INDEX;
    return set_m0(wave, instruction, DISTANCE_MASK | SELECT_MASK << SELECT_SHIFT,
                  distance | selected << SELECT_SHIFT);
}

static bool execute_s_set_gpr_idx_off(struct wave *wave, const struct instruction *instruction)
{
    (void)instruction;
    wave->mode &= ~MODE_REGISTER_INDEX;
    return true;
}

static bool execute_s_set_gpr_idx_idx(struct wave *wave, const struct instruction *instruction)
{
    return set_m0(wave, instruction, DISTANCE_MASK, scalar_read_b32(wave, instruction, 0));
}

static bool execute_s_set_gpr_idx_mode(struct wave *wave, const struct instruction *instruction)
{
    uint32_t selected = (uint32_t)instruction->operands[0].value & SELECT_MASK;
    return set_m0(wave, instruction, SELECT_MASK << SELECT_SHIFT, selected << SELECT_SHIFT);
}

/* Moves one operand; false where it leaves the file. */
static bool displace(struct operand *operand, uint32_t distance)
{
    if (operand->kind != OPERAND_VECTOR)
        return true;
    uint32_t end = operand->index < VECTOR_ACCUMULATOR ? VECTOR_ACCUMULATOR : VECTOR_COUNT;
    uint32_t index = operand->index + distance;
    operand->index = (uint16_t)index;
    return index + operand->width <= end;
}

const struct instruction *register_index_apply(struct wave *wave,
                                               const struct instruction *instruction,
                                               struct instruction *indexed)
{
    if (instruction->class != CLASS_VECTOR)
        return instruction;
    if (strcmp(instruction->opcode->mnemonic, "v_mov_b32") != 0 || instruction->sdwa ||
        instruction->dpp) {
        wave_fault(wave, instruction, -1,
                   "under s_set_gpr_idx_on the emulator knows only plain v_mov_b32");
        return NULL;
    }
    if (!wave_check_scalar(wave, instruction, SCALAR_M0, 1))
        return NULL;
    uint32_t distance = wave->scalar[SCALAR_M0] & DISTANCE_MASK;
    uint32_t selected = wave->scalar[SCALAR_M0] >> SELECT_SHIFT & SELECT_MASK;
    *indexed = *instruction;
    if ((selected & SELECT_DESTINATION && !displace(&indexed->operands[0], distance)) ||
        (selected & SELECT_SOURCE_0 && !displace(&indexed->operands[1], distance))) {
        wave_fault(wave, instruction, -1, "an index of %u leads beyond the vector registers",
                   distance);
        return NULL;
    }
    return indexed;
}

static const struct opcode rows[] = {
    {"s_set_gpr_idx_on", "s:b32 s:lbl", execute_s_set_gpr_idx_on, 0},
    {"s_set_gpr_idx_off", "", execute_s_set_gpr_idx_off, 0},
    {"s_set_gpr_idx_idx", "s:b32", execute_s_set_gpr_idx_idx, 0},
    {"s_set_gpr_idx_mode", "s:lbl", execute_s_set_gpr_idx_mode, 0},
};

const struct opcode_table opcodes_register_index = {rows, sizeof rows / sizeof rows[0]};
