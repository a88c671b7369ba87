/* Packed operations, v_pk_*: two 16-bit numbers in a dword, or two dwords in a pair of registers.

   op_sel bit i picks the half of source i that makes the low result, op_sel_hi that of the high
   one; neg_lo and neg_hi negate likewise. */
#include "emulator/float_bits.h"
#include "emulator/integer_bits.h"
#include "emulator/vector_alu.h"

enum half { LOW, HIGH };

static bool picks_high(const struct instruction *instruction, unsigned index, enum half half)
{
    uint8_t selections = half == LOW ? instruction->op_sel : instruction->op_sel_hi;
    return selections >> index & 1;
}

static bool negates(const struct instruction *instruction, unsigned index, enum half half)
{
    uint8_t negations = half == LOW ? instruction->neg_lo : instruction->neg_hi;
    return negations >> index & 1;
}

/* ---- 16 bits ---- */

static void pick_half(const struct instruction *instruction, unsigned index, enum half half,
                      const uint32_t *restrict packed, uint32_t *restrict lanes)
{
    unsigned shift = picks_high(instruction, index, half) ? 16 : 0;
    uint32_t flip = negates(instruction, index, half) ? 0x8000 : 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        lanes[lane] = (packed[lane] >> shift & 0xffff) ^ flip;
}

static void join_halves(uint32_t *restrict low, const uint32_t *restrict high)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        low[lane] = high[lane] << 16 | (low[lane] & 0xffff);
}

static bool run_integer(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                        unsigned count)
{
    uint32_t scratch[SOURCES_MAX][LANES], picked[SOURCES_MAX][LANES], result[2][LANES];
    const uint32_t *packed[SOURCES_MAX];
    const uint32_t *sources[SOURCES_MAX] = {picked[0], picked[1], picked[2]};
    for (unsigned i = 0; i < count; i++)
        packed[i] = wave_source(wave, instruction, 1 + i, 0, scratch[i]);
    for (unsigned half = LOW; half <= HIGH; half++) {
        for (unsigned i = 0; i < count; i++)
            pick_half(instruction, i, half, packed[i], picked[i]);
        loop(result[half], sources);
    }
    join_halves(result[LOW], result[HIGH]);
    wave_result(wave, instruction, 0, 0, result[LOW]);
    return true;
}

/* Who decides about NaNs: the rule of arithmetic, or an operation that chooses a source. */
enum nan_rule { NANS_SETTLE, NANS_OF_LOOP };

static void quiet_lanes(uint32_t lanes[LANES])
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint16_t bits = (uint16_t)lanes[lane];
        lanes[lane] = is_nan_f16(bits) ? quiet_f16(bits) : bits;
    }
}

/* SOURCES_ACCUMULATE: the last source is operand 0, each half for its own. */
static bool run_f16(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                    unsigned count, enum source_order order, enum nan_rule rule)
{
    uint32_t scratch[SOURCES_MAX][LANES], picked[SOURCES_MAX][LANES], result[2][LANES];
    const uint32_t *packed[SOURCES_MAX];
    const uint32_t *sources[SOURCES_MAX] = {picked[0], picked[1], picked[2]};
    unsigned total = order == SOURCES_ACCUMULATE ? count + 1 : count;
    if (!alu_check_mode(wave, instruction, UNSERVED_F16))
        return false;
    for (unsigned i = 0; i < count; i++)
        packed[i] = wave_source(wave, instruction, 1 + i, 0, scratch[i]);
    if (order == SOURCES_ACCUMULATE)
        packed[count] = wave_register(wave, &instruction->operands[0], 0, scratch[count]);
    for (unsigned half = LOW; half <= HIGH; half++) {
        for (unsigned i = 0; i < total; i++) {
            if (i < count)
                pick_half(instruction, i, half, packed[i], picked[i]);
            else
                for (unsigned lane = 0; lane < LANES; lane++)
                    picked[i][lane] = packed[i][lane] >> 16 * half & 0xffff;
            if (!(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64))
                alu_flush_f16(picked[i]);
            if (rule == NANS_OF_LOOP && !(wave->mode & MODE_IEEE))
                quiet_lanes(picked[i]);
        }
        loop(result[half], sources);
        if (rule == NANS_SETTLE)
            alu_settle_nans_f16(result[half], sources, total);
        alu_finish_f16(wave, instruction, result[half]);
    }
    join_halves(result[LOW], result[HIGH]);
    wave_result(wave, instruction, 0, 0, result[LOW]);
    return true;
}

/* X(mnemonic, source as a number, expression) */
#define INTEGER(X)                                                                                 \
    X(v_pk_mul_lo_u16, unsigned_16, (uint32_t)a *(uint32_t)b)                                      \
    X(v_pk_lshlrev_b16, unsigned_16, b << (a & 15))                                                \
    X(v_pk_lshrrev_b16, unsigned_16, b >> (a & 15))                                                \
    X(v_pk_ashrrev_i16, signed_16, shift_right_signed((uint32_t)b, a & 15))                        \
    X(v_pk_max_i16, signed_16, greatest_of(a, b))                                                  \
    X(v_pk_min_i16, signed_16, least_of(a, b))                                                     \
    X(v_pk_max_u16, unsigned_16, greatest_of(a, b))                                                \
    X(v_pk_min_u16, unsigned_16, least_of(a, b))

/* X(mnemonic, source as a number, least, greatest, expression): clamp limits to that range. */
#define SATURATING_BINARY(X)                                                                       \
    X(v_pk_add_i16, signed_16, INT16_MIN, INT16_MAX, a + b)                                        \
    X(v_pk_sub_i16, signed_16, INT16_MIN, INT16_MAX, a - b)                                        \
    X(v_pk_add_u16, unsigned_16, 0, UINT16_MAX, a + b)                                             \
    X(v_pk_sub_u16, unsigned_16, 0, UINT16_MAX, a - b)

#define SATURATING_TERNARY(X)                                                                      \
    X(v_pk_mad_i16, signed_16, INT16_MIN, INT16_MAX, multiply_add_16(a, b, c))                     \
    X(v_pk_mad_u16, unsigned_16, 0, UINT16_MAX, multiply_add_16(a, b, c))

#define DEFINE_INTEGER(mnemonic, load, expression)                                                 \
    DEFINE_LOOP(mnemonic##_lanes, 2, int32_t, load, (uint16_t), expression)                        \
    DEFINE_EXECUTE(mnemonic, run_integer, mnemonic##_lanes, 2)
#define DEFINE_SATURATING(count, mnemonic, load, least, greatest, expression)                      \
    DEFINE_LOOP(mnemonic##_lanes, count, int32_t, load, (uint16_t), expression)                    \
    DEFINE_LOOP(mnemonic##_clamped, count, int32_t, load, (uint16_t),                              \
                saturate(expression, least, greatest))                                             \
    DEFINE_EXECUTE(mnemonic, run_integer,                                                          \
                   instruction->clamp ? mnemonic##_clamped : mnemonic##_lanes, count)
#define DEFINE_SATURATING_BINARY(...)  DEFINE_SATURATING(2, __VA_ARGS__)
#define DEFINE_SATURATING_TERNARY(...) DEFINE_SATURATING(3, __VA_ARGS__)

INTEGER(DEFINE_INTEGER)
SATURATING_BINARY(DEFINE_SATURATING_BINARY)
SATURATING_TERNARY(DEFINE_SATURATING_TERNARY)

#define ARITHMETIC_2(X)                                                                            \
    X(v_pk_add_f16, 2, half_encode, a + b)                                                         \
    X(v_pk_mul_f16, 2, half_encode, (a * b))
#define ARITHMETIC_3(X) X(v_pk_fma_f16, 3, (uint32_t), fma_f16(a, b, c))

/* On bit patterns. */
#define SELECT_2(X)                                                                                \
    X(v_pk_min_f16, 2, min_f16(a, b))                                                              \
    X(v_pk_max_f16, 2, max_f16(a, b))
#define SELECT_3(X)                                                                                \
    X(v_pk_minimum3_f16, 3, minimum_f16(minimum_f16(a, b), c))                                     \
    X(v_pk_maximum3_f16, 3, maximum_f16(maximum_f16(a, b), c))

#define DEFINE_ARITHMETIC(mnemonic, count, store, expression)                                      \
    DEFINE_LOOP(mnemonic##_lanes, count, float, half_decode, store, expression)                    \
    DEFINE_EXECUTE(mnemonic, run_f16, mnemonic##_lanes, count, SOURCES_AFTER_RESULT, NANS_SETTLE)
#define DEFINE_SELECT(mnemonic, count, expression)                                                 \
    DEFINE_LOOP(mnemonic##_lanes, count, uint16_t, (uint16_t), (uint32_t), expression)             \
    DEFINE_EXECUTE(mnemonic, run_f16, mnemonic##_lanes, count, SOURCES_AFTER_RESULT, NANS_OF_LOOP)

ARITHMETIC_2(DEFINE_ARITHMETIC)
ARITHMETIC_3(DEFINE_ARITHMETIC)
SELECT_2(DEFINE_SELECT)
SELECT_3(DEFINE_SELECT)

DEFINE_EXECUTE(v_pk_fmac_f16, run_f16, v_pk_fma_f16_lanes, 2, SOURCES_ACCUMULATE, NANS_SETTLE)

/* ---- Two dwords ---- */

static const uint32_t *fetch_f32(struct wave *wave, const struct instruction *instruction,
                                 unsigned index, enum half half, uint32_t scratch[LANES])
{
    unsigned part = picks_high(instruction, index, half) ? 1 : 0;
    const uint32_t *lanes = wave_source(wave, instruction, 1 + index, part, scratch);
    bool negate = negates(instruction, index, half);
    bool flush = !(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F32);
    if (!negate && !flush)
        return lanes;
    uint32_t flip = negate ? 0x80000000 : 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        scratch[lane] = lanes[lane] ^ flip;
    if (flush)
        alu_flush_f32(scratch);
    return scratch;
}

static bool run_f32(struct wave *wave, const struct instruction *instruction, lane_loop loop,
                    unsigned count)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[2][LANES];
    const uint32_t *sources[SOURCES_MAX];
    if (!alu_check_mode(wave, instruction, UNSERVED_F32))
        return false;
    for (unsigned half = LOW; half <= HIGH; half++) {
        for (unsigned i = 0; i < count; i++)
            sources[i] = fetch_f32(wave, instruction, i, half, scratch[i]);
        loop(result[half], sources);
        alu_settle_nans_f32(result[half], sources, count);
        alu_finish_f32(wave, instruction, result[half]);
    }
    wave_result(wave, instruction, 0, 0, result[LOW]);
    wave_result(wave, instruction, 0, 1, result[HIGH]);
    return true;
}

#define FLOAT32(X)                                                                                 \
    X(v_pk_add_f32, 2, a + b)                                                                      \
    X(v_pk_mul_f32, 2, (a * b))                                                                    \
    X(v_pk_fma_f32, 3, fma_f32(a, b, c))

#define DEFINE_FLOAT32(mnemonic, count, expression)                                                \
    DEFINE_LOOP(mnemonic##_lanes, count, float, number_from_bits, number_to_bits, expression)      \
    DEFINE_EXECUTE(mnemonic, run_f32, mnemonic##_lanes, count)

FLOAT32(DEFINE_FLOAT32)

/* A dword of each source, both picked by op_sel. */
static bool execute_v_pk_mov_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t result[2][LANES], scratch[LANES];
    for (unsigned i = 0; i < 2; i++) {
        unsigned part = instruction->op_sel >> i & 1;
        memcpy(result[i], wave_source(wave, instruction, 1 + i, part, scratch), sizeof result[i]);
    }
    wave_result(wave, instruction, 0, 0, result[0]);
    wave_result(wave, instruction, 0, 1, result[1]);
    return true;
}

#define ROW_INTEGER(mnemonic, ...) OPCODE_ROW(mnemonic, "d:pi16 s:pi16 s:pi16", OPCODE_PACKED)
#define ROW_INTEGER_3(mnemonic, ...)                                                               \
    OPCODE_ROW(mnemonic, "d:pi16 s:pi16 s:pi16 s:pi16", OPCODE_PACKED)
#define ROW_FLOAT16(mnemonic, ...) OPCODE_ROW(mnemonic, "d:pf16 s:pf16 s:pf16", OPCODE_PACKED)
#define ROW_FLOAT16_3(mnemonic, ...)                                                               \
    OPCODE_ROW(mnemonic, "d:pf16 s:pf16 s:pf16 s:pf16", OPCODE_PACKED)

/* clang-format off */
static const struct opcode rows[] = {
    INTEGER(ROW_INTEGER)
    SATURATING_BINARY(ROW_INTEGER)
    SATURATING_TERNARY(ROW_INTEGER_3)
    ARITHMETIC_2(ROW_FLOAT16)
    ARITHMETIC_3(ROW_FLOAT16_3)
    SELECT_2(ROW_FLOAT16)
    SELECT_3(ROW_FLOAT16_3)
    OPCODE_ROW(v_pk_fmac_f16, "x:pf16 s:pf16 s:pf16", OPCODE_PACKED)
    OPCODE_ROW(v_pk_add_f32, "d:pf32 s:pf32 s:pf32", OPCODE_PACKED)
    OPCODE_ROW(v_pk_mul_f32, "d:pf32 s:pf32 s:pf32", OPCODE_PACKED)
    OPCODE_ROW(v_pk_fma_f32, "d:pf32 s:pf32 s:pf32 s:pf32", OPCODE_PACKED)
    OPCODE_ROW(v_pk_mov_b32, "d:pf32 s:pf32 s:pf32", OPCODE_PACKED)
};
/* clang-format on */

const struct opcode_table opcodes_vector_packed = {rows, sizeof rows / sizeof rows[0]};
