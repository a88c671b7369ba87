/* Matrix products of the element types that round, or don't, as everywhere else. */
#include "emulator/matrix_arithmetic.h"

#include <math.h>

void matrix_multiply_f32(unsigned size, unsigned depth, const uint32_t *a, const uint32_t *b,
                         uint32_t *accumulators)
{
    unsigned stride = matrix_stride(size);
    for (unsigned row = 0; row < size; ++row)
        for (unsigned column = 0; column < size; ++column) {
            float sum = number_from_bits(accumulators[row * stride + column]);
            for (unsigned k = 0; k < depth; ++k)
                sum = fmaf(number_from_bits(a[k * stride + row]),
                           number_from_bits(b[k * stride + column]), sum);
            accumulators[row * stride + column] = number_to_bits(sum);
        }
}

void matrix_multiply_f64(unsigned size, unsigned depth, const uint64_t *a, const uint64_t *b,
                         uint64_t *accumulators)
{
    unsigned stride = matrix_stride(size);
    for (unsigned row = 0; row < size; ++row)
        for (unsigned column = 0; column < size; ++column) {
            double sum = number_from_bits64(accumulators[row * stride + column]);
            for (unsigned k = 0; k < depth; ++k)
                sum = fma(number_from_bits64(a[k * stride + row]),
                          number_from_bits64(b[k * stride + column]), sum);
            accumulators[row * stride + column] = number_to_bits64(sum);
        }
}

void matrix_multiply_i8(unsigned size, unsigned depth, const uint32_t *a, const uint32_t *b,
                        uint32_t *accumulators)
{
    unsigned stride = matrix_stride(size);
    for (unsigned row = 0; row < size; ++row)
        for (unsigned k = 0; k < depth; ++k) {
            int32_t factor = (int8_t)a[k * stride + row];
            for (unsigned column = 0; column < size; ++column)
                accumulators[row * stride + column] +=
                    (uint32_t)(factor * (int8_t)b[k * stride + column]);
        }
}
