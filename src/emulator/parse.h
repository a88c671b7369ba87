/* From assembly text to the pieces of an instruction. Used by decode.c only. */
#ifndef EMULATOR_PARSE_H
#define EMULATOR_PARSE_H

#include "emulator/instruction.h"
#include "emulator/opcode.h"
#include "emulator/scanner.h"

/* One of the float constants that an instruction word can hold, in each type's bits. */
struct inline_float {
    const char *text;
    uint16_t f16, bf16;
    uint32_t f32;
    uint64_t f64;
};

enum parsed_number {
    NUMBER_NONE,    /* a register or a special value */
    NUMBER_INTEGER, /* an inline constant, or an immediate */
    NUMBER_FLOAT,   /* an inline constant */
    NUMBER_LITERAL, /* 32 bits that follow the instruction word, or an immediate */
    NUMBER_SYMBOLIC /* hwreg(…), sendmsg(…), gpr_idx(…): an immediate */
};

/* What the text of one operand says, before its type is known. */
struct parsed_operand {
    struct operand operand; /* without type, access and, for a number, kind, width and value */
    int64_t integer;
    const struct inline_float *real;
    enum parsed_number number;
    bool negative; /* of `real` */
};

/* Takes one operand. False: what comes next is none, or names a register that does not exist. */
bool parse_operand(struct scanner *scanner, struct parsed_operand *parsed);

/* Gives a parsed operand its type, and its number the bits that the hardware feeds to it. False if
   the operand does not fit the token: a register of another width, a constant that is written. */
bool parse_convert_operand(const struct parsed_operand *parsed, const struct signature_token *token,
                           struct operand *operand);

/* Takes one modifier, such as "offset:16" or "clamp". False: none that is known. */
bool parse_modifier(struct scanner *scanner, struct instruction *instruction);

/* Takes ds_swizzle's "swizzle(…)" and gives the 16-bit offset that it stands for. */
bool parse_swizzle(struct scanner *scanner, int64_t *offset);

/* Splits the number of an s_waitcnt that is not written by names. */
void parse_split_waitcnt(struct instruction *instruction, uint32_t simm16);

#endif
