/* The modifiers that follow an instruction's operands. */
#include "emulator/parse.h"

struct modifier {
    const char *name;
    bool (*parse)(struct scanner *scanner, struct instruction *instruction,
                  const struct modifier *modifier);
    size_t field;      /* offset in struct instruction */
    int32_t parameter; /* as the parser reads it: a maximum, an enum's value */
};

static void set_byte(struct instruction *instruction, size_t field, uint8_t value)
{
    memcpy((char *)instruction + field, &value, sizeof value);
}

/* Which caches an access goes through changes nothing here. */
static bool take_hint(struct scanner *scanner, struct instruction *instruction,
                      const struct modifier *modifier)
{
    (void)scanner;
    (void)instruction;
    (void)modifier;
    return true;
}

static bool take_flag(struct scanner *scanner, struct instruction *instruction,
                      const struct modifier *modifier)
{
    (void)scanner;
    bool value = true;
    memcpy((char *)instruction + modifier->field, &value, sizeof value);
    return true;
}

/* ":3" */
static bool take_number(struct scanner *scanner, struct instruction *instruction,
                        const struct modifier *modifier)
{
    int64_t value;
    if (!scanner_take(scanner, ":") ||
        !scanner_integer_within(scanner, 0, modifier->parameter, &value))
        return false;
    set_byte(instruction, modifier->field, (uint8_t)value);
    return true;
}

/* ":[1,0,1]" */
static bool read_bits(struct scanner *scanner, uint8_t *bits, uint8_t *count)
{
    *bits = *count = 0;
    if (!scanner_take(scanner, ":["))
        return false;
    for (unsigned i = 0; i < 4; ++i) {
        if (scanner_take(scanner, "1"))
            *bits |= (uint8_t)(1u << i);
        else if (!scanner_take(scanner, "0"))
            return false;
        ++*count;
        if (scanner_take(scanner, "]"))
            return true;
        if (!scanner_take(scanner, ","))
            return false;
    }
    return false;
}

/* A bit per source. */
static bool take_bits(struct scanner *scanner, struct instruction *instruction,
                      const struct modifier *modifier)
{
    uint8_t bits, count;
    if (!read_bits(scanner, &bits, &count))
        return false;
    set_byte(instruction, modifier->field, bits);
    return true;
}

/* A bit per source, and often one for the destination: which they are, decoding finds out. */
static bool take_selections(struct scanner *scanner, struct instruction *instruction,
                            const struct modifier *modifier)
{
    (void)modifier;
    return read_bits(scanner, &instruction->op_sel, &instruction->op_sel_count);
}

static bool take_multiplier(struct scanner *scanner, struct instruction *instruction,
                            const struct modifier *modifier)
{
    (void)modifier;
    if (scanner_take(scanner, ":2"))
        instruction->omod = 1;
    else if (scanner_take(scanner, ":4"))
        instruction->omod = 2;
    else
        return false;
    return true;
}

static bool take_divisor(struct scanner *scanner, struct instruction *instruction,
                         const struct modifier *modifier)
{
    (void)modifier;
    if (!scanner_take(scanner, ":2"))
        return false;
    instruction->omod = 3;
    return true;
}

/* Either number means the same: the disassembler's spelling changed once. */
static bool take_bound_ctrl(struct scanner *scanner, struct instruction *instruction,
                            const struct modifier *modifier)
{
    (void)modifier;
    instruction->bound_ctrl = true;
    return scanner_take(scanner, ":0") || scanner_take(scanner, ":1");
}

static bool take_quad_perm(struct scanner *scanner, struct instruction *instruction,
                           const struct modifier *modifier)
{
    (void)modifier;
    unsigned selections = 0;
    for (unsigned i = 0; i < 4; ++i) {
        int64_t lane;
        if (!scanner_take(scanner, i == 0 ? ":[" : ",") ||
            !scanner_integer_within(scanner, 0, 3, &lane))
            return false;
        selections |= (unsigned)lane << 2 * i;
    }
    instruction->dpp = DPP_QUAD_PERM;
    instruction->dpp_value = (uint16_t)selections;
    return scanner_take(scanner, "]");
}

/* ":4" of a DPP movement by a number of lanes; parameter: the kind */
static bool take_dpp(struct scanner *scanner, struct instruction *instruction,
                     const struct modifier *modifier)
{
    int64_t value;
    if (!scanner_take(scanner, ":") || !scanner_integer_within(scanner, 0, 15, &value))
        return false;
    instruction->dpp = (uint8_t)modifier->parameter;
    instruction->dpp_value = (uint16_t)value;
    return true;
}

static bool take_dpp_flag(struct scanner *scanner, struct instruction *instruction,
                          const struct modifier *modifier)
{
    (void)scanner;
    instruction->dpp = (uint8_t)modifier->parameter;
    return true;
}

static bool take_row_bcast(struct scanner *scanner, struct instruction *instruction,
                           const struct modifier *modifier)
{
    (void)modifier;
    if (scanner_take(scanner, ":15"))
        instruction->dpp = DPP_ROW_BCAST_15;
    else if (scanner_take(scanner, ":31"))
        instruction->dpp = DPP_ROW_BCAST_31;
    else
        return false;
    return true;
}

static bool take_name(struct scanner *scanner, const char *const names[], size_t count,
                      uint8_t *value)
{
    for (size_t i = 0; i < count; ++i) {
        if (scanner_take_word(scanner, names[i])) {
            *value = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static bool take_select(struct scanner *scanner, struct instruction *instruction,
                        const struct modifier *modifier)
{
    static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD"};
    uint8_t value;
    if (!scanner_take(scanner, ":") ||
        !take_name(scanner, names, sizeof names / sizeof names[0], &value))
        return false;
    instruction->sdwa = true;
    set_byte(instruction, modifier->field, value);
    return true;
}

static bool take_unused(struct scanner *scanner, struct instruction *instruction,
                        const struct modifier *modifier)
{
    static const char *const names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    uint8_t value;
    if (!scanner_take(scanner, ":") ||
        !take_name(scanner, names, sizeof names / sizeof names[0], &value))
        return false;
    set_byte(instruction, modifier->field, value);
    return true;
}

/* "vmcnt(3)" */
static bool take_counter(struct scanner *scanner, struct instruction *instruction,
                         const struct modifier *modifier)
{
    int64_t value;
    if (!scanner_take(scanner, "(") ||
        !scanner_integer_within(scanner, 0, modifier->parameter, &value) ||
        !scanner_take(scanner, ")"))
        return false;
    set_byte(instruction, modifier->field, (uint8_t)value);
    return true;
}

/* "expcnt(0)": gfx950 exports nothing, so there is nothing to wait for. */
static bool take_export_counter(struct scanner *scanner, struct instruction *instruction,
                                const struct modifier *modifier)
{
    (void)instruction;
    int64_t value;
    return scanner_take(scanner, "(") &&
           scanner_integer_within(scanner, 0, modifier->parameter, &value) &&
           scanner_take(scanner, ")");
}

void parse_split_waitcnt(struct instruction *instruction, uint32_t simm16)
{
    instruction->waitcnt_vm = (uint8_t)((simm16 & 0xf) | (simm16 >> 10 & 0x30));
    instruction->waitcnt_lgkm = (uint8_t)(simm16 >> 8 & 0xf);
}

/* ":16"; of ds_swizzle also ":swizzle(…)" */
static bool take_offset(struct scanner *scanner, struct instruction *instruction,
                        const struct modifier *modifier)
{
    int64_t value;
    if (!scanner_take(scanner, ":"))
        return false;
    if (!parse_swizzle(scanner, &value) &&
        !scanner_integer_within(scanner, INT32_MIN, INT32_MAX, &value))
        return false;
    int32_t offset = (int32_t)value;
    memcpy((char *)instruction + modifier->field, &offset, sizeof offset);
    return true;
}

#define FIELD(name) offsetof(struct instruction, name)

static const struct modifier modifiers[] = {
    {"offset", take_offset, FIELD(offset0), 0},
    {"offset0", take_offset, FIELD(offset0), 0},
    {"offset1", take_offset, FIELD(offset1), 0},
    {"vmcnt", take_counter, FIELD(waitcnt_vm), 63},
    {"lgkmcnt", take_counter, FIELD(waitcnt_lgkm), 15},
    {"expcnt", take_export_counter, 0, 7},
    {"op_sel", take_selections, 0, 0},
    {"op_sel_hi", take_bits, FIELD(op_sel_hi), 0},
    {"neg_lo", take_bits, FIELD(neg_lo), 0},
    {"neg_hi", take_bits, FIELD(neg_hi), 0},
    {"neg", take_bits, FIELD(neg_lo), 0},
    {"clamp", take_flag, FIELD(clamp), 0},
    {"mul", take_multiplier, 0, 0},
    {"div", take_divisor, 0, 0},
    {"cbsz", take_number, FIELD(cbsz), 7},
    {"abid", take_number, FIELD(abid), 15},
    {"blgp", take_number, FIELD(blgp), 7},
    {"bitop3", take_number, FIELD(bitop3), 255},
    {"quad_perm", take_quad_perm, 0, 0},
    {"row_shl", take_dpp, 0, DPP_ROW_SHL},
    {"row_shr", take_dpp, 0, DPP_ROW_SHR},
    {"row_ror", take_dpp, 0, DPP_ROW_ROR},
    {"row_newbcast", take_dpp, 0, DPP_ROW_NEWBCAST},
    {"wave_shl", take_dpp, 0, DPP_WAVE_SHL},
    {"wave_rol", take_dpp, 0, DPP_WAVE_ROL},
    {"wave_shr", take_dpp, 0, DPP_WAVE_SHR},
    {"wave_ror", take_dpp, 0, DPP_WAVE_ROR},
    {"row_mirror", take_dpp_flag, 0, DPP_ROW_MIRROR},
    {"row_half_mirror", take_dpp_flag, 0, DPP_ROW_HALF_MIRROR},
    {"row_bcast", take_row_bcast, 0, 0},
    {"row_mask", take_number, FIELD(row_mask), 15},
    {"bank_mask", take_number, FIELD(bank_mask), 15},
    {"bound_ctrl", take_bound_ctrl, 0, 0},
    {"fi", take_number, FIELD(fetch_inactive), 1},
    {"dst_sel", take_select, FIELD(dst_sel), 0},
    {"src0_sel", take_select, FIELD(src0_sel), 0},
    {"src1_sel", take_select, FIELD(src1_sel), 0},
    {"dst_unused", take_unused, FIELD(dst_unused), 0},
    {"glc", take_hint, 0, 0},
    {"slc", take_hint, 0, 0},
    {"dlc", take_hint, 0, 0},
    {"sc0", take_flag, FIELD(sc0), 0},
    {"sc1", take_hint, 0, 0},
    {"nt", take_hint, 0, 0},
    {"offen", take_flag, FIELD(offen), 0},
    {"idxen", take_flag, FIELD(idxen), 0},
    {"lds", take_flag, FIELD(lds), 0},
    {"gds", take_flag, FIELD(gds), 0},
};

bool parse_modifier(struct scanner *scanner, struct instruction *instruction)
{
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; ++i) {
        struct scanner s = *scanner;
        if (!scanner_take_word(&s, modifiers[i].name) ||
            !modifiers[i].parse(&s, instruction, &modifiers[i]))
            continue;
        *scanner = s;
        return true;
    }
    return false;
}
