/* Moves: between lanes, between vector and scalar registers, and plain ones (whose DPP forms move
   between lanes as well). */
#include "emulator/vector_alu.h"

/* ---- Plain moves ---- */

static bool execute_v_nop(struct wave *wave, const struct instruction *instruction)
{
    (void)wave, (void)instruction;
    return true;
}

static bool move(struct wave *wave, const struct instruction *instruction, unsigned dwords)
{
    uint32_t scratch[2][LANES];
    const uint32_t *sources[2];
    for (unsigned part = 0; part < dwords; part++)
        sources[part] = wave_source(wave, instruction, 1, part, scratch[part]);
    if (dwords == 2) { /* an overlapping destination must not change a part still to be read */
        memmove(scratch[1], sources[1], sizeof scratch[1]);
        sources[1] = scratch[1];
    }
    for (unsigned part = 0; part < dwords; part++)
        wave_result(wave, instruction, 0, part, sources[part]);
    return true;
}

DEFINE_EXECUTE(v_mov_b32, move, 1)
DEFINE_EXECUTE(v_mov_b64, move, 2)

/* ---- Vector to scalar and back ---- */

/* With EXEC 0 the machine reads lane 0. */
static bool execute_v_readfirstlane_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    uint64_t exec = wave_exec(wave);
    unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    const uint32_t *lanes = wave_register(wave, &instruction->operands[1], 0, scratch);
    wave_scalar_result(wave, &instruction->operands[0], lanes[lane]);
    return true;
}

/* EXEC plays no part in these two. */
static bool execute_v_readlane_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    const uint32_t *lanes = wave_register(wave, &instruction->operands[1], 0, scratch);
    uint32_t lane = wave_scalar_source(wave, &instruction->operands[2]) % LANES;
    wave_scalar_result(wave, &instruction->operands[0], lanes[lane]);
    return true;
}

static bool execute_v_writelane_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t value = wave_scalar_source(wave, &instruction->operands[1]);
    uint32_t lane = wave_scalar_source(wave, &instruction->operands[2]) % LANES;
    wave->vector[instruction->operands[0].index][lane] = value;
    return true;
}

/* ---- Exchanges between two registers ---- */

static bool execute_v_swap_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES], first[LANES], second[LANES];
    memcpy(first, wave_register(wave, &instruction->operands[0], 0, scratch), sizeof first);
    memcpy(second, wave_register(wave, &instruction->operands[1], 0, scratch), sizeof second);
    wave_result(wave, instruction, 0, 0, second);
    wave_result(wave, instruction, 1, 0, first);
    return true;
}

/* What a lane gets of another that is off: nothing, 0 with bound_ctrl, or what it holds with fi. */
static void take(const struct instruction *instruction, uint32_t *target, uint32_t value,
                 bool source_on)
{
    if (source_on || instruction->fetch_inactive)
        *target = value;
    else if (instruction->bound_ctrl)
        *target = 0;
}

/* Odd rows of `span` lanes of the first register change places with the even rows of the second:
   lane l + span of the one with lane l of the other. */
static bool swap_rows(struct wave *wave, const struct instruction *instruction, unsigned span)
{
    uint32_t scratch[LANES], first[LANES], second[LANES];
    uint64_t exec = wave_exec(wave);
    memcpy(first, wave_register(wave, &instruction->operands[0], 0, scratch), sizeof first);
    memcpy(second, wave_register(wave, &instruction->operands[1], 0, scratch), sizeof second);
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (lane & span)
            continue;
        uint32_t upper = first[lane + span], lower = second[lane];
        take(instruction, &first[lane + span], lower, exec >> lane & 1);
        take(instruction, &second[lane], upper, exec >> (lane + span) & 1);
    }
    wave_result(wave, instruction, 0, 0, first);
    wave_result(wave, instruction, 1, 0, second);
    return true;
}

DEFINE_EXECUTE(v_permlane16_swap_b32, swap_rows, 16)
DEFINE_EXECUTE(v_permlane32_swap_b32, swap_rows, 32)

/* ---- How many bits of a mask belong to lower lanes ---- */

static bool count_lower(struct wave *wave, const struct instruction *instruction, unsigned first)
{
    uint32_t scratch_mask[LANES], scratch_addend[LANES], result[LANES];
    const uint32_t *masks = wave_source(wave, instruction, 1, 0, scratch_mask);
    const uint32_t *addends = wave_source(wave, instruction, 2, 0, scratch_addend);
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t lower_lanes = ((uint64_t)1 << lane) - 1;
        uint32_t counted = masks[lane] & (uint32_t)(lower_lanes >> first);
        result[lane] = (uint32_t)__builtin_popcount(counted) + addends[lane];
    }
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

DEFINE_EXECUTE(v_mbcnt_lo_u32_b32, count_lower, 0)
DEFINE_EXECUTE(v_mbcnt_hi_u32_b32, count_lower, 32)

/* clang-format off */
static const struct opcode rows[] = {
    OPCODE_ROW(v_nop, "", 0)
    OPCODE_ROW(v_mov_b32, "d:b32 s:b32", 0)
    OPCODE_ROW(v_mov_b64, "d:b64 s:b64", 0)
    OPCODE_ROW(v_readfirstlane_b32, "d:b32 s:b32", 0)
    OPCODE_ROW(v_readlane_b32, "d:b32 s:b32 s:b32", 0)
    OPCODE_ROW(v_writelane_b32, "d:b32 s:b32 s:b32", 0)
    OPCODE_ROW(v_swap_b32, "x:b32 x:b32", 0)
    OPCODE_ROW(v_permlane16_swap_b32, "x:b32 x:b32", 0)
    OPCODE_ROW(v_permlane32_swap_b32, "x:b32 x:b32", 0)
    OPCODE_ROW(v_mbcnt_lo_u32_b32, "d:b32 s:b32 s:b32", 0)
    OPCODE_ROW(v_mbcnt_hi_u32_b32, "d:b32 s:b32 s:b32", 0)
};
/* clang-format on */

const struct opcode_table opcodes_cross_lane = {rows, sizeof rows / sizeof rows[0]};
