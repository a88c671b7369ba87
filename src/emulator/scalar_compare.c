/* SOPC, and the SOPK instructions that compare: two sources, SCC. */
#include "emulator/scalar_alu.h"

#define DEFINE_COMPARE(name, type, read_b, condition)                                              \
    static bool execute_##name(struct wave *wave, const struct instruction *instruction)           \
    {                                                                                              \
        const scalar_##type a = scalar_read_##type(wave, instruction, 0);                          \
        const scalar_##type b = (read_b);                                                          \
        wave->scc = (condition);                                                                   \
        return true;                                                                               \
    }

/* X(mnemonic's end, comparison of a and b) */
#define SIGNED_COMPARISONS(X)                                                                      \
    X(eq_i32, a == b)                                                                              \
    X(lg_i32, a != b)                                                                              \
    X(gt_i32, (int32_t)a > (int32_t)b)                                                             \
    X(ge_i32, (int32_t)a >= (int32_t)b)                                                            \
    X(lt_i32, (int32_t)a < (int32_t)b)                                                             \
    X(le_i32, (int32_t)a <= (int32_t)b)
#define UNSIGNED_COMPARISONS(X)                                                                    \
    X(eq_u32, a == b)                                                                              \
    X(lg_u32, a != b)                                                                              \
    X(gt_u32, a > b)                                                                               \
    X(ge_u32, a >= b)                                                                              \
    X(lt_u32, a < b)                                                                               \
    X(le_u32, a <= b)

#define DEFINE_CMP(end, condition)                                                                 \
    DEFINE_COMPARE(s_cmp_##end, b32, scalar_read_b32(wave, instruction, 1), condition)
SIGNED_COMPARISONS(DEFINE_CMP)
UNSIGNED_COMPARISONS(DEFINE_CMP)

/* The 16-bit immediate takes on the comparison's signedness. */
#define DEFINE_CMPK_SIGNED(end, condition)                                                         \
    DEFINE_COMPARE(s_cmpk_##end, b32, (uint32_t)(int16_t)(uint16_t)instruction->immediate,         \
                   condition)
#define DEFINE_CMPK_UNSIGNED(end, condition)                                                       \
    DEFINE_COMPARE(s_cmpk_##end, b32, (uint16_t)instruction->immediate, condition)
SIGNED_COMPARISONS(DEFINE_CMPK_SIGNED)
UNSIGNED_COMPARISONS(DEFINE_CMPK_UNSIGNED)

DEFINE_COMPARE(s_cmp_eq_u64, b64, scalar_read_b64(wave, instruction, 1), a == b)
DEFINE_COMPARE(s_cmp_lg_u64, b64, scalar_read_b64(wave, instruction, 1), a != b)
DEFINE_COMPARE(s_bitcmp0_b32, b32, scalar_read_b32(wave, instruction, 1), !(a >> (b & 31) & 1))
DEFINE_COMPARE(s_bitcmp1_b32, b32, scalar_read_b32(wave, instruction, 1), a >> (b & 31) & 1)
DEFINE_COMPARE(s_bitcmp0_b64, b64, scalar_read_b32(wave, instruction, 1), !(a >> (b & 63) & 1))
DEFINE_COMPARE(s_bitcmp1_b64, b64, scalar_read_b32(wave, instruction, 1), a >> (b & 63) & 1)

#define ROW_CMP(end, condition)  {"s_cmp_" #end, "s:b32 s:b32", execute_s_cmp_##end, 0},
#define ROW_CMPK(end, condition) {"s_cmpk_" #end, "s:b32 s:lbl", execute_s_cmpk_##end, 0},

static const struct opcode rows[] = {
    SIGNED_COMPARISONS(ROW_CMP) UNSIGNED_COMPARISONS(ROW_CMP) SIGNED_COMPARISONS(ROW_CMPK)
        UNSIGNED_COMPARISONS(ROW_CMPK){"s_cmp_eq_u64", "s:b64 s:b64", execute_s_cmp_eq_u64, 0},
    {"s_cmp_lg_u64", "s:b64 s:b64", execute_s_cmp_lg_u64, 0},
    {"s_bitcmp0_b32", "s:b32 s:b32", execute_s_bitcmp0_b32, 0},
    {"s_bitcmp1_b32", "s:b32 s:b32", execute_s_bitcmp1_b32, 0},
    {"s_bitcmp0_b64", "s:b64 s:b32", execute_s_bitcmp0_b64, 0},
    {"s_bitcmp1_b64", "s:b64 s:b32", execute_s_bitcmp1_b64, 0},
};

const struct opcode_table opcodes_scalar_compare = {rows, sizeof rows / sizeof rows[0]};
