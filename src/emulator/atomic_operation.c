#include "emulator/atomic_operation.h"

#include "emulator/numeric.h"

#include <math.h>
#include <stdbool.h>

/* One operation: `result` from old, data0 and data1, each of type `type`. */
#define OPERATION(name, type, result)                                                              \
    static uint64_t name(uint64_t old_bits, uint64_t data0_bits, uint64_t data1_bits)              \
    {                                                                                              \
        const type old = (type)old_bits, data0 = (type)data0_bits, data1 = (type)data1_bits;       \
        (void)old, (void)data0, (void)data1;                                                       \
        return (result);                                                                           \
    }

#define INTEGER_OPERATIONS(bits, type, signed_type)                                                \
    OPERATION(add##bits, type, (type)(old + data0))                                                \
    OPERATION(sub##bits, type, (type)(old - data0))                                                \
    OPERATION(reverse_sub##bits, type, (type)(data0 - old))                                        \
    OPERATION(inc##bits, type, old >= data0 ? 0 : old + 1)                                         \
    OPERATION(dec##bits, type, old == 0 || old > data0 ? data0 : old - 1)                          \
    OPERATION(smin##bits, type, (signed_type)old < (signed_type)data0 ? old : data0)               \
    OPERATION(smax##bits, type, (signed_type)old > (signed_type)data0 ? old : data0)               \
    OPERATION(umin##bits, type, old < data0 ? old : data0)                                         \
    OPERATION(umax##bits, type, old > data0 ? old : data0)                                         \
    OPERATION(and##bits, type, old &data0)                                                         \
    OPERATION(or ##bits, type, old | data0)                                                        \
    OPERATION(xor##bits, type, old ^ data0)                                                        \
    OPERATION(swap##bits, type, data0)                                                             \
    OPERATION(compare_swap##bits, type, old == data1 ? data0 : old)                                \
    OPERATION(compare_store##bits, type, old == data0 ? data1 : old)                               \
    OPERATION(mask_or##bits, type, (old & ~data0) | data1)

INTEGER_OPERATIONS(32, uint32_t, int32_t)
INTEGER_OPERATIONS(64, uint64_t, int64_t)
OPERATION(wrap32, uint32_t, old >= data0 ? old - data0 : old + data1)

/* minNum and maxNum: a number wins over a NaN, and -0 lies below +0. */
static double minimum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double maximum(double a, double b)
{
    return -minimum(-a, -b);
}

static float f32(uint64_t bits)
{
    return number_from_bits((uint32_t)bits);
}

static uint64_t from_f32(float value)
{
    return number_to_bits(value);
}

OPERATION(add_f32, uint64_t, from_f32(f32(old) + f32(data0)))
OPERATION(min_f32, uint64_t, from_f32((float)minimum(f32(old), f32(data0))))
OPERATION(max_f32, uint64_t, from_f32((float)maximum(f32(old), f32(data0))))
OPERATION(compare_store_f32, uint64_t, f32(old) == f32(data0) ? data1 : old)

static double f64(uint64_t bits)
{
    return number_from_bits64(bits);
}

OPERATION(add_f64, uint64_t, number_to_bits64(f64(old) + f64(data0)))
OPERATION(min_f64, uint64_t, number_to_bits64(minimum(f64(old), f64(data0))))
OPERATION(max_f64, uint64_t, number_to_bits64(maximum(f64(old), f64(data0))))
OPERATION(compare_store_f64, uint64_t, f64(old) == f64(data0) ? data1 : old)

/* A double has more than twice the bits of either format, so that rounding the sum to double first
   changes nothing. */
static uint32_t add_halves(enum number_format_id format, uint64_t a, uint64_t b)
{
    uint32_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        double exact = (double)number_decode(format, a >> shift & 0xffff) +
                       (double)number_decode(format, b >> shift & 0xffff);
        sum |= number_encode(format, exact, ROUND_NEAREST_EVEN, OVERFLOW_INFINITY) << shift;
    }
    return sum;
}

OPERATION(pk_add_f16, uint64_t, add_halves(NUMBER_F16, old, data0))
OPERATION(pk_add_bf16, uint64_t, add_halves(NUMBER_BF16, old, data0))

const struct atomic_operation atomic_operations[ATOMIC_OPERATION_COUNT] = {
    [ATOMIC_ADD] = {add32, 1, 1},
    [ATOMIC_SUB] = {sub32, 1, 1},
    [ATOMIC_REVERSE_SUB] = {reverse_sub32, 1, 1},
    [ATOMIC_INC] = {inc32, 1, 1},
    [ATOMIC_DEC] = {dec32, 1, 1},
    [ATOMIC_SMIN] = {smin32, 1, 1},
    [ATOMIC_SMAX] = {smax32, 1, 1},
    [ATOMIC_UMIN] = {umin32, 1, 1},
    [ATOMIC_UMAX] = {umax32, 1, 1},
    [ATOMIC_AND] = {and32, 1, 1},
    [ATOMIC_OR] = {or32, 1, 1},
    [ATOMIC_XOR] = {xor32, 1, 1},
    [ATOMIC_SWAP] = {swap32, 1, 1},
    [ATOMIC_COMPARE_SWAP] = {compare_swap32, 1, 2},
    [ATOMIC_COMPARE_STORE] = {compare_store32, 1, 2},
    [ATOMIC_MASK_OR] = {mask_or32, 1, 2},
    [ATOMIC_WRAP] = {wrap32, 1, 2},
    [ATOMIC_ADD_X2] = {add64, 2, 1},
    [ATOMIC_SUB_X2] = {sub64, 2, 1},
    [ATOMIC_REVERSE_SUB_X2] = {reverse_sub64, 2, 1},
    [ATOMIC_INC_X2] = {inc64, 2, 1},
    [ATOMIC_DEC_X2] = {dec64, 2, 1},
    [ATOMIC_SMIN_X2] = {smin64, 2, 1},
    [ATOMIC_SMAX_X2] = {smax64, 2, 1},
    [ATOMIC_UMIN_X2] = {umin64, 2, 1},
    [ATOMIC_UMAX_X2] = {umax64, 2, 1},
    [ATOMIC_AND_X2] = {and64, 2, 1},
    [ATOMIC_OR_X2] = {or64, 2, 1},
    [ATOMIC_XOR_X2] = {xor64, 2, 1},
    [ATOMIC_SWAP_X2] = {swap64, 2, 1},
    [ATOMIC_COMPARE_SWAP_X2] = {compare_swap64, 2, 2},
    [ATOMIC_COMPARE_STORE_X2] = {compare_store64, 2, 2},
    [ATOMIC_MASK_OR_X2] = {mask_or64, 2, 2},
    [ATOMIC_ADD_F32] = {add_f32, 1, 1},
    [ATOMIC_MIN_F32] = {min_f32, 1, 1},
    [ATOMIC_MAX_F32] = {max_f32, 1, 1},
    [ATOMIC_COMPARE_STORE_F32] = {compare_store_f32, 1, 2},
    [ATOMIC_ADD_F64] = {add_f64, 2, 1},
    [ATOMIC_MIN_F64] = {min_f64, 2, 1},
    [ATOMIC_MAX_F64] = {max_f64, 2, 1},
    [ATOMIC_COMPARE_STORE_F64] = {compare_store_f64, 2, 2},
    [ATOMIC_PK_ADD_F16] = {pk_add_f16, 1, 1},
    [ATOMIC_PK_ADD_BF16] = {pk_add_bf16, 1, 1},
};
