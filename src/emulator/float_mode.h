/* What the MODE register asks of floating-point results. */
#ifndef EMULATOR_FLOAT_MODE_H
#define EMULATOR_FLOAT_MODE_H

#include "emulator/numeric.h"
#include "emulator/wave.h"

enum mode_bits {
    MODE_KEEP_DENORMAL_SOURCES_F32 = 1 << 4,
    MODE_KEEP_DENORMAL_RESULTS_F32 = 1 << 5,
    MODE_KEEP_DENORMAL_SOURCES_F16_F64 = 1 << 6,
    MODE_KEEP_DENORMAL_RESULTS_F16_F64 = 1 << 7,
    MODE_DX10_CLAMP = 1 << 8,      /* clamp turns NaN into 0 */
    MODE_IEEE = 1 << 9,            /* min and max make signaling NaNs quiet; omod is ignored */
    MODE_SATURATE_NARROW = 1 << 23 /* FP16_OVFL: f16 and fp8 results saturate */
};

static inline enum rounding mode_rounding_f32(const struct wave *wave)
{
    return (enum rounding)(wave->mode & 3);
}

static inline enum rounding mode_rounding_f16_f64(const struct wave *wave)
{
    return (enum rounding)(wave->mode >> 2 & 3);
}

static inline enum overflow mode_overflow(const struct wave *wave, enum number_format_id format)
{
    bool wide = format == NUMBER_F32 || format == NUMBER_BF16;
    return !wide && wave->mode & MODE_SATURATE_NARROW ? OVERFLOW_SATURATE : OVERFLOW_INFINITY;
}

#endif
