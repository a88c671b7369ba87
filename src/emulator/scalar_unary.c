/* SOP1: one source, a result, perhaps SCC. */
#include "emulator/scalar_alu.h"

/* ---- Parts of expressions ---- */

static uint64_t reverse_bits(uint64_t value, unsigned bits)
{
    uint64_t reversed = 0;
    for (unsigned i = 0; i < bits; ++i)
        reversed |= (value >> i & 1) << (bits - 1 - i);
    return reversed;
}

static uint32_t count_ones(uint64_t value)
{
    uint32_t count = 0;
    for (; value; value &= value - 1)
        ++count;
    return count;
}

/* The position of the lowest set bit, or -1. */
static uint32_t find_lowest(uint64_t value)
{
    for (uint32_t i = 0; i < 64; ++i) {
        if (value >> i & 1)
            return i;
    }
    return UINT32_MAX;
}

/* How many bits lie above the highest set bit of `bits`, or -1. */
static uint32_t find_highest(uint64_t value, unsigned bits)
{
    for (uint32_t i = 0; i < bits; ++i) {
        if (value >> (bits - 1 - i) & 1)
            return i;
    }
    return UINT32_MAX;
}

/* How many bits from the top are as the sign bit, itself included; -1 if all are. */
static uint32_t find_sign_change(uint64_t value, unsigned bits)
{
    bool negative = value >> (bits - 1) & 1;
    return find_highest(negative ? ~value & scalar_mask(bits) : value, bits);
}

/* For each group of four bits with any set, all four. */
static uint64_t fill_quads(uint64_t value)
{
    uint64_t filled = 0;
    for (unsigned i = 0; i < 64; i += 4)
        filled |= value >> i & 0xf ? UINT64_C(0xf) << i : 0;
    return filled;
}

/* One bit for each group of four: whether any is set. */
static uint64_t gather_quads(uint64_t value)
{
    uint64_t gathered = 0;
    for (unsigned i = 0; i < 16; ++i)
        gathered |= (uint64_t)(value >> 4 * i & 0xf ? 1 : 0) << i;
    return gathered;
}

static uint64_t double_bits(uint32_t value)
{
    uint64_t doubled = 0;
    for (unsigned i = 0; i < 32; ++i)
        doubled |= (uint64_t)(value >> i & 1 ? 3 : 0) << 2 * i;
    return doubled;
}

/* ---- The family ---- */

/* In the expressions: a the source, d the destination before, r the result, scc SCC before. */
#define DEFINE_UNARY(name, access, type_r, type_a, result, condition)                              \
    static bool execute_##name(struct wave *wave, const struct instruction *instruction)           \
    {                                                                                              \
        const scalar_##type_a a = scalar_read_##type_a(wave, instruction, 1);                      \
        const scalar_##type_r d = scalar_read_##type_r(wave, instruction, 0);                      \
        const bool scc = wave->scc;                                                                \
        (void)scc, (void)d;                                                                        \
        const scalar_##type_r r = (scalar_##type_r)(result);                                       \
        wave->scc = (condition);                                                                   \
        scalar_write_##type_r(wave, instruction, r);                                               \
        return true;                                                                               \
    }

/* X(mnemonic, access to the destination, types of result and source, result, SCC) */
#define UNARY(X)                                                                                   \
    X(s_mov_b32, d, b32, b32, a, scc)                                                              \
    X(s_mov_b64, d, b64, b64, a, scc)                                                              \
    X(s_cmov_b32, x, b32, b32, scc ? a : d, scc)                                                   \
    X(s_cmov_b64, x, b64, b64, scc ? a : d, scc)                                                   \
    X(s_not_b32, d, b32, b32, ~a, r != 0)                                                          \
    X(s_not_b64, d, b64, b64, ~a, r != 0)                                                          \
    X(s_wqm_b32, d, b32, b32, fill_quads(a), r != 0)                                               \
    X(s_wqm_b64, d, b64, b64, fill_quads(a), r != 0)                                               \
    X(s_brev_b32, d, b32, b32, reverse_bits(a, 32), scc)                                           \
    X(s_brev_b64, d, b64, b64, reverse_bits(a, 64), scc)                                           \
    X(s_bcnt0_i32_b32, d, b32, b32, 32 - count_ones(a), r != 0)                                    \
    X(s_bcnt0_i32_b64, d, b32, b64, 64 - count_ones(a), r != 0)                                    \
    X(s_bcnt1_i32_b32, d, b32, b32, count_ones(a), r != 0)                                         \
    X(s_bcnt1_i32_b64, d, b32, b64, count_ones(a), r != 0)                                         \
    X(s_ff0_i32_b32, d, b32, b32, find_lowest((uint32_t)~a), scc)                                  \
    X(s_ff0_i32_b64, d, b32, b64, find_lowest(~a), scc)                                            \
    X(s_ff1_i32_b32, d, b32, b32, find_lowest(a), scc)                                             \
    X(s_ff1_i32_b64, d, b32, b64, find_lowest(a), scc)                                             \
    X(s_flbit_i32_b32, d, b32, b32, find_highest(a, 32), scc)                                      \
    X(s_flbit_i32_b64, d, b32, b64, find_highest(a, 64), scc)                                      \
    X(s_flbit_i32, d, b32, b32, find_sign_change(a, 32), scc)                                      \
    X(s_flbit_i32_i64, d, b32, i64, find_sign_change(a, 64), scc)                                  \
    X(s_sext_i32_i8, d, b32, b32, scalar_sign_extend(a, 8), scc)                                   \
    X(s_sext_i32_i16, d, b32, b32, scalar_sign_extend(a, 16), scc)                                 \
    X(s_bitset0_b32, x, b32, b32, d & ~(UINT32_C(1) << (a & 31)), scc)                             \
    X(s_bitset0_b64, x, b64, b32, d & ~(UINT64_C(1) << (a & 63)), scc)                             \
    X(s_bitset1_b32, x, b32, b32, d | UINT32_C(1) << (a & 31), scc)                                \
    X(s_bitset1_b64, x, b64, b32, d | UINT64_C(1) << (a & 63), scc)                                \
    X(s_quadmask_b32, d, b32, b32, gather_quads(a), r != 0)                                        \
    X(s_quadmask_b64, d, b64, b64, gather_quads(a), r != 0)                                        \
    X(s_abs_i32, d, b32, b32, a >> 31 ? 0 - a : a, r != 0)                                         \
    X(s_bitreplicate_b64_b32, d, b64, b32, double_bits(a), scc)

UNARY(DEFINE_UNARY)

#define ROW(name, access, type_r, type_a, result, condition)                                       \
    {#name, #access ":" #type_r " s:" #type_a, execute_##name, 0},

static const struct opcode rows[] = {UNARY(ROW)};

const struct opcode_table opcodes_scalar_unary = {rows, sizeof rows / sizeof rows[0]};
