/* The steps of division that a program cannot do by itself, and the argument reduction of large
   angles.

   A quotient is made of v_div_scale (twice: it keeps divisor and dividend away from where the
   iteration would lose bits), v_rcp and fused multiply-adds, v_div_fmas (the last of these, which
   also takes the scaling back) and v_div_fixup (special cases). The manual's text of v_div_scale
   scales a very large divisor up when the quotient is subnormal, which would overflow; down is what
   the iteration needs. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

#include <math.h>

/* ---- What the formats differ in ---- */

enum {
    /* Scaling is by 2^64 in f32 and 2^128 in f64. */
    SCALE_F32 = 64,
    SCALE_F64 = 128
};

struct scaled {
    double value;
    bool post_scale; /* VCC: v_div_fmas is to scale */
};

struct format {
    int scale;
    int least_exponent;     /* of the normal numbers */
    int overflow_exponents; /* a dividend's exponent so much above the divisor's is near overflow */
    int tiny_exponent;      /* dividends up to this exponent get scaled */
};

static const struct format format_f32 = {SCALE_F32, -126, 96, 23 - 127};
static const struct format format_f64 = {SCALE_F64, -1022, 768, 53 - 1023};

/* As the exponent field has it, less the bias: subnormals count one below the least normal number,
   infinities one above the greatest. */
static int exponent_field(double value, const struct format *format)
{
    if (value == 0)
        return format->least_exponent - 1;
    if (isinf(value))
        return 2 - format->least_exponent;
    int exponent = ilogb(value);
    return exponent < format->least_exponent ? format->least_exponent - 1 : exponent;
}

static bool is_subnormal(double value, const struct format *format)
{
    return value != 0 && isfinite(value) && ilogb(value) < format->least_exponent;
}

/* Whether the exact quotient's magnitude lies below the least normal number; it may be too small
 * for a double. */
static bool quotient_is_subnormal(double dividend, double divisor, const struct format *format)
{
    if (!isfinite(dividend) || !isfinite(divisor))
        return false;
    int exponent_n, exponent_d;
    double significand_n = fabs(frexp(dividend, &exponent_n));
    double significand_d = fabs(frexp(divisor, &exponent_d));
    int exponent = exponent_n - exponent_d - (significand_n < significand_d);
    return exponent < format->least_exponent;
}

static struct scaled scale(double value, double divisor, double dividend,
                           const struct format *format)
{
    const struct scaled unchanged = {value, false};
    const struct scaled up = {ldexp(value, format->scale), false};
    const struct scaled down = {ldexp(value, -format->scale), false};

    if (isnan(dividend) || isnan(divisor))
        return unchanged;
    if (dividend == 0 || divisor == 0)
        return (struct scaled){NAN, false};
    int difference = exponent_field(dividend, format) - exponent_field(divisor, format);
    if (difference >= format->overflow_exponents)
        return (struct scaled){value == divisor ? up.value : value, true};
    if (is_subnormal(divisor, format))
        return up;
    bool huge_divisor = quotient_is_subnormal(1, divisor, format);
    bool small_quotient = quotient_is_subnormal(dividend, divisor, format);
    if (huge_divisor && small_quotient)
        return (struct scaled){value == divisor ? down.value : value, true};
    if (huge_divisor)
        return down;
    if (small_quotient)
        return (struct scaled){value == dividend ? up.value : value, true};
    if (exponent_field(dividend, format) <= format->tiny_exponent)
        return up;
    return unchanged;
}

static bool execute_v_div_scale_f32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint32_t *sources[SOURCES_MAX];
    uint8_t flags[LANES];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source(wave, instruction, 2 + i, scratch[i]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct scaled scaled = scale((double)number_from_bits(sources[0][lane]),
                                     (double)number_from_bits(sources[1][lane]),
                                     (double)number_from_bits(sources[2][lane]), &format_f32);
        result[lane] = number_to_bits((float)scaled.value);
        flags[lane] = scaled.post_scale;
    }
    alu_settle_nans_f32(result, sources, 1);
    uint64_t mask = alu_pack_mask(flags) & wave_write_mask(wave, instruction);
    wave_result(wave, instruction, 0, 0, result);
    wave_scalar_result64(wave, &instruction->operands[1], mask);
    return true;
}

static bool execute_v_div_scale_f64(struct wave *wave, const struct instruction *instruction)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    uint8_t flags[LANES];
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source64(wave, instruction, 2 + i, scratch[i]);
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct scaled scaled =
            scale(number_from_bits64(sources[0][lane]), number_from_bits64(sources[1][lane]),
                  number_from_bits64(sources[2][lane]), &format_f64);
        result[lane] = number_to_bits64(scaled.value);
        flags[lane] = scaled.post_scale;
    }
    alu_settle_nans_f64(result, sources, 1);
    uint64_t mask = alu_pack_mask(flags) & wave_write_mask(wave, instruction);
    alu_result64(wave, instruction, result);
    wave_scalar_result64(wave, &instruction->operands[1], mask);
    return true;
}

/* ---- v_div_fmas: lanes of VCC scale, up or down by the size of the approximate quotient ---- */

static void fmas_f32(uint32_t *restrict result, const uint32_t *const *sources, uint64_t scaling)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        float a = number_from_bits(sources[0][lane]);
        float b = number_from_bits(sources[1][lane]);
        float c = number_from_bits(sources[2][lane]);
        double factor = fabsf(c) >= 2 ? 0x1p64 : 0x1p-64;
        /* Scaling before the one rounding: a subnormal quotient is rounded once. */
        double sum = add_to_odd_f64((double)a * (double)b, (double)c);
        result[lane] = number_to_bits((float)(scaling >> lane & 1 ? sum * factor : sum));
    }
}

/* What a * b + c, of which `nearest` is fma's result, exceeds it by; only the sign is exact.
   Neither the product nor its rest may underflow. */
static double fma_error(double a, double b, double c, double nearest)
{
    double product = a * b, product_rest = fma(a, b, -product);
    double sum = product + c, c_part = sum - product;
    double sum_rest = (product - (sum - c_part)) + (c - c_part);
    return ((sum - nearest) + sum_rest) + product_rest;
}

/* (a * b + c) * 2^±128 rounded once, also where the result is subnormal and has fewer bits than the
   fused multiply-add's. */
static double fma_scaled(double a, double b, double c)
{
    if (fabs(c) >= 2)
        return fma(a, b, c) * 0x1p128;
    /* Moved up, away from underflow, by 2^256; so the result is to be moved down by 2^384. */
    double moved_a = a * 0x1p256, moved_c = c * 0x1p256;
    double nearest = fma(moved_a, b, moved_c);
    double units = nearest * 0x1p690; /* of 2^-1074 */
    if (!(fabs(units) < 0x1p53))
        return nearest * 0x1p-384;
    double below = floor(units), error = fma_error(moved_a, b, moved_c, nearest);
    bool tie = units - below == 0.5;
    double rounded = tie && error > 0 ? below + 1 : tie && error < 0 ? below : rint(units);
    return copysign(rounded, nearest) * 0x1p-1074;
}

static void fmas_f64(uint64_t *restrict result, const uint64_t *const *sources, uint64_t scaling)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        double a = number_from_bits64(sources[0][lane]);
        double b = number_from_bits64(sources[1][lane]);
        double c = number_from_bits64(sources[2][lane]);
        result[lane] = number_to_bits64(scaling >> lane & 1 ? fma_scaled(a, b, c) : fma(a, b, c));
    }
}

static bool execute_v_div_fmas_f32(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint32_t *sources[SOURCES_MAX];
    if (!alu_check_mode(wave, instruction, UNSERVED_F32) ||
        !wave_check_scalar(wave, instruction, SCALAR_VCC, 2))
        return false;
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source(wave, instruction, 1 + i, scratch[i]);
    fmas_f32(result, sources, wave_vcc(wave));
    alu_settle_nans_f32(result, sources, SOURCES_MAX);
    alu_finish_f32(wave, instruction, result);
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

static bool execute_v_div_fmas_f64(struct wave *wave, const struct instruction *instruction)
{
    uint64_t scratch[SOURCES_MAX][LANES], result[LANES];
    const uint64_t *sources[SOURCES_MAX];
    if (!alu_check_mode(wave, instruction, UNSERVED_F64) ||
        !wave_check_scalar(wave, instruction, SCALAR_VCC, 2))
        return false;
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        sources[i] = alu_source64(wave, instruction, 1 + i, scratch[i]);
    fmas_f64(result, sources, wave_vcc(wave));
    alu_settle_nans_f64(result, sources, SOURCES_MAX);
    alu_finish_f64(wave, instruction, result);
    alu_result64(wave, instruction, result);
    return true;
}

/* ---- v_div_fixup: the quotient, or what a special dividend or divisor makes of it ---- */

/* A quotient whose exponents differ by more than this rounds to 0. */
enum { UNDERFLOW_F32 = -150, UNDERFLOW_F64 = -1075, UNDERFLOW_NEVER = INT32_MIN };

/* NaN sources are the caller's: they keep their payload. */
static double fix_up(double quotient, double divisor, double dividend, int underflow,
                     const struct format *format)
{
    double sign = signbit(divisor) == signbit(dividend) ? 1 : -1;
    if ((divisor == 0 && dividend == 0) || (isinf(divisor) && isinf(dividend)))
        return NAN;
    if (divisor == 0 || isinf(dividend))
        return copysign(INFINITY, sign);
    if (isinf(divisor) || dividend == 0)
        return copysign(0.0, sign);
    if (exponent_field(dividend, format) - exponent_field(divisor, format) < underflow)
        return copysign(0.0, sign);
    /* Of ordinary operands the iteration makes a NaN only when the quotient has overflown. */
    return copysign(isnan(quotient) ? INFINITY : quotient, sign);
}

/* The manual gives these two as the results of 0/0 and inf/inf: negative, unlike other NaNs. */
#define INVALID_F16 0xfe00u
#define INVALID_F32 0xffc00000u
#define INVALID_F64 0xfff8000000000000u

static inline uint32_t fixup_f32(uint32_t quotient, uint32_t divisor, uint32_t dividend)
{
    if (is_nan_f32(dividend))
        return quiet_f32(dividend);
    if (is_nan_f32(divisor))
        return quiet_f32(divisor);
    double fixed = fix_up((double)number_from_bits(quotient), (double)number_from_bits(divisor),
                          (double)number_from_bits(dividend), UNDERFLOW_F32, &format_f32);
    return isnan(fixed) ? INVALID_F32 : number_to_bits((float)fixed);
}

static inline uint32_t fixup_f16(uint32_t quotient, uint32_t divisor, uint32_t dividend)
{
    if (is_nan_f16((uint16_t)dividend))
        return quiet_f16((uint16_t)dividend);
    if (is_nan_f16((uint16_t)divisor))
        return quiet_f16((uint16_t)divisor);
    double fixed = fix_up((double)half_decode(quotient), (double)half_decode(divisor),
                          (double)half_decode(dividend), UNDERFLOW_NEVER, &format_f32);
    return isnan(fixed) ? INVALID_F16 : half_encode((float)fixed);
}

static inline uint64_t fixup_f64(uint64_t quotient, uint64_t divisor, uint64_t dividend)
{
    if (is_nan_f64(dividend))
        return quiet_f64(dividend);
    if (is_nan_f64(divisor))
        return quiet_f64(divisor);
    double fixed = fix_up(number_from_bits64(quotient), number_from_bits64(divisor),
                          number_from_bits64(dividend), UNDERFLOW_F64, &format_f64);
    return isnan(fixed) ? INVALID_F64 : number_to_bits64(fixed);
}

DEFINE_LOOP(v_div_fixup_f32_lanes, 3, uint32_t, (uint32_t), (uint32_t), fixup_f32(a, b, c))
DEFINE_EXECUTE(v_div_fixup_f32, alu_select_f32, v_div_fixup_f32_lanes, 3)
DEFINE_LOOP64(v_div_fixup_f64_lanes, 3, uint64_t, (uint64_t), (uint64_t), fixup_f64(a, b, c))
DEFINE_EXECUTE(v_div_fixup_f64, alu_select_f64, v_div_fixup_f64_lanes, 3)
DEFINE_LOOP(v_div_fixup_f16_lanes, 3, uint32_t, (uint32_t), (uint32_t), fixup_f16(a, b, c))
DEFINE_EXECUTE(v_div_fixup_f16, alu_select_f16, v_div_fixup_f16_lanes, 3)
DEFINE_EXECUTE(v_div_fixup_legacy_f16, alu_select_f16, v_div_fixup_f16_lanes, 3)

/* ---- v_trig_preop_f64: 53 bits of 2/pi, from where an angle of a's size needs them ---- */

/* The first bits of 2/pi after the binary point, the most significant first. */
enum { TWO_OVER_PI_BITS = 1201 };
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

static uint64_t bit_of_two_over_pi(unsigned position)
{
    if (position >= TWO_OVER_PI_BITS)
        return 0;
    return two_over_pi[position / 64] >> (63 - position % 64) & 1;
}

static double select_two_over_pi(double x, uint32_t segment)
{
    enum { SEGMENT_BITS = 53, EXPONENT_BIAS = 1023, FIRST_MOVED = 1077, FIRST_SCALED = 1968 };
    int exponent = (int)(number_to_bits64(x) >> 52 & 0x7ff);
    unsigned shift = (segment & 31) * SEGMENT_BITS;
    if (exponent > FIRST_MOVED)
        shift += (unsigned)(exponent - FIRST_MOVED);
    uint64_t bits = 0;
    for (unsigned i = 0; i < SEGMENT_BITS; i++)
        bits = bits << 1 | bit_of_two_over_pi(shift + i);
    int scale_back = exponent >= FIRST_SCALED ? 128 : 0;
    return ldexp((double)bits, scale_back - SEGMENT_BITS - (int)shift);
}

static void v_trig_preop_f64_lanes(uint64_t *restrict result, const uint64_t *const *sources)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = number_to_bits64(
            select_two_over_pi(number_from_bits64(sources[0][lane]), (uint32_t)sources[1][lane]));
}

DEFINE_EXECUTE(v_trig_preop_f64, alu_run_f64, v_trig_preop_f64_lanes, 2, SOURCES_AFTER_RESULT)

/* clang-format off */
static const struct opcode rows[] = {
    OPCODE_ROW(v_div_scale_f32, "d:f32 d:b64 s:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_div_scale_f64, "d:f64 d:b64 s:f64 s:f64 s:f64", 0)
    OPCODE_ROW(v_div_fmas_f32, "d:f32 s:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_div_fmas_f64, "d:f64 s:f64 s:f64 s:f64", 0)
    OPCODE_ROW(v_div_fixup_f32, "d:f32 s:f32 s:f32 s:f32", 0)
    OPCODE_ROW(v_div_fixup_f64, "d:f64 s:f64 s:f64 s:f64", 0)
    OPCODE_ROW(v_div_fixup_f16, "d:f16 s:f16 s:f16 s:f16", OPCODE_KEEPS_HALF)
    OPCODE_ROW(v_div_fixup_legacy_f16, "d:f16 s:f16 s:f16 s:f16", 0)
    OPCODE_ROW(v_trig_preop_f64, "d:f64 s:f64 s:b32", 0)
};
/* clang-format on */

const struct opcode_table opcodes_division = {rows, sizeof rows / sizeof rows[0]};
