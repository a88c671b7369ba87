#include "emulator/vector_alu.h"

#include "emulator/float_bits.h"

static bool is_wide(const struct operand *operand)
{
    return operand->type == TYPE_B64 || operand->type == TYPE_I64 || operand->type == TYPE_F64;
}

static bool is_float(const struct operand *operand)
{
    return operand->type == TYPE_F16 || operand->type == TYPE_F32 || operand->type == TYPE_F64;
}

/* Float sources come first in every family; what follows are exponents and the like. */
static unsigned count_floats(const struct instruction *instruction, unsigned count)
{
    unsigned floats = 0;
    while (floats < count && is_float(&instruction->operands[1 + floats]))
        floats++;
    return floats;
}

/* ---- What a format's bits say ---- */

#define DEFINE_FORMAT(format, lane_type, bits_type, infinity, default_nan)                         \
    void alu_flush_##format(lane_type lanes[LANES])                                                \
    {                                                                                              \
        const bits_type sign = (bits_type)((bits_type)1 << sign_shift_##format);                   \
        for (unsigned lane = 0; lane < LANES; lane++) {                                            \
            bits_type bits = (bits_type)lanes[lane];                                               \
            lanes[lane] = (bits & (infinity)) == 0 ? (bits_type)(bits & sign) : bits;              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void quiet_lanes_##format(lane_type lanes[LANES])                                       \
    {                                                                                              \
        for (unsigned lane = 0; lane < LANES; lane++) {                                            \
            bits_type bits = (bits_type)lanes[lane];                                               \
            lanes[lane] = is_nan_##format(bits) ? quiet_##format(bits) : bits;                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static bits_type choose_nan_##format(const lane_type *const *sources, unsigned count,          \
                                         unsigned lane)                                            \
    {                                                                                              \
        for (unsigned i = 0; i < count; i++) {                                                     \
            bits_type bits = (bits_type)sources[i][lane];                                          \
            if (is_nan_##format(bits))                                                             \
                return quiet_##format(bits);                                                       \
        }                                                                                          \
        return default_nan;                                                                        \
    }                                                                                              \
                                                                                                   \
    void alu_settle_nans_##format(lane_type result[LANES], const lane_type *const *sources,        \
                                  unsigned count)                                                  \
    {                                                                                              \
        bits_type any = 0;                                                                         \
        for (unsigned lane = 0; lane < LANES; lane++)                                              \
            any |= (bits_type)is_nan_##format((bits_type)result[lane]);                            \
        if (!any)                                                                                  \
            return;                                                                                \
        for (unsigned lane = 0; lane < LANES; lane++)                                              \
            if (is_nan_##format((bits_type)result[lane]))                                          \
                result[lane] = choose_nan_##format(sources, count, lane);                          \
    }

/* clang-format off */
DEFINE_FORMAT(f16, uint32_t, uint16_t, 0x7c00u, 0x7e00u)
DEFINE_FORMAT(f32, uint32_t, uint32_t, 0x7f800000u, 0x7fc00000u)
DEFINE_FORMAT(f64, uint64_t, uint64_t, 0x7ff0000000000000u, 0x7ff8000000000000u)
/* clang-format on */

/* ---- Output modifiers ---- */

/* The machine ignores omod when it keeps subnormals or is in IEEE mode. */
static double output_factor(const struct wave *wave, const struct instruction *instruction,
                            uint32_t keep_results)
{
    static const double factors[] = {1.0, 2.0, 4.0, 0.5};
    bool ignored = (wave->mode & (MODE_IEEE | keep_results)) != 0;
    return ignored ? 1.0 : factors[instruction->omod & 3];
}

/* Comparisons are false for NaN, which so becomes 0; -0 becomes +0. */
static double clamp_value(double value)
{
    double positive = value > 0 ? value : 0;
    return positive < 1 ? positive : 1;
}

#define DEFINE_FINISH(format, lane_type, bits_type, keep_results, load, store)                     \
    void alu_finish_##format(const struct wave *wave, const struct instruction *instruction,       \
                             lane_type result[LANES])                                              \
    {                                                                                              \
        double factor = output_factor(wave, instruction, keep_results);                            \
        if (factor != 1)                                                                           \
            for (unsigned lane = 0; lane < LANES; lane++)                                          \
                if (!is_nan_##format((bits_type)result[lane]))                                     \
                    result[lane] = store(load(result[lane]) * factor);                             \
        if (instruction->clamp)                                                                    \
            for (unsigned lane = 0; lane < LANES; lane++)                                          \
                if ((wave->mode & MODE_DX10_CLAMP) || !is_nan_##format((bits_type)result[lane]))   \
                    result[lane] = store(clamp_value(load(result[lane])));                         \
        if (!(wave->mode & (keep_results)))                                                        \
            alu_flush_##format(result);                                                            \
    }

static uint32_t narrow_to_f32(double value)
{
    return number_to_bits((float)value);
}

/* Factors are powers of two and results have at most 11 bits, so the step through f32 is exact. */
static uint32_t narrow_to_f16(double value)
{
    return half_encode((float)value);
}

/* clang-format off */
DEFINE_FINISH(f16, uint32_t, uint16_t, MODE_KEEP_DENORMAL_RESULTS_F16_F64,
              half_decode, narrow_to_f16)
DEFINE_FINISH(f32, uint32_t, uint32_t, MODE_KEEP_DENORMAL_RESULTS_F32,
              number_from_bits, narrow_to_f32)
DEFINE_FINISH(f64, uint64_t, uint64_t, MODE_KEEP_DENORMAL_RESULTS_F16_F64,
              number_from_bits64, number_to_bits64)
/* clang-format on */

bool alu_check_mode(struct wave *wave, const struct instruction *instruction, uint32_t unserved)
{
    if ((wave->mode & unserved) == 0)
        return true;
    return wave_fault(wave, instruction, -1,
                      "MODE is 0x%x; the emulator's vector arithmetic knows neither rounding other "
                      "than to nearest even nor FP16_OVFL",
                      wave->mode);
}

/* ---- Sources and results ---- */

const uint32_t *alu_source(struct wave *wave, const struct instruction *instruction,
                           unsigned operand, uint32_t scratch[LANES])
{
    const uint32_t *lanes = wave_source(wave, instruction, operand, 0, scratch);
    uint8_t type = instruction->operands[operand].type;
    bool flush_f32 = type == TYPE_F32 && !(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F32);
    bool flush_f16 = type == TYPE_F16 && !(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64);
    if (!flush_f32 && !flush_f16)
        return lanes;
    memmove(scratch, lanes, LANES * sizeof *scratch);
    if (flush_f32)
        alu_flush_f32(scratch);
    else
        alu_flush_f16(scratch);
    return scratch;
}

static void join(uint64_t *restrict joined, const uint32_t *restrict low,
                 const uint32_t *restrict high)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        joined[lane] = (uint64_t)high[lane] << 32 | low[lane];
}

static void widen(uint64_t *restrict wide, const uint32_t *restrict lanes)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        wide[lane] = lanes[lane];
}

static void split(uint32_t *restrict part, const uint64_t *restrict lanes, unsigned shift)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        part[lane] = (uint32_t)(lanes[lane] >> shift);
}

const uint64_t *alu_source64(struct wave *wave, const struct instruction *instruction,
                             unsigned operand, uint64_t scratch[LANES])
{
    uint32_t low_scratch[LANES], high_scratch[LANES];
    const uint32_t *low = wave_source(wave, instruction, operand, 0, low_scratch);
    if (!is_wide(&instruction->operands[operand])) {
        widen(scratch, low);
        return scratch;
    }
    join(scratch, low, wave_source(wave, instruction, operand, 1, high_scratch));
    bool is_f64 = instruction->operands[operand].type == TYPE_F64;
    if (is_f64 && !(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64))
        alu_flush_f64(scratch);
    return scratch;
}

void alu_result64(struct wave *wave, const struct instruction *instruction,
                  const uint64_t lanes[LANES])
{
    uint32_t part[LANES];
    split(part, lanes, 0);
    wave_result(wave, instruction, 0, 0, part);
    if (is_wide(&instruction->operands[0])) {
        split(part, lanes, 32);
        wave_result(wave, instruction, 0, 1, part);
    }
}

/* ---- Running loops ---- */

/* The accumulator of v_fmac: operand 0 itself, which no modifier touches. */
static const uint32_t *accumulator(struct wave *wave, const struct instruction *instruction,
                                   uint32_t scratch[LANES], uint32_t keep_sources,
                                   void (*flush)(uint32_t *))
{
    const uint32_t *lanes = wave_register(wave, &instruction->operands[0], 0, scratch);
    if (wave->mode & keep_sources)
        return lanes;
    memmove(scratch, lanes, LANES * sizeof *scratch);
    flush(scratch);
    return scratch;
}

static const uint64_t *accumulator64(struct wave *wave, const struct instruction *instruction,
                                     uint64_t scratch[LANES])
{
    uint32_t low_scratch[LANES], high_scratch[LANES];
    const struct operand *operand = &instruction->operands[0];
    join(scratch, wave_register(wave, operand, 0, low_scratch),
         wave_register(wave, operand, 1, high_scratch));
    if (!(wave->mode & MODE_KEEP_DENORMAL_SOURCES_F16_F64))
        alu_flush_f64(scratch);
    return scratch;
}

bool alu_run(struct wave *wave, const struct instruction *instruction, lane_loop loop,
             unsigned count)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint32_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < count; i++)
        sources[i] = alu_source(wave, instruction, 1 + i, scratch[i]);
    loop(result, sources);
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

bool alu_run64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
               unsigned count)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < count; i++)
        sources[i] = alu_source64(wave, instruction, 1 + i, scratch[i]);
    loop(result, sources);
    alu_result64(wave, instruction, result);
    return true;
}

#define DEFINE_RUN(format, unserved, keep_sources)                                                 \
    bool alu_run_##format(struct wave *wave, const struct instruction *instruction,                \
                          lane_loop loop, unsigned count, enum source_order order)                 \
    {                                                                                              \
        uint32_t scratch[SOURCES_MAX][LANES], result[LANES];                                       \
        const uint32_t *sources[SOURCES_MAX];                                                      \
        if (!alu_check_mode(wave, instruction, unserved))                                          \
            return false;                                                                          \
        for (unsigned i = 0; i < count; i++)                                                       \
            sources[i] = alu_source(wave, instruction, 1 + i, scratch[i]);                         \
        unsigned floats = count_floats(instruction, count);                                        \
        if (order == SOURCES_ACCUMULATE)                                                           \
            sources[floats++] =                                                                    \
                accumulator(wave, instruction, scratch[count], keep_sources, alu_flush_##format);  \
        loop(result, sources);                                                                     \
        alu_settle_nans_##format(result, sources, floats);                                         \
        alu_finish_##format(wave, instruction, result);                                            \
        wave_result(wave, instruction, 0, 0, result);                                              \
        return true;                                                                               \
    }                                                                                              \
                                                                                                   \
    bool alu_select_##format(struct wave *wave, const struct instruction *instruction,             \
                             lane_loop loop, unsigned count)                                       \
    {                                                                                              \
        uint32_t scratch[SOURCES_MAX][LANES], result[LANES];                                       \
        const uint32_t *sources[SOURCES_MAX];                                                      \
        for (unsigned i = 0; i < count; i++) {                                                     \
            sources[i] = alu_source(wave, instruction, 1 + i, scratch[i]);                         \
            if (!(wave->mode & MODE_IEEE)) {                                                       \
                memmove(scratch[i], sources[i], sizeof scratch[i]);                                \
                quiet_lanes_##format(scratch[i]);                                                  \
                sources[i] = scratch[i];                                                           \
            }                                                                                      \
        }                                                                                          \
        loop(result, sources);                                                                     \
        alu_finish_##format(wave, instruction, result);                                            \
        wave_result(wave, instruction, 0, 0, result);                                              \
        return true;                                                                               \
    }

/* clang-format off */
DEFINE_RUN(f16, UNSERVED_F16, MODE_KEEP_DENORMAL_SOURCES_F16_F64)
DEFINE_RUN(f32, UNSERVED_F32, MODE_KEEP_DENORMAL_SOURCES_F32)
/* clang-format on */

bool alu_run_f64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
                 unsigned count, enum source_order order)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    if (!alu_check_mode(wave, instruction, UNSERVED_F64))
        return false;
    for (unsigned i = 0; i < count; i++)
        sources[i] = alu_source64(wave, instruction, 1 + i, scratch[i]);
    unsigned floats = count_floats(instruction, count);
    if (order == SOURCES_ACCUMULATE)
        sources[floats++] = accumulator64(wave, instruction, scratch[count]);
    loop(result, sources);
    alu_settle_nans_f64(result, sources, floats);
    alu_finish_f64(wave, instruction, result);
    alu_result64(wave, instruction, result);
    return true;
}

bool alu_select_f64(struct wave *wave, const struct instruction *instruction, lane_loop64 loop,
                    unsigned count)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    for (unsigned i = 0; i < count; i++) {
        sources[i] = alu_source64(wave, instruction, 1 + i, scratch[i]);
        if (!(wave->mode & MODE_IEEE))
            quiet_lanes_f64(scratch[i]);
    }
    loop(result, sources);
    alu_finish_f64(wave, instruction, result);
    alu_result64(wave, instruction, result);
    return true;
}

uint64_t alu_pack_mask(const uint8_t flags[LANES])
{
    uint64_t mask = 0;
    for (unsigned group = 0; group < LANES / 8; group++) {
        uint64_t bytes;
        memcpy(&bytes, flags + 8 * group, sizeof bytes);
        /* Multiplying moves bit 0 of byte i to bit 56 + i. */
        mask |= (bytes * 0x0102040810204080u >> 56) << 8 * group;
    }
    return mask;
}
