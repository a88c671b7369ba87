#include "emulator/dpp.h"

enum { ROW = 16 };

/* The source of `lane`, or a number outside the wave. */
static int source_lane(uint8_t kind, unsigned value, int lane)
{
    int row = lane & ~(ROW - 1), column = lane & (ROW - 1), amount = (int)value;
    switch (kind) {
    case DPP_QUAD_PERM:
        return (lane & ~3) | (int)(value >> 2 * (lane & 3) & 3);
    case DPP_ROW_SHL:
        return column + amount < ROW ? lane + amount : -1;
    case DPP_ROW_SHR:
        return column >= amount ? lane - amount : -1;
    case DPP_ROW_ROR:
        return row | ((column - amount) & (ROW - 1));
    case DPP_WAVE_SHL:
        return lane + 1;
    case DPP_WAVE_ROL:
        return (lane + 1) & (LANES - 1);
    case DPP_WAVE_SHR:
        return lane - 1;
    case DPP_WAVE_ROR:
        return (lane - 1) & (LANES - 1);
    case DPP_ROW_MIRROR:
        return lane ^ (ROW - 1);
    case DPP_ROW_HALF_MIRROR:
        return lane ^ (ROW / 2 - 1);
    case DPP_ROW_BCAST_15: /* the last lane of the row before */
        return row - 1;
    case DPP_ROW_BCAST_31: /* lane 31, to the upper half of the wave */
        return lane >= 32 ? 31 : -1;
    case DPP_ROW_NEWBCAST:
        return row | amount;
    default:
        return lane;
    }
}

uint64_t dpp_map(const struct instruction *instruction, uint64_t exec, uint8_t source[LANES])
{
    uint64_t valid = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        int from = source_lane(instruction->dpp, instruction->dpp_value, lane);
        bool inside = from >= 0 && from < LANES;
        source[lane] = (uint8_t)(inside ? from : 0);
        valid |= (uint64_t)(inside && (exec >> from & 1)) << lane;
    }
    return valid;
}

/* A bank is four lanes of each row. */
static uint64_t enabled_lanes(const struct instruction *instruction)
{
    uint64_t lanes = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint64_t enabled =
            instruction->row_mask >> lane / ROW & 1 & instruction->bank_mask >> lane % ROW / 4;
        lanes |= enabled << lane;
    }
    return lanes;
}

uint64_t dpp_write_mask(const struct instruction *instruction, uint64_t exec)
{
    uint8_t source[LANES];
    uint64_t lanes = enabled_lanes(instruction) & exec;
    return instruction->bound_ctrl ? lanes : lanes & dpp_map(instruction, exec, source);
}
