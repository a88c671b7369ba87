/* The transcendental unit: reciprocals, roots, exponentials, logarithms and circular functions of
   f32 and f16.

   The machine's results are within about 1 ulp; here each is the double result rounded once, so
   that programs see the same bits on every host whose libm is good to better than half an f32 ulp.
   The unit knows no f32 subnormals: whatever MODE says, they are 0 coming in and going out. */
#include "emulator/float_bits.h"
#include "emulator/vector_alu.h"

#include <math.h>

/* v_sin and v_cos take revolutions; beyond ±256 they give the value at 0. */
#define REVOLUTIONS_MAX 256.0

/* The quarter turn nearest to `x` revolutions, 0…3, and the angle left over in radians. */
static int reduce_angle(double x, double *rest)
{
    double quarters = rint(4 * x);
    *rest = (x - quarters / 4) * (2 * M_PI);
    return (int)quarters & 3;
}

static double sine(double x)
{
    double rest;
    if (isnan(x) || isinf(x))
        return NAN;
    if (x == 0 || fabs(x) > REVOLUTIONS_MAX)
        return copysign(0.0, x);
    switch (reduce_angle(x, &rest)) {
    case 0:
        return sin(rest);
    case 1:
        return cos(rest);
    case 2:
        return 0 - sin(rest);
    default:
        return -cos(rest);
    }
}

static double cosine(double x)
{
    double rest;
    if (isnan(x) || isinf(x))
        return NAN;
    if (fabs(x) > REVOLUTIONS_MAX)
        return 1;
    switch (reduce_angle(x, &rest)) {
    case 0:
        return cos(rest);
    case 1:
        return 0 - sin(rest);
    case 2:
        return -cos(rest);
    default:
        return sin(rest);
    }
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

typedef double (*real_function)(double);

/* NaN sources keep their payload in the results, as in all arithmetic. */
static bool run_f32(struct wave *wave, const struct instruction *instruction,
                    real_function function)
{
    uint32_t source[LANES], scratch[LANES], result[LANES];
    const uint32_t *sources[] = {source};
    if (!alu_check_mode(wave, instruction, UNSERVED_F32))
        return false;
    memcpy(source, wave_source(wave, instruction, 1, 0, scratch), sizeof source);
    alu_flush_f32(source);
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = number_to_bits((float)function((double)number_from_bits(source[lane])));
    alu_settle_nans_f32(result, sources, 1);
    alu_flush_f32(result);
    alu_finish_f32(wave, instruction, result);
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

static bool run_f16(struct wave *wave, const struct instruction *instruction,
                    real_function function)
{
    uint32_t scratch[LANES], result[LANES];
    if (!alu_check_mode(wave, instruction, UNSERVED_F16))
        return false;
    const uint32_t *source = alu_source(wave, instruction, 1, scratch);
    for (unsigned lane = 0; lane < LANES; lane++)
        result[lane] = half_encode((float)function((double)half_decode(source[lane])));
    alu_settle_nans_f16(result, &source, 1);
    alu_finish_f16(wave, instruction, result);
    wave_result(wave, instruction, 0, 0, result);
    return true;
}

#define ROWS_F32(X)                                                                                \
    X(v_exp_f32, exp2)                                                                             \
    X(v_exp_legacy_f32, exp2)                                                                      \
    X(v_log_f32, log2)                                                                             \
    X(v_log_legacy_f32, log2)                                                                      \
    X(v_rcp_f32, reciprocal)                                                                       \
    X(v_rcp_iflag_f32, reciprocal)                                                                 \
    X(v_rsq_f32, reciprocal_root)                                                                  \
    X(v_sqrt_f32, sqrt)                                                                            \
    X(v_sin_f32, sine)                                                                             \
    X(v_cos_f32, cosine)

#define ROWS_F16(X)                                                                                \
    X(v_exp_f16, exp2)                                                                             \
    X(v_log_f16, log2)                                                                             \
    X(v_rcp_f16, reciprocal)                                                                       \
    X(v_rsq_f16, reciprocal_root)                                                                  \
    X(v_sqrt_f16, sqrt)                                                                            \
    X(v_sin_f16, sine)                                                                             \
    X(v_cos_f16, cosine)

#define DEFINE_F32(mnemonic, function) DEFINE_EXECUTE(mnemonic, run_f32, function)
#define DEFINE_F16(mnemonic, function) DEFINE_EXECUTE(mnemonic, run_f16, function)
ROWS_F32(DEFINE_F32)
ROWS_F16(DEFINE_F16)

#define ROW_F32(mnemonic, function) OPCODE_ROW(mnemonic, "d:f32 s:f32", 0)
#define ROW_F16(mnemonic, function) OPCODE_ROW(mnemonic, "d:f16 s:f16", 0)

/* clang-format off */
static const struct opcode rows[] = {
    ROWS_F32(ROW_F32)
    ROWS_F16(ROW_F16)
};
/* clang-format on */

const struct opcode_table opcodes_transcendental = {rows, sizeof rows / sizeof rows[0]};
