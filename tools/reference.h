/* Sparse MLA forward in float64, straight from its definition. Knows nothing of the kernels. */
#ifndef TOOLS_REFERENCE_H
#define TOOLS_REFERENCE_H

#include "problem.h"

/* Row-major results of a problem. A row without an unmasked key has out 0 and lse -inf. */
struct reference {
    double *out; /* [tokens][heads][512] */
    double *lse; /* [tokens][heads], natural logarithm */
};

dsajit_status reference_compute(const struct problem *problem, struct reference *reference,
                                dsajit_error *error);
void reference_free(struct reference *reference);

#endif
