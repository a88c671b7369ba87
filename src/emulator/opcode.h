/* Finding a mnemonic's row, and reading the row's description of its operands. */
#ifndef EMULATOR_OPCODE_H
#define EMULATOR_OPCODE_H

#include "emulator/instruction.h"

/* The row of a mnemonic as the disassembler writes it, with or without an encoding suffix such as
   _e32 or _sdwa. NULL: no table has it. Thread-safe. */
const struct opcode *opcode_find(const char *mnemonic, size_t length);

/* One token of opcode.operands. */
struct signature_token {
    uint8_t access; /* enum operand_access */
    uint8_t type;   /* enum operand_type */
    uint8_t width;  /* dwords that a register must have; 0: any */
    bool label;     /* an immediate, not a register */
    bool optional;
};

struct signature {
    struct signature_token tokens[OPERANDS_MAX];
    unsigned count, required;
};

/* False if the row's text is not in the language that instruction.h describes. */
bool opcode_parse_signature(const struct opcode *opcode, struct signature *signature);

/* All tables, for tests that walk every row. */
extern const struct opcode_table *const opcode_tables[];
extern const size_t opcode_table_count;

#endif
