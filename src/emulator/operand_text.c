/* The text of one operand: registers by name and range, constants, the special values, and the
   negation and absolute-value signs around them. */
#include "emulator/parse.h"
#include "emulator/wave.h"

enum { SCALAR_GENERAL_COUNT = 102, SCALAR_TTMP_COUNT = 16 };

struct named_operand {
    const char *name;
    uint8_t kind, width;
    uint16_t index;
    uint64_t value;
};

static const struct named_operand named_operands[] = {
    {"vcc", OPERAND_SCALAR, 2, SCALAR_VCC, 0},
    {"vcc_lo", OPERAND_SCALAR, 1, SCALAR_VCC, 0},
    {"vcc_hi", OPERAND_SCALAR, 1, SCALAR_VCC + 1, 0},
    {"exec", OPERAND_SCALAR, 2, SCALAR_EXEC, 0},
    {"exec_lo", OPERAND_SCALAR, 1, SCALAR_EXEC, 0},
    {"exec_hi", OPERAND_SCALAR, 1, SCALAR_EXEC + 1, 0},
    {"m0", OPERAND_SCALAR, 1, SCALAR_M0, 0},
    {"flat_scratch", OPERAND_SCALAR, 2, SCALAR_FLAT_SCRATCH, 0},
    {"flat_scratch_lo", OPERAND_SCALAR, 1, SCALAR_FLAT_SCRATCH, 0},
    {"flat_scratch_hi", OPERAND_SCALAR, 1, SCALAR_FLAT_SCRATCH + 1, 0},
    {"xnack_mask", OPERAND_SCALAR, 2, SCALAR_XNACK_MASK, 0},
    {"xnack_mask_lo", OPERAND_SCALAR, 1, SCALAR_XNACK_MASK, 0},
    {"xnack_mask_hi", OPERAND_SCALAR, 1, SCALAR_XNACK_MASK + 1, 0},
    {"off", OPERAND_NONE, 0, 0, 0},
    {"null", OPERAND_NONE, 0, 0, 0},
    {"src_scc", OPERAND_SCC, 1, 0, 0},
    {"scc", OPERAND_SCC, 1, 0, 0},
    {"src_vccz", OPERAND_VCCZ, 1, 0, 0},
    {"src_execz", OPERAND_EXECZ, 1, 0, 0},
    {"src_shared_base", OPERAND_APERTURE, 2, 0, APERTURE_SHARED_BASE},
    {"src_shared_limit", OPERAND_APERTURE, 2, 0, APERTURE_SHARED_BASE | UINT32_MAX},
    {"src_private_base", OPERAND_APERTURE, 2, 0, APERTURE_PRIVATE_BASE},
    {"src_private_limit", OPERAND_APERTURE, 2, 0, APERTURE_PRIVATE_BASE | UINT32_MAX},
};

static bool take_named(struct scanner *scanner, struct operand *operand)
{
    for (size_t i = 0; i < sizeof named_operands / sizeof named_operands[0]; ++i) {
        const struct named_operand *named = &named_operands[i];
        if (scanner_take_word(scanner, named->name)) {
            operand->kind = named->kind;
            operand->width = named->width;
            operand->index = named->index;
            operand->value = named->value;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *prefix;
    uint8_t kind;
    uint16_t first, count;
} register_files[] = {
    {"ttmp", OPERAND_SCALAR, SCALAR_TTMP, SCALAR_TTMP_COUNT},
    {"s", OPERAND_SCALAR, 0, SCALAR_GENERAL_COUNT},
    {"v", OPERAND_VECTOR, 0, VECTOR_ACCUMULATOR},
    {"a", OPERAND_VECTOR, VECTOR_ACCUMULATOR, VECTOR_COUNT - VECTOR_ACCUMULATOR},
};

/* What follows a register file's letters: "7" or "[4:7]". */
static bool take_range(struct scanner *scanner, uint16_t count, int64_t *first, int64_t *last)
{
    if (scanner_take(scanner, "[")) {
        return scanner_integer_within(scanner, 0, count - 1, first) && scanner_take(scanner, ":") &&
               scanner_integer_within(scanner, *first, count - 1, last) &&
               scanner_take(scanner, "]") && *last - *first < OPERAND_WIDTH_MAX;
    }
    if (!isdigit((unsigned char)*scanner->at) ||
        !scanner_integer_within(scanner, 0, count - 1, first))
        return false;
    *last = *first;
    return true;
}

static bool take_register(struct scanner *scanner, struct operand *operand)
{
    for (size_t i = 0; i < sizeof register_files / sizeof register_files[0]; ++i) {
        struct scanner s = *scanner;
        int64_t first, last;
        if (scanner_take(&s, register_files[i].prefix) &&
            take_range(&s, register_files[i].count, &first, &last)) {
            operand->kind = register_files[i].kind;
            operand->index = (uint16_t)(register_files[i].first + first);
            operand->width = (uint8_t)(last - first + 1);
            *scanner = s;
            return true;
        }
    }
    return false;
}

static const struct inline_float inline_floats[] = {
    {"0.5", 0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000},
    {"1.0", 0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000},
    {"2.0", 0x4000, 0x4000, 0x40000000, 0x4000000000000000},
    {"4.0", 0x4400, 0x4080, 0x40800000, 0x4010000000000000},
    /* 1/(2*pi), in the two lengths in which it is printed */
    {"0.15915494309189532", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882},
    {"0.15915494", 0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882},
};

static bool take_float(struct scanner *scanner, struct parsed_operand *parsed)
{
    struct scanner s = *scanner;
    parsed->negative = scanner_take(&s, "-");
    size_t length = strspn(s.at, "0123456789.");
    for (size_t i = 0; i < sizeof inline_floats / sizeof inline_floats[0]; ++i) {
        if (strlen(inline_floats[i].text) == length &&
            memcmp(s.at, inline_floats[i].text, length) == 0) {
            s.at += length;
            parsed->number = NUMBER_FLOAT;
            parsed->real = &inline_floats[i];
            *scanner = s;
            return true;
        }
    }
    return false;
}

/* Decimal numbers are inline constants or immediates, hexadecimal ones and lit(…) are literals. */
static bool take_integer(struct scanner *scanner, struct parsed_operand *parsed)
{
    struct scanner s = *scanner;
    bool wrapped = scanner_take(&s, "lit(") || scanner_take(&s, "lit64(");
    bool hexadecimal = strncmp(s.at, "0x", 2) == 0 || strncmp(s.at, "-0x", 3) == 0;
    if (!scanner_integer(&s, &parsed->integer) || (wrapped && !scanner_take(&s, ")")))
        return false;
    parsed->number = wrapped || hexadecimal ? NUMBER_LITERAL : NUMBER_INTEGER;
    *scanner = s;
    return true;
}

static const struct {
    const char *name;
    uint8_t id;
} hardware_registers[] = {
    {"HW_REG_MODE", 1},          {"HW_REG_STATUS", 2},    {"HW_REG_TRAPSTS", 3},
    {"HW_REG_HW_ID", 4},         {"HW_REG_GPR_ALLOC", 5}, {"HW_REG_LDS_ALLOC", 6},
    {"HW_REG_IB_STS", 7},        {"HW_REG_PC_LO", 8},     {"HW_REG_PC_HI", 9},
    {"HW_REG_SH_MEM_BASES", 15}, {"HW_REG_XCC_ID", 20},
};

static bool take_hardware_register_id(struct scanner *scanner, int64_t *id)
{
    for (size_t i = 0; i < sizeof hardware_registers / sizeof hardware_registers[0]; ++i) {
        if (scanner_take_word(scanner, hardware_registers[i].name)) {
            *id = hardware_registers[i].id;
            return true;
        }
    }
    return scanner_integer_within(scanner, 0, 63, id);
}

/* "hwreg(HW_REG_MODE, 4, 2)" as the simm16 it stands for: id, first bit << 6, (bits - 1) << 11. */
static bool take_hwreg(struct scanner *scanner, int64_t *value)
{
    struct scanner s = *scanner;
    int64_t id, first = 0, bits = 32;
    if (!scanner_take(&s, "hwreg(") || !take_hardware_register_id(&s, &id))
        return false;
    if (scanner_take(&s, ", ") &&
        (!scanner_integer_within(&s, 0, 31, &first) || !scanner_take(&s, ", ") ||
         !scanner_integer_within(&s, 1, 32, &bits)))
        return false;
    if (!scanner_take(&s, ")"))
        return false;
    *value = id | first << 6 | (bits - 1) << 11;
    *scanner = s;
    return true;
}

static bool take_message(struct scanner *scanner, int64_t *value)
{
    struct scanner s = *scanner;
    if (!scanner_take(&s, "sendmsg("))
        return false;
    if (scanner_take_word(&s, "MSG_INTERRUPT"))
        *value = 1;
    else if (!scanner_integer_within(&s, 0, UINT16_MAX, value))
        return false;
    if (!scanner_take(&s, ")"))
        return false;
    *scanner = s;
    return true;
}

/* "gpr_idx(SRC0,DST)" as a bit for each of the four. */
static bool take_index_selection(struct scanner *scanner, int64_t *value)
{
    static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    struct scanner s = *scanner;
    if (!scanner_take(&s, "gpr_idx("))
        return false;
    *value = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        struct scanner next = s;
        if ((*value == 0 || scanner_take(&next, ",")) && scanner_take_word(&next, names[i])) {
            *value |= INT64_C(1) << i;
            s = next;
        }
    }
    if (!scanner_take(&s, ")"))
        return false;
    *scanner = s;
    return true;
}

static bool take_symbolic(struct scanner *scanner, struct parsed_operand *parsed)
{
    if (!take_hwreg(scanner, &parsed->integer) && !take_message(scanner, &parsed->integer) &&
        !take_index_selection(scanner, &parsed->integer))
        return false;
    parsed->number = NUMBER_SYMBOLIC;
    return true;
}

static bool take_value(struct scanner *scanner, struct parsed_operand *parsed)
{
    return take_named(scanner, &parsed->operand) || take_register(scanner, &parsed->operand) ||
           take_float(scanner, parsed) || take_integer(scanner, parsed) ||
           take_symbolic(scanner, parsed);
}

static bool is_number(const char *text)
{
    return isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]));
}

bool parse_operand(struct scanner *scanner, struct parsed_operand *parsed)
{
    struct scanner s = *scanner;
    *parsed = (struct parsed_operand){0};
    struct operand *operand = &parsed->operand;
    bool parenthesis = false;
    if (scanner_take(&s, "neg(")) {
        parenthesis = operand->negate = true;
    } else if (scanner_take(&s, "sext(")) {
        parenthesis = operand->sign_extend = true;
    } else if (!is_number(s.at) && scanner_take(&s, "-")) {
        operand->negate = true;
    }
    operand->absolute = scanner_take(&s, "|");
    if (!take_value(&s, parsed) || (operand->absolute && !scanner_take(&s, "|")) ||
        (parenthesis && !scanner_take(&s, ")")))
        return false;
    *scanner = s;
    return true;
}
