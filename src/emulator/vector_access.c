#include "emulator/vector_access.h"

#include <inttypes.h>

const struct vector_operands *vector_operands_of(enum segment segment, enum vector_access_kind kind)
{
    enum { NONE = OPERAND_ABSENT };
    /* result, data, address, base */
    static const struct vector_operands flat[] = {
        [VECTOR_LOAD] = {0, NONE, 1, NONE},
        [VECTOR_STORE] = {NONE, 1, 0, NONE},
        [VECTOR_ATOMIC] = {NONE, 1, 0, NONE},
        [VECTOR_ATOMIC_RETURN] = {0, 2, 1, NONE},
    };
    static const struct vector_operands based[] = {
        [VECTOR_LOAD] = {0, NONE, 1, 2},           [VECTOR_STORE] = {NONE, 1, 0, 2},
        [VECTOR_LOAD_TO_LDS] = {NONE, NONE, 0, 1}, [VECTOR_ATOMIC] = {NONE, 1, 0, 2},
        [VECTOR_ATOMIC_RETURN] = {0, 2, 1, 3},
    };
    static const struct vector_operands buffer[] = {
        [VECTOR_LOAD] = {0, NONE, 1, 2},           [VECTOR_STORE] = {NONE, 0, 1, 2},
        [VECTOR_LOAD_TO_LDS] = {NONE, NONE, 0, 1}, [VECTOR_ATOMIC] = {NONE, 0, 1, 2},
        [VECTOR_ATOMIC_RETURN] = {0, 0, 1, 2},
    };
    switch (segment) {
    case SEGMENT_FLAT:
        return &flat[kind];
    case SEGMENT_BUFFER:
        return &buffer[kind];
    default:
        return &based[kind];
    }
}

/* A 64-bit address in vector registers; or, with a base in scalar registers, a 32-bit offset. */
static bool locate_global(struct wave *wave, const struct instruction *instruction,
                          const struct vector_operands *operands, size_t size,
                          enum lds_access access, struct lane_memory *memory)
{
    uint32_t low_scratch[LANES], high_scratch[LANES];
    const struct operand *address = &instruction->operands[operands->address];
    const struct operand *base = &instruction->operands[operands->base];
    const uint32_t *low = wave_register(wave, address, 0, low_scratch), *high = NULL;
    uint64_t start = (uint64_t)(int64_t)instruction->offset0;
    if (base->kind == OPERAND_NONE)
        high = wave_register(wave, address, 1, high_scratch);
    else
        start += wave_scalar_source64(wave, base);
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        uint64_t at = start + low[lane] + (high ? (uint64_t)high[lane] << 32 : 0);
        if (!lane_memory_locate_global(memory, wave, instruction, lane, at, size, access))
            return false;
    }
    return true;
}

static bool locate_flat(struct wave *wave, const struct instruction *instruction,
                        const struct vector_operands *operands, size_t size, enum lds_access access,
                        struct lane_memory *memory)
{
    uint32_t low_scratch[LANES], high_scratch[LANES];
    const struct operand *address = &instruction->operands[operands->address];
    const uint32_t *low = wave_register(wave, address, 0, low_scratch);
    const uint32_t *high = wave_register(wave, address, 1, high_scratch);
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        uint64_t at =
            ((uint64_t)high[lane] << 32 | low[lane]) + (uint64_t)(int64_t)instruction->offset0;
        bool located;
        if (at >> 32 == APERTURE_SHARED_BASE >> 32)
            located = lane_memory_locate_lds(memory, wave, instruction, lane, (uint32_t)at, size,
                                             lds_alignment(size), access);
        else if (at >> 32 == APERTURE_PRIVATE_BASE >> 32)
            located =
                lane_memory_locate_scratch(memory, wave, instruction, lane, (uint32_t)at, size);
        else
            located = lane_memory_locate_global(memory, wave, instruction, lane, at, size, access);
        if (!located)
            return false;
    }
    return true;
}

static bool locate_scratch(struct wave *wave, const struct instruction *instruction,
                           const struct vector_operands *operands, size_t size,
                           struct lane_memory *memory)
{
    uint32_t scratch[LANES];
    const struct operand *address = &instruction->operands[operands->address];
    const struct operand *base = &instruction->operands[operands->base];
    const uint32_t *offsets =
        address->kind == OPERAND_NONE ? NULL : wave_register(wave, address, 0, scratch);
    int64_t start = instruction->offset0;
    /* Both parts are signed: the compiler may fold a negative index into either. */
    if (base->kind != OPERAND_NONE)
        start += (int32_t)wave_scalar_source(wave, base);
    unsigned lane;
    for (uint64_t rest = wave_exec(wave); next_lane(&rest, &lane);) {
        int64_t at = start + (offsets ? (int32_t)offsets[lane] : 0);
        if (!lane_memory_locate_scratch(memory, wave, instruction, lane, at, size))
            return false;
    }
    return true;
}

bool vector_locate(struct wave *wave, const struct instruction *instruction,
                   const struct vector_operands *operands, size_t size, enum lds_access access,
                   struct lane_memory *memory)
{
    memory->lanes = 0;
    switch (segment_of(instruction)) {
    case SEGMENT_GLOBAL:
        return locate_global(wave, instruction, operands, size, access, memory);
    case SEGMENT_FLAT:
        return locate_flat(wave, instruction, operands, size, access, memory);
    case SEGMENT_SCRATCH:
        return locate_scratch(wave, instruction, operands, size, memory);
    default:
        return buffer_locate(wave, instruction, operands, size, access, memory);
    }
}

void vector_issue(struct wave *wave, const struct instruction *instruction,
                  const struct operand *result)
{
    issue_result(wave, &wave->vector_memory, result);
    if (segment_of(instruction) == SEGMENT_FLAT)
        issue_result(wave, &wave->lds_memory, result);
}

bool vector_load(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = variant_of(instruction);
    const struct vector_operands *operands =
        vector_operands_of(segment_of(instruction), VECTOR_LOAD);
    struct lane_memory memory;
    if (!vector_locate(wave, instruction, operands, memory_format_bytes(format), LDS_READ, &memory))
        return false;
    lane_memory_load_registers(&memory, format, wave, instruction, operands->result);
    vector_issue(wave, instruction, &instruction->operands[operands->result]);
    return true;
}

bool vector_store(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = variant_of(instruction);
    const struct vector_operands *operands =
        vector_operands_of(segment_of(instruction), VECTOR_STORE);
    struct lane_memory memory;
    if (!vector_locate(wave, instruction, operands, memory_format_bytes(format), LDS_WRITE,
                       &memory))
        return false;
    lane_memory_store_registers(&memory, format, wave, instruction, operands->data);
    vector_issue(wave, instruction, NULL);
    return true;
}

/* The LDS addresses of a direct-to-LDS load: M0, plus the same immediate as in memory, plus the
   lane's place. A lane's data is a number of whole dwords; bytes and words are extended to one. */
static bool locate_in_lds(struct wave *wave, const struct instruction *instruction, uint64_t lanes,
                          size_t size, struct lane_memory *memory, struct outstanding *item)
{
    if (!wave_check_scalar(wave, instruction, SCALAR_M0, 1))
        return false;
    uint32_t start = wave->scalar[SCALAR_M0] + (uint32_t)instruction->offset0;
    unsigned lane;
    memory->lanes = 0;
    for (uint64_t rest = lanes; next_lane(&rest, &lane);) {
        uint32_t at = start + lane * (uint32_t)size;
        /* Each dword must be aligned, not what they make up. */
        if (!lane_memory_locate_lds(memory, wave, instruction, lane, at, size, sizeof(uint32_t),
                                    LDS_WRITE))
            return false;
        if (item->lds_size == 0)
            item->lds_address = at;
        item->lds_size = at + (uint32_t)size - item->lds_address;
    }
    return true;
}

bool vector_load_to_lds(struct wave *wave, const struct instruction *instruction)
{
    enum memory_format format = variant_of(instruction);
    uint32_t dwords = memory_format_dwords(format);
    const struct vector_operands *operands =
        vector_operands_of(segment_of(instruction), VECTOR_LOAD_TO_LDS);
    struct lane_memory source, target;
    struct outstanding item = {0};
    if (!vector_locate(wave, instruction, operands, memory_format_bytes(format), LDS_READ,
                       &source) ||
        !locate_in_lds(wave, instruction, source.lanes, dwords * sizeof(uint32_t), &target, &item))
        return false;
    static const enum memory_format whole[] = {FORMAT_B32, FORMAT_B64, FORMAT_B96, FORMAT_B128};
    uint32_t data[LANE_DWORDS_MAX][LANES];
    lane_memory_load(&source, format, data);
    lane_memory_store(&target, whole[dwords - 1], (const uint32_t(*)[LANES])data);
    wave_issue(wave, &wave->vector_memory, &item);
    return true;
}
