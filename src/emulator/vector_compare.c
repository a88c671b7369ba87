/* Comparisons, which make a bit per lane: v_cmp, v_cmpx (which also sets EXEC), v_cmp_class; and
   v_cndmask, which uses such bits. Bits of lanes that are off are 0. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

typedef void (*compare_loop)(uint8_t *restrict flags, const uint32_t *restrict lanes_a,
                             const uint32_t *restrict lanes_b);
typedef void (*compare_loop64)(uint8_t *restrict flags, const uint64_t *restrict lanes_a,
                               const uint64_t *restrict lanes_b);

enum compare_effect { SETS_MASK, SETS_MASK_AND_EXEC };

static bool finish(struct wave *wave, const struct instruction *instruction,
                   const uint8_t flags[LANES], enum compare_effect effect)
{
    uint64_t mask = alu_pack_mask(flags) & wave_write_mask(wave, instruction);
    wave_scalar_result64(wave, &instruction->operands[0], mask);
    if (effect == SETS_MASK_AND_EXEC) {
        wave->scalar[SCALAR_EXEC] = (uint32_t)mask;
        wave->scalar[SCALAR_EXEC + 1] = (uint32_t)(mask >> 32);
    }
    return true;
}

static bool compare(struct wave *wave, const struct instruction *instruction, compare_loop loop,
                    enum compare_effect effect)
{
    uint32_t scratch_a[LANES], scratch_b[LANES];
    uint8_t flags[LANES];
    loop(flags, alu_source(wave, instruction, 1, scratch_a),
         alu_source(wave, instruction, 2, scratch_b));
    return finish(wave, instruction, flags, effect);
}

static bool compare64(struct wave *wave, const struct instruction *instruction, compare_loop64 loop,
                      enum compare_effect effect)
{
    uint64_t scratch_a[LANES], scratch_b[LANES];
    uint8_t flags[LANES];
    loop(flags, alu_source64(wave, instruction, 1, scratch_a),
         alu_source64(wave, instruction, 2, scratch_b));
    return finish(wave, instruction, flags, effect);
}

/* ---- Conditions × types ---- */

/* Integers: X(type…, condition, expression). */
#define INTEGER_CONDITIONS(X, ...)                                                                 \
    X(__VA_ARGS__, f, false)                                                                       \
    X(__VA_ARGS__, lt, a < b)                                                                      \
    X(__VA_ARGS__, eq, a == b)                                                                     \
    X(__VA_ARGS__, le, a <= b)                                                                     \
    X(__VA_ARGS__, gt, a > b)                                                                      \
    X(__VA_ARGS__, ne, a != b)                                                                     \
    X(__VA_ARGS__, ge, a >= b)                                                                     \
    X(__VA_ARGS__, t, true)

/* Floats: NaN is unordered, so that "not less" is not "greater or equal". */
#define FLOAT_CONDITIONS(X, ...)                                                                   \
    X(__VA_ARGS__, f, false)                                                                       \
    X(__VA_ARGS__, lt, a < b)                                                                      \
    X(__VA_ARGS__, eq, a == b)                                                                     \
    X(__VA_ARGS__, le, a <= b)                                                                     \
    X(__VA_ARGS__, gt, a > b)                                                                      \
    X(__VA_ARGS__, lg, (a < b) | (a > b))                                                          \
    X(__VA_ARGS__, ge, a >= b)                                                                     \
    X(__VA_ARGS__, o, (a == a) & (b == b))                                                         \
    X(__VA_ARGS__, u, (a != a) | (b != b))                                                         \
    X(__VA_ARGS__, nge, !(a >= b))                                                                 \
    X(__VA_ARGS__, nlg, !((a < b) | (a > b)))                                                      \
    X(__VA_ARGS__, ngt, !(a > b))                                                                  \
    X(__VA_ARGS__, nle, !(a <= b))                                                                 \
    X(__VA_ARGS__, neq, a != b)                                                                    \
    X(__VA_ARGS__, nlt, !(a < b))                                                                  \
    X(__VA_ARGS__, tru, true)

/* conditions(X, bits of a lane, run function, suffix, operand type, C type, load) */
#define COMPARISONS(X)                                                                             \
    INTEGER_CONDITIONS(X, uint32_t, compare, i16, "i16", int16_t, (int16_t))                       \
    INTEGER_CONDITIONS(X, uint32_t, compare, u16, "i16", uint16_t, (uint16_t))                     \
    INTEGER_CONDITIONS(X, uint32_t, compare, i32, "i32", int32_t, (int32_t))                       \
    INTEGER_CONDITIONS(X, uint32_t, compare, u32, "b32", uint32_t, (uint32_t))                     \
    INTEGER_CONDITIONS(X, uint64_t, compare64, i64, "i64", int64_t, (int64_t))                     \
    INTEGER_CONDITIONS(X, uint64_t, compare64, u64, "b64", uint64_t, (uint64_t))                   \
    FLOAT_CONDITIONS(X, uint32_t, compare, f16, "f16", float, half_decode)                         \
    FLOAT_CONDITIONS(X, uint32_t, compare, f32, "f32", float, number_from_bits)                    \
    FLOAT_CONDITIONS(X, uint64_t, compare64, f64, "f64", double, number_from_bits64)

#define DEFINE_COMPARISON(bits, run, suffix, operand, type, load, condition, expression)           \
    LANE_LOOP static void lanes_##condition##_##suffix(                                            \
        uint8_t *restrict flags, const bits *restrict lanes_a, const bits *restrict lanes_b)       \
    {                                                                                              \
        for (unsigned lane = 0; lane < LANES; lane++) {                                            \
            const type a = load(lanes_a[lane]), b = load(lanes_b[lane]);                           \
            (void)a, (void)b; /* constant conditions use neither */                                \
            flags[lane] = (expression) ? 1 : 0;                                                    \
        }                                                                                          \
    }                                                                                              \
    DEFINE_EXECUTE(v_cmp_##condition##_##suffix, run, lanes_##condition##_##suffix, SETS_MASK)     \
    DEFINE_EXECUTE(v_cmpx_##condition##_##suffix, run, lanes_##condition##_##suffix,               \
                   SETS_MASK_AND_EXEC)

COMPARISONS(DEFINE_COMPARISON)

/* ---- v_cmp_class: is the number one of the kinds whose bits the second operand has? ---- */

enum float_class {
    CLASS_SIGNALING_NAN = 1 << 0,
    CLASS_QUIET_NAN = 1 << 1,
    CLASS_NEGATIVE_INFINITY = 1 << 2,
    CLASS_NEGATIVE_NORMAL = 1 << 3,
    CLASS_NEGATIVE_SUBNORMAL = 1 << 4,
    CLASS_NEGATIVE_ZERO = 1 << 5,
    CLASS_POSITIVE_ZERO = 1 << 6,
    CLASS_POSITIVE_SUBNORMAL = 1 << 7,
    CLASS_POSITIVE_NORMAL = 1 << 8,
    CLASS_POSITIVE_INFINITY = 1 << 9
};

/* `magnitude` has the sign bit cleared; `infinity` and `least_normal` are the format's. */
static uint32_t class_of(uint64_t magnitude, bool negative, uint64_t infinity,
                         uint64_t least_normal, bool signaling)
{
    if (magnitude > infinity)
        return signaling ? CLASS_SIGNALING_NAN : CLASS_QUIET_NAN;
    if (magnitude == infinity)
        return negative ? CLASS_NEGATIVE_INFINITY : CLASS_POSITIVE_INFINITY;
    if (magnitude >= least_normal)
        return negative ? CLASS_NEGATIVE_NORMAL : CLASS_POSITIVE_NORMAL;
    if (magnitude)
        return negative ? CLASS_NEGATIVE_SUBNORMAL : CLASS_POSITIVE_SUBNORMAL;
    return negative ? CLASS_NEGATIVE_ZERO : CLASS_POSITIVE_ZERO;
}

static uint32_t class_of_f16(uint64_t bits)
{
    uint16_t half = (uint16_t)bits;
    return class_of(half & 0x7fff, half >> 15, 0x7c00, 0x0400, is_signaling_f16(half));
}

static uint32_t class_of_f32(uint64_t bits)
{
    return class_of(bits & 0x7fffffff, bits >> 31 & 1, 0x7f800000, 0x00800000,
                    is_signaling_f32((uint32_t)bits));
}

static uint32_t class_of_f64(uint64_t bits)
{
    return class_of(bits & 0x7fffffffffffffff, bits >> 63, 0x7ff0000000000000, 0x0010000000000000,
                    is_signaling_f64(bits));
}

/* Subnormals are themselves here, whatever MODE says of arithmetic. */
static bool compare_class(struct wave *wave, const struct instruction *instruction,
                          uint32_t (*classify)(uint64_t), enum compare_effect effect)
{
    uint32_t scratch[3][LANES];
    uint8_t flags[LANES];
    bool wide = instruction->operands[1].type == TYPE_F64;
    const uint32_t *low = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *high = wide ? wave_source(wave, instruction, 1, 1, scratch[1]) : NULL;
    const uint32_t *kinds = wave_source(wave, instruction, 2, 0, scratch[2]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t bits = low[lane] | (high ? (uint64_t)high[lane] << 32 : 0);
        flags[lane] = (classify(bits) & kinds[lane]) != 0;
    }
    return finish(wave, instruction, flags, effect);
}

#define CLASSES(X)                                                                                 \
    X(f16, "f16")                                                                                  \
    X(f32, "f32")                                                                                  \
    X(f64, "f64")
#define DEFINE_CLASS(suffix, operand)                                                              \
    DEFINE_EXECUTE(v_cmp_class_##suffix, compare_class, class_of_##suffix, SETS_MASK)              \
    DEFINE_EXECUTE(v_cmpx_class_##suffix, compare_class, class_of_##suffix, SETS_MASK_AND_EXEC)

CLASSES(DEFINE_CLASS)

/* ---- Selection ---- */

static bool execute_v_cndmask_b32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch_zero[LANES], scratch_one[LANES], result[LANES];
    const uint32_t *zero = wave_source(wave, instruction, 1, 0, scratch_zero);
    const uint32_t *one = wave_source(wave, instruction, 2, 0, scratch_one);
    uint64_t mask = wave_scalar_source64(wave, &instruction->operands[3]);
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = mask >> lane & 1 ? one[lane] : zero[lane];
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

/* clang-format off */
#define ROW_COMPARISON(bits, run, suffix, operand, type, load, condition, expression)              \
    OPCODE_ROW(v_cmp_##condition##_##suffix, "d:b64 s:" operand " s:" operand, 0)                  \
    OPCODE_ROW(v_cmpx_##condition##_##suffix, "d:b64 s:" operand " s:" operand,                    \
               0)
#define ROW_CLASS(suffix, operand)                                                                 \
    OPCODE_ROW(v_cmp_class_##suffix, "d:b64 s:" operand " s:b32", 0)                               \
    OPCODE_ROW(v_cmpx_class_##suffix, "d:b64 s:" operand " s:b32", 0)

static const struct opcode rows[] = {
    COMPARISONS(ROW_COMPARISON)
    CLASSES(ROW_CLASS)
    /* As f32, since its VOP3 form has neg and abs. */
    OPCODE_ROW(v_cndmask_b32, "d:f32 s:f32 s:f32 s:b64", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_compare = {rows, sizeof rows / sizeof rows[0]};
