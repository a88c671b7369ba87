/* How far a result is from the reference. */
#ifndef TOOLS_COMPARISON_H
#define TOOLS_COMPARISON_H

#include "reference.h"

struct comparison {
    double out_relative; /* ||out - ref|| / ||ref||, over all rows together; 0 when both are 0 */
    double out_max;      /* max |out - ref| */
    double lse_max;      /* max |lse - ref| over the rows that have a key; 0 without lse */
    double lse_relative; /* max |lse - ref| / max(1, |ref|) over the same rows */
    int64_t empty_rows;  /* rows of a head without an unmasked key */
    int64_t empty_rows_wrong; /* of these, rows with out other than 0 or lse other than -inf */
};

/* `out` [tokens][heads][512] bf16; `lse` [tokens][heads] or NULL. A NaN anywhere makes its figures
   NaN. */
struct comparison comparison_make(const struct problem *problem, const struct reference *reference,
                                  const uint16_t *out, const float *lse);

/* The errors that are allowed. A kernel rounds to bf16 twice, the weights and the result: each is
   off by at most 2^-9 of its value, and together, being independent, by sqrt(2) 2^-9 = 2.76e-3. */
#define COMPARISON_OUT_TOLERANCE 2.8e-3
#define COMPARISON_LSE_TOLERANCE 1e-5

bool comparison_within(const struct comparison *comparison);

#endif
