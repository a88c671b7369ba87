/* Registers that s_set_gpr_idx_on chooses at run time. */
#ifndef EMULATOR_REGISTER_INDEX_H
#define EMULATOR_REGISTER_INDEX_H

#include "emulator/wave.h"

/* The bit of MODE that says that an index holds. */
static const uint32_t MODE_REGISTER_INDEX = (uint32_t)1 << 27;

/* What an instruction becomes while one holds: itself, or `*indexed`. NULL after a fault. */
const struct instruction *register_index_apply(struct wave *wave,
                                               const struct instruction *instruction,
                                               struct instruction *indexed);

#endif
