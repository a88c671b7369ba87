/* The bits that the hardware feeds to an operation for a constant, by the operand's type. */
#include "emulator/parse.h"

static bool is_64_bit(uint8_t type)
{
    return type == TYPE_B64 || type == TYPE_I64 || type == TYPE_F64;
}

static bool is_16_bit(uint8_t type)
{
    return type == TYPE_I16 || type == TYPE_F16 || type == TYPE_BF16;
}

static uint64_t float_bits(const struct parsed_operand *parsed, uint8_t type)
{
    const struct inline_float *real = parsed->real;
    switch (type) {
    case TYPE_F16:
    case TYPE_I16:
    case TYPE_PK_F16: /* the low half only: op_sel_hi decides what the upper result sees */
        return real->f16 | (parsed->negative ? UINT32_C(1) << 15 : 0);
    case TYPE_BF16:
    case TYPE_PK_BF16:
        return real->bf16 | (parsed->negative ? UINT32_C(1) << 15 : 0);
    case TYPE_B64:
    case TYPE_I64:
    case TYPE_F64:
        return real->f64 | (parsed->negative ? UINT64_C(1) << 63 : 0);
    default: /* packed 16-bit integers too get the f32 pattern */
        return real->f32 | (parsed->negative ? UINT32_C(1) << 31 : 0);
    }
}

static uint64_t integer_bits(int64_t integer, uint8_t type)
{
    if (is_64_bit(type))
        return (uint64_t)integer;
    return (uint64_t)integer & (is_16_bit(type) ? UINT16_MAX : UINT32_MAX);
}

/* A literal has 32 bits: the upper half of an f64, the lower one of an integer. */
static uint64_t literal_bits(int64_t literal, uint8_t type)
{
    uint64_t bits = (uint64_t)literal & UINT32_MAX;
    switch (type) {
    case TYPE_F64:
        return bits << 32;
    case TYPE_I64:
        return bits | (bits >> 31 ? UINT64_C(0xffffffff00000000) : 0);
    default:
        return bits & (is_16_bit(type) ? UINT16_MAX : UINT32_MAX);
    }
}

static bool convert_number(const struct parsed_operand *parsed, const struct signature_token *token,
                           struct operand *operand)
{
    if (token->access != ACCESS_READ && !token->label)
        return false;
    if (parsed->number != NUMBER_FLOAT &&
        (parsed->integer < INT32_MIN || parsed->integer > UINT32_MAX))
        return false;
    if (token->label) {
        operand->kind = OPERAND_LABEL;
        operand->value = (uint64_t)parsed->integer & UINT32_MAX;
        return parsed->number != NUMBER_FLOAT;
    }
    operand->kind = OPERAND_CONSTANT;
    operand->width = is_64_bit(token->type) ? 2 : 1;
    switch (parsed->number) {
    case NUMBER_FLOAT:
        operand->value = float_bits(parsed, token->type);
        return true;
    case NUMBER_INTEGER:
        operand->value = integer_bits(parsed->integer, token->type);
        return true;
    case NUMBER_LITERAL:
        operand->value = literal_bits(parsed->integer, token->type);
        return true;
    default:
        return false;
    }
}

bool parse_convert_operand(const struct parsed_operand *parsed, const struct signature_token *token,
                           struct operand *operand)
{
    *operand = parsed->operand;
    operand->type = token->type;
    operand->access = token->access;
    if (parsed->number != NUMBER_NONE)
        return convert_number(parsed, token, operand);
    if (token->label)
        return false;
    switch (operand->kind) {
    case OPERAND_NONE:
        return true;
    case OPERAND_SCALAR:
    case OPERAND_VECTOR:
        return token->width == 0 || token->width == operand->width;
    case OPERAND_APERTURE:
        if (token->width != 2) { /* a 32-bit operation sees the upper half */
            operand->value >>= 32;
            operand->width = 1;
        }
        return token->access == ACCESS_READ;
    default:
        return token->access == ACCESS_READ;
    }
}
