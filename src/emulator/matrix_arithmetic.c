/* Dot products as the matrix cores round them.

   AMD does not publish this. What follows is the model that MMA-Sim (Microsoft's bit-accurate study
   of matrix units) found to agree with CDNA3 hardware; that CDNA4 computes alike is an ASSUMPTION,
   as is that its new, narrower formats go the way of fp8.

   SUM_FUSED takes the terms of k in groups of 8 (or all, if fewer), in order. A group's products
   are exact. They are aligned to the greatest exponent among them, e, and cut off towards zero 24
   bits behind its point, then added exactly. Let E be the greater of e and the accumulator's
   exponent. The sum is cut off towards minus infinity 31 bits behind E's point, the accumulator 24
   bits behind it; their exact sum, rounded to nearest even, is the new accumulator. Exponents are
   those of the factors added: products are not normalised. A zero product's exponent is -126.

   SUM_FUSED_SPLIT takes groups of 16. The even and the odd terms are summed apart as above, and the
   two sums aligned to the greater of their exponents and cut off towards minus infinity 24 bits
   behind its point. The rest is the same, but for an accumulator more than 25 binary places below
   E, which vanishes (where it would count as -2^(E-24) above, if it is negative).

   Subnormal numbers are kept on both sides. A product of 2^128 and more is an infinity; infinities
   and NaNs combine as IEEE 754 has it, and so does the sign of zero sums.

   Everything is integer arithmetic, and double arithmetic that is exact, on eight columns at once;
   so the results do not depend on the processor. */
#include "emulator/matrix_arithmetic.h"

#include <math.h>
#include <stdbool.h>

enum { WIDTH = 8, GROUP_MAX = 8 };

typedef int32_t ints __attribute__((vector_size(4 * WIDTH)));
typedef float floats __attribute__((vector_size(4 * WIDTH)));
/* Half as many of double width. */
typedef int32_t half_ints __attribute__((vector_size(2 * WIDTH)));
typedef float half_floats __attribute__((vector_size(2 * WIDTH)));
typedef int64_t half_longs __attribute__((vector_size(4 * WIDTH)));
typedef double half_doubles __attribute__((vector_size(4 * WIDTH)));

union halves {
    ints ints;
    floats floats;
    half_ints half_ints[2];
    half_floats half_floats[2];
};

/* Marks in place of exponents. Zeros lose against every exponent; an element that is not finite has
   the significand 0 if it is NaN, else 1 or -1. */
enum {
    EXPONENT_ZERO = -(1 << 20),
    EXPONENT_NEGATIVE_ZERO = EXPONENT_ZERO - 1,
    EXPONENT_SPECIAL = 1 << 20,
    EXPONENT_OF_ZERO_PRODUCT = -126,
    NO_EXPONENT = -(1 << 24)
};

enum { ALIGNED_BITS = 24, SUM_BITS = 31, SPLIT_REACH = 25 };

#define INLINE static inline __attribute__((always_inline))

/* ---- Vectors ---- */

INLINE ints load(const int32_t *from)
{
    ints value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE floats load_floats(const float *from)
{
    floats value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE void store(int32_t *to, ints value)
{
    memcpy(to, &value, sizeof value);
}

INLINE ints pick(ints mask, ints if_set, ints if_clear)
{
    return (if_set & mask) | (if_clear & ~mask);
}

INLINE ints greater(ints a, ints b)
{
    return pick(a > b, a, b);
}

INLINE ints lesser(ints a, ints b)
{
    return pick(a < b, a, b);
}

/* `sign` is 0 or -1 in each element. */
INLINE ints negate_where(ints sign, ints value)
{
    return (value ^ sign) - sign;
}

INLINE ints splat(int32_t value)
{
    return value - (ints){0};
}

INLINE bool any(ints mask)
{
    int32_t elements[WIDTH], all = 0;
    store(elements, mask);
    for (unsigned i = 0; i < WIDTH; ++i)
        all |= elements[i];
    return all != 0;
}

/* Shift counts beyond the word count as the whole word. */
INLINE ints shift_right(ints value, ints count)
{
    return value >> lesser(count, splat(31));
}

INLINE half_doubles power_of_two(half_ints exponent)
{
    return (half_doubles)((__builtin_convertvector(exponent, half_longs) + 1023) << 52);
}

/* (x * 2^x_exponent + y * 2^y_exponent) * 2^exponent, rounded to nearest even once: the sum in
   brackets must be exact in double. */
INLINE floats round_sum(ints x, ints x_exponent, ints y, int y_exponent, ints exponent)
{
    union halves xs = {x}, x_exponents = {x_exponent}, ys = {y}, exponents = {exponent}, result;
    for (unsigned i = 0; i < 2; ++i) {
        half_doubles sum =
            __builtin_convertvector(xs.half_ints[i], half_doubles) *
                power_of_two(x_exponents.half_ints[i]) +
            __builtin_convertvector(ys.half_ints[i], half_doubles) * (double)(1 << y_exponent);
        result.half_floats[i] =
            __builtin_convertvector(sum * power_of_two(exponents.half_ints[i]), half_floats);
    }
    return result.floats;
}

/* ---- One group of terms ---- */

/* How dot products are cut into groups. */
struct plan {
    unsigned terms; /* that are summed together: at most GROUP_MAX */
    bool split;     /* two such sums make a group, of even and odd terms */
};

struct sum {
    ints value; /* in units of 2^(exponent - ALIGNED_BITS) */
    ints exponent;
};

/* The exponent of zero products for each row of A or column of B and each set of terms that are
   summed together: EXPONENT_OF_ZERO_PRODUCT if there are any, else NO_EXPONENT. */
struct zero_exponents {
    int32_t of[MATRIX_ELEMENTS_MAX / GROUP_MAX];
};

/* A row of A and eight columns of B, at the first term of a group. */
struct cursor {
    const struct matrix_terms *a, *b;
    const struct zero_exponents *a_zeros, *b_zeros;
    unsigned a_index, b_index, k;
};

/* `set`: which of the sets of terms this is. A product is aligned by a multiplication: the scale, a
   power of two, has an exponent field of 0 where nothing of the product would be left, which makes
   it 0. Converting to integers cuts off. */
INLINE struct sum sum_products(struct cursor at, unsigned set, struct plan plan)
{
    unsigned stride = matrix_stride(at.a->size), terms = plan.terms, step = plan.split ? 2 : 1;
    ints exponents[GROUP_MAX];
    ints greatest = greater(splat(at.a_zeros->of[set * stride + at.a_index]),
                            load(&at.b_zeros->of[set * stride + at.b_index]));
    for (unsigned i = 0; i < terms; ++i) {
        unsigned k = (at.k + i * step) * stride;
        exponents[i] = at.a->exponents[k + at.a_index] + load(&at.b->exponents[k + at.b_index]);
        greatest = greater(greatest, exponents[i]);
    }
    int shift = ALIGNED_BITS - (int)(at.a->fraction_bits + at.b->fraction_bits);
    ints field_of_greatest = shift + 127 - greatest;
    ints total = splat(0);
    for (unsigned i = 0; i < terms; ++i) {
        unsigned k = (at.k + i * step) * stride;
        floats product =
            at.a->significands[k + at.a_index] * load_floats(&at.b->significands[k + at.b_index]);
        ints field = exponents[i] + field_of_greatest;
        floats scale = (floats)((field & (field > 0)) << 23);
        total += __builtin_convertvector(product * scale, ints);
    }
    return (struct sum){total, greatest};
}

INLINE struct sum join(struct sum x, struct sum y)
{
    ints exponent = greater(x.exponent, y.exponent);
    return (struct sum){shift_right(x.value, exponent - x.exponent) +
                            shift_right(y.value, exponent - y.exponent),
                        exponent};
}

/* accumulator + sum; the accumulator is finite. */
INLINE floats accumulate(floats accumulator, struct sum sum, bool split)
{
    ints bits = (ints)accumulator;
    ints field = bits >> 23 & 0xff;
    ints significand = (bits & 0x7fffff) | ((field > 0) & 0x800000);
    significand = negate_where(bits >> 31, significand);
    ints own_exponent = greater(field, splat(1)) - 127;

    ints exponent = greater(own_exponent, sum.exponent);
    ints distance = exponent - own_exponent;
    ints own = shift_right(significand * 2, distance);
    if (split)
        own &= distance <= SPLIT_REACH;
    /* In units of 2^(exponent - SUM_BITS). */
    ints up = (SUM_BITS - ALIGNED_BITS) - (exponent - sum.exponent);
    ints value = shift_right(sum.value, greater(-up, splat(0)));
    return round_sum(value, greater(up, splat(0)), own, SUM_BITS - ALIGNED_BITS,
                     exponent - SUM_BITS);
}

INLINE unsigned group_terms(struct plan plan)
{
    return plan.split ? 2 * plan.terms : plan.terms;
}

INLINE floats add_group(floats accumulator, struct cursor at, struct plan plan)
{
    unsigned set = at.k / plan.terms;
    struct sum sum = sum_products(at, set, plan);
    if (plan.split) {
        at.k++;
        sum = join(sum, sum_products(at, set + 1, plan));
    }
    return accumulate(accumulator, sum, plan.split);
}

/* ---- Dot products with anything unusual, one at a time ---- */

/* What a group's products are apart from ordinary numbers. */
struct specials {
    bool nan, positive_infinity, negative_infinity;
    bool all_negative_zero;
};

static bool is_zero(int32_t exponent)
{
    return exponent < EXPONENT_ZERO / 2;
}

static void inspect_product(struct specials *specials, const struct matrix_terms *a,
                            const struct matrix_terms *b, unsigned a_at, unsigned b_at)
{
    int32_t a_exponent = a->exponents[a_at], b_exponent = b->exponents[b_at];
    float a_significand = a->significands[a_at], b_significand = b->significands[b_at];
    bool a_special = a_exponent == EXPONENT_SPECIAL, b_special = b_exponent == EXPONENT_SPECIAL;
    bool negative = (a_significand < 0 || a_exponent == EXPONENT_NEGATIVE_ZERO) !=
                    (b_significand < 0 || b_exponent == EXPONENT_NEGATIVE_ZERO);

    bool zero = is_zero(a_exponent) || is_zero(b_exponent);
    if (!zero || !negative)
        specials->all_negative_zero = false;
    if (a_special || b_special) {
        /* NaN has a zero significand too, so this is NaN * x as well as infinity * 0. */
        if (a_significand == 0 || b_significand == 0)
            specials->nan = true;
    } else if (zero || fabs(ldexp((double)a_significand * b_significand,
                                  a_exponent + b_exponent -
                                      (int)(a->fraction_bits + b->fraction_bits))) < 0x1p128) {
        return;
    }
    if (negative)
        specials->negative_infinity = true;
    else
        specials->positive_infinity = true;
}

static struct specials inspect_group(struct cursor at, unsigned column, struct plan plan)
{
    unsigned stride = matrix_stride(at.a->size);
    struct specials specials = {.all_negative_zero = true};
    for (unsigned k = at.k; k < at.k + group_terms(plan); ++k)
        inspect_product(&specials, at.a, at.b, k * stride + at.a_index,
                        k * stride + at.b_index + column);
    return specials;
}

/* As add_group for one column, with whatever values. */
__attribute__((noinline)) static float add_group_of_any(float accumulator, struct cursor at,
                                                        unsigned column, struct plan plan)
{
    struct specials specials = inspect_group(at, column, plan);
    bool positive = specials.positive_infinity || (isinf(accumulator) && !signbit(accumulator));
    bool negative = specials.negative_infinity || (isinf(accumulator) && signbit(accumulator));
    if (specials.nan || isnan(accumulator) || (positive && negative))
        return number_from_bits(0x7fc00000);
    if (positive || negative)
        return positive ? INFINITY : -INFINITY;
    if (specials.all_negative_zero && accumulator == 0 && signbit(accumulator))
        return accumulator;
    floats results = add_group((floats){0} + accumulator, at, plan);
    return results[column];
}

static float multiply_column(struct cursor at, unsigned column, struct plan plan, float accumulator)
{
    for (; at.k < at.a->depth; at.k += group_terms(plan))
        accumulator = add_group_of_any(accumulator, at, column, plan);
    return accumulator;
}

/* ---- Whole matrices ---- */

/* Accumulators that add_group does not serve: infinities, NaNs, and the negative zero. */
INLINE ints is_unusual(floats accumulator)
{
    ints bits = (ints)accumulator;
    return ((bits & 0x7f800000) == 0x7f800000) | (bits == INT32_MIN);
}

INLINE void multiply_tile(struct cursor at, struct plan plan, uint32_t *accumulators)
{
    floats before, accumulator;
    memcpy(&before, accumulators, sizeof before);
    accumulator = before;
    ints bound = at.a->greatest_exponents[at.a_index] + load(&at.b->greatest_exponents[at.b_index]);
    ints unusual = bound > 126; /* some element is special, or a product might be 2^128 */
    struct cursor group = at;
    for (; group.k < at.a->depth; group.k += group_terms(plan)) {
        unusual |= is_unusual(accumulator);
        accumulator = add_group(accumulator, group, plan);
    }
    memcpy(accumulators, &accumulator, sizeof accumulator);
    if (any(unusual))
        for (unsigned column = 0; column < WIDTH; ++column)
            if (unusual[column])
                accumulators[column] =
                    number_to_bits(multiply_column(at, column, plan, before[column]));
}

/* In sets as add_group takes them. */
INLINE void find_zeros(const struct matrix_terms *terms, struct plan plan,
                       struct zero_exponents *zeros)
{
    unsigned stride = matrix_stride(terms->size), step = plan.split ? 2 : 1;
    for (unsigned set = 0; set < terms->depth / plan.terms; ++set) {
        unsigned first = plan.split ? set / 2 * group_terms(plan) + set % 2 : set * plan.terms;
        for (unsigned index = 0; index < stride; index += WIDTH) {
            ints any_zero = splat(0);
            for (unsigned i = 0; i < plan.terms; ++i)
                any_zero |=
                    load(&terms->exponents[(first + i * step) * stride + index]) <= EXPONENT_ZERO;
            store(&zeros->of[set * stride + index],
                  pick(any_zero, splat(EXPONENT_OF_ZERO_PRODUCT), splat(NO_EXPONENT)));
        }
    }
}

INLINE void multiply(const struct matrix_terms *a, const struct matrix_terms *b, struct plan plan,
                     uint32_t *accumulators)
{
    unsigned stride = matrix_stride(a->size);
    struct zero_exponents a_zeros, b_zeros;
    find_zeros(a, plan, &a_zeros);
    find_zeros(b, plan, &b_zeros);
    for (unsigned row = 0; row < a->size; ++row)
        for (unsigned column = 0; column < stride; column += WIDTH)
            multiply_tile((struct cursor){a, b, &a_zeros, &b_zeros, row, column, 0}, plan,
                          &accumulators[row * stride + column]);
}

/* Constant plans, so that each gets a loop of its own. */
INLINE void multiply_by_plan(const struct matrix_terms *a, const struct matrix_terms *b,
                             enum matrix_summation summation, uint32_t *accumulators)
{
    if (summation == SUM_FUSED_SPLIT)
        multiply(a, b, (struct plan){8, true}, accumulators);
    else if (a->depth >= 8)
        multiply(a, b, (struct plan){8, false}, accumulators);
    else
        multiply(a, b, (struct plan){4, false}, accumulators);
}

/* ---- Loading ---- */

INLINE void load_row(struct matrix_terms *terms, const struct number_format *f, unsigned at,
                     unsigned index, const uint32_t *codes, const uint32_t *scales)
{
    ints code = load((const int32_t *)codes);
    ints sign = -(code >> (f->bits - 1) & 1);
    ints magnitude = code & ((1 << (f->bits - 1)) - 1);
    ints field = magnitude >> f->mantissa_bits;
    ints significand =
        (magnitude & ((1 << f->mantissa_bits) - 1)) | ((field > 0) & (1 << f->mantissa_bits));
    ints exponent = greater(field, splat(1)) + (f->minimum_exponent - 1);
    ints special = magnitude > (int32_t)f->largest;
    ints infinite = magnitude == (int32_t)f->infinity;
    if (f->infinity == f->nan)
        infinite = splat(0);
    if (scales) {
        ints scale = load((const int32_t *)scales);
        exponent += scale - 127;
        special |= scale == 255;
        infinite &= scale != 255;
    }
    exponent = pick(magnitude == 0, EXPONENT_ZERO + sign, exponent);
    exponent = pick(special, splat(EXPONENT_SPECIAL), exponent);
    significand = pick(special, infinite & 1, significand);
    floats value = __builtin_convertvector(negate_where(sign, significand), floats);
    memcpy(&terms->significands[at], &value, sizeof value);
    store(&terms->exponents[at], exponent);
    int32_t *greatest = &terms->greatest_exponents[index];
    store(greatest, greater(load(greatest), exponent));
}

INLINE void load_terms(struct matrix_terms *terms, enum number_format_id format, unsigned size,
                       unsigned depth, const uint32_t *codes, const uint32_t *scales)
{
    const struct number_format *f = &number_formats[format];
    unsigned stride = matrix_stride(size);
    terms->size = size;
    terms->depth = depth;
    terms->fraction_bits = f->mantissa_bits;
    for (unsigned i = 0; i < stride; ++i)
        terms->greatest_exponents[i] = NO_EXPONENT;
    for (unsigned k = 0; k < depth; ++k)
        for (unsigned index = 0; index < stride; index += WIDTH)
            load_row(terms, f, k * stride + index, index, &codes[k * stride + index],
                     scales ? &scales[k / MATRIX_SCALE_BLOCK * stride + index] : NULL);
}

/* ---- The same code for the processor at hand ----
   MATRIX_PORTABLE is for a test that compares the two. */

#if defined(__x86_64__) && !defined(MATRIX_PORTABLE)
#define FOR_AVX2 __attribute__((target("avx2")))

FOR_AVX2 static void multiply_avx2(const struct matrix_terms *a, const struct matrix_terms *b,
                                   enum matrix_summation summation, uint32_t *accumulators)
{
    multiply_by_plan(a, b, summation, accumulators);
}

FOR_AVX2 static void load_avx2(struct matrix_terms *terms, enum number_format_id format,
                               unsigned size, unsigned depth, const uint32_t *codes,
                               const uint32_t *scales)
{
    load_terms(terms, format, size, depth, codes, scales);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define multiply_avx2 multiply_by_plan
#define load_avx2     load_terms

static bool has_avx2(void)
{
    return false;
}
#endif

void matrix_load_terms(struct matrix_terms *terms, enum number_format_id format, unsigned size,
                       unsigned depth, const uint32_t *codes, const uint32_t *scales)
{
    if (has_avx2())
        load_avx2(terms, format, size, depth, codes, scales);
    else
        load_terms(terms, format, size, depth, codes, scales);
}

void matrix_multiply_terms(const struct matrix_terms *a, const struct matrix_terms *b,
                           enum matrix_summation summation, uint32_t *accumulators)
{
    if (has_avx2())
        multiply_avx2(a, b, summation, accumulators);
    else
        multiply_by_plan(a, b, summation, accumulators);
}
