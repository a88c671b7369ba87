/* Integer operations on 16 bits. Results of the VOP1 and VOP2 ones clear the upper half of the
   register, those of most three-operand ones keep it (OPCODE_KEEPS_HALF). */
#include "emulator/integer_bits.h"
#include "emulator/vector_alu.h"

static inline uint32_t low_half(int64_t value)
{
    return (uint16_t)value;
}

/* X(mnemonic, source as a number, expression): the result's low half is the value. */
#define BINARY(X)                                                                                  \
    X(v_mul_lo_u16, unsigned_16, multiply_add_16(a, b, 0))                                         \
    X(v_lshlrev_b16, unsigned_16, b << (a & 15))                                                   \
    X(v_lshrrev_b16, unsigned_16, b >> (a & 15))                                                   \
    X(v_ashrrev_i16, signed_16, shift_right_signed((uint32_t)b, a & 15))                           \
    X(v_max_u16, unsigned_16, greatest_of(a, b))                                                   \
    X(v_min_u16, unsigned_16, least_of(a, b))                                                      \
    X(v_max_i16, signed_16, greatest_of(a, b))                                                     \
    X(v_min_i16, signed_16, least_of(a, b))

#define TERNARY(X)                                                                                 \
    X(v_min3_i16, signed_16, least_of(least_of(a, b), c))                                          \
    X(v_min3_u16, unsigned_16, least_of(least_of(a, b), c))                                        \
    X(v_max3_i16, signed_16, greatest_of(greatest_of(a, b), c))                                    \
    X(v_max3_u16, unsigned_16, greatest_of(greatest_of(a, b), c))                                  \
    X(v_med3_i16, signed_16, middle_of(a, b, c))                                                   \
    X(v_med3_u16, unsigned_16, middle_of(a, b, c))

#define DEFINE(count, mnemonic, load, expression)                                                  \
    DEFINE_LOOP(mnemonic##_lanes, count, int32_t, load, low_half, expression)                      \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, count)
#define DEFINE_BINARY(...)  DEFINE(2, __VA_ARGS__)
#define DEFINE_TERNARY(...) DEFINE(3, __VA_ARGS__)

BINARY(DEFINE_BINARY)
TERNARY(DEFINE_TERNARY)

/* ---- What clamps to the range of its type ---- */

/* X(mnemonic, source as a number, least, greatest, expression) */
#define SATURATING_BINARY(X)                                                                       \
    X(v_add_u16, unsigned_16, 0, UINT16_MAX, a + b)                                                \
    X(v_sub_u16, unsigned_16, 0, UINT16_MAX, a - b)                                                \
    X(v_subrev_u16, unsigned_16, 0, UINT16_MAX, b - a)

#define SATURATING_BINARY_KEEPING(X)                                                               \
    X(v_add_i16, signed_16, INT16_MIN, INT16_MAX, a + b)                                           \
    X(v_sub_i16, signed_16, INT16_MIN, INT16_MAX, a - b)

#define SATURATING_TERNARY(X)                                                                      \
    X(v_mad_legacy_u16, unsigned_16, 0, UINT16_MAX, multiply_add_16(a, b, c))                      \
    X(v_mad_legacy_i16, signed_16, INT16_MIN, INT16_MAX, multiply_add_16(a, b, c))

#define SATURATING_TERNARY_KEEPING(X)                                                              \
    X(v_mad_u16, unsigned_16, 0, UINT16_MAX, multiply_add_16(a, b, c))                             \
    X(v_mad_i16, signed_16, INT16_MIN, INT16_MAX, multiply_add_16(a, b, c))

#define DEFINE_SATURATING(count, mnemonic, load, least, greatest, expression)                      \
    DEFINE_LOOP(mnemonic##_lanes, count, int32_t, load, (uint16_t), expression)                    \
    DEFINE_LOOP(mnemonic##_clamped, count, int32_t, load, (uint16_t),                              \
                saturate(expression, least, greatest))                                             \
    DEFINE_EXECUTE(mnemonic, alu_run, instruction->clamp ? mnemonic##_clamped : mnemonic##_lanes,  \
                   count)
#define DEFINE_SATURATING_BINARY(...)  DEFINE_SATURATING(2, __VA_ARGS__)
#define DEFINE_SATURATING_TERNARY(...) DEFINE_SATURATING(3, __VA_ARGS__)

SATURATING_BINARY(DEFINE_SATURATING_BINARY)
SATURATING_BINARY_KEEPING(DEFINE_SATURATING_BINARY)
SATURATING_TERNARY(DEFINE_SATURATING_TERNARY)
SATURATING_TERNARY_KEEPING(DEFINE_SATURATING_TERNARY)

/* ---- A 32-bit addend: only the product's factors are halves ---- */

typedef int64_t (*wide_multiply_add)(uint32_t a, uint32_t b, uint32_t c);

static int64_t multiply_add_u16(uint32_t a, uint32_t b, uint32_t c)
{
    return (int64_t)unsigned_16(a) * unsigned_16(b) + c;
}

static int64_t multiply_add_i16(uint32_t a, uint32_t b, uint32_t c)
{
    return (int64_t)signed_16(a) * signed_16(b) + (int32_t)c;
}

static bool run_wide_multiply_add(struct wave *wave, const struct instruction *instruction,
                                  wide_multiply_add function, int64_t least, int64_t greatest)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint32_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = wave_source(wave, instruction, 1 + i, 0, scratch[i]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        int64_t sum = function(sources[0][lane], sources[1][lane], sources[2][lane]);
        result[lane] = (uint32_t)(instruction->clamp ? saturate(sum, least, greatest) : sum);
    }
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

DEFINE_EXECUTE(v_mad_u32_u16, run_wide_multiply_add, multiply_add_u16, 0, UINT32_MAX)
DEFINE_EXECUTE(v_mad_i32_i16, run_wide_multiply_add, multiply_add_i16, INT32_MIN, INT32_MAX)

#define ROW_BINARY(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:i16 s:i16 s:i16", 0)
#define ROW_TERNARY(mnemonic, ...) OPCODE_ROW(mnemonic, "d:i16 s:i16 s:i16 s:i16", 0)
#define ROW_BINARY_KEEPING(mnemonic, ...)                                                          \
    OPCODE_ROW(mnemonic, "d:i16 s:i16 s:i16", OPCODE_KEEPS_HALF)
#define ROW_TERNARY_KEEPING(mnemonic, ...)                                                         \
    OPCODE_ROW(mnemonic, "d:i16 s:i16 s:i16 s:i16", OPCODE_KEEPS_HALF)

/* clang-format off */
static const struct opcode rows[] = {
    BINARY(ROW_BINARY)
    TERNARY(ROW_TERNARY_KEEPING)
    SATURATING_BINARY(ROW_BINARY)
    SATURATING_BINARY_KEEPING(ROW_BINARY_KEEPING)
    SATURATING_TERNARY(ROW_TERNARY)
    SATURATING_TERNARY_KEEPING(ROW_TERNARY_KEEPING)
    OPCODE_ROW(v_mad_u32_u16, "d:b32 s:i16 s:i16 s:b32", 0)
    OPCODE_ROW(v_mad_i32_i16, "d:b32 s:i16 s:i16 s:b32", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_integer16 = {rows, sizeof rows / sizeof rows[0]};
