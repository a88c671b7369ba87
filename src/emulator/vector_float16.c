/* f16 arithmetic of the vector ALU, and the mixed-precision fused multiply-add.

   Sums and products of two halves are computed in f32: it has more than twice their precision, so
   that rounding a second time, to f16, changes nothing. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

#include <math.h>

/* The greatest f16 below 1. */
#define BELOW_ONE 0x1.ffcp-1f

static inline float fraction(float x)
{
    float difference = x - floorf(x);
    return difference > BELOW_ONE ? BELOW_ONE : difference;
}

static inline float mantissa_of(float x)
{
    int exponent;
    return isfinite(x) ? frexpf(x, &exponent) : x;
}

static inline uint32_t exponent_of(float x)
{
    int exponent = 0;
    if (isfinite(x))
        (void)frexpf(x, &exponent);
    return (uint16_t)exponent;
}

/* The product is rounded before the addition. */
static inline float multiply_add(float a, float b, float c)
{
    return half_decode(half_encode(a * b)) + c;
}

#define UNARY(X)                                                                                   \
    X(v_floor_f16, floorf(a))                                                                      \
    X(v_ceil_f16, ceilf(a))                                                                        \
    X(v_trunc_f16, truncf(a))                                                                      \
    X(v_rndne_f16, rintf(a))                                                                       \
    X(v_fract_f16, fraction(a))                                                                    \
    X(v_frexp_mant_f16, mantissa_of(a))

#define BINARY(X)                                                                                  \
    X(v_add_f16, a + b)                                                                            \
    X(v_sub_f16, a - b)                                                                            \
    X(v_subrev_f16, b - a)                                                                         \
    X(v_mul_f16, (a * b))

/* v_madmk and v_madak have their literal where the text has it: between the factors, or last. */
#define TERNARY(X)                                                                                 \
    X(v_mad_legacy_f16, multiply_add(a, b, c))                                                     \
    X(v_madmk_f16, multiply_add(a, b, c))                                                          \
    X(v_madak_f16, multiply_add(a, b, c))

/* On bit patterns. */
#define SELECT_2(X)                                                                                \
    X(v_min_f16, min_f16(a, b))                                                                    \
    X(v_max_f16, max_f16(a, b))

#define SELECT_3(X)                                                                                \
    X(v_min3_f16, min_f16(min_f16(a, b), c))                                                       \
    X(v_max3_f16, max_f16(max_f16(a, b), c))                                                       \
    X(v_med3_f16, med3_f16(a, b, c))

#define DEFINE_ARITHMETIC(count, mnemonic, expression)                                             \
    DEFINE_LOOP(mnemonic##_lanes, count, float, half_decode, half_encode, expression)              \
    DEFINE_EXECUTE(mnemonic, alu_run_f16, mnemonic##_lanes, count, SOURCES_AFTER_RESULT)
#define DEFINE_UNARY(...)   DEFINE_ARITHMETIC(1, __VA_ARGS__)
#define DEFINE_BINARY(...)  DEFINE_ARITHMETIC(2, __VA_ARGS__)
#define DEFINE_TERNARY(...) DEFINE_ARITHMETIC(3, __VA_ARGS__)

#define DEFINE_SELECT(count, mnemonic, expression)                                                 \
    DEFINE_LOOP(mnemonic##_lanes, count, uint16_t, (uint16_t), (uint32_t), expression)             \
    DEFINE_EXECUTE(mnemonic, alu_select_f16, mnemonic##_lanes, count)
#define DEFINE_SELECT_2(...) DEFINE_SELECT(2, __VA_ARGS__)
#define DEFINE_SELECT_3(...) DEFINE_SELECT(3, __VA_ARGS__)

UNARY(DEFINE_UNARY)
BINARY(DEFINE_BINARY)
TERNARY(DEFINE_TERNARY)
SELECT_2(DEFINE_SELECT_2)
SELECT_3(DEFINE_SELECT_3)

DEFINE_TERNARY(v_mad_f16, multiply_add(a, b, c))
DEFINE_EXECUTE(v_mac_f16, alu_run_f16, v_mad_f16_lanes, 2, SOURCES_ACCUMULATE)

DEFINE_LOOP(v_fma_f16_lanes, 3, float, half_decode, (uint32_t), fma_f16(a, b, c))
DEFINE_EXECUTE(v_fma_f16, alu_run_f16, v_fma_f16_lanes, 3, SOURCES_AFTER_RESULT)
DEFINE_EXECUTE(v_fma_legacy_f16, alu_run_f16, v_fma_f16_lanes, 3, SOURCES_AFTER_RESULT)

static void v_ldexp_f16_lanes(uint32_t *restrict result, const uint32_t *const *sources)
{
    const uint32_t *restrict values = sources[0], *restrict exponents = sources[1];
    for (unsigned lane = 0; lane < LANES; lane++) {
        /* Beyond ±60 every half has over- or underflown; within, f32 holds the result exactly. */
        int32_t exponent = (int16_t)exponents[lane];
        exponent = exponent < -60 ? -60 : exponent > 60 ? 60 : exponent;
        result[lane] = half_encode(ldexp_f32(half_decode(values[lane]), exponent));
    }
}

DEFINE_EXECUTE(v_ldexp_f16, alu_run_f16, v_ldexp_f16_lanes, 2, SOURCES_AFTER_RESULT)

DEFINE_LOOP(v_frexp_exp_i16_f16_lanes, 1, float, half_decode, (uint32_t), exponent_of(a))
DEFINE_EXECUTE(v_frexp_exp_i16_f16, alu_run, v_frexp_exp_i16_f16_lanes, 1)

DEFINE_LOOP(v_pack_b32_f16_lanes, 2, uint32_t, (uint16_t), (uint32_t), b << 16 | a)
DEFINE_EXECUTE(v_pack_b32_f16, alu_run, v_pack_b32_f16_lanes, 2)

/* ---- v_fma_mix: each source is an f32, or a half of a dword ---- */

enum mix_result { MIX_F32, MIX_LOW_F16, MIX_HIGH_F16 };

/* op_sel_hi says f16, op_sel then which half; neg and abs are the operand's. */
static bool mix_source(struct wave *wave, const struct instruction *instruction, unsigned index,
                       uint32_t lanes[LANES])
{
    const struct operand *operand = &instruction->operands[1 + index];
    bool is_half = instruction->op_sel_hi >> index & 1;
    bool high = instruction->op_sel >> index & 1;
    uint32_t scratch[LANES];
    if (is_half && operand->kind == OPERAND_CONSTANT)
        return wave_fault(wave, instruction, -1,
                          "source %u is an f16 constant, which the emulator "
                          "does not model here",
                          index);
    const uint32_t *raw = wave_register(wave, operand, 0, scratch);
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint32_t bits =
            is_half ? number_to_bits(half_decode(high ? raw[lane] >> 16 : raw[lane])) : raw[lane];
        bits = operand->absolute ? bits & 0x7fffffff : bits;
        lanes[lane] = operand->negate ? bits ^ 0x80000000 : bits;
    }
    if (!is_half && !(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F32))
        alu_flush_f32(lanes);
    return true;
}

static bool run_mix(struct wave *wave, const struct instruction *instruction, enum mix_result kind)
{
    uint32_t lanes[SOURCES_MAX][LANES], result[LANES], scratch[LANES];
    const uint32_t *sources[SOURCES_MAX] = {lanes[0], lanes[1], lanes[2]};
    if (!alu_check_mode(wave, instruction, UNSERVED_F32 | UNSERVED_F16))
        return false;
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        if (!mix_source(wave, instruction, i, lanes[i]))
            return false;
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = number_to_bits(fma_f32(number_from_bits(lanes[0][lane]),
                                              number_from_bits(lanes[1][lane]),
                                              number_from_bits(lanes[2][lane])));
    alu_settle_nans_f32(result, sources, SOURCES_MAX);
    if (kind == MIX_F32) {
        alu_finish_f32(wave, instruction, result);
        wave_result(wave, instruction, 0, 0, result);
        return true;
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = half_encode(number_from_bits(result[lane]));
    alu_finish_f16(wave, instruction, result);
    const uint32_t *old = wave_register(wave, &instruction->operands[0], 0, scratch);
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = kind == MIX_HIGH_F16 ? result[lane] << 16 | (old[lane] & 0xffff)
                                            : result[lane] | (old[lane] & 0xffff0000);
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

DEFINE_EXECUTE(v_fma_mix_f32, run_mix, MIX_F32)
DEFINE_EXECUTE(v_fma_mixlo_f16, run_mix, MIX_LOW_F16)
DEFINE_EXECUTE(v_fma_mixhi_f16, run_mix, MIX_HIGH_F16)

#define ROW_UNARY(mnemonic, ...)   OPCODE_ROW(mnemonic, "d:f16 s:f16", 0)
#define ROW_BINARY(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:f16 s:f16 s:f16", 0)
#define ROW_TERNARY(mnemonic, ...) OPCODE_ROW(mnemonic, "d:f16 s:f16 s:f16 s:f16", 0)
#define ROW_TERNARY_KEEPING(mnemonic, ...)                                                         \
    OPCODE_ROW(mnemonic, "d:f16 s:f16 s:f16 s:f16", OPCODE_KEEPS_HALF)

/* clang-format off */
static const struct opcode rows[] = {
    UNARY(ROW_UNARY)
    BINARY(ROW_BINARY)
    TERNARY(ROW_TERNARY)
    SELECT_2(ROW_BINARY)
    SELECT_3(ROW_TERNARY_KEEPING)
    OPCODE_ROW(v_mad_f16, "d:f16 s:f16 s:f16 s:f16", OPCODE_KEEPS_HALF)
    OPCODE_ROW(v_fma_f16, "d:f16 s:f16 s:f16 s:f16", OPCODE_KEEPS_HALF)
    OPCODE_ROW(v_fma_legacy_f16, "d:f16 s:f16 s:f16 s:f16", 0)
    OPCODE_ROW(v_mac_f16, "x:f16 s:f16 s:f16", 0)
    OPCODE_ROW(v_ldexp_f16, "d:f16 s:f16 s:i16", 0)
    OPCODE_ROW(v_frexp_exp_i16_f16, "d:i16 s:f16", 0)
    OPCODE_ROW(v_pack_b32_f16, "d:b32 s:f16 s:f16", 0)
    OPCODE_ROW(v_fma_mix_f32, "d:f32 s:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_fma_mixlo_f16, "x:b32 s:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_fma_mixhi_f16, "x:b32 s:f32 s:f32 s:f32", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_float16 = {rows, sizeof rows / sizeof rows[0]};
