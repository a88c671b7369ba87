#include "emulator/lane_memory.h"

#include <inttypes.h>
#include <string.h>

enum half { WHOLE, LOW_HALF, HIGH_HALF };

static const struct {
    uint8_t bytes, dwords;
    bool sign_extend;
    uint8_t half; /* enum half */
} formats[FORMAT_COUNT] = {
    [FORMAT_U8] = {1, 1, false, WHOLE},         [FORMAT_I8] = {1, 1, true, WHOLE},
    [FORMAT_U16] = {2, 1, false, WHOLE},        [FORMAT_I16] = {2, 1, true, WHOLE},
    [FORMAT_B32] = {4, 1, false, WHOLE},        [FORMAT_B64] = {8, 2, false, WHOLE},
    [FORMAT_B96] = {12, 3, false, WHOLE},       [FORMAT_B128] = {16, 4, false, WHOLE},
    [FORMAT_U8_D16] = {1, 1, false, LOW_HALF},  [FORMAT_U8_D16_HI] = {1, 1, false, HIGH_HALF},
    [FORMAT_I8_D16] = {1, 1, true, LOW_HALF},   [FORMAT_I8_D16_HI] = {1, 1, true, HIGH_HALF},
    [FORMAT_B16_D16] = {2, 1, false, LOW_HALF}, [FORMAT_B16_D16_HI] = {2, 1, false, HIGH_HALF},
};

uint32_t memory_format_bytes(enum memory_format format)
{
    return formats[format].bytes;
}

uint32_t memory_format_dwords(enum memory_format format)
{
    return formats[format].dwords;
}

static bool is_dword_aligned(const void *address)
{
    return (uintptr_t)address % sizeof(uint32_t) == 0;
}

static uint32_t load_dword(const uint8_t *at)
{
    if (is_dword_aligned(at))
        return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void store_dword(uint8_t *at, uint32_t value)
{
    if (is_dword_aligned(at))
        __atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELAXED);
    else
        memcpy(at, &value, sizeof value);
}

/* Bytes and words, low byte first. */
static uint32_t load_narrow(const uint8_t *at, unsigned bytes)
{
    return bytes == 1 ? at[0] : at[0] | (uint32_t)at[1] << 8;
}

static void store_narrow(uint8_t *at, unsigned bytes, uint32_t value)
{
    at[0] = (uint8_t)value;
    if (bytes == 2)
        at[1] = (uint8_t)(value >> 8);
}

static uint32_t sign_extend(uint32_t value, unsigned bytes)
{
    return bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
}

static uint32_t extend_into(uint32_t value, enum memory_format format, uint32_t old)
{
    if (formats[format].sign_extend)
        value = sign_extend(value, formats[format].bytes);
    switch ((enum half)formats[format].half) {
    case LOW_HALF:
        return (old & 0xffff0000) | (value & 0xffff);
    case HIGH_HALF:
        return (old & 0xffff) | value << 16;
    case WHOLE:
        break;
    }
    return value;
}

void lane_memory_load(const struct lane_memory *memory, enum memory_format format,
                      uint32_t data[][LANES])
{
    unsigned bytes = formats[format].bytes, lane;
    for (uint64_t rest = memory->lanes; next_lane(&rest, &lane);) {
        const uint8_t *at = memory->bytes[lane];
        unsigned present = memory->present[lane];
        if (bytes < 4) {
            uint32_t value = present ? load_narrow(at, bytes) : 0;
            data[0][lane] = extend_into(value, format, data[0][lane]);
            continue;
        }
        for (size_t part = 0; part < formats[format].dwords; ++part)
            data[part][lane] = 4 * part < present ? load_dword(at + 4 * part) : 0;
    }
}

void lane_memory_store(const struct lane_memory *memory, enum memory_format format,
                       const uint32_t data[][LANES])
{
    unsigned bytes = formats[format].bytes, lane;
    unsigned shift = formats[format].half == HIGH_HALF ? 16 : 0;
    for (uint64_t rest = memory->lanes; next_lane(&rest, &lane);) {
        uint8_t *at = memory->bytes[lane];
        unsigned present = memory->present[lane];
        if (bytes < 4) {
            if (present)
                store_narrow(at, bytes, data[0][lane] >> shift);
            continue;
        }
        for (size_t part = 0; 4 * part < present; ++part)
            store_dword(at + 4 * part, data[part][lane]);
    }
}

void lane_memory_read_registers(struct wave *wave, const struct operand *operand, unsigned dwords,
                                uint32_t data[][LANES])
{
    for (unsigned part = 0; part < dwords; ++part) {
        const uint32_t *lanes = wave_register(wave, operand, part, data[part]);
        if (lanes != data[part])
            memcpy(data[part], lanes, sizeof data[part]);
    }
}

void lane_memory_load_registers(const struct lane_memory *memory, enum memory_format format,
                                struct wave *wave, const struct instruction *instruction,
                                unsigned result)
{
    uint32_t data[LANE_DWORDS_MAX][LANES];
    if (formats[format].half == WHOLE) {
        memset(data, 0, formats[format].dwords * sizeof data[0]);
    } else {
        lane_memory_read_registers(wave, &instruction->operands[result], 1, data);
    }
    lane_memory_load(memory, format, data);
    for (unsigned part = 0; part < formats[format].dwords; ++part)
        wave_result(wave, instruction, result, part, data[part]);
}

void lane_memory_store_registers(const struct lane_memory *memory, enum memory_format format,
                                 struct wave *wave, const struct instruction *instruction,
                                 unsigned data)
{
    uint32_t values[LANE_DWORDS_MAX][LANES];
    lane_memory_read_registers(wave, &instruction->operands[data], formats[format].dwords, values);
    lane_memory_store(memory, format, (const uint32_t(*)[LANES])values);
}

static void set_lane(struct lane_memory *memory, unsigned lane, uint8_t *bytes, size_t size)
{
    memory->lanes |= (uint64_t)1 << lane;
    memory->bytes[lane] = bytes;
    memory->present[lane] = (uint8_t)size;
}

bool lane_memory_locate_lds(struct lane_memory *memory, struct wave *wave,
                            const struct instruction *instruction, unsigned lane, uint32_t address,
                            size_t size, size_t alignment, enum lds_access access)
{
    char why[MEMORY_WHY_SIZE];
    if (address % alignment != 0)
        return wave_fault(wave, instruction, (int)lane,
                          "misaligned LDS access: %zu bytes at 0x%" PRIx32
                          " want an alignment of %zu",
                          size, address, alignment);
    if (!lds_check(wave->lds, wave->index, address, size, access, why))
        return wave_fault(wave, instruction, (int)lane, "%s", why);
    set_lane(memory, lane, lds_bytes(wave->lds) + address, size);
    return true;
}

bool lane_memory_locate_scratch(struct lane_memory *memory, struct wave *wave,
                                const struct instruction *instruction, unsigned lane,
                                int64_t offset, size_t size)
{
    if (offset < 0 || (uint64_t)offset + size > wave->scratch_size)
        return wave_fault(wave, instruction, (int)lane,
                          "%zu bytes at scratch offset %" PRId64 " are outside the lane's %" PRIu32
                          " bytes",
                          size, offset, wave->scratch_size);
    uint64_t start = wave->scratch_base + (uint64_t)lane * wave->scratch_size;
    set_lane(memory, lane, device_pointer(start + (uint64_t)offset), size);
    return true;
}

bool lane_memory_locate_global(struct lane_memory *memory, struct wave *wave,
                               const struct instruction *instruction, unsigned lane,
                               uint64_t address, size_t size, enum lds_access access)
{
    char why[MEMORY_WHY_SIZE];
    if (access == LDS_ATOMIC && address % size != 0)
        return wave_fault(wave, instruction, (int)lane,
                          "misaligned atomic: %zu bytes at 0x%" PRIx64, size, address);
    if (!device_memory_check(wave->memory, &wave->memory_hint, address, size, access != LDS_READ,
                             why))
        return wave_fault(wave, instruction, (int)lane, "%s", why);
    set_lane(memory, lane, device_pointer(address), size);
    return true;
}
