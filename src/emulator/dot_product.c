/* Dot products of a few elements in one lane: v_dot2, v_dot4 and v_dot8, and their accumulating
   forms v_dot*c, which add to the destination.

   Float forms add one product after another to the accumulator, the low half's first, rounding to
   nearest even each time; the products are exact. (An ASSUMPTION: the manual gives this order and
   does not say how often it is rounded.) Integer forms are exact, then wrap, or saturate with
   clamp. In packed forms neg_lo and neg_hi negate halves of the float sources; the sources of
   integer forms have no modifiers. */
#include "emulator/float_mode.h"

#include <math.h>

enum { BITS_4, BITS_8, BITS_16 };

/* Integer rows: the size of the elements, and whether they are signed. */
#define INTEGER(bits, is_signed)                                                                   \
    ((uint32_t)((bits) | (is_signed) << 2) << OPCODE_VARIANT_SHIFT | OPCODE_PACKED)
#define FLOAT(format) ((uint32_t)(format) << OPCODE_VARIANT_SHIFT | OPCODE_PACKED)

/* The addend is the third source, or what the destination holds in the forms that have only two. */
static const uint32_t *addend(struct wave *wave, const struct instruction *instruction,
                              uint32_t scratch[LANES])
{
    if (instruction->operand_count == 4)
        return wave_source(wave, instruction, 3, 0, scratch);
    return wave_register(wave, &instruction->operands[0], 0, scratch);
}

/* ---- Integers ---- */

static int64_t element(uint32_t packed, unsigned index, unsigned bits, bool is_signed)
{
    uint32_t raised = packed << (32 - bits * (index + 1));
    return is_signed ? (int32_t)raised >> (32 - bits) : (int64_t)(raised >> (32 - bits));
}

static uint32_t finish_integer(int64_t sum, bool is_signed, bool clamp)
{
    int64_t least = is_signed ? INT32_MIN : 0, greatest = is_signed ? INT32_MAX : UINT32_MAX;
    if (clamp)
        sum = sum < least ? least : sum > greatest ? greatest : sum;
    return (uint32_t)sum;
}

static bool dot_integers(struct wave *wave, const struct instruction *instruction)
{
    static const uint8_t sizes[] = {[BITS_4] = 4, [BITS_8] = 8, [BITS_16] = 16};
    uint32_t variant = opcode_variant(instruction->opcode);
    unsigned bits = sizes[variant & 3];
    bool is_signed = variant >> 2 & 1;
    uint32_t scratch[3][LANES], results[LANES];
    const uint32_t *a = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *b = wave_source(wave, instruction, 2, 0, scratch[1]);
    const uint32_t *c = addend(wave, instruction, scratch[2]);

    if (instruction->neg_lo || instruction->neg_hi)
        return wave_fault(wave, instruction, -1, "neg of an integer dot product is not modelled");
    for (unsigned lane = 0; lane < LANES; ++lane) {
        int64_t sum = is_signed ? (int32_t)c[lane] : (int64_t)c[lane];
        for (unsigned i = 0; i < 32 / bits; ++i)
            sum += element(a[lane], i, bits, is_signed) * element(b[lane], i, bits, is_signed);
        results[lane] = finish_integer(sum, is_signed, instruction->clamp);
    }
    wave_result(wave, instruction, 0, 0, results);
    return true;
}

/* ---- Floats ---- */

static float half(const struct instruction *instruction, enum number_format_id format,
                  unsigned source, uint32_t packed, unsigned index)
{
    uint8_t negated = index ? instruction->neg_hi : instruction->neg_lo;
    float value = number_decode(format, packed >> 16 * index);
    return negated >> source & 1 ? -value : value;
}

static float finish_float(const struct wave *wave, const struct instruction *instruction,
                          float value)
{
    if (!instruction->clamp)
        return value;
    if (isnan(value))
        return wave->mode & MODE_DX10_CLAMP ? 0 : value;
    return value > 0 ? fminf(value, 1) : 0;
}

static bool dot_floats(struct wave *wave, const struct instruction *instruction)
{
    enum number_format_id format = (enum number_format_id)opcode_variant(instruction->opcode);
    uint32_t scratch[3][LANES], results[LANES];
    const uint32_t *a = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *b = wave_source(wave, instruction, 2, 0, scratch[1]);
    const uint32_t *c = addend(wave, instruction, scratch[2]);

    for (unsigned lane = 0; lane < LANES; ++lane) {
        float sum = number_from_bits(c[lane]);
        if (instruction->neg_lo >> 2 & 1)
            sum = -sum;
        for (unsigned i = 0; i < 2; ++i)
            sum = fmaf(half(instruction, format, 0, a[lane], i),
                       half(instruction, format, 1, b[lane], i), sum);
        results[lane] = number_to_bits(finish_float(wave, instruction, sum));
    }
    wave_result(wave, instruction, 0, 0, results);
    return true;
}

static const struct opcode rows[] = {
    {"v_dot2_f32_f16", "d:f32 s:pf16 s:pf16 s:f32", dot_floats, FLOAT(NUMBER_F16)},
    {"v_dot2_f32_bf16", "d:f32 s:pbf16 s:pbf16 s:f32", dot_floats, FLOAT(NUMBER_BF16)},
    {"v_dot2c_f32_f16", "x:f32 s:pf16 s:pf16", dot_floats, FLOAT(NUMBER_F16)},
    {"v_dot2c_f32_bf16", "x:f32 s:pbf16 s:pbf16", dot_floats, FLOAT(NUMBER_BF16)},
    {"v_dot2_i32_i16", "d:i32 s:pi16 s:pi16 s:i32", dot_integers, INTEGER(BITS_16, 1)},
    {"v_dot2_u32_u16", "d:i32 s:pi16 s:pi16 s:i32", dot_integers, INTEGER(BITS_16, 0)},
    {"v_dot2c_i32_i16", "x:i32 s:pi16 s:pi16", dot_integers, INTEGER(BITS_16, 1)},
    {"v_dot4_i32_i8", "d:i32 s:b32 s:b32 s:i32", dot_integers, INTEGER(BITS_8, 1)},
    {"v_dot4_u32_u8", "d:i32 s:b32 s:b32 s:i32", dot_integers, INTEGER(BITS_8, 0)},
    {"v_dot4c_i32_i8", "x:i32 s:b32 s:b32", dot_integers, INTEGER(BITS_8, 1)},
    {"v_dot8_i32_i4", "d:i32 s:b32 s:b32 s:i32", dot_integers, INTEGER(BITS_4, 1)},
    {"v_dot8_u32_u4", "d:i32 s:b32 s:b32 s:i32", dot_integers, INTEGER(BITS_4, 0)},
    {"v_dot8c_i32_i4", "x:i32 s:b32 s:b32", dot_integers, INTEGER(BITS_4, 1)},
};

const struct opcode_table opcodes_dot_product = {rows, sizeof rows / sizeof rows[0]};
