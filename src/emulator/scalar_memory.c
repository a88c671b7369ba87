/* SMEM: loads through the scalar cache, and the clocks. They count in lgkmcnt and return in any
   order. */
#include "emulator/dispatch.h"
#include "emulator/scalar_alu.h"

#include <string.h>
#include <time.h>

enum { DWORDS_MAX = 16 };

static void issue(struct wave *wave, const struct operand *result, unsigned dwords)
{
    wave_issue(wave, &wave->lds_memory,
               &(struct outstanding){.scalar_memory = true,
                                     .scalar = true,
                                     .first = result->index,
                                     .count = (uint16_t)dwords});
}

/* The byte offset: a signed immediate, or an unsigned register with an immediate as a modifier. */
static uint64_t read_offset(struct wave *wave, const struct instruction *instruction)
{
    const struct operand *operand = &instruction->operands[2];
    uint32_t value = wave_scalar_source(wave, operand);
    uint64_t offset = operand->kind == OPERAND_CONSTANT ? (uint64_t)(int64_t)(int32_t)value : value;
    return offset + (uint64_t)(int64_t)instruction->offset0;
}

/* Reads dwords from memory that the device may touch. */
static bool fetch(struct wave *wave, const struct instruction *instruction, uint64_t address,
                  uint32_t *values, unsigned dwords)
{
    char why[MEMORY_WHY_SIZE];
    if (dwords == 0)
        return true;
    if (address % 4)
        return wave_fault(wave, instruction, -1, "the address 0x%llx is no multiple of 4",
                          (unsigned long long)address);
    if (!device_memory_check(wave->memory, &wave->memory_hint, address, 4 * (size_t)dwords, false,
                             why))
        return wave_fault(wave, instruction, -1, "%s", why);
    memcpy(values, (const void *)(uintptr_t)address, 4 * (size_t)dwords);
    return true;
}

/* Results go where the text says, as many as the mnemonic says. */
static bool deliver(struct wave *wave, const struct instruction *instruction,
                    const uint32_t *values, unsigned dwords)
{
    const struct operand *result = &instruction->operands[0];
    if (result->kind != OPERAND_SCALAR)
        return wave_fault(wave, instruction, -1, "the result is no scalar register");
    memcpy(&wave->scalar[result->index], values, 4 * (size_t)dwords);
    issue(wave, result, dwords);
    return true;
}

static bool execute_load(struct wave *wave, const struct instruction *instruction)
{
    unsigned dwords = opcode_variant(instruction->opcode);
    uint64_t base = scalar_read_b64(wave, instruction, 1);
    uint32_t values[DWORDS_MAX];
    return fetch(wave, instruction, base + read_offset(wave, instruction), values, dwords) &&
           deliver(wave, instruction, values, dwords);
}

/* Through a buffer descriptor: its base in 48 bits, its stride in 14, the number of records, which
   are bytes without a stride. What lies behind the last record reads as 0. */
static bool execute_buffer_load(struct wave *wave, const struct instruction *instruction)
{
    const struct operand *descriptor = &instruction->operands[1];
    if (descriptor->kind != OPERAND_SCALAR)
        return wave_fault(wave, instruction, -1, "the descriptor is not in scalar registers");
    const uint32_t *words = &wave->scalar[descriptor->index];
    uint64_t base = (uint64_t)(words[1] & 0xffff) << 32 | words[0];
    uint32_t stride = words[1] >> 16 & 0x3fff;
    uint64_t size = (uint64_t)words[2] * (stride ? stride : 1);
    uint64_t offset = read_offset(wave, instruction);

    unsigned dwords = opcode_variant(instruction->opcode), present = 0;
    uint32_t values[DWORDS_MAX] = {0};
    while (present < dwords && offset < size && size - offset >= 4 * ((uint64_t)present + 1))
        ++present;
    return fetch(wave, instruction, base + offset, values, present) &&
           deliver(wave, instruction, values, dwords);
}

/* Nanoseconds: as good a clock as any for code that measures durations. */
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The variant: nanoseconds a tick. The constant clock has 100 MHz. */
static bool execute_clock(struct wave *wave, const struct instruction *instruction)
{
    uint64_t ticks = now() / opcode_variant(instruction->opcode);
    const uint32_t values[2] = {(uint32_t)ticks, (uint32_t)(ticks >> 32)};
    return deliver(wave, instruction, values, 2);
}

/* Memory here has no caches that could be out of date. */
static bool execute_cache_control(struct wave *wave, const struct instruction *instruction)
{
    (void)wave;
    (void)instruction;
    return true;
}

#define ROW(name, operands, execute, variant)                                                      \
    {                                                                                              \
        name, operands, execute,                                                                   \
            OPCODE_SCALAR_MEMORY | (uint32_t)(variant) << OPCODE_VARIANT_SHIFT                     \
    }

static const struct opcode rows[] = {
    ROW("s_load_dword", "d:b32 s:b64 s:b32", execute_load, 1),
    ROW("s_load_dwordx2", "d:b64 s:b64 s:b32", execute_load, 2),
    ROW("s_load_dwordx4", "d:b128 s:b64 s:b32", execute_load, 4),
    ROW("s_load_dwordx8", "d:b256 s:b64 s:b32", execute_load, 8),
    ROW("s_load_dwordx16", "d:b512 s:b64 s:b32", execute_load, 16),
    ROW("s_buffer_load_dword", "d:b32 s:b128 s:b32", execute_buffer_load, 1),
    ROW("s_buffer_load_dwordx2", "d:b64 s:b128 s:b32", execute_buffer_load, 2),
    ROW("s_buffer_load_dwordx4", "d:b128 s:b128 s:b32", execute_buffer_load, 4),
    ROW("s_buffer_load_dwordx8", "d:b256 s:b128 s:b32", execute_buffer_load, 8),
    ROW("s_buffer_load_dwordx16", "d:b512 s:b128 s:b32", execute_buffer_load, 16),
    ROW("s_memtime", "d:b64", execute_clock, 1),
    ROW("s_memrealtime", "d:b64", execute_clock, 10),
    ROW("s_dcache_inv", "", execute_cache_control, 0),
    ROW("s_dcache_inv_vol", "", execute_cache_control, 0),
    ROW("s_dcache_wb", "", execute_cache_control, 0),
    ROW("s_dcache_wb_vol", "", execute_cache_control, 0),
};

const struct opcode_table opcodes_scalar_memory = {rows, sizeof rows / sizeof rows[0]};
