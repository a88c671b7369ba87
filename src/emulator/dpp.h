/* Data-parallel primitives: the lane that each lane's first source comes from. */
#ifndef EMULATOR_DPP_H
#define EMULATOR_DPP_H

#include "emulator/instruction.h"

/* Fills the source lane of each lane and returns the lanes that have one: inside the row or wave
   and, as `exec` says, active. */
uint64_t dpp_map(const struct instruction *instruction, uint64_t exec, uint8_t source[LANES]);

/* The lanes that row_mask, bank_mask and, without bound_ctrl, missing sources leave enabled. */
uint64_t dpp_write_mask(const struct instruction *instruction, uint64_t exec);

#endif
