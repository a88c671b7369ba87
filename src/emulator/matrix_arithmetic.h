/* The arithmetic of matrix instructions: D = A * B + C for one block, on operands that have been
   brought into the order of the mathematics. */
#ifndef EMULATOR_MATRIX_ARITHMETIC_H
#define EMULATOR_MATRIX_ARITHMETIC_H

#include "emulator/numeric.h"

enum {
    MATRIX_SIZE_MAX = 32,       /* rows of A, columns of B */
    MATRIX_ELEMENTS_MAX = 2048, /* of A or B */
    MATRIX_SCALE_BLOCK = 32     /* terms of k that share a scale */
};

/* A and B come as [k][row of A, or column of B], C and D as [row][column], all with this distance
   between the starts of two rows, so that every row can be taken eight elements at a time. */
static inline unsigned matrix_stride(unsigned size)
{
    return size < 8 ? 8 : size;
}

/* How a dot product of narrow floats is summed; matrix_arithmetic.c says what the names mean. */
enum matrix_summation {
    SUM_FUSED,      /* f16 and bf16 */
    SUM_FUSED_SPLIT /* 8 bits and less */
};

/* A matrix of narrow floats as value = significand * 2^(exponent - fraction_bits). */
struct matrix_terms {
    unsigned size, depth, fraction_bits;
    float significands[MATRIX_ELEMENTS_MAX];     /* integers, with the sign */
    int32_t exponents[MATRIX_ELEMENTS_MAX];      /* or one of the marks in matrix_arithmetic.c */
    int32_t greatest_exponents[MATRIX_SIZE_MAX]; /* of each row of A or column of B */
};

/* Fills `terms` from codes. `scales`, if not NULL, holds the E8M0 byte of each block and row. */
void matrix_load_terms(struct matrix_terms *terms, enum number_format_id format, unsigned size,
                       unsigned depth, const uint32_t *codes, const uint32_t *scales);

/* The accumulators are C before and D after. */
void matrix_multiply_terms(const struct matrix_terms *a, const struct matrix_terms *b,
                           enum matrix_summation summation, uint32_t *accumulators);

/* The other element types. f32 and f64: one fused multiply-add for each k, in ascending order. */
void matrix_multiply_f32(unsigned size, unsigned depth, const uint32_t *a, const uint32_t *b,
                         uint32_t *accumulators);
void matrix_multiply_f64(unsigned size, unsigned depth, const uint64_t *a, const uint64_t *b,
                         uint64_t *accumulators);
void matrix_multiply_i8(unsigned size, unsigned depth, const uint32_t *a, const uint32_t *b,
                        uint32_t *accumulators);

#endif
