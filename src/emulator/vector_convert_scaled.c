/* The scaled conversions v_cvt_scalef32_*: between f32, f16 or bf16 and the narrow formats of
   block-scaled tensors. The scale operand is an f32 of which only the exponent counts: widening
   multiplies by that power of two, narrowing divides by it.

   Every form is the same loop over `count` values: their codes are a stream of bits, lowest first,
   in the source registers, and the results are such a stream in the destination. A stream shorter
   than a dword starts at the byte or half that op_sel picks, and the rest of the destination stays.
   Two data operands (32-bit values) interleave: first value of each, then the second of each.

   Assumptions, for want of a public statement: stochastic forms with several values use the same
   random bits for each. */
#include "emulator/float_mode.h"

enum { VALUES_MAX = 32 };

enum count_code { ONE, TWO, THIRTY_TWO };

#define SCALED(from, to, count)                                                                    \
    ((uint32_t)((count) << 6 | (to) << 3 | (from)) << OPCODE_VARIANT_SHIFT)
#define STOCHASTIC ((uint32_t)1 << (8 + OPCODE_VARIANT_SHIFT))

struct conversion {
    enum number_format_id from, to;
    unsigned count;
    bool stochastic;
    unsigned data_operands; /* 1, or 2 that interleave */
};

static struct conversion conversion_of(const struct instruction *instruction)
{
    static const uint8_t counts[] = {[ONE] = 1, [TWO] = 2, [THIRTY_TWO] = VALUES_MAX};
    uint32_t variant = opcode_variant(instruction->opcode);
    struct conversion conversion = {
        .from = (enum number_format_id)(variant & 7),
        .to = (enum number_format_id)(variant >> 3 & 7),
        .count = counts[variant >> 6 & 3],
        .stochastic = variant >> 8 & 1,
    };
    /* What else there is: the destination, the scale, and random bits. */
    conversion.data_operands = instruction->operand_count - 2u - conversion.stochastic;
    return conversion;
}

/* Where in the register a stream of `bits` starts; `select` holds two bits of op_sel. A byte is
   picked by both, a half by the one that `half_bit` names. */
static unsigned stream_start(unsigned bits, unsigned select, unsigned half_bit)
{
    if (bits == 8)
        return 8 * select;
    return bits == 16 ? 16 * (select >> half_bit & 1) : 0;
}

static uint32_t take_bits(const uint32_t *const dwords[], unsigned lane, unsigned start,
                          unsigned bits)
{
    uint64_t window = dwords[start / 32][lane];
    if (start % 32 + bits > 32)
        window |= (uint64_t)dwords[start / 32 + 1][lane] << 32;
    return (uint32_t)(window >> start % 32 & (((uint64_t)1 << bits) - 1));
}

static void put_bits(uint32_t dwords[][LANES], unsigned lane, unsigned start, unsigned bits,
                     uint32_t value)
{
    uint64_t mask = (((uint64_t)1 << bits) - 1) << start % 32;
    uint64_t shifted = (uint64_t)value << start % 32;
    uint32_t *low = &dwords[start / 32][lane];
    *low = (*low & ~(uint32_t)mask) | (uint32_t)shifted;
    if (mask >> 32) {
        uint32_t *high = &dwords[start / 32 + 1][lane];
        *high = (*high & ~(uint32_t)(mask >> 32)) | (uint32_t)(shifted >> 32);
    }
}

static bool convert_scaled(struct wave *wave, const struct instruction *instruction)
{
    struct conversion c = conversion_of(instruction);
    unsigned from_bits = number_formats[c.from].bits, to_bits = number_formats[c.to].bits;
    bool widens = to_bits > from_bits;
    enum overflow overflow = mode_overflow(wave, c.to);

    uint32_t scratch[VALUES_MAX + 2][LANES];
    const uint32_t *dwords[VALUES_MAX];
    unsigned dword_count = (c.count * from_bits + 31) / 32;
    for (unsigned i = 0; i < dword_count; ++i)
        dwords[i] = wave_source(wave, instruction, 1 + i % c.data_operands, i / c.data_operands,
                                scratch[i]);
    const uint32_t *random = NULL;
    if (c.stochastic)
        random = wave_source(wave, instruction, 1 + c.data_operands, 0, scratch[VALUES_MAX]);
    const uint32_t *scales =
        wave_source(wave, instruction, instruction->operand_count - 1u, 0, scratch[VALUES_MAX + 1]);

    unsigned from_start = stream_start(c.count * from_bits, instruction->op_sel & 3, 0);
    unsigned to_start = stream_start(c.count * to_bits, instruction->op_sel >> 2 & 3, 1);
    unsigned result_count = (c.count * to_bits + 31) / 32;
    uint32_t results[VALUES_MAX][LANES], before[LANES];
    if (c.count * to_bits < 32)
        memcpy(results[0], wave_register(wave, &instruction->operands[0], 0, before),
               sizeof results[0]);
    else
        memset(results, 0, result_count * sizeof results[0]);

    for (unsigned lane = 0; lane < LANES; ++lane) {
        double scale = number_decode_scale(number_scale_of(scales[lane]));
        double factor = widens ? scale : 1 / scale;
        for (unsigned i = 0; i < c.count; ++i) {
            uint32_t code = take_bits(dwords, lane, from_start + i * from_bits, from_bits);
            double value = (double)number_decode(c.from, code) * factor;
            uint32_t result =
                c.stochastic
                    ? number_encode_stochastic(c.to, value, number_formats[c.from].mantissa_bits,
                                               random[lane], overflow)
                    : number_encode(c.to, value, ROUND_NEAREST_EVEN, overflow);
            put_bits(results, lane, to_start + i * to_bits, to_bits, result);
        }
    }
    for (unsigned i = 0; i < result_count; ++i)
        wave_result(wave, instruction, 0, i, results[i]);
    return true;
}

#define ROW(name, operands, from, to, count)                                                       \
    {                                                                                              \
        "v_cvt_scalef32_" name, operands, convert_scaled, SCALED(from, to, count)                  \
    }
#define ROW_SR(name, operands, from, to, count)                                                    \
    {                                                                                              \
        "v_cvt_scalef32_sr_" name, operands, convert_scaled, SCALED(from, to, count) | STOCHASTIC  \
    }

/* clang-format off */
static const struct opcode rows[] = {
    ROW("f32_fp8", "d:f32 s:b32 s:f32", NUMBER_E4M3, NUMBER_F32, ONE),
    ROW("f32_bf8", "d:f32 s:b32 s:f32", NUMBER_E5M2, NUMBER_F32, ONE),
    ROW("f16_fp8", "d:b32 s:b32 s:f32", NUMBER_E4M3, NUMBER_F16, ONE),
    ROW("f16_bf8", "d:b32 s:b32 s:f32", NUMBER_E5M2, NUMBER_F16, ONE),
    ROW("pk_f32_fp8", "d:pf32 s:b32 s:f32", NUMBER_E4M3, NUMBER_F32, TWO),
    ROW("pk_f32_bf8", "d:pf32 s:b32 s:f32", NUMBER_E5M2, NUMBER_F32, TWO),
    ROW("pk_f32_fp4", "d:pf32 s:b32 s:f32", NUMBER_E2M1, NUMBER_F32, TWO),
    ROW("pk_f16_fp8", "d:b32 s:b32 s:f32", NUMBER_E4M3, NUMBER_F16, TWO),
    ROW("pk_f16_bf8", "d:b32 s:b32 s:f32", NUMBER_E5M2, NUMBER_F16, TWO),
    ROW("pk_f16_fp4", "d:b32 s:b32 s:f32", NUMBER_E2M1, NUMBER_F16, TWO),
    ROW("pk_bf16_fp8", "d:b32 s:b32 s:f32", NUMBER_E4M3, NUMBER_BF16, TWO),
    ROW("pk_bf16_bf8", "d:b32 s:b32 s:f32", NUMBER_E5M2, NUMBER_BF16, TWO),
    ROW("pk_bf16_fp4", "d:b32 s:b32 s:f32", NUMBER_E2M1, NUMBER_BF16, TWO),
    ROW("pk_fp8_f32", "d:b32 s:f32 s:f32 s:f32", NUMBER_F32, NUMBER_E4M3, TWO),
    ROW("pk_bf8_f32", "d:b32 s:f32 s:f32 s:f32", NUMBER_F32, NUMBER_E5M2, TWO),
    ROW("pk_fp4_f32", "d:b32 s:f32 s:f32 s:f32", NUMBER_F32, NUMBER_E2M1, TWO),
    ROW("pk_fp8_f16", "d:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E4M3, TWO),
    ROW("pk_bf8_f16", "d:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E5M2, TWO),
    ROW("pk_fp4_f16", "d:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E2M1, TWO),
    ROW("pk_fp8_bf16", "d:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E4M3, TWO),
    ROW("pk_bf8_bf16", "d:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E5M2, TWO),
    ROW("pk_fp4_bf16", "d:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E2M1, TWO),
    ROW_SR("fp8_f32", "d:b32 s:f32 s:b32 s:f32", NUMBER_F32, NUMBER_E4M3, ONE),
    ROW_SR("bf8_f32", "d:b32 s:f32 s:b32 s:f32", NUMBER_F32, NUMBER_E5M2, ONE),
    ROW_SR("fp8_f16", "d:b32 s:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E4M3, ONE),
    ROW_SR("bf8_f16", "d:b32 s:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E5M2, ONE),
    ROW_SR("fp8_bf16", "d:b32 s:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E4M3, ONE),
    ROW_SR("bf8_bf16", "d:b32 s:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E5M2, ONE),
    ROW_SR("pk_fp4_f32", "d:b32 s:b32 s:b32 s:f32", NUMBER_F32, NUMBER_E2M1, TWO),
    ROW_SR("pk_fp4_f16", "d:b32 s:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E2M1, TWO),
    ROW_SR("pk_fp4_bf16", "d:b32 s:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E2M1, TWO),
    ROW("2xpk16_fp6_f32", "d:b32 s:b32 s:b32 s:f32", NUMBER_F32, NUMBER_E2M3, THIRTY_TWO),
    ROW("2xpk16_bf6_f32", "d:b32 s:b32 s:b32 s:f32", NUMBER_F32, NUMBER_E3M2, THIRTY_TWO),
    ROW("pk32_f32_fp6", "d:b32 s:b32 s:f32", NUMBER_E2M3, NUMBER_F32, THIRTY_TWO),
    ROW("pk32_f32_bf6", "d:b32 s:b32 s:f32", NUMBER_E3M2, NUMBER_F32, THIRTY_TWO),
    ROW("pk32_f16_fp6", "d:b32 s:b32 s:f32", NUMBER_E2M3, NUMBER_F16, THIRTY_TWO),
    ROW("pk32_f16_bf6", "d:b32 s:b32 s:f32", NUMBER_E3M2, NUMBER_F16, THIRTY_TWO),
    ROW("pk32_bf16_fp6", "d:b32 s:b32 s:f32", NUMBER_E2M3, NUMBER_BF16, THIRTY_TWO),
    ROW("pk32_bf16_bf6", "d:b32 s:b32 s:f32", NUMBER_E3M2, NUMBER_BF16, THIRTY_TWO),
    ROW("pk32_fp6_f16", "d:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E2M3, THIRTY_TWO),
    ROW("pk32_bf6_f16", "d:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E3M2, THIRTY_TWO),
    ROW("pk32_fp6_bf16", "d:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E2M3, THIRTY_TWO),
    ROW("pk32_bf6_bf16", "d:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E3M2, THIRTY_TWO),
    ROW_SR("pk32_fp6_f32", "d:b32 s:b32 s:b32 s:f32", NUMBER_F32, NUMBER_E2M3, THIRTY_TWO),
    ROW_SR("pk32_bf6_f32", "d:b32 s:b32 s:b32 s:f32", NUMBER_F32, NUMBER_E3M2, THIRTY_TWO),
    ROW_SR("pk32_fp6_f16", "d:b32 s:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E2M3, THIRTY_TWO),
    ROW_SR("pk32_bf6_f16", "d:b32 s:b32 s:b32 s:f32", NUMBER_F16, NUMBER_E3M2, THIRTY_TWO),
    ROW_SR("pk32_fp6_bf16", "d:b32 s:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E2M3, THIRTY_TWO),
    ROW_SR("pk32_bf6_bf16", "d:b32 s:b32 s:b32 s:f32", NUMBER_BF16, NUMBER_E3M2, THIRTY_TWO),
};
/* clang-format on */

const struct opcode_table opcodes_vector_convert_scaled = {rows, sizeof rows / sizeof rows[0]};
