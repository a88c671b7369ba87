#include "comparison.h"

#include "narrow_floats.h"

#include <math.h>

/* As fmax, but a NaN stays. */
static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static bool is_zero(const uint16_t *row)
{
    for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
        if (bf16_to_double(row[d]) != 0)
            return false;
    return true;
}

struct comparison comparison_make(const struct problem *problem, const struct reference *reference,
                                  const uint16_t *out, const float *lse)
{
    struct comparison result = {0};
    double squares = 0, error_squares = 0;
    for (int64_t row = 0; row < problem->tokens * problem->heads; row++) {
        const uint16_t *values = out + row * DSAJIT_KV_LORA_RANK;
        const double *expected = reference->out + row * DSAJIT_KV_LORA_RANK;
        if (isinf(reference->lse[row])) {
            result.empty_rows++;
            if (!is_zero(values) || (lse && lse[row] != -INFINITY))
                result.empty_rows_wrong++;
            continue;
        }
        for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++) {
            const double difference = bf16_to_double(values[d]) - expected[d];
            squares += expected[d] * expected[d];
            error_squares += difference * difference;
            result.out_max = larger(result.out_max, fabs(difference));
        }
        if (lse) {
            const double difference = fabs(lse[row] - reference->lse[row]);
            result.lse_max = larger(result.lse_max, difference);
            result.lse_relative =
                larger(result.lse_relative, difference / fmax(1, fabs(reference->lse[row])));
        }
    }
    if (error_squares != 0)
        result.out_relative = sqrt(error_squares / squares);
    return result;
}

bool comparison_within(const struct comparison *comparison)
{
    return comparison->out_relative <= COMPARISON_OUT_TOLERANCE &&
           comparison->lse_relative <= COMPARISON_LSE_TOLERANCE &&
           comparison->empty_rows_wrong == 0;
}
