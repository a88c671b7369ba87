/* Integer and bit operations on 32 and 64 bits. */
#include "emulator/integer_bits.h"
#include "emulator/vector_alu.h"

/* ---- Functions that are more than an expression ---- */

static inline uint32_t reverse_bits(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static inline uint32_t first_bit_high(uint32_t x)
{
    return x ? (uint32_t)__builtin_clz(x) : UINT32_MAX;
}

static inline uint32_t first_bit_low(uint32_t x)
{
    return x ? (uint32_t)__builtin_ctz(x) : UINT32_MAX;
}

/* Position of the first bit, from the top, that differs from the sign. */
static inline uint32_t first_bit_of_sign(uint32_t x)
{
    return first_bit_high(x ^ shift_right_signed(x, 31));
}

static inline uint32_t low_bits(uint32_t count)
{
    return (1u << (count & 31)) - 1;
}

static inline uint32_t extract_signed(uint32_t x, uint32_t offset, uint32_t width)
{
    width &= 31;
    uint32_t field = shift_right_signed(x, offset & 31) & low_bits(width);
    uint32_t sign = width ? 1u << (width - 1) : 0;
    return (field ^ sign) - sign;
}

static inline uint32_t align_bits(uint32_t high, uint32_t low, unsigned count)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> count);
}

/* One step of the linear feedback shift register with the polynomial 0xc5. */
static inline uint32_t next_random(uint32_t x)
{
    return x << 1 ^ (x >> 31 ? 0xc5 : 0);
}

/* ---- One lane, one expression ---- */

#define UNARY(X)                                                                                   \
    X(v_not_b32, ~a)                                                                               \
    X(v_bfrev_b32, reverse_bits(a))                                                                \
    X(v_ffbh_u32, first_bit_high(a))                                                               \
    X(v_ffbl_b32, first_bit_low(a))                                                                \
    X(v_ffbh_i32, first_bit_of_sign(a))                                                            \
    X(v_prng_b32, next_random(a))

#define BINARY(X)                                                                                  \
    X(v_and_b32, (a & b))                                                                          \
    X(v_or_b32, a | b)                                                                             \
    X(v_xor_b32, a ^ b)                                                                            \
    X(v_xnor_b32, ~(a ^ b))                                                                        \
    X(v_lshlrev_b32, b << (a & 31))                                                                \
    X(v_lshrrev_b32, b >> (a & 31))                                                                \
    X(v_ashrrev_i32, shift_right_signed(b, a & 31))                                                \
    X(v_min_u32, a < b ? a : b)                                                                    \
    X(v_max_u32, a < b ? b : a)                                                                    \
    X(v_mul_lo_u32, (a * b))                                                                       \
    X(v_mul_hi_u32, ((uint64_t)a * b) >> 32)                                                       \
    X(v_mul_hi_i32, (uint64_t)(signed_32(a) * signed_32(b)) >> 32)                                 \
    X(v_mul_i32_i24, signed_24(a) * signed_24(b))                                                  \
    X(v_mul_hi_i32_i24, (uint64_t)(signed_24(a) * signed_24(b)) >> 32)                             \
    X(v_mul_u32_u24, (a & 0xffffff) * (b & 0xffffff))                                              \
    X(v_mul_hi_u32_u24, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32)                           \
    X(v_bcnt_u32_b32, (uint32_t)__builtin_popcount(a) + b)                                         \
    X(v_bfm_b32, low_bits(a) << (b & 31))

#define BINARY_SIGNED(X)                                                                           \
    X(v_min_i32, a < b ? a : b)                                                                    \
    X(v_max_i32, a < b ? b : a)

#define TERNARY(X)                                                                                 \
    X(v_bfe_u32, a >> (b & 31) & low_bits(c))                                                      \
    X(v_bfe_i32, extract_signed(a, b, c))                                                          \
    X(v_bfi_b32, (a & b) | (~a & c))                                                               \
    X(v_alignbit_b32, align_bits(a, b, c & 31))                                                    \
    X(v_alignbyte_b32, align_bits(a, b, 8 * (c & 3)))                                              \
    X(v_xad_u32, (a ^ b) + c)                                                                      \
    X(v_lshl_add_u32, (a << (b & 31)) + c)                                                         \
    X(v_add_lshl_u32, (a + b) << (c & 31))                                                         \
    X(v_add3_u32, a + b + c)                                                                       \
    X(v_lshl_or_b32, a << (b & 31) | c)                                                            \
    X(v_and_or_b32, (a & b) | c)                                                                   \
    X(v_or3_b32, a | b | c)                                                                        \
    X(v_min3_u32, (a < b ? a : b) < c ? (a < b ? a : b) : c)                                       \
    X(v_max3_u32, (a < b ? b : a) < c ? c : (a < b ? b : a))                                       \
    X(v_med3_u32, (uint64_t)middle_of(a, b, c))

#define TERNARY_SIGNED(X)                                                                          \
    X(v_min3_i32, (a < b ? a : b) < c ? (a < b ? a : b) : c)                                       \
    X(v_max3_i32, (a < b ? b : a) < c ? c : (a < b ? b : a))                                       \
    X(v_med3_i32, (uint64_t)middle_of(a, b, c))

#define BITS (uint32_t)
#define DEFINE_UNARY(mnemonic, expression)                                                         \
    DEFINE_LOOP(mnemonic##_lanes, 1, uint32_t, BITS, BITS, expression)                             \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 1)
#define DEFINE_BINARY(mnemonic, expression)                                                        \
    DEFINE_LOOP(mnemonic##_lanes, 2, uint32_t, BITS, BITS, expression)                             \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 2)
#define DEFINE_BINARY_SIGNED(mnemonic, expression)                                                 \
    DEFINE_LOOP(mnemonic##_lanes, 2, int32_t, (int32_t), BITS, expression)                         \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 2)
#define DEFINE_TERNARY(mnemonic, expression)                                                       \
    DEFINE_LOOP(mnemonic##_lanes, 3, uint32_t, BITS, BITS, expression)                             \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 3)
#define DEFINE_TERNARY_SIGNED(mnemonic, expression)                                                \
    DEFINE_LOOP(mnemonic##_lanes, 3, int32_t, (int32_t), BITS, expression)                         \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 3)

UNARY(DEFINE_UNARY)
BINARY(DEFINE_BINARY)
BINARY_SIGNED(DEFINE_BINARY_SIGNED)
TERNARY(DEFINE_TERNARY)
TERNARY_SIGNED(DEFINE_TERNARY_SIGNED)

/* ---- Sums that clamp to the range of their type ---- */

/* X(mnemonic, how a source becomes the mathematical number, least, greatest, expression). Without
   clamp the expression's low 32 bits are the result. */
#define SATURATING_BINARY(X)                                                                       \
    X(v_add_u32, (int64_t), 0, UINT32_MAX, a + b)                                                  \
    X(v_sub_u32, (int64_t), 0, UINT32_MAX, a - b)                                                  \
    X(v_subrev_u32, (int64_t), 0, UINT32_MAX, b - a)                                               \
    X(v_add_i32, signed_32, INT32_MIN, INT32_MAX, a + b)                                           \
    X(v_sub_i32, signed_32, INT32_MIN, INT32_MAX, a - b)

/* The products use the low 24 bits, the addend all 32. */
#define SATURATING_TERNARY(X)                                                                      \
    X(v_mad_u32_u24, (int64_t), 0, UINT32_MAX,                                                     \
      unsigned_24((uint32_t)a) * unsigned_24((uint32_t)b) + c)                                     \
    X(v_mad_i32_i24, signed_32, INT32_MIN, INT32_MAX,                                              \
      signed_24((uint32_t)a) * signed_24((uint32_t)b) + c)

#define DEFINE_SATURATING(count, mnemonic, load, least, greatest, expression)                      \
    DEFINE_LOOP(mnemonic##_lanes, count, int64_t, load, BITS, expression)                          \
    DEFINE_LOOP(mnemonic##_clamped, count, int64_t, load, BITS,                                    \
                saturate(expression, least, greatest))                                             \
    DEFINE_EXECUTE(mnemonic, alu_run, instruction->clamp ? mnemonic##_clamped : mnemonic##_lanes,  \
                   count)
#define DEFINE_SATURATING_BINARY(...)  DEFINE_SATURATING(2, __VA_ARGS__)
#define DEFINE_SATURATING_TERNARY(...) DEFINE_SATURATING(3, __VA_ARGS__)

SATURATING_BINARY(DEFINE_SATURATING_BINARY)
SATURATING_TERNARY(DEFINE_SATURATING_TERNARY)

/* ---- Carry chains: the sum and a bit per lane in a pair of scalar registers ---- */

/* X(mnemonic, the result that clamp puts in place of one that wraps, the sum as a number of more
   than 32 bits). A borrow shows as a negative sum. CARRY_OUT rows have no carry coming in. */
#define CARRY_OUT(X)                                                                               \
    X(v_add_co_u32, UINT32_MAX, (uint64_t)a + b + carry)                                           \
    X(v_sub_co_u32, 0, (uint64_t)a - b - carry)                                                    \
    X(v_subrev_co_u32, 0, (uint64_t)b - a - carry)

#define CARRY_THROUGH(X)                                                                           \
    X(v_addc_co_u32, UINT32_MAX, (uint64_t)a + b + carry)                                          \
    X(v_subb_co_u32, 0, (uint64_t)a - b - carry)                                                   \
    X(v_subbrev_co_u32, 0, (uint64_t)b - a - carry)

typedef void (*carry_loop)(uint32_t *restrict result, uint8_t *restrict carry_out,
                           const uint32_t *restrict lanes_a, const uint32_t *restrict lanes_b,
                           uint64_t carry_in);

static bool run_carry(struct wave *wave, const struct instruction *instruction, carry_loop loop,
                      uint64_t carry_in, uint32_t limit)
{
    uint32_t scratch_a[LANES], scratch_b[LANES], result[LANES];
    uint8_t carry_out[LANES];
    const uint32_t *a = wave_source(wave, instruction, 2, 0, scratch_a);
    const uint32_t *b = wave_source(wave, instruction, 3, 0, scratch_b);
    loop(result, carry_out, a, b, carry_in);
    if (instruction->clamp)
        for (unsigned lane = 0; lane < LANES; lane++)
            result[lane] = carry_out[lane] ? limit : result[lane];
    uint64_t mask = alu_pack_mask(carry_out) & wave_write_mask(wave, instruction);
    wave_result(wave, instruction, 0, 0, result);
    wave_scalar_result64(wave, &instruction->operands[1], mask);
    return true;
}

#define DEFINE_CARRY(mnemonic, carry_in, limit, expression)                                        \
    LANE_LOOP static void mnemonic##_lanes(uint32_t *restrict result, uint8_t *restrict carry_out, \
                                           const uint32_t *restrict lanes_a,                       \
                                           const uint32_t *restrict lanes_b, uint64_t carries)     \
    {                                                                                              \
        for (unsigned lane = 0; lane < LANES; lane++) {                                            \
            const uint32_t a = lanes_a[lane], b = lanes_b[lane], carry = carries >> lane & 1;      \
            const uint64_t sum = expression;                                                       \
            result[lane] = (uint32_t)sum;                                                          \
            carry_out[lane] = sum >> 32 & 1;                                                       \
        }                                                                                          \
    }                                                                                              \
    DEFINE_EXECUTE(mnemonic, run_carry, mnemonic##_lanes, carry_in, limit)
#define DEFINE_CARRY_OUT(mnemonic, limit, expression) DEFINE_CARRY(mnemonic, 0, limit, expression)
#define DEFINE_CARRY_THROUGH(mnemonic, limit, expression)                                          \
    DEFINE_CARRY(mnemonic, wave_scalar_source64(wave, &instruction->operands[4]), limit, expression)

CARRY_OUT(DEFINE_CARRY_OUT)
CARRY_THROUGH(DEFINE_CARRY_THROUGH)

/* ---- 64 bits ---- */

#define BITS64 (uint64_t)
#define BINARY64(X)                                                                                \
    X(v_lshlrev_b64, b << (a & 63))                                                                \
    X(v_lshrrev_b64, b >> (a & 63))                                                                \
    X(v_ashrrev_i64, shift_right_signed64(b, a & 63))

/* The shift of v_lshl_add_u64 is 0 to 4; larger values count as the manual's low three bits do. */
#define TERNARY64(X) X(v_lshl_add_u64, (a << (b & 7)) + c)

#define DEFINE_BINARY64(mnemonic, expression)                                                      \
    DEFINE_LOOP64(mnemonic##_lanes, 2, uint64_t, BITS64, BITS64, expression)                       \
    DEFINE_EXECUTE(mnemonic, alu_run64, mnemonic##_lanes, 2)
#define DEFINE_TERNARY64(mnemonic, expression)                                                     \
    DEFINE_LOOP64(mnemonic##_lanes, 3, uint64_t, BITS64, BITS64, expression)                       \
    DEFINE_EXECUTE(mnemonic, alu_run64, mnemonic##_lanes, 3)

BINARY64(DEFINE_BINARY64)
TERNARY64(DEFINE_TERNARY64)

/* The 65-bit sum of a 64-bit product and an addend: its low 64 bits, and its bit 64. */
static void multiply_add_unsigned(uint64_t a, uint64_t b, uint64_t c, bool clamp, uint64_t *sum,
                                  uint8_t *top)
{
    *sum = a * b + c;
    *top = *sum < c;
    if (clamp && *top)
        *sum = UINT64_MAX;
}

static void multiply_add_signed(uint64_t a, uint64_t b, uint64_t c, bool clamp, uint64_t *sum,
                                uint8_t *top)
{
    uint64_t product = (uint64_t)(signed_32((uint32_t)a) * signed_32((uint32_t)b));
    *sum = product + c;
    bool overflow = (~(product ^ c) & (product ^ *sum)) >> 63;
    *top = (overflow ? c : *sum) >> 63;
    if (clamp && overflow)
        *sum = *top ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
}

typedef void (*multiply_add)(uint64_t a, uint64_t b, uint64_t c, bool clamp, uint64_t *sum,
                             uint8_t *top);

static bool run_multiply_add(struct wave *wave, const struct instruction *instruction,
                             multiply_add function)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    uint8_t top[LANES];
    const uint64_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source64(wave, instruction, 2 + i, scratch[i]);
    for (unsigned lane = 0; lane < LANES; lane++)
        function(sources[0][lane], sources[1][lane], sources[2][lane], instruction->clamp,
                 &result[lane], &top[lane]);
    uint64_t mask = alu_pack_mask(top) & wave_write_mask(wave, instruction);
    alu_result64(wave, instruction, result);
    wave_scalar_result64(wave, &instruction->operands[1], mask);
    return true;
}

DEFINE_EXECUTE(v_mad_u64_u32, run_multiply_add, multiply_add_unsigned)
DEFINE_EXECUTE(v_mad_i64_i32, run_multiply_add, multiply_add_signed)

/* ---- Any function of three bits ---- */

/* Bit 4a + 2b + c of the truth table is the result for the bits a, b, c. */
static bool run_bitop3(struct wave *wave, const struct instruction *instruction, uint32_t keep)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[LANES] = {0};
    const uint32_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = wave_source(wave, instruction, 1 + i, 0, scratch[i]);
    for (unsigned row = 0; row < 8; row++) {
        if (!(instruction->bitop3 >> row & 1))
            continue;
        uint32_t flip_a = row & 4 ? 0 : UINT32_MAX;
        uint32_t flip_b = row & 2 ? 0 : UINT32_MAX;
        uint32_t flip_c = row & 1 ? 0 : UINT32_MAX;
        for (unsigned lane = 0; lane < LANES; lane++)
            result[lane] |= (sources[0][lane] ^ flip_a) & (sources[1][lane] ^ flip_b) &
                            (sources[2][lane] ^ flip_c) & keep;
    }
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

DEFINE_EXECUTE(v_bitop3_b32, run_bitop3, UINT32_MAX)
DEFINE_EXECUTE(v_bitop3_b16, run_bitop3, 0xffff)

/* ---- The table ---- */

#define ROW_UNARY(mnemonic, ...)    OPCODE_ROW(mnemonic, "d:b32 s:b32", 0)
#define ROW_BINARY(mnemonic, ...)   OPCODE_ROW(mnemonic, "d:b32 s:b32 s:b32", 0)
#define ROW_TERNARY(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:b32 s:b32 s:b32 s:b32", 0)
#define ROW_CARRY(mnemonic, ...)    OPCODE_ROW(mnemonic, "d:b32 d:b64 s:b32 s:b32", 0)
#define ROW_CARRY_IN(mnemonic, ...) OPCODE_ROW(mnemonic, "d:b32 d:b64 s:b32 s:b32 s:b64", 0)
#define ROW_SHIFT64(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:b64 s:b32 s:b64", 0)

/* clang-format off */
static const struct opcode rows[] = {
    UNARY(ROW_UNARY)
    BINARY(ROW_BINARY)
    BINARY_SIGNED(ROW_BINARY)
    TERNARY(ROW_TERNARY)
    TERNARY_SIGNED(ROW_TERNARY)
    SATURATING_BINARY(ROW_BINARY)
    SATURATING_TERNARY(ROW_TERNARY)
    CARRY_OUT(ROW_CARRY)
    CARRY_THROUGH(ROW_CARRY_IN)
    BINARY64(ROW_SHIFT64)
    OPCODE_ROW(v_lshl_add_u64, "d:i64 s:i64 s:b32 s:i64", OPCODE_UPPER_TO_UPPER)
    OPCODE_ROW(v_mad_u64_u32, "d:b64 d:b64 s:b32 s:b32 s:b64", OPCODE_UPPER_TO_UPPER)
    OPCODE_ROW(v_mad_i64_i32, "d:i64 d:b64 s:b32 s:b32 s:i64", OPCODE_UPPER_TO_UPPER)
    OPCODE_ROW(v_bitop3_b32, "d:b32 s:b32 s:b32 s:b32", 0)
    OPCODE_ROW(v_bitop3_b16, "d:i16 s:i16 s:i16 s:i16", OPCODE_KEEPS_HALF)
};
/* clang-format on */

const struct opcode_table opcodes_vector_integer = {rows, sizeof rows / sizeof rows[0]};
