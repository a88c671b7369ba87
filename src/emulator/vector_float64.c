/* f64 arithmetic of the vector ALU. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

#include <math.h>

/* The greatest f64 below 1: what a tiny negative number's fraction would round past. */
#define BELOW_ONE 0x1.fffffffffffffp-1

static inline double fraction(double x)
{
    double difference = x - floor(x);
    return difference > BELOW_ONE ? BELOW_ONE : difference;
}

static inline double mantissa_of(double x)
{
    int exponent;
    return isfinite(x) ? frexp(x, &exponent) : x;
}

static inline uint32_t exponent_of(double x)
{
    int exponent = 0;
    if (isfinite(x))
        (void)frexp(x, &exponent);
    return (uint32_t)exponent;
}

#define UNARY(X)                                                                                   \
    X(v_trunc_f64, trunc(a))                                                                       \
    X(v_ceil_f64, ceil(a))                                                                         \
    X(v_rndne_f64, rint(a))                                                                        \
    X(v_floor_f64, floor(a))                                                                       \
    X(v_fract_f64, fraction(a))                                                                    \
    X(v_frexp_mant_f64, mantissa_of(a))                                                            \
    X(v_rcp_f64, 1 / a)                                                                            \
    X(v_rsq_f64, 1 / sqrt(a))                                                                      \
    X(v_sqrt_f64, sqrt(a))

#define BINARY(X)                                                                                  \
    X(v_add_f64, a + b)                                                                            \
    X(v_mul_f64, (a * b))

#define SELECT(X)                                                                                  \
    X(v_min_f64, min_f64(a, b))                                                                    \
    X(v_max_f64, max_f64(a, b))

#define DEFINE_ARITHMETIC(count, mnemonic, expression)                                             \
    DEFINE_LOOP64(mnemonic##_lanes, count, double, number_from_bits64, number_to_bits64,           \
                  expression)                                                                      \
    DEFINE_EXECUTE(mnemonic, alu_run_f64, mnemonic##_lanes, count, SOURCES_AFTER_RESULT)
#define DEFINE_UNARY(...)  DEFINE_ARITHMETIC(1, __VA_ARGS__)
#define DEFINE_BINARY(...) DEFINE_ARITHMETIC(2, __VA_ARGS__)
#define DEFINE_SELECT(mnemonic, expression)                                                        \
    DEFINE_LOOP64(mnemonic##_lanes, 2, uint64_t, (uint64_t), (uint64_t), expression)               \
    DEFINE_EXECUTE(mnemonic, alu_select_f64, mnemonic##_lanes, 2)

UNARY(DEFINE_UNARY)
BINARY(DEFINE_BINARY)
SELECT(DEFINE_SELECT)

DEFINE_ARITHMETIC(3, v_fma_f64, fma(a, b, c))
DEFINE_EXECUTE(v_fmac_f64, alu_run_f64, v_fma_f64_lanes, 2, SOURCES_ACCUMULATE)

static void v_ldexp_f64_lanes(uint64_t *restrict result, const uint64_t *const *sources)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = number_to_bits64(
            ldexp(number_from_bits64(sources[0][lane]), (int32_t)(uint32_t)sources[1][lane]));
}

DEFINE_EXECUTE(v_ldexp_f64, alu_run_f64, v_ldexp_f64_lanes, 2, SOURCES_AFTER_RESULT)

DEFINE_LOOP64(v_frexp_exp_i32_f64_lanes, 1, double, number_from_bits64, (uint64_t), exponent_of(a))
DEFINE_EXECUTE(v_frexp_exp_i32_f64, alu_run64, v_frexp_exp_i32_f64_lanes, 1)

#define ROW_UNARY(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:f64 s:f64", 0)
#define ROW_BINARY(mnemonic, ...) OPCODE_ROW(mnemonic, "d:f64 s:f64 s:f64", 0)

/* clang-format off */
static const struct opcode rows[] = {
    UNARY(ROW_UNARY)
    BINARY(ROW_BINARY)
    SELECT(ROW_BINARY)
    OPCODE_ROW(v_fma_f64, "d:f64 s:f64 s:f64 s:f64", 0)
    OPCODE_ROW(v_fmac_f64, "x:f64 s:f64 s:f64", 0)
    OPCODE_ROW(v_ldexp_f64, "d:f64 s:f64 s:b32", 0)
    OPCODE_ROW(v_frexp_exp_i32_f64, "d:b32 s:f64", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_float64 = {rows, sizeof rows / sizeof rows[0]};
