/* bf16 and OCP e4m3, by their definitions: as numbers, without a look at how a GPU does it.

       bf16   sign 1, exponent 8 (bias 127), fraction 7: the upper half of an f32
       e4m3   sign 1, exponent 4 (bias 7), fraction 3; no infinities, 0x7f and 0xff are NaN;
              largest finite 448, smallest positive 2^-9 */
#ifndef TOOLS_NARROW_FLOATS_H
#define TOOLS_NARROW_FLOATS_H

#include <stdint.h>

double bf16_to_double(uint16_t bits);
/* One rounding, to nearest even; NaN gives a quiet NaN. */
uint16_t double_to_bf16(double value);

double e4m3_to_double(uint8_t byte);
/* One rounding, to nearest even; beyond 448 saturates; NaN gives 0x7f with the sign. */
uint8_t double_to_e4m3(double value);

#endif
