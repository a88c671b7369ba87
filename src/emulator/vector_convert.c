/* Conversions between number formats, without scales: v_cvt_*.

   Each goes through double, which holds every source exactly: a row says what the source dword
   means and what the result is to be, and one loop serves them all. */
#include "emulator/float_mode.h"

#include <math.h>

enum value_kind {
    VALUE_I32,
    VALUE_U32,
    VALUE_I16,
    VALUE_U16,
    VALUE_BYTE_0, /* unsigned */
    VALUE_BYTE_1,
    VALUE_BYTE_2,
    VALUE_BYTE_3,
    VALUE_SIXTEENTHS_I4, /* -8…7 sixteenths in the low four bits */
    VALUE_F32,
    VALUE_F64,
    VALUE_F16,
    VALUE_F16_TO_ZERO, /* rounded to zero whatever the MODE */
    VALUE_BF16,
    VALUE_FP8,
    VALUE_BF8,
    VALUE_FLOOR_I32,
    VALUE_HALF_UP_I32, /* floor(x + 0.5) */
    VALUE_NORMAL_I16,  /* -1…1 as -32767…32767, to nearest */
    VALUE_NORMAL_U16   /* 0…1 as 0…65535 */
};

#define CONVERT(from, to) ((uint32_t)((to) << 5 | (from)) << OPCODE_VARIANT_SHIFT)

static enum value_kind source_kind(const struct instruction *instruction)
{
    return (enum value_kind)(opcode_variant(instruction->opcode) & 31);
}

static enum value_kind result_kind(const struct instruction *instruction)
{
    return (enum value_kind)(opcode_variant(instruction->opcode) >> 5);
}

static double flush(double value, double least_normal, bool keep)
{
    return keep || fabs(value) >= least_normal ? value : copysign(0.0, value);
}

static double read_value(enum value_kind kind, uint32_t mode, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    switch (kind) {
    case VALUE_I32:
        return (int32_t)low;
    case VALUE_U32:
        return low;
    case VALUE_I16:
        return (int16_t)low;
    case VALUE_U16:
        return low & 0xffff;
    case VALUE_BYTE_0:
    case VALUE_BYTE_1:
    case VALUE_BYTE_2:
    case VALUE_BYTE_3:
        return low >> 8 * (kind - VALUE_BYTE_0) & 0xff;
    case VALUE_SIXTEENTHS_I4:
        return ((low & 15) - 2.0 * (low & 8)) / 16;
    case VALUE_F32:
        return flush(number_from_bits(low), 0x1p-126, mode & MODE_KEEP_DENORMAL_SOURCES_F32);
    case VALUE_F64:
        return flush(number_from_bits64(bits), 0x1p-1022,
                     mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64);
    case VALUE_F16:
        return flush(number_decode(NUMBER_F16, low), 0x1p-14,
                     mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64);
    case VALUE_BF16:
        return number_decode(NUMBER_BF16, low);
    case VALUE_FP8:
        return number_decode(NUMBER_E4M3, low);
    case VALUE_BF8:
        return number_decode(NUMBER_E5M2, low);
    default:
        return 0; /* the rest are results only */
    }
}

/* Cut off, limited to the range; NaN gives 0. */
static double to_integer(double value, double least, double greatest)
{
    if (isnan(value))
        return 0;
    return trunc(fmin(fmax(value, least), greatest));
}

static uint32_t to_f32(const struct wave *wave, double value)
{
    value = flush(value, 0x1p-126, wave->mode & MODE_KEEP_DENORMAL_RESULTS_F32);
    enum rounding rounding = mode_rounding_f32(wave);
    if (rounding == ROUND_NEAREST_EVEN)
        return number_to_bits((float)value);
    return number_encode(NUMBER_F32, value, rounding, OVERFLOW_INFINITY);
}

static uint32_t to_f16(const struct wave *wave, double value, enum rounding rounding)
{
    value = flush(value, 0x1p-14, wave->mode & MODE_KEEP_DENORMAL_RESULTS_F16_F64);
    return number_encode(NUMBER_F16, value, rounding, mode_overflow(wave, NUMBER_F16));
}

static uint64_t write_value(enum value_kind kind, const struct wave *wave, double value)
{
    switch (kind) {
    case VALUE_I32:
        return (uint32_t)(int32_t)to_integer(value, INT32_MIN, INT32_MAX);
    case VALUE_U32:
        return (uint32_t)to_integer(value, 0, UINT32_MAX);
    case VALUE_I16:
        return (uint16_t)(int16_t)to_integer(value, INT16_MIN, INT16_MAX);
    case VALUE_U16:
        return (uint16_t)to_integer(value, 0, UINT16_MAX);
    case VALUE_BYTE_0:
        return (uint8_t)to_integer(value, 0, UINT8_MAX);
    case VALUE_FLOOR_I32:
        return (uint32_t)(int32_t)to_integer(floor(value), INT32_MIN, INT32_MAX);
    case VALUE_HALF_UP_I32:
        return (uint32_t)(int32_t)to_integer(floor(value + 0.5), INT32_MIN, INT32_MAX);
    case VALUE_NORMAL_I16:
        return (uint16_t)(int16_t)to_integer(nearbyint(value * INT16_MAX), -INT16_MAX, INT16_MAX);
    case VALUE_NORMAL_U16:
        return (uint16_t)to_integer(nearbyint(value * UINT16_MAX), 0, UINT16_MAX);
    case VALUE_F32:
        return to_f32(wave, value);
    case VALUE_F64:
        return number_to_bits64(value);
    case VALUE_F16:
        return to_f16(wave, value, mode_rounding_f16_f64(wave));
    case VALUE_F16_TO_ZERO:
        return to_f16(wave, value, ROUND_TO_ZERO);
    case VALUE_BF16:
        return number_encode(NUMBER_BF16, value, ROUND_NEAREST_EVEN, OVERFLOW_INFINITY);
    case VALUE_FP8:
        return number_encode(NUMBER_E4M3, value, ROUND_NEAREST_EVEN,
                             mode_overflow(wave, NUMBER_E4M3));
    case VALUE_BF8:
        return number_encode(NUMBER_E5M2, value, ROUND_NEAREST_EVEN,
                             mode_overflow(wave, NUMBER_E5M2));
    default:
        return 0; /* the rest are sources only */
    }
}

static bool is_float(enum value_kind kind)
{
    return kind >= VALUE_F32 && kind <= VALUE_BF8;
}

/* Output modifiers are exact, so they may as well come before the rounding. The machine ignores
   omod in IEEE mode and where subnormal results are kept. */
static double modify(double value, enum value_kind to, const struct wave *wave,
                     const struct instruction *instruction)
{
    static const double multipliers[] = {1, 2, 4, 0.5};
    uint32_t ignored = MODE_IEEE | (to == VALUE_F32 ? MODE_KEEP_DENORMAL_RESULTS_F32
                                                    : MODE_KEEP_DENORMAL_RESULTS_F16_F64);
    if (!(wave->mode & ignored))
        value *= multipliers[instruction->omod];
    if (!instruction->clamp)
        return value;
    if (isnan(value))
        return wave->mode & MODE_DX10_CLAMP ? 0 : value;
    return value > 0 ? fmin(value, 1) : 0; /* -0 too becomes +0 */
}

static uint64_t convert(const struct wave *wave, const struct instruction *instruction,
                        uint64_t bits)
{
    enum value_kind to = result_kind(instruction);
    double value = read_value(source_kind(instruction), wave->mode, bits);
    if (is_float(to) && (instruction->omod || instruction->clamp))
        value = modify(value, to, wave, instruction);
    return write_value(to, wave, value);
}

/* One value to one value, either of which may be 64 bits wide. */
static bool convert_one(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[2][LANES], results[2][LANES];
    bool wide_source = source_kind(instruction) == VALUE_F64;
    const uint32_t *low = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *high = wide_source ? wave_source(wave, instruction, 1, 1, scratch[1]) : NULL;

    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint64_t bits = low[lane] | (high ? (uint64_t)high[lane] << 32 : 0);
        uint64_t result = convert(wave, instruction, bits);
        results[0][lane] = (uint32_t)result;
        results[1][lane] = (uint32_t)(result >> 32);
    }
    wave_result(wave, instruction, 0, 0, results[0]);
    if (result_kind(instruction) == VALUE_F64)
        wave_result(wave, instruction, 0, 1, results[1]);
    return true;
}

/* Two values to the two halves of a dword. */
static bool convert_two(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[2][LANES], results[LANES];
    const uint32_t *first = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *second = wave_source(wave, instruction, 2, 0, scratch[1]);

    for (unsigned lane = 0; lane < LANES; ++lane)
        results[lane] = (uint32_t)(convert(wave, instruction, first[lane]) |
                                   convert(wave, instruction, second[lane]) << 16);
    wave_result(wave, instruction, 0, 0, results);
    return true;
}

/* Two 8-bit values to two f32. */
static bool convert_bytes(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES], results[2][LANES];
    const uint32_t *source = wave_source(wave, instruction, 1, 0, scratch);

    for (unsigned lane = 0; lane < LANES; ++lane) {
        results[0][lane] = (uint32_t)convert(wave, instruction, source[lane]);
        results[1][lane] = (uint32_t)convert(wave, instruction, source[lane] >> 8);
    }
    wave_result(wave, instruction, 0, 0, results[0]);
    wave_result(wave, instruction, 0, 1, results[1]);
    return true;
}

/* Two values to two bytes, in the half of the destination that op_sel's last bit picks. */
static bool convert_to_bytes(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[3][LANES], results[LANES];
    const uint32_t *first = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *second = wave_source(wave, instruction, 2, 0, scratch[1]);
    const uint32_t *before = wave_register(wave, &instruction->operands[0], 0, scratch[2]);
    unsigned shift = instruction->op_sel & 8 ? 16 : 0;

    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint32_t bytes = (uint32_t)(convert(wave, instruction, first[lane]) |
                                    convert(wave, instruction, second[lane]) << 8);
        results[lane] = (before[lane] & ~(0xffffu << shift)) | bytes << shift;
    }
    wave_result(wave, instruction, 0, 0, results);
    return true;
}

/* The byte of a dword that a source names gets the value, the other bytes come from `base`. */
static void insert_bytes(struct wave *wave, const struct instruction *instruction,
                         const uint32_t *base)
{
    uint32_t scratch[2][LANES], results[LANES];
    const uint32_t *value = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *position = wave_source(wave, instruction, 2, 0, scratch[1]);

    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned shift = 8 * (position[lane] & 3);
        uint32_t byte = (uint32_t)convert(wave, instruction, value[lane]);
        results[lane] = (base[lane] & ~(0xffu << shift)) | byte << shift;
    }
    wave_result(wave, instruction, 0, 0, results);
}

static bool pack_byte(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    insert_bytes(wave, instruction, wave_source(wave, instruction, 3, 0, scratch));
    return true;
}

static bool accumulate_byte(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    insert_bytes(wave, instruction, wave_register(wave, &instruction->operands[0], 0, scratch));
    return true;
}

static enum number_format_id narrow_format(enum value_kind kind)
{
    switch (kind) {
    case VALUE_FP8:
        return NUMBER_E4M3;
    case VALUE_BF8:
        return NUMBER_E5M2;
    case VALUE_BF16:
        return NUMBER_BF16;
    default:
        return NUMBER_F16;
    }
}

/* An f32, rounded stochastically with the second source's bits, into the byte or half of the
   destination that op_sel picks. */
static bool convert_stochastically(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[3][LANES], results[LANES];
    const uint32_t *source = wave_source(wave, instruction, 1, 0, scratch[0]);
    const uint32_t *random = wave_source(wave, instruction, 2, 0, scratch[1]);
    const uint32_t *before = wave_register(wave, &instruction->operands[0], 0, scratch[2]);
    enum number_format_id format = narrow_format(result_kind(instruction));
    unsigned bits = number_formats[format].bits;
    unsigned part = instruction->op_sel >> 2 & 3;
    unsigned shift = bits == 8 ? 8 * part : 16 * (part >> 1);
    uint32_t mask = ((1u << bits) - 1) << shift;

    for (unsigned lane = 0; lane < LANES; ++lane) {
        double value = read_value(VALUE_F32, wave->mode, source[lane]);
        uint32_t code =
            number_encode_stochastic(format, value, 23, random[lane], mode_overflow(wave, format));
        results[lane] = (before[lane] & ~mask) | code << shift;
    }
    wave_result(wave, instruction, 0, 0, results);
    return true;
}

/* clang-format off */
static const struct opcode rows[] = {
    {"v_cvt_i32_f64", "d:i32 s:f64", convert_one, CONVERT(VALUE_F64, VALUE_I32)},
    {"v_cvt_u32_f64", "d:i32 s:f64", convert_one, CONVERT(VALUE_F64, VALUE_U32)},
    {"v_cvt_f64_i32", "d:f64 s:i32", convert_one, CONVERT(VALUE_I32, VALUE_F64)},
    {"v_cvt_f64_u32", "d:f64 s:i32", convert_one, CONVERT(VALUE_U32, VALUE_F64)},
    {"v_cvt_f32_i32", "d:f32 s:i32", convert_one, CONVERT(VALUE_I32, VALUE_F32)},
    {"v_cvt_f32_u32", "d:f32 s:i32", convert_one, CONVERT(VALUE_U32, VALUE_F32)},
    {"v_cvt_u32_f32", "d:i32 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_U32)},
    {"v_cvt_i32_f32", "d:i32 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_I32)},
    {"v_cvt_f16_f32", "d:f16 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_F16)},
    {"v_cvt_f32_f16", "d:f32 s:f16", convert_one, CONVERT(VALUE_F16, VALUE_F32)},
    {"v_cvt_rpi_i32_f32", "d:i32 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_HALF_UP_I32)},
    {"v_cvt_flr_i32_f32", "d:i32 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_FLOOR_I32)},
    {"v_cvt_off_f32_i4", "d:f32 s:i32", convert_one, CONVERT(VALUE_SIXTEENTHS_I4, VALUE_F32)},
    {"v_cvt_f32_f64", "d:f32 s:f64", convert_one, CONVERT(VALUE_F64, VALUE_F32)},
    {"v_cvt_f64_f32", "d:f64 s:f32", convert_one, CONVERT(VALUE_F32, VALUE_F64)},
    {"v_cvt_f32_ubyte0", "d:f32 s:i32", convert_one, CONVERT(VALUE_BYTE_0, VALUE_F32)},
    {"v_cvt_f32_ubyte1", "d:f32 s:i32", convert_one, CONVERT(VALUE_BYTE_1, VALUE_F32)},
    {"v_cvt_f32_ubyte2", "d:f32 s:i32", convert_one, CONVERT(VALUE_BYTE_2, VALUE_F32)},
    {"v_cvt_f32_ubyte3", "d:f32 s:i32", convert_one, CONVERT(VALUE_BYTE_3, VALUE_F32)},
    {"v_cvt_f16_u16", "d:f16 s:i16", convert_one, CONVERT(VALUE_U16, VALUE_F16)},
    {"v_cvt_f16_i16", "d:f16 s:i16", convert_one, CONVERT(VALUE_I16, VALUE_F16)},
    {"v_cvt_u16_f16", "d:i16 s:f16", convert_one, CONVERT(VALUE_F16, VALUE_U16)},
    {"v_cvt_i16_f16", "d:i16 s:f16", convert_one, CONVERT(VALUE_F16, VALUE_I16)},
    {"v_cvt_norm_i16_f16", "d:i16 s:f16", convert_one, CONVERT(VALUE_F16, VALUE_NORMAL_I16)},
    {"v_cvt_norm_u16_f16", "d:i16 s:f16", convert_one, CONVERT(VALUE_F16, VALUE_NORMAL_U16)},
    {"v_cvt_f32_bf16", "d:f32 s:bf16", convert_one, CONVERT(VALUE_BF16, VALUE_F32)},
    {"v_cvt_f32_fp8", "d:f32 s:b32", convert_one, CONVERT(VALUE_FP8, VALUE_F32)},
    {"v_cvt_f32_bf8", "d:f32 s:b32", convert_one, CONVERT(VALUE_BF8, VALUE_F32)},
    {"v_cvt_pk_f32_fp8", "d:pf32 s:b32", convert_bytes, CONVERT(VALUE_FP8, VALUE_F32)},
    {"v_cvt_pk_f32_bf8", "d:pf32 s:b32", convert_bytes, CONVERT(VALUE_BF8, VALUE_F32)},
    {"v_cvt_pk_fp8_f32", "d:b32 s:f32 s:f32", convert_to_bytes, CONVERT(VALUE_F32, VALUE_FP8)},
    {"v_cvt_pk_bf8_f32", "d:b32 s:f32 s:f32", convert_to_bytes, CONVERT(VALUE_F32, VALUE_BF8)},
    {"v_cvt_sr_fp8_f32", "d:b32 s:f32 s:b32", convert_stochastically, CONVERT(VALUE_F32, VALUE_FP8)},
    {"v_cvt_sr_bf8_f32", "d:b32 s:f32 s:b32", convert_stochastically, CONVERT(VALUE_F32, VALUE_BF8)},
    {"v_cvt_sr_f16_f32", "d:b32 s:f32 s:b32", convert_stochastically, CONVERT(VALUE_F32, VALUE_F16)},
    {"v_cvt_sr_bf16_f32", "d:b32 s:f32 s:b32", convert_stochastically, CONVERT(VALUE_F32, VALUE_BF16)},
    {"v_cvt_pk_f16_f32", "d:pf16 s:f32 s:f32", convert_two, CONVERT(VALUE_F32, VALUE_F16)},
    {"v_cvt_pk_bf16_f32", "d:pbf16 s:f32 s:f32", convert_two, CONVERT(VALUE_F32, VALUE_BF16)},
    {"v_cvt_pkrtz_f16_f32", "d:pf16 s:f32 s:f32", convert_two, CONVERT(VALUE_F32, VALUE_F16_TO_ZERO)},
    {"v_cvt_pknorm_i16_f32", "d:b32 s:f32 s:f32", convert_two, CONVERT(VALUE_F32, VALUE_NORMAL_I16)},
    {"v_cvt_pknorm_u16_f32", "d:b32 s:f32 s:f32", convert_two, CONVERT(VALUE_F32, VALUE_NORMAL_U16)},
    {"v_cvt_pknorm_i16_f16", "d:b32 s:f16 s:f16", convert_two, CONVERT(VALUE_F16, VALUE_NORMAL_I16)},
    {"v_cvt_pknorm_u16_f16", "d:b32 s:f16 s:f16", convert_two, CONVERT(VALUE_F16, VALUE_NORMAL_U16)},
    {"v_cvt_pk_u16_u32", "d:b32 s:i32 s:i32", convert_two, CONVERT(VALUE_U32, VALUE_U16)},
    {"v_cvt_pk_i16_i32", "d:b32 s:i32 s:i32", convert_two, CONVERT(VALUE_I32, VALUE_I16)},
    {"v_cvt_pk_u8_f32", "d:b32 s:f32 s:b32 s:b32", pack_byte, CONVERT(VALUE_F32, VALUE_BYTE_0)},
    {"v_cvt_pkaccum_u8_f32", "x:b32 s:f32 s:b32", accumulate_byte, CONVERT(VALUE_F32, VALUE_BYTE_0)},
};
/* clang-format on */

const struct opcode_table opcodes_vector_convert = {rows, sizeof rows / sizeof rows[0]};
