/* What the files of the scalar ALU share: an instruction is a row of a family, and the family's
   macro makes its execute function from two expressions, the result and SCC. */
#ifndef EMULATOR_SCALAR_ALU_H
#define EMULATOR_SCALAR_ALU_H

#include "emulator/wave.h"

/* The types that rows name; i64 differs from b64 in how it extends a literal. */
typedef uint32_t scalar_b32;
typedef uint64_t scalar_b64;
typedef uint64_t scalar_i64;

static inline scalar_b32 scalar_read_b32(struct wave *wave, const struct instruction *instruction,
                                         unsigned operand)
{
    return wave_scalar_source(wave, &instruction->operands[operand]);
}

static inline scalar_b64 scalar_read_b64(struct wave *wave, const struct instruction *instruction,
                                         unsigned operand)
{
    return wave_scalar_source64(wave, &instruction->operands[operand]);
}

static inline scalar_i64 scalar_read_i64(struct wave *wave, const struct instruction *instruction,
                                         unsigned operand)
{
    return wave_scalar_source64(wave, &instruction->operands[operand]);
}

static inline void scalar_write_b32(struct wave *wave, const struct instruction *instruction,
                                    scalar_b32 value)
{
    wave_scalar_result(wave, &instruction->operands[0], value);
}

static inline void scalar_write_b64(struct wave *wave, const struct instruction *instruction,
                                    scalar_b64 value)
{
    wave_scalar_result64(wave, &instruction->operands[0], value);
}

static inline void scalar_write_i64(struct wave *wave, const struct instruction *instruction,
                                    scalar_i64 value)
{
    wave_scalar_result64(wave, &instruction->operands[0], value);
}

/* The low `bits` bits set. */
static inline uint64_t scalar_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline int64_t scalar_sign_extend(uint64_t value, unsigned bits)
{
    if (bits == 0 || bits >= 64)
        return bits ? (int64_t)value : 0;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((value & scalar_mask(bits)) ^ sign) - sign);
}

#endif
