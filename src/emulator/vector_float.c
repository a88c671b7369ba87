/* f32 arithmetic of the vector ALU; what the transcendental unit does is in transcendental.c. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

#include <math.h>

/* The greatest f32 below 1: what a tiny negative number's fraction would round past. */
#define BELOW_ONE 0x1.fffffep-1f

static inline float fraction(float x)
{
    float difference = x - floorf(x);
    return difference > BELOW_ONE ? BELOW_ONE : difference;
}

/* In [0.5, 1) with the source's sign; zeros, infinities and NaNs as they are. */
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
    return (uint32_t)exponent;
}

/* 0 times anything is 0, NaN and infinity included. */
static inline float multiply_legacy(float a, float b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

/* ---- The cube map's face and coordinates of a direction ---- */

static inline bool is_z_major(float x, float y, float z)
{
    return fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y);
}

static inline float cube_face(float x, float y, float z)
{
    if (is_z_major(x, y, z))
        return z < 0 ? 5 : 4;
    if (fabsf(y) >= fabsf(x))
        return y < 0 ? 3 : 2;
    return x < 0 ? 1 : 0;
}

static inline float cube_major_axis(float x, float y, float z)
{
    return 2 * (is_z_major(x, y, z) ? z : fabsf(y) >= fabsf(x) ? y : x);
}

static inline float cube_s(float x, float y, float z)
{
    if (is_z_major(x, y, z))
        return z < 0 ? -x : x;
    if (fabsf(y) >= fabsf(x))
        return x;
    return x < 0 ? z : -z;
}

static inline float cube_t(float x, float y, float z)
{
    if (is_z_major(x, y, z) || fabsf(y) < fabsf(x))
        return -y;
    return y < 0 ? -z : z;
}

/* ---- One lane, one expression ---- */

#define UNARY(X)                                                                                   \
    X(v_fract_f32, fraction(a))                                                                    \
    X(v_trunc_f32, truncf(a))                                                                      \
    X(v_ceil_f32, ceilf(a))                                                                        \
    X(v_rndne_f32, rintf(a))                                                                       \
    X(v_floor_f32, floorf(a))                                                                      \
    X(v_frexp_mant_f32, mantissa_of(a))

#define BINARY(X)                                                                                  \
    X(v_add_f32, a + b)                                                                            \
    X(v_sub_f32, a - b)                                                                            \
    X(v_subrev_f32, b - a)                                                                         \
    X(v_mul_f32, (a * b))                                                                          \
    X(v_mul_legacy_f32, multiply_legacy(a, b))

/* v_fmamk and v_fmaak have their literal where the text has it: between the factors, or last. */
#define TERNARY(X)                                                                                 \
    X(v_fma_f32, fma_f32(a, b, c))                                                                 \
    X(v_fmamk_f32, fma_f32(a, b, c))                                                               \
    X(v_fmaak_f32, fma_f32(a, b, c))                                                               \
    X(v_cubeid_f32, cube_face(a, b, c))                                                            \
    X(v_cubema_f32, cube_major_axis(a, b, c))                                                      \
    X(v_cubesc_f32, cube_s(a, b, c))                                                               \
    X(v_cubetc_f32, cube_t(a, b, c))

/* On bit patterns. */
#define SELECT_2(X)                                                                                \
    X(v_min_f32, min_f32(a, b))                                                                    \
    X(v_max_f32, max_f32(a, b))

#define SELECT_3(X)                                                                                \
    X(v_min3_f32, min_f32(min_f32(a, b), c))                                                       \
    X(v_max3_f32, max_f32(max_f32(a, b), c))                                                       \
    X(v_med3_f32, med3_f32(a, b, c))                                                               \
    X(v_minimum3_f32, minimum_f32(minimum_f32(a, b), c))                                           \
    X(v_maximum3_f32, maximum_f32(maximum_f32(a, b), c))

#define DEFINE_ARITHMETIC(count, mnemonic, expression)                                             \
    DEFINE_LOOP(mnemonic##_lanes, count, float, number_from_bits, number_to_bits, expression)      \
    DEFINE_EXECUTE(mnemonic, alu_run_f32, mnemonic##_lanes, count, SOURCES_AFTER_RESULT)
#define DEFINE_UNARY(...)   DEFINE_ARITHMETIC(1, __VA_ARGS__)
#define DEFINE_BINARY(...)  DEFINE_ARITHMETIC(2, __VA_ARGS__)
#define DEFINE_TERNARY(...) DEFINE_ARITHMETIC(3, __VA_ARGS__)

#define DEFINE_SELECT(count, mnemonic, expression)                                                 \
    DEFINE_LOOP(mnemonic##_lanes, count, uint32_t, (uint32_t), (uint32_t), expression)             \
    DEFINE_EXECUTE(mnemonic, alu_select_f32, mnemonic##_lanes, count)
#define DEFINE_SELECT_2(...) DEFINE_SELECT(2, __VA_ARGS__)
#define DEFINE_SELECT_3(...) DEFINE_SELECT(3, __VA_ARGS__)

UNARY(DEFINE_UNARY)
BINARY(DEFINE_BINARY)
TERNARY(DEFINE_TERNARY)
SELECT_2(DEFINE_SELECT_2)
SELECT_3(DEFINE_SELECT_3)

DEFINE_EXECUTE(v_fmac_f32, alu_run_f32, v_fma_f32_lanes, 2, SOURCES_ACCUMULATE)

/* ---- A float and an integer ---- */

static void v_ldexp_f32_lanes(uint32_t *restrict result, const uint32_t *const *sources)
{
    const uint32_t *restrict values = sources[0], *restrict exponents = sources[1];
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] =
            number_to_bits(ldexp_f32(number_from_bits(values[lane]), (int32_t)exponents[lane]));
}

DEFINE_EXECUTE(v_ldexp_f32, alu_run_f32, v_ldexp_f32_lanes, 2, SOURCES_AFTER_RESULT)

DEFINE_LOOP(v_frexp_exp_i32_f32_lanes, 1, float, number_from_bits, (uint32_t), exponent_of(a))
DEFINE_EXECUTE(v_frexp_exp_i32_f32, alu_run, v_frexp_exp_i32_f32_lanes, 1)

#define ROW_UNARY(mnemonic, ...)   OPCODE_ROW(mnemonic, "d:f32 s:f32", 0)
#define ROW_BINARY(mnemonic, ...)  OPCODE_ROW(mnemonic, "d:f32 s:f32 s:f32", 0)
#define ROW_TERNARY(mnemonic, ...) OPCODE_ROW(mnemonic, "d:f32 s:f32 s:f32 s:f32", 0)

/* clang-format off */
static const struct opcode rows[] = {
    UNARY(ROW_UNARY)
    BINARY(ROW_BINARY)
    TERNARY(ROW_TERNARY)
    SELECT_2(ROW_BINARY)
    SELECT_3(ROW_TERNARY)
    OPCODE_ROW(v_fmac_f32, "x:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_ldexp_f32, "d:f32 s:f32 s:b32", 0)
    OPCODE_ROW(v_frexp_exp_i32_f32, "d:b32 s:f32", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_float = {rows, sizeof rows / sizeof rows[0]};
