/* LDS reads and writes. */
#include "emulator/lds_operations.h"

bool lds_locate(struct wave *wave, const struct instruction *instruction,
                const struct operand *address, uint32_t offset, size_t size, size_t alignment,
                enum lds_access access, struct lane_memory *memory)
{
    uint32_t scratch[LANES];
    memory->lanes = 0;
    if (instruction->gds)
        return wave_fault(wave, instruction, -1, "global data share is not supported");
    const uint32_t *addresses = wave_register(wave, address, 0, scratch);
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        if (!lane_memory_locate_lds(memory, wave, instruction, lane, addresses[lane] + offset, size,
                                    alignment, access))
            return false;
    }
    return true;
}

void lds_issue(struct wave *wave, const struct instruction *instruction, bool has_result)
{
    issue_result(wave, &wave->lds_memory, has_result ? &instruction->operands[0] : NULL);
}

static bool read(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = opcode_variant(instruction->opcode);
    size_t size = memory_format_bytes(format);
    struct lane_memory memory;
    if (!lds_locate(wave, instruction, &instruction->operands[1], (uint32_t)instruction->offset0,
                    size, lds_alignment(size), LDS_READ, &memory))
        return false;
    lane_memory_load_registers(&memory, format, wave, instruction, 0);
    lds_issue(wave, instruction, true);
    return true;
}

static bool write(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = opcode_variant(instruction->opcode);
    size_t size = memory_format_bytes(format);
    struct lane_memory memory;
    if (!lds_locate(wave, instruction, &instruction->operands[0], (uint32_t)instruction->offset0,
                    size, lds_alignment(size), LDS_WRITE, &memory))
        return false;
    lane_memory_store_registers(&memory, format, wave, instruction, 1);
    lds_issue(wave, instruction, false);
    return true;
}

/* "read2" and "write2": two offsets in units of the element, or, "st64", of 64 elements. */
enum { STRIDE_64 = 0x100 };

static enum memory_format format_of_pair(const struct instruction *instruction)
{
    return opcode_variant(instruction->opcode) & ~(uint32_t)STRIDE_64;
}

static uint32_t offset_in_pair(const struct instruction *instruction, unsigned which, size_t size)
{
    uint32_t units = (uint32_t)(which ? instruction->offset1 : instruction->offset0);
    bool wide = opcode_variant(instruction->opcode) & STRIDE_64;
    return units * (uint32_t)size * (wide ? 64 : 1);
}

static bool read_pair(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = format_of_pair(instruction);
    size_t size = memory_format_bytes(format);
    size_t dwords = memory_format_dwords(format);
    uint32_t data[LANE_DWORDS_MAX][LANES] = {{0}};
    for (unsigned which = 0; which < 2; ++which) {
        struct lane_memory memory;
        if (!lds_locate(wave, instruction, &instruction->operands[1],
                        offset_in_pair(instruction, which, size), size, size, LDS_READ, &memory))
            return false;
        lane_memory_load(&memory, format, data + which * dwords);
    }
    /* Only now: the address may be in one of the result's registers. */
    for (unsigned part = 0; part < 2 * (unsigned)dwords; ++part)
        wave_result(wave, instruction, 0, part, data[part]);
    lds_issue(wave, instruction, true);
    return true;
}

static bool write_pair(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = format_of_pair(instruction);
    size_t size = memory_format_bytes(format);
    for (unsigned which = 0; which < 2; ++which) {
        struct lane_memory memory;
        if (!lds_locate(wave, instruction, &instruction->operands[0],
                        offset_in_pair(instruction, which, size), size, size, LDS_WRITE, &memory))
            return false;
        lane_memory_store_registers(&memory, format, wave, instruction, 1 + which);
    }
    lds_issue(wave, instruction, false);
    return true;
}

/* "wrxchg2": both places are written, and what was there is the result. */
static bool exchange_pair(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = format_of_pair(instruction);
    size_t size = memory_format_bytes(format);
    size_t dwords = memory_format_dwords(format);
    uint32_t data[LANE_DWORDS_MAX][LANES] = {{0}};
    for (unsigned which = 0; which < 2; ++which) {
        struct lane_memory memory;
        if (!lds_locate(wave, instruction, &instruction->operands[1],
                        offset_in_pair(instruction, which, size), size, size, LDS_ATOMIC, &memory))
            return false;
        lane_memory_load(&memory, format, data + which * dwords);
        lane_memory_store_registers(&memory, format, wave, instruction, 2 + which);
    }
    for (unsigned part = 0; part < 2 * (unsigned)dwords; ++part)
        wave_result(wave, instruction, 0, part, data[part]);
    lds_issue(wave, instruction, true);
    return true;
}

/* "addtid": M0 and the immediate, and a dword for each lane. */
static bool locate_by_lane(struct wave *wave, const struct instruction *instruction,
                           enum lds_access access, struct lane_memory *memory)
{
    memory->lanes = 0;
    if (!wave_check_scalar(wave, instruction, SCALAR_M0, 1))
        return false;
    uint32_t start = wave->scalar[SCALAR_M0] + (uint32_t)instruction->offset0;
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        if (!lane_memory_locate_lds(memory, wave, instruction, lane, start + 4 * lane, 4, 4,
                                    access))
            return false;
    }
    return true;
}

static bool read_by_lane(struct wave *wave, const struct instruction *instruction)
{
    struct lane_memory memory;
    if (!locate_by_lane(wave, instruction, LDS_READ, &memory))
        return false;
    lane_memory_load_registers(&memory, FORMAT_B32, wave, instruction, 0);
    lds_issue(wave, instruction, true);
    return true;
}

static bool write_by_lane(struct wave *wave, const struct instruction *instruction)
{
    struct lane_memory memory;
    if (!locate_by_lane(wave, instruction, LDS_WRITE, &memory))
        return false;
    lane_memory_store_registers(&memory, FORMAT_B32, wave, instruction, 0);
    lds_issue(wave, instruction, false);
    return true;
}

static bool do_nothing(struct wave *wave, const struct instruction *instruction)
{
    lds_issue(wave, instruction, false);
    return true;
}

#define READ(name, type, format)  LDS_ROW("ds_read_" name, "d:" type " s:b32", read, format)
#define WRITE(name, type, format) LDS_ROW("ds_write_" name, "s:b32 s:" type, write, format)

static const struct opcode rows[] = {
    READ("u8", "b32", FORMAT_U8),
    READ("i8", "b32", FORMAT_I8),
    READ("u16", "b32", FORMAT_U16),
    READ("i16", "b32", FORMAT_I16),
    READ("b32", "b32", FORMAT_B32),
    READ("b64", "b64", FORMAT_B64),
    READ("b96", "b96", FORMAT_B96),
    READ("b128", "b128", FORMAT_B128),
    READ("u8_d16", "b32", FORMAT_U8_D16),
    READ("u8_d16_hi", "b32", FORMAT_U8_D16_HI),
    READ("i8_d16", "b32", FORMAT_I8_D16),
    READ("i8_d16_hi", "b32", FORMAT_I8_D16_HI),
    READ("u16_d16", "b32", FORMAT_B16_D16),
    READ("u16_d16_hi", "b32", FORMAT_B16_D16_HI),
    WRITE("b8", "b32", FORMAT_U8),
    WRITE("b8_d16_hi", "b32", FORMAT_U8_D16_HI),
    WRITE("b16", "b32", FORMAT_U16),
    WRITE("b16_d16_hi", "b32", FORMAT_B16_D16_HI),
    WRITE("b32", "b32", FORMAT_B32),
    WRITE("b64", "b64", FORMAT_B64),
    WRITE("b96", "b96", FORMAT_B96),
    WRITE("b128", "b128", FORMAT_B128),
    LDS_ROW("ds_read2_b32", "d:b64 s:b32", read_pair, FORMAT_B32),
    LDS_ROW("ds_read2_b64", "d:b128 s:b32", read_pair, FORMAT_B64),
    LDS_ROW("ds_read2st64_b32", "d:b64 s:b32", read_pair, FORMAT_B32 | STRIDE_64),
    LDS_ROW("ds_read2st64_b64", "d:b128 s:b32", read_pair, FORMAT_B64 | STRIDE_64),
    LDS_ROW("ds_write2_b32", "s:b32 s:b32 s:b32", write_pair, FORMAT_B32),
    LDS_ROW("ds_write2_b64", "s:b32 s:b64 s:b64", write_pair, FORMAT_B64),
    LDS_ROW("ds_write2st64_b32", "s:b32 s:b32 s:b32", write_pair, FORMAT_B32 | STRIDE_64),
    LDS_ROW("ds_write2st64_b64", "s:b32 s:b64 s:b64", write_pair, FORMAT_B64 | STRIDE_64),
    LDS_ROW("ds_wrxchg2_rtn_b32", "d:b64 s:b32 s:b32 s:b32", exchange_pair, FORMAT_B32),
    LDS_ROW("ds_wrxchg2_rtn_b64", "d:b128 s:b32 s:b64 s:b64", exchange_pair, FORMAT_B64),
    LDS_ROW("ds_wrxchg2st64_rtn_b32", "d:b64 s:b32 s:b32 s:b32", exchange_pair,
            FORMAT_B32 | STRIDE_64),
    LDS_ROW("ds_wrxchg2st64_rtn_b64", "d:b128 s:b32 s:b64 s:b64", exchange_pair,
            FORMAT_B64 | STRIDE_64),
    LDS_ROW("ds_read_addtid_b32", "d:b32", read_by_lane, 0),
    LDS_ROW("ds_write_addtid_b32", "s:b32", write_by_lane, 0),
    LDS_ROW("ds_read_b64_tr_b16", "d:b64 s:b32", lds_read_transposed, 16),
    LDS_ROW("ds_read_b64_tr_b8", "d:b64 s:b32", lds_read_transposed, 8),
    LDS_ROW("ds_read_b64_tr_b4", "d:b64 s:b32", lds_read_transposed, 4),
    LDS_ROW("ds_read_b96_tr_b6", "d:b96 s:b32", lds_read_transposed, 6),
    LDS_ROW("ds_nop", "", do_nothing, 0),
};

const struct opcode_table opcodes_lds = {rows, sizeof rows / sizeof rows[0]};
