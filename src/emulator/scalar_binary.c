/* SOP2, and the SOPK instructions that compute: two sources, a result, perhaps SCC. */
#include "emulator/scalar_alu.h"

/* ---- Parts of expressions ---- */

static uint32_t add_carry(uint32_t a, uint32_t b, bool carry_in, bool *carry_out)
{
    uint64_t sum = (uint64_t)a + b + carry_in;
    *carry_out = sum >> 32;
    return (uint32_t)sum;
}

static uint32_t subtract_borrow(uint32_t a, uint32_t b, bool borrow_in, bool *borrow_out)
{
    *borrow_out = (uint64_t)b + borrow_in > a;
    return a - b - borrow_in;
}

static bool add_overflows(uint32_t a, uint32_t b)
{
    return ((a ^ (a + b)) & (b ^ (a + b))) >> 31;
}

static bool subtract_overflows(uint32_t a, uint32_t b)
{
    return ((a ^ b) & (a ^ (a - b))) >> 31;
}

static uint64_t multiply_signed(uint32_t a, uint32_t b)
{
    return (uint64_t)((int64_t)(int32_t)a * (int32_t)b);
}

static uint64_t shift_left_add(uint32_t a, unsigned amount, uint32_t b)
{
    return ((uint64_t)a << amount) + b;
}

/* Arithmetic right shift of 32 or 64 bits. */
static uint32_t shift_signed_32(uint32_t value, unsigned amount)
{
    return amount ? value >> amount | (value >> 31 ? UINT32_MAX << (32 - amount) : 0) : value;
}

static uint64_t shift_signed_64(uint64_t value, unsigned amount)
{
    return amount ? value >> amount | (value >> 63 ? UINT64_MAX << (64 - amount) : 0) : value;
}

static uint32_t absolute_difference(uint32_t a, uint32_t b)
{
    uint32_t difference = a - b;
    return difference >> 31 ? 0 - difference : difference;
}

/* A bit field's description: the first bit, and from bit 16 the number of bits, of 7 bits. */
static unsigned field_width(uint32_t field)
{
    return field >> 16 & 0x7f;
}

static uint64_t extract_unsigned(uint64_t value, unsigned offset, unsigned width)
{
    return value >> offset & scalar_mask(width);
}

static uint64_t extract_signed(uint64_t value, unsigned offset, unsigned width)
{
    return (uint64_t)scalar_sign_extend(shift_signed_64(value, offset), width);
}

static uint64_t sign_extend_word(uint32_t value)
{
    return (uint64_t)(int64_t)(int32_t)value;
}

/* ---- The families ---- */

/* In the expressions: a and b the sources, r the result, scc SCC before and after. */
#define DEFINE_BINARY(name, type_r, type_a, type_b, result, condition)                             \
    static bool execute_##name(struct wave *wave, const struct instruction *instruction)           \
    {                                                                                              \
        const scalar_##type_a a = scalar_read_##type_a(wave, instruction, 1);                      \
        const scalar_##type_b b = scalar_read_##type_b(wave, instruction, 2);                      \
        bool scc = wave->scc;                                                                      \
        (void)scc;                                                                                 \
        const scalar_##type_r r = (scalar_##type_r)(result);                                       \
        wave->scc = (condition);                                                                   \
        scalar_write_##type_r(wave, instruction, r);                                               \
        return true;                                                                               \
    }

/* X(mnemonic, types of result, a and b, result, SCC) */
#define BINARY_32(X)                                                                               \
    X(s_add_u32, b32, b32, b32, add_carry(a, b, false, &scc), scc)                                 \
    X(s_sub_u32, b32, b32, b32, subtract_borrow(a, b, false, &scc), scc)                           \
    X(s_add_i32, b32, b32, b32, a + b, add_overflows(a, b))                                        \
    X(s_sub_i32, b32, b32, b32, a - b, subtract_overflows(a, b))                                   \
    X(s_addc_u32, b32, b32, b32, add_carry(a, b, scc, &scc), scc)                                  \
    X(s_subb_u32, b32, b32, b32, subtract_borrow(a, b, scc, &scc), scc)                            \
    X(s_min_i32, b32, b32, b32, (int32_t)a < (int32_t)b ? a : b, (int32_t)a < (int32_t)b)          \
    X(s_min_u32, b32, b32, b32, a < b ? a : b, a < b)                                              \
    X(s_max_i32, b32, b32, b32, (int32_t)a >= (int32_t)b ? a : b, (int32_t)a >= (int32_t)b)        \
    X(s_max_u32, b32, b32, b32, a >= b ? a : b, a >= b)                                            \
    X(s_mul_i32, b32, b32, b32, a *b, scc)                                                         \
    X(s_mul_hi_u32, b32, b32, b32, (uint64_t)a *b >> 32, scc)                                      \
    X(s_mul_hi_i32, b32, b32, b32, multiply_signed(a, b) >> 32, scc)                               \
    X(s_absdiff_i32, b32, b32, b32, absolute_difference(a, b), r != 0)                             \
    X(s_lshl1_add_u32, b32, b32, b32, shift_left_add(a, 1, b), shift_left_add(a, 1, b) >> 32 != 0) \
    X(s_lshl2_add_u32, b32, b32, b32, shift_left_add(a, 2, b), shift_left_add(a, 2, b) >> 32 != 0) \
    X(s_lshl3_add_u32, b32, b32, b32, shift_left_add(a, 3, b), shift_left_add(a, 3, b) >> 32 != 0) \
    X(s_lshl4_add_u32, b32, b32, b32, shift_left_add(a, 4, b), shift_left_add(a, 4, b) >> 32 != 0) \
    X(s_pack_ll_b32_b16, b32, b32, b32, (a & 0xffff) | b << 16, scc)                               \
    X(s_pack_lh_b32_b16, b32, b32, b32, (a & 0xffff) | (b & 0xffff0000), scc)                      \
    X(s_pack_hh_b32_b16, b32, b32, b32, a >> 16 | (b & 0xffff0000), scc)

#define BINARY_LOGIC(X)                                                                            \
    X(s_cselect_b32, b32, b32, b32, scc ? a : b, scc)                                              \
    X(s_cselect_b64, b64, b64, b64, scc ? a : b, scc)                                              \
    X(s_and_b32, b32, b32, b32, a &b, r != 0)                                                      \
    X(s_and_b64, b64, b64, b64, a &b, r != 0)                                                      \
    X(s_or_b32, b32, b32, b32, a | b, r != 0)                                                      \
    X(s_or_b64, b64, b64, b64, a | b, r != 0)                                                      \
    X(s_xor_b32, b32, b32, b32, a ^ b, r != 0)                                                     \
    X(s_xor_b64, b64, b64, b64, a ^ b, r != 0)                                                     \
    X(s_andn2_b32, b32, b32, b32, a & ~b, r != 0)                                                  \
    X(s_andn2_b64, b64, b64, b64, a & ~b, r != 0)                                                  \
    X(s_orn2_b32, b32, b32, b32, a | ~b, r != 0)                                                   \
    X(s_orn2_b64, b64, b64, b64, a | ~b, r != 0)                                                   \
    X(s_nand_b32, b32, b32, b32, ~(a & b), r != 0)                                                 \
    X(s_nand_b64, b64, b64, b64, ~(a & b), r != 0)                                                 \
    X(s_nor_b32, b32, b32, b32, ~(a | b), r != 0)                                                  \
    X(s_nor_b64, b64, b64, b64, ~(a | b), r != 0)                                                  \
    X(s_xnor_b32, b32, b32, b32, ~(a ^ b), r != 0)                                                 \
    X(s_xnor_b64, b64, b64, b64, ~(a ^ b), r != 0)

#define BINARY_FIELDS(X)                                                                           \
    X(s_lshl_b32, b32, b32, b32, a << (b & 31), r != 0)                                            \
    X(s_lshl_b64, b64, b64, b32, a << (b & 63), r != 0)                                            \
    X(s_lshr_b32, b32, b32, b32, a >> (b & 31), r != 0)                                            \
    X(s_lshr_b64, b64, b64, b32, a >> (b & 63), r != 0)                                            \
    X(s_ashr_i32, b32, b32, b32, shift_signed_32(a, b & 31), r != 0)                               \
    X(s_ashr_i64, i64, i64, b32, shift_signed_64(a, b & 63), r != 0)                               \
    X(s_bfm_b32, b32, b32, b32, scalar_mask(a & 31) << (b & 31), scc)                              \
    X(s_bfm_b64, b64, b32, b32, scalar_mask(a & 63) << (b & 63), scc)                              \
    X(s_bfe_u32, b32, b32, b32, extract_unsigned(a, b & 31, field_width(b)), r != 0)               \
    X(s_bfe_u64, b64, b64, b32, extract_unsigned(a, b & 63, field_width(b)), r != 0)               \
    X(s_bfe_i32, b32, b32, b32, extract_signed(sign_extend_word(a), b & 31, field_width(b)),       \
      r != 0)                                                                                      \
    X(s_bfe_i64, i64, i64, b32, extract_signed(a, b & 63, field_width(b)), r != 0)

BINARY_32(DEFINE_BINARY)
BINARY_LOGIC(DEFINE_BINARY)
BINARY_FIELDS(DEFINE_BINARY)

/* SOPK: the destination is the first source, the 16-bit immediate the second. */
static uint32_t immediate(const struct instruction *instruction)
{
    return (uint32_t)(int16_t)(uint16_t)(uint32_t)instruction->immediate;
}

static bool execute_s_movk_i32(struct wave *wave, const struct instruction *instruction)
{
    scalar_write_b32(wave, instruction, immediate(instruction));
    return true;
}

static bool execute_s_cmovk_i32(struct wave *wave, const struct instruction *instruction)
{
    if (wave->scc)
        scalar_write_b32(wave, instruction, immediate(instruction));
    return true;
}

static bool execute_s_addk_i32(struct wave *wave, const struct instruction *instruction)
{
    const uint32_t a = scalar_read_b32(wave, instruction, 0), b = immediate(instruction);
    wave->scc = add_overflows(a, b);
    scalar_write_b32(wave, instruction, a + b);
    return true;
}

static bool execute_s_mulk_i32(struct wave *wave, const struct instruction *instruction)
{
    const uint32_t a = scalar_read_b32(wave, instruction, 0);
    scalar_write_b32(wave, instruction, a * immediate(instruction));
    return true;
}

#define ROW(name, type_r, type_a, type_b, result, condition)                                       \
    {#name, "d:" #type_r " s:" #type_a " s:" #type_b, execute_##name, 0},

static const struct opcode rows[] = {
    BINARY_32(ROW) BINARY_LOGIC(ROW)
        BINARY_FIELDS(ROW){"s_movk_i32", "d:b32 s:lbl", execute_s_movk_i32, 0},
    {"s_cmovk_i32", "x:b32 s:lbl", execute_s_cmovk_i32, 0},
    {"s_addk_i32", "x:b32 s:lbl", execute_s_addk_i32, 0},
    {"s_mulk_i32", "x:b32 s:lbl", execute_s_mulk_i32, 0},
};

const struct opcode_table opcodes_scalar_binary = {rows, sizeof rows / sizeof rows[0]};
