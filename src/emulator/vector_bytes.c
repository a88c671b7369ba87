/* Operations on the bytes of a dword: permutation, sums of absolute differences, averages, and
   packing with saturation. */
#include "emulator/integer_bits.h"
#include "emulator/vector_alu.h"

static inline uint32_t byte_of(uint32_t x, unsigned index)
{
    return x >> 8 * index & 0xff;
}

/* Bytes 0…3 are those of `low`, 4…7 those of `high`; 8…11 repeat the sign of bytes 1, 3, 5, 7; 12
   is 0, above it 0xff. */
static inline uint32_t permuted_byte(uint64_t bytes, uint32_t selector)
{
    if (selector < 8)
        return bytes >> 8 * selector & 0xff;
    if (selector < 12)
        return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    return selector == 12 ? 0 : 0xff;
}

static inline uint32_t permute(uint32_t high, uint32_t low, uint32_t selectors)
{
    uint64_t bytes = (uint64_t)high << 32 | low;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++)
        result |= permuted_byte(bytes, byte_of(selectors, i)) << 8 * i;
    return result;
}

static inline uint32_t difference(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

static inline uint32_t byte_differences(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += difference(byte_of(a, i), byte_of(b, i));
    return sum;
}

/* Bytes where the reference is 0 are left out. */
static inline uint32_t masked_differences(uint32_t a, uint32_t reference)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += byte_of(reference, i) ? difference(byte_of(a, i), byte_of(reference, i)) : 0;
    return sum;
}

static inline uint32_t add_saturated(uint32_t a, uint32_t b)
{
    uint32_t sum = a + b;
    return sum < a ? UINT32_MAX : sum;
}

static inline uint32_t average_bytes(uint32_t a, uint32_t b, uint32_t round_up)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t sum = byte_of(a, i) + byte_of(b, i) + (byte_of(round_up, i) & 1);
        result |= (sum >> 1 & 0xff) << 8 * i;
    }
    return result;
}

static inline uint32_t saturated_byte(int64_t value, int64_t least, int64_t greatest)
{
    return saturate(value, least, greatest) & 0xff;
}

static inline uint32_t pack_shifted(uint32_t low, uint32_t high, uint32_t count, int32_t least,
                                    int32_t greatest)
{
    return saturated_byte(signed_32(shift_right_signed(low, count & 31)), least, greatest) |
           saturated_byte(signed_32(shift_right_signed(high, count & 31)), least, greatest) << 8;
}

static inline uint32_t pack_halves(uint32_t x)
{
    return saturated_byte(signed_16(x), 0, 255) | saturated_byte(signed_16(x >> 16), 0, 255) << 8;
}

#define TERNARY(X)                                                                                 \
    X(v_perm_b32, permute(a, b, c))                                                                \
    X(v_lerp_u8, average_bytes(a, b, c))

/* X(mnemonic, what is added to c) */
#define SUMS(X)                                                                                    \
    X(v_sad_u8, byte_differences(a, b))                                                            \
    X(v_sad_hi_u8, byte_differences(a, b) << 16)                                                   \
    X(v_sad_u16, difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16))                \
    X(v_sad_u32, difference(a, b))                                                                 \
    X(v_msad_u8, masked_differences(a, b))

#define PACKING(X)                                                                                 \
    X(v_ashr_pk_i8_i32, pack_shifted(a, b, c, INT8_MIN, INT8_MAX))                                 \
    X(v_ashr_pk_u8_i32, pack_shifted(a, b, c, 0, UINT8_MAX))

#define DEFINE_TERNARY(mnemonic, expression)                                                       \
    DEFINE_LOOP(mnemonic##_lanes, 3, uint32_t, (uint32_t), (uint32_t), expression)                 \
    DEFINE_EXECUTE(mnemonic, alu_run, mnemonic##_lanes, 3)

TERNARY(DEFINE_TERNARY)
PACKING(DEFINE_TERNARY)

/* Sums that pass 2^32 stop there if the instruction clamps; the addend is the only large part. */
#define DEFINE_SUM(mnemonic, expression)                                                           \
    DEFINE_LOOP(mnemonic##_lanes, 3, uint32_t, (uint32_t), (uint32_t), (expression) + c)           \
    DEFINE_LOOP(mnemonic##_clamped, 3, uint32_t, (uint32_t), (uint32_t),                           \
                add_saturated(expression, c))                                                      \
    DEFINE_EXECUTE(mnemonic, alu_run, instruction->clamp ? mnemonic##_clamped : mnemonic##_lanes, 3)

SUMS(DEFINE_SUM)

DEFINE_LOOP(v_sat_pk_u8_i16_lanes, 1, uint32_t, (uint32_t), (uint32_t), pack_halves(a))
DEFINE_EXECUTE(v_sat_pk_u8_i16, alu_run, v_sat_pk_u8_i16_lanes, 1)

/* ---- Four sums at once: the window of `a` moves by a byte from one to the next ---- */

typedef uint32_t (*byte_sum)(uint32_t a, uint32_t b);

static bool run_quad_packed(struct wave *wave, const struct instruction *instruction, byte_sum sum)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source64(wave, instruction, 1 + i, scratch[i]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        result[lane] = 0;
        for (unsigned i = 0; i < 4; i++) {
            uint32_t window = (uint32_t)(sources[0][lane] >> 8 * i);
            uint32_t addend = sources[2][lane] >> 16 * i & 0xffff;
            uint32_t total = sum(window, (uint32_t)sources[1][lane]) + addend;
            if (instruction->clamp && total > 0xffff)
                total = 0xffff;
            result[lane] |= (uint64_t)(total & 0xffff) << 16 * i;
        }
    }
    alu_result64(wave, instruction, result);
    return true;
}

DEFINE_EXECUTE(v_qsad_pk_u16_u8, run_quad_packed, byte_differences)
DEFINE_EXECUTE(v_mqsad_pk_u16_u8, run_quad_packed, masked_differences)

static bool execute_v_mqsad_u32_u8(struct wave *wave, const struct instruction *instruction)
{
    uint64_t window_scratch[LANES];
    uint32_t reference_scratch[LANES], addend_scratch[LANES], result[4][LANES];
    const uint64_t *windows = alu_source64(wave, instruction, 1, window_scratch);
    const uint32_t *references = wave_source(wave, instruction, 2, 0, reference_scratch);
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t *addends = wave_source(wave, instruction, 3, i, addend_scratch);
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t total =
                masked_differences((uint32_t)(windows[lane] >> 8 * i), references[lane]);
            total += addends[lane];
            if (instruction->clamp && total > UINT32_MAX)
                total = UINT32_MAX;
            result[i][lane] = (uint32_t)total;
        }
    }
    for (unsigned i = 0; i < 4; i++)
        wave_result(wave, instruction, 0, i, result[i]);
    return true;
}

#define ROW_TERNARY(mnemonic, ...) OPCODE_ROW(mnemonic, "d:b32 s:b32 s:b32 s:b32", 0)
#define ROW_PACKING(mnemonic, ...)                                                                 \
    OPCODE_ROW(mnemonic, "d:i16 s:b32 s:b32 s:b32", OPCODE_KEEPS_HALF)

/* clang-format off */
static const struct opcode rows[] = {
    TERNARY(ROW_TERNARY)
    SUMS(ROW_TERNARY)
    PACKING(ROW_PACKING)
    OPCODE_ROW(v_sat_pk_u8_i16, "d:i16 s:b32", 0)
    OPCODE_ROW(v_qsad_pk_u16_u8, "d:b64 s:b64 s:b32 s:b64", 0)
    OPCODE_ROW(v_mqsad_pk_u16_u8, "d:b64 s:b64 s:b32 s:b64", 0)
    OPCODE_ROW(v_mqsad_u32_u8, "d:b128 s:b64 s:b32 s:b128", 0)
};
/* clang-format on */

const struct opcode_table opcodes_vector_bytes = {rows, sizeof rows / sizeof rows[0]};
