#include "emulator/wave.h"
#include "emulator/dpp.h"

#include <string.h>

static bool is_16_bit(uint8_t type)
{
    return type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16;
}

/* ---- Scalars ---- */

uint64_t wave_scalar_source64(struct wave *wave, const struct operand *operand)
{
    switch (operand->kind) {
    case OPERAND_SCALAR:
        return (uint64_t)wave->scalar[operand->index + 1] << 32 | wave->scalar[operand->index];
    case OPERAND_CONSTANT:
    case OPERAND_APERTURE:
    case OPERAND_LABEL:
        return operand->value;
    case OPERAND_SCC:
        return wave->scc;
    case OPERAND_VCCZ:
        return wave_vcc(wave) == 0;
    case OPERAND_EXECZ:
        return wave_exec(wave) == 0;
    default: /* "null" and "off" read as 0; decoding admits no others */
        return 0;
    }
}

uint32_t wave_scalar_source(struct wave *wave, const struct operand *operand)
{
    if (operand->kind == OPERAND_SCALAR)
        return wave->scalar[operand->index];
    return (uint32_t)wave_scalar_source64(wave, operand);
}

void wave_scalar_result(struct wave *wave, const struct operand *operand, uint32_t value)
{
    if (operand->kind == OPERAND_SCALAR)
        wave->scalar[operand->index] = value;
}

void wave_scalar_result64(struct wave *wave, const struct operand *operand, uint64_t value)
{
    if (operand->kind == OPERAND_SCALAR) {
        wave->scalar[operand->index] = (uint32_t)value;
        wave->scalar[operand->index + 1] = (uint32_t)(value >> 32);
    }
}

/* ---- Vector sources ---- */

static const uint32_t *broadcast(uint32_t value, uint32_t scratch[LANES])
{
    for (unsigned lane = 0; lane < LANES; ++lane)
        scratch[lane] = value;
    return scratch;
}

const uint32_t *wave_register(struct wave *wave, const struct operand *operand, unsigned part,
                              uint32_t scratch[LANES])
{
    switch (operand->kind) {
    case OPERAND_VECTOR:
        return wave->vector[operand->index + part];
    case OPERAND_SCALAR:
        return broadcast(wave->scalar[operand->index + part], scratch);
    case OPERAND_CONSTANT:
        /* The constants of 64-bit types have two dwords; the others repeat their one. */
        return broadcast((uint32_t)(operand->value >> (operand->width == 2 && part ? 32 : 0)),
                         scratch);
    default:
        return broadcast((uint32_t)(wave_scalar_source64(wave, operand) >> (part ? 32 : 0)),
                         scratch);
    }
}

/* Moves lanes as DPP says; lanes without a source get 0, which matters with bound_ctrl only. */
static void move_lanes(const struct wave *wave, const struct instruction *instruction,
                       const uint32_t lanes[LANES], uint32_t moved[LANES])
{
    uint8_t source[LANES];
    uint64_t valid = dpp_map(instruction, wave_exec(wave), source);
    uint32_t values[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane)
        values[lane] = valid >> lane & 1 ? lanes[source[lane]] : 0;
    memcpy(moved, values, sizeof values);
}

static const struct {
    uint8_t shift, bits;
} sdwa_fields[] = {
    [SDWA_BYTE_0] = {0, 8},  [SDWA_BYTE_1] = {8, 8},  [SDWA_BYTE_2] = {16, 8},
    [SDWA_BYTE_3] = {24, 8}, [SDWA_WORD_0] = {0, 16}, [SDWA_WORD_1] = {16, 16},
    [SDWA_DWORD] = {0, 32},
};

static void extract_field(uint32_t lanes[LANES], unsigned select, bool sign_extend)
{
    unsigned shift = sdwa_fields[select].shift, bits = sdwa_fields[select].bits;
    uint32_t mask = UINT32_MAX >> (32 - bits);
    uint32_t sign = sign_extend ? UINT32_C(1) << (bits - 1) : 0;
    for (unsigned lane = 0; lane < LANES; ++lane)
        lanes[lane] = ((lanes[lane] >> shift & mask) ^ sign) - sign;
}

/* The bits that neg flips and abs clears in dword `part` of a value. */
static uint32_t sign_bits(uint8_t type, unsigned part)
{
    switch (type) {
    case TYPE_I16:
    case TYPE_F16:
    case TYPE_BF16:
        return UINT32_C(0x8000);
    case TYPE_PK_I16:
    case TYPE_PK_F16:
    case TYPE_PK_BF16:
        return UINT32_C(0x80008000);
    case TYPE_B64:
    case TYPE_I64:
    case TYPE_F64:
        return part ? UINT32_C(0x80000000) : 0;
    default:
        return UINT32_C(0x80000000);
    }
}

static void apply_signs(const struct operand *operand, unsigned part, uint32_t lanes[LANES])
{
    uint32_t sign = sign_bits(operand->type, part);
    uint32_t keep = operand->absolute ? ~sign : UINT32_MAX;
    uint32_t flip = operand->negate ? sign : 0;
    for (unsigned lane = 0; lane < LANES; ++lane)
        lanes[lane] = (lanes[lane] & keep) ^ flip;
}

/* In the order of the hardware's data path: movement between lanes, selection in a lane, signs. */
static const uint32_t *modify(struct wave *wave, const struct instruction *instruction,
                              unsigned operand_index, unsigned part, const uint32_t *lanes,
                              uint32_t scratch[LANES])
{
    const struct operand *operand = &instruction->operands[operand_index];
    unsigned source = operand_index - instruction->source0;
    if (instruction->dpp && source == 0)
        move_lanes(wave, instruction, lanes, scratch);
    else if (lanes != scratch)
        memcpy(scratch, lanes, sizeof(uint32_t[LANES]));
    if (instruction->sdwa && source < 2)
        extract_field(scratch, source ? instruction->src1_sel : instruction->src0_sel,
                      operand->sign_extend);
    else if (is_16_bit(operand->type) && source < 3 && (instruction->op_sel >> source & 1))
        extract_field(scratch, SDWA_WORD_1, false);
    if (operand->negate || operand->absolute)
        apply_signs(operand, part, scratch);
    return scratch;
}

const uint32_t *wave_source(struct wave *wave, const struct instruction *instruction,
                            unsigned operand, unsigned part, uint32_t scratch[LANES])
{
    const struct operand *o = &instruction->operands[operand];
    const uint32_t *lanes = wave_register(wave, o, part, scratch);
    return o->modified ? modify(wave, instruction, operand, part, lanes, scratch) : lanes;
}

/* ---- Vector results ---- */

uint64_t wave_write_mask(const struct wave *wave, const struct instruction *instruction)
{
    uint64_t exec = wave_exec(wave);
    return instruction->dpp ? dpp_write_mask(instruction, exec) : exec;
}

/* Eight lanes at a time, so that the compiler makes vector selections of it. */
static void copy_enabled(uint32_t row[LANES], const uint32_t lanes[LANES], uint64_t enabled)
{
    for (unsigned group = 0; group < LANES; group += 8) {
        uint32_t byte = (uint32_t)(enabled >> group) & 0xff;
        for (unsigned i = 0; i < 8; ++i) {
            uint32_t take = byte & (1u << i) ? UINT32_MAX : 0;
            row[group + i] = (lanes[group + i] & take) | (row[group + i] & ~take);
        }
    }
}

/* Puts results into a field of the register; what is around it becomes 0, the sign, or stays. */
static void insert_field(uint32_t values[LANES], const uint32_t row[LANES],
                         const uint32_t lanes[LANES], unsigned select, unsigned unused)
{
    unsigned shift = sdwa_fields[select].shift, bits = sdwa_fields[select].bits;
    uint32_t mask = UINT32_MAX >> (32 - bits);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint32_t value = lanes[lane] & mask;
        if (unused == SDWA_PRESERVE)
            values[lane] = (row[lane] & ~(mask << shift)) | value << shift;
        else if (unused == SDWA_SEXT && value >> (bits - 1))
            values[lane] = (value | ~mask) << shift;
        else
            values[lane] = value << shift;
    }
}

void wave_result(struct wave *wave, const struct instruction *instruction, unsigned operand,
                 unsigned part, const uint32_t lanes[LANES])
{
    const struct operand *o = &instruction->operands[operand];
    if (o->kind != OPERAND_VECTOR)
        return;
    uint32_t *row = wave->vector[o->index + part];
    uint64_t enabled = wave_write_mask(wave, instruction);
    uint32_t merged[LANES];
    if (instruction->sdwa) {
        insert_field(merged, row, lanes, instruction->dst_sel, instruction->dst_unused);
        lanes = merged;
    } else if (is_16_bit(o->type)) {
        bool upper = instruction->op_sel >> 3 & 1;
        if (upper || (instruction->opcode->flags & OPCODE_KEEPS_HALF)) {
            insert_field(merged, row, lanes, upper ? SDWA_WORD_1 : SDWA_WORD_0, SDWA_PRESERVE);
            lanes = merged;
        }
    }
    if (lanes == row)
        return;
    if (enabled == UINT64_MAX)
        memcpy(row, lanes, sizeof(uint32_t[LANES]));
    else
        copy_enabled(row, lanes, enabled);
}
