/* Lines of disassembly into instructions. The text comes from a cache file, so nothing about it is
   taken for granted: what cannot be understood becomes an instruction that faults when reached. */
#include "emulator/dispatch.h"
#include "emulator/fault.h"
#include "emulator/parse.h"

#include <stdlib.h>

static const char defect_mnemonic[] = "the emulator does not know this instruction";
static const char defect_operand[] = "the emulator cannot read an operand of this instruction";
static const char defect_modifier[] = "the emulator cannot read a modifier of this instruction";
static const char defect_count[] = "this instruction has another number of operands than it takes";
static const char defect_misfit[] = "an operand of this instruction has the wrong width or kind";
static const char defect_row[] = "the emulator's own row for this instruction is malformed";

static uint8_t classify(const struct opcode *opcode)
{
    static const struct {
        uint32_t flag;
        uint8_t class;
    } classes[] = {
        {OPCODE_VECTOR_MEMORY, CLASS_VECTOR_MEMORY},
        {OPCODE_LDS, CLASS_LDS},
        {OPCODE_SCALAR_MEMORY, CLASS_SCALAR_MEMORY},
        {OPCODE_MATRIX, CLASS_MATRIX},
    };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; ++i) {
        if (opcode->flags & classes[i].flag)
            return classes[i].class;
    }
    if (strcmp(opcode->mnemonic, "s_barrier") == 0)
        return CLASS_BARRIER;
    return opcode->mnemonic[0] == 'v' ? CLASS_VECTOR : CLASS_SCALAR;
}

static void set_defaults(struct instruction *instruction)
{
    instruction->target = TARGET_NONE;
    instruction->row_mask = instruction->bank_mask = 0xf;
    instruction->dst_sel = instruction->src0_sel = instruction->src1_sel = SDWA_DWORD;
    instruction->waitcnt_vm = instruction->waitcnt_lgkm = 0xff;
    if (instruction->opcode->flags & OPCODE_PACKED)
        instruction->op_sel_hi = 0x7;
}

/* Operands are separated by commas, modifiers by blanks; some instructions have only the latter. */
static const char *scan(struct scanner *scanner, struct instruction *instruction,
                        struct parsed_operand operands[OPERANDS_MAX], unsigned *count)
{
    bool more_operands = false;
    *count = 0;
    scanner_skip_blanks(scanner);
    if (*scanner->at && !parse_modifier(scanner, instruction)) {
        do {
            if (*count == OPERANDS_MAX || !parse_operand(scanner, &operands[*count]))
                return defect_operand;
            ++*count;
            more_operands = scanner_take(scanner, ",");
            scanner_skip_blanks(scanner);
        } while (more_operands);
    }
    for (scanner_skip_blanks(scanner); *scanner->at; scanner_skip_blanks(scanner)) {
        if (!parse_modifier(scanner, instruction))
            return defect_modifier;
    }
    return NULL;
}

/* A source that is more than a register's value. Only op_sel of plain 16-bit operations selects
   here; packed operations read theirs themselves. */
static bool is_modified(const struct instruction *instruction, unsigned index)
{
    const struct operand *operand = &instruction->operands[index];
    unsigned source = index - instruction->source0;
    bool half =
        operand->type == TYPE_I16 || operand->type == TYPE_F16 || operand->type == TYPE_BF16;
    return operand->negate || operand->absolute || operand->sign_extend ||
           (instruction->dpp && source == 0) || (instruction->sdwa && source < 2) ||
           (half && source < 3 && (instruction->op_sel >> source & 1));
}

/* After a bit for each source, op_sel may have one for the destination: bit 3 in the encoding. */
static void place_op_sel(struct instruction *instruction)
{
    unsigned sources = instruction->operand_count - (unsigned)instruction->source0;
    unsigned destination = 1u << sources;
    if (sources < 3 && instruction->op_sel_count == sources + 1 &&
        (instruction->op_sel & destination))
        instruction->op_sel = (uint8_t)((instruction->op_sel & ~destination) | 1u << 3);
}

/* s_waitcnt's one operand, where the text has no names. */
static void set_waitcnt(struct instruction *instruction)
{
    if (instruction->operand_count == 1 && strcmp(instruction->opcode->mnemonic, "s_waitcnt") == 0)
        parse_split_waitcnt(instruction, (uint32_t)instruction->immediate);
}

/* The text may lack a row's optional operands: all of them, or those furthest from the others. */
static const char *convert_operands(struct instruction *instruction,
                                    const struct parsed_operand parsed[], unsigned count)
{
    struct signature signature;
    if (!opcode_parse_signature(instruction->opcode, &signature))
        return defect_row;
    if (count < signature.required || count > signature.count)
        return defect_count;
    bool is_scalar =
        instruction->opcode->mnemonic[0] == 's' && instruction->opcode->mnemonic[1] == '_';
    unsigned absent_in_front = signature.tokens[0].optional ? signature.count - count : 0;
    instruction->source0 = (uint8_t)count;
    for (unsigned i = 0; i < count; ++i) {
        const struct signature_token *token = &signature.tokens[absent_in_front + i];
        if (!parse_convert_operand(&parsed[i], token, &instruction->operands[i]) ||
            (is_scalar && instruction->operands[i].kind == OPERAND_VECTOR))
            return defect_misfit;
        if (instruction->operands[i].kind == OPERAND_LABEL)
            instruction->immediate = (int32_t)(uint32_t)instruction->operands[i].value;
        if (token->access == ACCESS_READ && i < instruction->source0)
            instruction->source0 = (uint8_t)i;
    }
    instruction->operand_count = (uint8_t)count;
    place_op_sel(instruction);
    for (unsigned i = 0; i < count; ++i)
        instruction->operands[i].modified = is_modified(instruction, i);
    set_waitcnt(instruction);
    return NULL;
}

static const char *decode_text(struct instruction *instruction)
{
    struct scanner scanner = {instruction->text};
    size_t length = scanner_word(&scanner);
    const struct opcode *opcode = opcode_find(scanner.at, length);
    if (!opcode)
        return defect_mnemonic;
    scanner.at += length;
    instruction->opcode = opcode;
    instruction->class = classify(opcode);
    set_defaults(instruction);

    struct parsed_operand parsed[OPERANDS_MAX];
    unsigned count;
    const char *defect = scan(&scanner, instruction, parsed, &count);
    return defect ? defect : convert_operands(instruction, parsed, count);
}

static void decode_instruction(struct instruction *instruction)
{
    const char *defect = decode_text(instruction);
    if (defect) {
        *instruction = (struct instruction){.opcode = &opcode_defect,
                                            .text = instruction->text,
                                            .offset = instruction->offset,
                                            .size = instruction->size,
                                            .target = TARGET_NONE,
                                            .defect = defect};
    }
}

/* A line's two numbers; the text is what is left of it, ended by a NUL. */
static bool split_line(char *line, struct instruction *instruction)
{
    char *end;
    unsigned long long offset = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || offset > UINT32_MAX)
        return false;
    line = end + 1;
    unsigned long size = strtoul(line, &end, 10);
    if (end == line || *end != ' ' || size == 0 || size > 16 || size % 4 != 0)
        return false;
    *instruction =
        (struct instruction){.offset = (uint32_t)offset, .size = (uint8_t)size, .text = end + 1};
    return true;
}

static dsajit_status split_listing(struct program *program, size_t capacity, dsajit_error *error)
{
    uint64_t expected = 0;
    char *next;
    for (char *line = program->listing; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        if (*line == '\0')
            continue;
        struct instruction *instruction = &program->instructions[program->instruction_count];
        if (program->instruction_count == capacity || !split_line(line, instruction))
            return error_set(error, DSAJIT_ERROR_CORRUPT,
                             "disassembly line %zu is malformed: %.80s",
                             program->instruction_count + 1, line);
        if (instruction->offset != expected)
            return error_set(error, DSAJIT_ERROR_CORRUPT,
                             "disassembly continues at 0x%x instead of 0x%llx", instruction->offset,
                             (unsigned long long)expected);
        expected += instruction->size;
        ++program->instruction_count;
    }
    return DSAJIT_OK;
}

/* simm16 counts dwords from the next instruction. */
static void resolve_branches(struct program *program)
{
    for (size_t i = 0; i < program->instruction_count; ++i) {
        struct instruction *instruction = &program->instructions[i];
        if (!(instruction->opcode->flags & OPCODE_BRANCH))
            continue;
        int64_t target = (int64_t)instruction->offset + instruction->size +
                         4 * (int64_t)(int16_t)(uint16_t)(uint32_t)instruction->immediate;
        if (target >= 0)
            instruction->target = program_find_instruction(program, (uint64_t)target);
    }
}

uint32_t program_find_instruction(const struct program *program, uint64_t offset)
{
    size_t low = 0, high = program->instruction_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (program->instructions[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < program->instruction_count && program->instructions[low].offset == offset)
        return (uint32_t)low;
    return TARGET_NONE;
}

static size_t count_lines(const char *text)
{
    size_t lines = 1;
    for (; *text; ++text)
        lines += *text == '\n';
    return lines;
}

dsajit_status program_decode(struct program *program, const char *listing, dsajit_error *error)
{
    size_t lines = count_lines(listing);
    program->instruction_count = 0;
    program->listing = strdup(listing);
    program->instructions = calloc(lines + 1, sizeof *program->instructions);
    dsajit_status status = DSAJIT_OK;
    if (!program->listing || !program->instructions)
        status =
            error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for %zu instructions", lines);
    else
        status = split_listing(program, lines, error);
    if (status != DSAJIT_OK) {
        program_free_instructions(program);
        return status;
    }
    for (size_t i = 0; i < program->instruction_count; ++i)
        decode_instruction(&program->instructions[i]);
    resolve_branches(program);
    fault_make_end(&program->instructions[program->instruction_count], program);
    return DSAJIT_OK;
}

void program_free_instructions(struct program *program)
{
    free(program->instructions);
    free(program->listing);
    program->instructions = NULL;
    program->listing = NULL;
    program->instruction_count = 0;
}
