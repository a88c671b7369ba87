/* LDS atomics, one lane after the other. A workgroup's waves run on one thread, so plain memory
   accesses will do. */
#include "emulator/atomic_operation.h"
#include "emulator/lds_operations.h"

#include <string.h>

/* The row's variant: the operation, and whether operand 0 is the result. */
enum { RETURNS = 0x100 };

static uint64_t load(const uint8_t *at, unsigned dwords)
{
    uint32_t parts[2] = {0};
    memcpy(parts, at, dwords * sizeof parts[0]);
    return (uint64_t)parts[1] << 32 | parts[0];
}

static void store(uint8_t *at, unsigned dwords, uint64_t value)
{
    const uint32_t parts[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
    memcpy(at, parts, dwords * sizeof parts[0]);
}

static bool atomic(struct wave *wave, const struct instruction *instruction)
{
    uint32_t variant = opcode_variant(instruction->opcode);
    bool returns = variant & RETURNS;
    const struct atomic_operation *operation = &atomic_operations[variant & ~(uint32_t)RETURNS];
    const struct operand *address = &instruction->operands[returns];
    unsigned dwords = operation->dwords;
    size_t size = dwords * sizeof(uint32_t);
    struct lane_memory memory;
    if (!lds_locate(wave, instruction, address, (uint32_t)instruction->offset0, size, size,
                    LDS_ATOMIC, &memory))
        return false;

    uint32_t data[2][2][LANES] = {{{0}}}, results[2][LANES] = {{0}};
    for (unsigned i = 0; i < operation->data_count; ++i)
        lane_memory_read_registers(wave, address + 1 + i, dwords, data[i]);
    unsigned lane;
    for (uint64_t rest = memory.lanes; next_lane(&rest, &lane);) {
        uint64_t old = load(memory.bytes[lane], dwords);
        uint64_t data0 = data[0][0][lane] | (uint64_t)data[0][1][lane] << 32;
        uint64_t data1 = data[1][0][lane] | (uint64_t)data[1][1][lane] << 32;
        store(memory.bytes[lane], dwords, operation->combine(old, data0, data1));
        results[0][lane] = (uint32_t)old;
        results[1][lane] = (uint32_t)(old >> 32);
    }
    for (unsigned part = 0; returns && part < dwords; ++part)
        wave_result(wave, instruction, 0, part, results[part]);
    lds_issue(wave, instruction, returns);
    return true;
}

/* Counters at M0 plus the immediate: the number of active lanes is added or subtracted once, and
   all of them receive what was there before. */
static bool count_lanes(struct wave *wave, const struct instruction *instruction,
                        atomic_function function)
{
    struct lane_memory memory = {0};
    uint64_t exec = wave_exec(wave);
    if (instruction->gds)
        return wave_fault(wave, instruction, -1, "global data share is not supported");
    if (!wave_check_scalar(wave, instruction, SCALAR_M0, 1))
        return false;
    if (exec != 0) {
        uint32_t at = wave->scalar[SCALAR_M0] + (uint32_t)instruction->offset0;
        unsigned lane = (unsigned)__builtin_ctzll(exec);
        if (!lane_memory_locate_lds(&memory, wave, instruction, lane, at, sizeof(uint32_t),
                                    sizeof(uint32_t), LDS_ATOMIC))
            return false;
        uint64_t old = load(memory.bytes[lane], 1);
        store(memory.bytes[lane], 1, function(old, (unsigned)__builtin_popcountll(exec), 0));
        uint32_t results[LANES];
        for (unsigned i = 0; i < LANES; ++i)
            results[i] = (uint32_t)old;
        wave_result(wave, instruction, 0, 0, results);
    }
    lds_issue(wave, instruction, true);
    return true;
}

static bool append(struct wave *wave, const struct instruction *instruction)
{
    return count_lanes(wave, instruction, atomic_operations[ATOMIC_ADD].combine);
}

static bool consume(struct wave *wave, const struct instruction *instruction)
{
    return count_lanes(wave, instruction, atomic_operations[ATOMIC_SUB].combine);
}

/* One operation without and with a result. `data` is the token of one datum. */
#define ATOMIC(name, type, data, operation)                                                        \
    LDS_ROW("ds_" name "_" type, "s:b32 " data, atomic, operation),                                \
        LDS_ROW("ds_" name "_rtn_" type, "d:b32 s:b32 " data, atomic, (operation) | RETURNS)
#define ATOMIC_X2(name, type, data, operation)                                                     \
    LDS_ROW("ds_" name "_" type, "s:b32 " data, atomic, operation),                                \
        LDS_ROW("ds_" name "_rtn_" type, "d:b64 s:b32 " data, atomic, (operation) | RETURNS)

/* An integer operation of both widths; `kind` is the letter of its type's name. */
#define INTEGER(name, kind, operation)                                                             \
    ATOMIC(name, kind "32", "s:b32", operation), ATOMIC_X2(name, kind "64", "s:b64", operation##_X2)
#define INTEGER_OF_TWO(name, kind, operation)                                                      \
    ATOMIC(name, kind "32", "s:b32 s:b32", operation),                                             \
        ATOMIC_X2(name, kind "64", "s:b64 s:b64", operation##_X2)

static const struct opcode rows[] = {
    INTEGER("add", "u", ATOMIC_ADD),
    INTEGER("sub", "u", ATOMIC_SUB),
    INTEGER("rsub", "u", ATOMIC_REVERSE_SUB),
    INTEGER("inc", "u", ATOMIC_INC),
    INTEGER("dec", "u", ATOMIC_DEC),
    INTEGER("min", "i", ATOMIC_SMIN),
    INTEGER("max", "i", ATOMIC_SMAX),
    INTEGER("min", "u", ATOMIC_UMIN),
    INTEGER("max", "u", ATOMIC_UMAX),
    INTEGER("and", "b", ATOMIC_AND),
    INTEGER("or", "b", ATOMIC_OR),
    INTEGER("xor", "b", ATOMIC_XOR),
    INTEGER_OF_TWO("mskor", "b", ATOMIC_MASK_OR),
    INTEGER_OF_TWO("cmpst", "b", ATOMIC_COMPARE_STORE),
    LDS_ROW("ds_wrxchg_rtn_b32", "d:b32 s:b32 s:b32", atomic, ATOMIC_SWAP | RETURNS),
    LDS_ROW("ds_wrxchg_rtn_b64", "d:b64 s:b32 s:b64", atomic, ATOMIC_SWAP_X2 | RETURNS),
    LDS_ROW("ds_wrap_rtn_b32", "d:b32 s:b32 s:b32 s:b32", atomic, ATOMIC_WRAP | RETURNS),
    ATOMIC("add", "f32", "s:b32", ATOMIC_ADD_F32),
    ATOMIC("min", "f32", "s:b32", ATOMIC_MIN_F32),
    ATOMIC("max", "f32", "s:b32", ATOMIC_MAX_F32),
    ATOMIC("cmpst", "f32", "s:b32 s:b32", ATOMIC_COMPARE_STORE_F32),
    ATOMIC_X2("add", "f64", "s:b64", ATOMIC_ADD_F64),
    ATOMIC_X2("min", "f64", "s:b64", ATOMIC_MIN_F64),
    ATOMIC_X2("max", "f64", "s:b64", ATOMIC_MAX_F64),
    ATOMIC_X2("cmpst", "f64", "s:b64 s:b64", ATOMIC_COMPARE_STORE_F64),
    ATOMIC("pk_add", "f16", "s:b32", ATOMIC_PK_ADD_F16),
    ATOMIC("pk_add", "bf16", "s:b32", ATOMIC_PK_ADD_BF16),
    LDS_ROW("ds_append", "d:b32", append, 0),
    LDS_ROW("ds_consume", "d:b32", consume, 0),
};

const struct opcode_table opcodes_lds_atomic = {rows, sizeof rows / sizeof rows[0]};
