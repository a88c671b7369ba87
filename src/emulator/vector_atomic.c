/* Atomics on global memory, through global, flat and buffer addresses. They are atomic on the host
   too, since workgroups run on several threads. */
#include "emulator/atomic_operation.h"
#include "emulator/vector_access.h"

static uint64_t combine32(uint8_t *at, const struct atomic_operation *operation, uint64_t data0,
                          uint64_t data1)
{
    uint32_t *memory = (uint32_t *)(void *)at;
    uint32_t old = __atomic_load_n(memory, __ATOMIC_RELAXED), wanted;
    do {
        wanted = (uint32_t)operation->combine(old, data0, data1);
    } while (!__atomic_compare_exchange_n(memory, &old, wanted, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return old;
}

static uint64_t combine64(uint8_t *at, const struct atomic_operation *operation, uint64_t data0,
                          uint64_t data1)
{
    uint64_t *memory = (uint64_t *)(void *)at;
    uint64_t old = __atomic_load_n(memory, __ATOMIC_RELAXED), wanted;
    do {
        wanted = operation->combine(old, data0, data1);
    } while (!__atomic_compare_exchange_n(memory, &old, wanted, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return old;
}

/* Lanes go one after the other, the lowest first. The machine promises no order. */
static bool atomic(struct wave *wave, const struct instruction *instruction)
{
    const struct atomic_operation *operation = &atomic_operations[variant_of(instruction)];
    unsigned dwords = operation->dwords, data_dwords = dwords * operation->data_count;
    const struct vector_operands *operands = vector_operands_of(
        segment_of(instruction), instruction->sc0 ? VECTOR_ATOMIC_RETURN : VECTOR_ATOMIC);
    struct lane_memory memory;
    if (!vector_locate(wave, instruction, operands, dwords * sizeof(uint32_t), LDS_ATOMIC, &memory))
        return false;

    uint32_t data[LANE_DWORDS_MAX][LANES], results[2][LANES] = {{0}};
    lane_memory_read_registers(wave, &instruction->operands[operands->data], data_dwords, data);
    unsigned lane;
    for (uint64_t rest = memory.lanes; next_lane(&rest, &lane);) {
        uint64_t values[2] = {0}, old;
        for (unsigned part = 0; part < data_dwords; ++part)
            values[part / dwords] |= (uint64_t)data[part][lane] << 32 * (part % dwords);
        if (memory.present[lane] == 0)
            continue;
        old = (dwords == 1 ? combine32 : combine64)(memory.bytes[lane], operation, values[0],
                                                    values[1]);
        results[0][lane] = (uint32_t)old;
        results[1][lane] = (uint32_t)(old >> 32);
    }
    if (!instruction->sc0) {
        vector_issue(wave, instruction, NULL);
        return true;
    }
    for (unsigned part = 0; part < dwords; ++part)
        wave_result(wave, instruction, operands->result, part, results[part]);
    /* A buffer's compare-and-swap has data wider than its result. */
    struct operand result = instruction->operands[operands->result];
    result.width = (uint8_t)dwords;
    vector_issue(wave, instruction, &result);
    return true;
}

#define GLOBAL_ATOMIC(name, result, data, operation)                                               \
    {                                                                                              \
        "global_atomic_" name, "[d:" result "] s:b32 s:" data " s:b32", atomic,                    \
            OPCODE_VECTOR_MEMORY | VECTOR_VARIANT(SEGMENT_GLOBAL, operation)                       \
    }
#define FLAT_ATOMIC(name, result, data, operation)                                                 \
    {                                                                                              \
        "flat_atomic_" name, "[d:" result "] s:b32 s:" data, atomic,                               \
            OPCODE_VECTOR_MEMORY | OPCODE_LDS | VECTOR_VARIANT(SEGMENT_FLAT, operation)            \
    }
#define BUFFER_ATOMIC(name, data, operation)                                                       \
    {                                                                                              \
        "buffer_atomic_" name, "x:" data " s:b32 s:b128 s:b32", atomic,                            \
            OPCODE_VECTOR_MEMORY | VECTOR_VARIANT(SEGMENT_BUFFER, operation)                       \
    }

/* One operation in all three segments. `data` and `result` are the widths of its registers; a
   buffer atomic's result replaces its data. */
#define ATOMIC(name, result, data, operation)                                                      \
    GLOBAL_ATOMIC(name, result, data, operation), FLAT_ATOMIC(name, result, data, operation),      \
        BUFFER_ATOMIC(name, data, operation)

#define INTEGER(name, operation)                                                                   \
    ATOMIC(name, "b32", "b32", operation), ATOMIC(name "_x2", "b64", "b64", operation##_X2)

static const struct opcode rows[] = {
    INTEGER("add", ATOMIC_ADD),
    INTEGER("sub", ATOMIC_SUB),
    INTEGER("inc", ATOMIC_INC),
    INTEGER("dec", ATOMIC_DEC),
    INTEGER("smin", ATOMIC_SMIN),
    INTEGER("smax", ATOMIC_SMAX),
    INTEGER("umin", ATOMIC_UMIN),
    INTEGER("umax", ATOMIC_UMAX),
    INTEGER("and", ATOMIC_AND),
    INTEGER("or", ATOMIC_OR),
    INTEGER("xor", ATOMIC_XOR),
    INTEGER("swap", ATOMIC_SWAP),
    ATOMIC("cmpswap", "b32", "b64", ATOMIC_COMPARE_SWAP),
    ATOMIC("cmpswap_x2", "b64", "b128", ATOMIC_COMPARE_SWAP_X2),
    ATOMIC("add_f32", "b32", "b32", ATOMIC_ADD_F32),
    ATOMIC("add_f64", "b64", "b64", ATOMIC_ADD_F64),
    ATOMIC("min_f64", "b64", "b64", ATOMIC_MIN_F64),
    ATOMIC("max_f64", "b64", "b64", ATOMIC_MAX_F64),
    ATOMIC("pk_add_f16", "b32", "b32", ATOMIC_PK_ADD_F16),
    ATOMIC("pk_add_bf16", "b32", "b32", ATOMIC_PK_ADD_BF16),
};

const struct opcode_table opcodes_vector_atomic = {rows, sizeof rows / sizeof rows[0]};
