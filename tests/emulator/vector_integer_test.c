/* Integer instructions against their definitions in plain C. */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A reference: an expression over the sources as unsigned 32-bit, signed 32-bit and so on. */
#define REFERENCE(name, expression)                                                                \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        uint32_t a = (uint32_t)s.a, b = (uint32_t)s.b, c = (uint32_t)s.c;                          \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint32_t)(expression);                                                             \
    }

/* ---- One source ---- */

static uint64_t reversed(struct lane_sources s)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        result |= (s.a >> i & 1) << (31 - i);
    return result;
}

static uint64_t first_one_from_top(struct lane_sources s)
{
    for (unsigned i = 0; i < 32; i++)
        if (s.a >> (31 - i) & 1)
            return i;
    return 0xffffffff;
}

static uint64_t first_one_from_bottom(struct lane_sources s)
{
    for (unsigned i = 0; i < 32; i++)
        if (s.a >> i & 1)
            return i;
    return 0xffffffff;
}

static uint64_t first_change_from_top(struct lane_sources s)
{
    for (unsigned i = 1; i < 32; i++)
        if ((s.a >> (31 - i) & 1) != (s.a >> 31 & 1))
            return i;
    return 0xffffffff;
}

static uint64_t bytes_of_halves(struct lane_sources s)
{
    return (uint64_t)(limit(sign(s.a, 16), 0, 255) | limit(sign(s.a >> 16, 16), 0, 255) << 8);
}

REFERENCE(complement, a ^ 0xffffffff)
/* Galois step: the bit shifted out folds back as x^7 + x^6 + x^2 + 1. */
REFERENCE(random_step, a * 2 ^ (a & 0x80000000 ? 128 + 64 + 4 + 1 : 0))
REFERENCE(same, a)

static void one_source(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_mov_b32_e32 v8, v2", same},
        {"v_not_b32_e32 v8, v2", complement},
        {"v_bfrev_b32_e32 v8, v2", reversed},
        {"v_ffbh_u32_e32 v8, v2", first_one_from_top},
        {"v_ffbl_b32_e32 v8, v2", first_one_from_bottom},
        {"v_ffbh_i32_e32 v8, v2", first_change_from_top},
        {"v_prng_b32_e32 v8, v2", random_step},
        {"v_sat_pk_u8_i16_e32 v8, v2", bytes_of_halves},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, NULL, NULL);
}

/* ---- Two sources ---- */

REFERENCE(and, a &b)
REFERENCE(or, a | b)
REFERENCE(xor, (a | b) - (a & b))
REFERENCE(xnor, ~((a | b) - (a & b)))
REFERENCE(shift_left, (uint64_t)b << a % 32)
REFERENCE(shift_right, (uint64_t)b >> a % 32)
REFERENCE(shift_right_signed, floor_shift(sign(b, 32), a % 32))
REFERENCE(add, (uint64_t)a + b)
REFERENCE(subtract, (uint64_t)a - b)
REFERENCE(subtract_from, (uint64_t)b - a)
REFERENCE(add_limited, limit((int64_t)a + b, 0, UINT32_MAX))
REFERENCE(subtract_limited, limit((int64_t)a - b, 0, UINT32_MAX))
REFERENCE(add_signed_limited, limit(sign(a, 32) + sign(b, 32), INT32_MIN, INT32_MAX))
REFERENCE(subtract_signed_limited, limit(sign(a, 32) - sign(b, 32), INT32_MIN, INT32_MAX))
REFERENCE(least_u32, b < a ? b : a)
REFERENCE(greatest_u32, b > a ? b : a)
REFERENCE(least_signed, sign(b, 32) < sign(a, 32) ? b : a)
REFERENCE(greatest_signed, sign(b, 32) > sign(a, 32) ? b : a)
REFERENCE(product, (uint64_t)a *b)
REFERENCE(product_high, (uint64_t)a *b / (UINT64_C(1) << 32))
REFERENCE(product_high_signed, floor_shift(sign(a, 32) * sign(b, 32), 32))
REFERENCE(product_24, sign(a, 24) * sign(b, 24))
REFERENCE(product_high_24, floor_shift(sign(a, 24) * sign(b, 24), 32))
REFERENCE(product_u24, (uint64_t)(a % (1 << 24)) * (b % (1 << 24)))
REFERENCE(product_high_u24, (uint64_t)(a % (1 << 24)) * (b % (1 << 24)) / (UINT64_C(1) << 32))
REFERENCE(bit_field_mask, (((UINT64_C(1) << a % 32) - 1) << b % 32))

static uint64_t count_ones(struct lane_sources s)
{
    uint32_t count = (uint32_t)s.b;
    for (unsigned i = 0; i < 32; i++)
        count += s.a >> i & 1;
    return count;
}

static void two_sources(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_and_b32_e32 v8, v2, v4", and},
        {"v_or_b32_e32 v8, v2, v4", or },
        {"v_xor_b32_e32 v8, v2, v4", xor},
        {"v_xnor_b32_e32 v8, v2, v4", xnor},
        {"v_lshlrev_b32_e32 v8, v2, v4", shift_left},
        {"v_lshrrev_b32_e32 v8, v2, v4", shift_right},
        {"v_ashrrev_i32_e32 v8, v2, v4", shift_right_signed},
        {"v_add_u32_e32 v8, v2, v4", add},
        {"v_sub_u32_e32 v8, v2, v4", subtract},
        {"v_subrev_u32_e32 v8, v2, v4", subtract_from},
        {"v_add_u32_e64 v8, v2, v4 clamp", add_limited},
        {"v_sub_u32_e64 v8, v2, v4 clamp", subtract_limited},
        {"v_add_i32 v8, v2, v4", add},
        {"v_sub_i32 v8, v2, v4", subtract},
        {"v_add_i32 v8, v2, v4 clamp", add_signed_limited},
        {"v_sub_i32 v8, v2, v4 clamp", subtract_signed_limited},
        {"v_min_u32_e32 v8, v2, v4", least_u32},
        {"v_max_u32_e32 v8, v2, v4", greatest_u32},
        {"v_min_i32_e32 v8, v2, v4", least_signed},
        {"v_max_i32_e32 v8, v2, v4", greatest_signed},
        {"v_mul_lo_u32 v8, v2, v4", product},
        {"v_mul_hi_u32 v8, v2, v4", product_high},
        {"v_mul_hi_i32 v8, v2, v4", product_high_signed},
        {"v_mul_i32_i24_e32 v8, v2, v4", product_24},
        {"v_mul_hi_i32_i24_e32 v8, v2, v4", product_high_24},
        {"v_mul_u32_u24_e32 v8, v2, v4", product_u24},
        {"v_mul_hi_u32_u24_e32 v8, v2, v4", product_high_u24},
        {"v_bcnt_u32_b32 v8, v2, v4", count_ones},
        {"v_bfm_b32 v8, v2, v4", bit_field_mask},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, NULL);
}

/* ---- Three sources ---- */

REFERENCE(field, c % 32 ? (uint64_t)a >> b % 32 & ((UINT64_C(1) << c % 32) - 1) : 0)
REFERENCE(signed_field, c % 32 ? sign((uint64_t)floor_shift(sign(a, 32), b % 32), c % 32) : 0)
REFERENCE(insert, (b & a) | (c & ~a))
REFERENCE(align_bits, ((uint64_t)a << 32 | b) >> c % 32)
REFERENCE(align_bytes, ((uint64_t)a << 32 | b) >> 8 * (c % 4))
REFERENCE(xor_add, (a ^ b) + (uint64_t)c)
REFERENCE(shift_add, ((uint64_t)a << b % 32) + c)
REFERENCE(add_shift, (uint64_t)(uint32_t)(a + b) << c % 32)
REFERENCE(add_three, (uint64_t)a + b + c)
REFERENCE(shift_or, ((uint64_t)a << b % 32) | c)
REFERENCE(and_or, (a & b) | c)
REFERENCE(or_three, a | b | c)
REFERENCE(multiply_add_24, sign(a, 24) * sign(b, 24) + sign(c, 32))
REFERENCE(multiply_add_u24, (uint64_t)(a % (1 << 24)) * (b % (1 << 24)) + c)
REFERENCE(multiply_add_24_limited,
          limit(sign(a, 24) * sign(b, 24) + sign(c, 32), INT32_MIN, INT32_MAX))
REFERENCE(multiply_add_u24_limited,
          limit((int64_t)(a % (1 << 24)) * (b % (1 << 24)) + c, 0, UINT32_MAX))
REFERENCE(multiply_add_u16, (uint64_t)(a & 0xffff) * (b & 0xffff) + c)
REFERENCE(multiply_add_i16, sign(a, 16) * sign(b, 16) + sign(c, 32))
REFERENCE(sad_u32, (uint64_t)(a > b ? a - b : b - a) + c)
REFERENCE(bytes_i8, (limit(floor_shift(sign(a, 32), c % 32), -128, 127) & 0xff) |
                        (limit(floor_shift(sign(b, 32), c % 32), -128, 127) & 0xff) << 8 |
                        (LANES_OLD & 0xffff0000))
REFERENCE(bytes_u8, limit(floor_shift(sign(a, 32), c % 32), 0, 255) |
                        limit(floor_shift(sign(b, 32), c % 32), 0, 255) << 8 |
                        (int64_t)(LANES_OLD & 0xffff0000))

/* Of three numbers in order. */
static uint64_t nth(struct lane_sources s, bool is_signed, unsigned index)
{
    int64_t x[3] = {is_signed ? sign(s.a, 32) : (int64_t)(uint32_t)s.a,
                    is_signed ? sign(s.b, 32) : (int64_t)(uint32_t)s.b,
                    is_signed ? sign(s.c, 32) : (int64_t)(uint32_t)s.c};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j + 1 < 3; j++)
            if (x[j] > x[j + 1]) {
                int64_t swap = x[j];
                x[j] = x[j + 1];
                x[j + 1] = swap;
            }
    return (uint32_t)x[index];
}
REFERENCE(first_u32, nth(s, false, 0))
REFERENCE(second_u32, nth(s, false, 1))
REFERENCE(third_u32, nth(s, false, 2))
REFERENCE(first_i32, nth(s, true, 0))
REFERENCE(second_i32, nth(s, true, 1))
REFERENCE(third_i32, nth(s, true, 2))

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static uint32_t sum_of_differences(uint64_t a, uint64_t b, unsigned bits, bool masked)
{
    uint32_t sum = 0, mask = (1u << bits) - 1;
    for (unsigned i = 0; i < 32; i += bits) {
        uint32_t x = a >> i & mask, y = b >> i & mask;
        if (!masked || y)
            sum += distance(x, y);
    }
    return sum;
}
REFERENCE(sad_u8, sum_of_differences(a, b, 8, false) + (uint64_t)c)
REFERENCE(sad_u8_limited, limit((int64_t)sum_of_differences(a, b, 8, false) + c, 0, UINT32_MAX))
REFERENCE(sad_hi_u8, ((uint64_t)sum_of_differences(a, b, 8, false) << 16) + c)
REFERENCE(sad_u16, sum_of_differences(a, b, 16, false) + (uint64_t)c)
REFERENCE(msad_u8, sum_of_differences(a, b, 8, true) + (uint64_t)c)

static uint64_t averages(struct lane_sources s)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i += 8)
        result |= ((s.a >> i & 255) + (s.b >> i & 255) + (s.c >> i & 1)) / 2 << i;
    return result;
}

static uint64_t permuted(struct lane_sources s)
{
    uint8_t bytes[14];
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = s.b >> 8 * i & 255;
        bytes[4 + i] = s.a >> 8 * i & 255;
    }
    for (unsigned i = 0; i < 4; i++)
        bytes[8 + i] = bytes[2 * i + 1] & 128 ? 255 : 0;
    bytes[12] = 0;
    bytes[13] = 255;
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned selector = s.c >> 8 * i & 255;
        result |= (uint64_t)bytes[selector < 13 ? selector : 13] << 8 * i;
    }
    return result;
}

static void three_sources(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_bfe_u32 v8, v2, v4, v6", field},
        {"v_bfe_i32 v8, v2, v4, v6", signed_field},
        {"v_bfi_b32 v8, v2, v4, v6", insert},
        {"v_alignbit_b32 v8, v2, v4, v6", align_bits},
        {"v_alignbyte_b32 v8, v2, v4, v6", align_bytes},
        {"v_xad_u32 v8, v2, v4, v6", xor_add},
        {"v_lshl_add_u32 v8, v2, v4, v6", shift_add},
        {"v_add_lshl_u32 v8, v2, v4, v6", add_shift},
        {"v_add3_u32 v8, v2, v4, v6", add_three},
        {"v_lshl_or_b32 v8, v2, v4, v6", shift_or},
        {"v_and_or_b32 v8, v2, v4, v6", and_or},
        {"v_or3_b32 v8, v2, v4, v6", or_three},
        {"v_mad_i32_i24 v8, v2, v4, v6", multiply_add_24},
        {"v_mad_u32_u24 v8, v2, v4, v6", multiply_add_u24},
        {"v_mad_i32_i24 v8, v2, v4, v6 clamp", multiply_add_24_limited},
        {"v_mad_u32_u24 v8, v2, v4, v6 clamp", multiply_add_u24_limited},
        {"v_mad_u32_u16 v8, v2, v4, v6", multiply_add_u16},
        {"v_mad_i32_i16 v8, v2, v4, v6", multiply_add_i16},
        {"v_min3_u32 v8, v2, v4, v6", first_u32},
        {"v_med3_u32 v8, v2, v4, v6", second_u32},
        {"v_max3_u32 v8, v2, v4, v6", third_u32},
        {"v_min3_i32 v8, v2, v4, v6", first_i32},
        {"v_med3_i32 v8, v2, v4, v6", second_i32},
        {"v_max3_i32 v8, v2, v4, v6", third_i32},
        {"v_sad_u8 v8, v2, v4, v6", sad_u8},
        {"v_sad_u8 v8, v2, v4, v6 clamp", sad_u8_limited},
        {"v_sad_hi_u8 v8, v2, v4, v6", sad_hi_u8},
        {"v_sad_u16 v8, v2, v4, v6", sad_u16},
        {"v_sad_u32 v8, v2, v4, v6", sad_u32},
        {"v_msad_u8 v8, v2, v4, v6", msad_u8},
        {"v_lerp_u8 v8, v2, v4, v6", averages},
        {"v_ashr_pk_i8_i32 v8, v2, v4, v6", bytes_i8},
        {"v_ashr_pk_u8_i32 v8, v2, v4, v6", bytes_u8},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, &values_i32);
}

static void permutation_selects_bytes_signs_and_constants(void **state)
{
    (void)state;
    static const uint64_t list[] = {0x03020100, 0x07060504, 0x0b0a0908, 0xff0d0c0b,
                                    0x00070f0c, 0x04050607, 0x0c0d0e0f};
    const struct lane_values selectors = {list, sizeof list / sizeof list[0]};
    lanes_check(&(struct lane_check){"v_perm_b32 v8, v2, v4, v6", RESULT_B32, permuted, &values_i32,
                                     &values_i32, &selectors, 0});
}

static uint64_t by_truth_table(struct lane_sources s)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = (unsigned)((s.a >> i & 1) * 4 + (s.b >> i & 1) * 2 + (s.c >> i & 1));
        result |= (uint64_t)(0x6c >> row & 1) << i;
    }
    return result;
}

REFERENCE(a_and_c_xor_b, (a & c) ^ b)

static void three_bit_function_follows_its_table(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_bitop3_b32 v8, v2, v4, v6 bitop3:0x6c", by_truth_table},
        {"v_bitop3_b32 v8, v2, v4, v6 bitop3:0x6c", a_and_c_xor_b},
    };
    lanes_check_rows(rows, RESULT_B32, &values_i32, &values_i32, &values_i32);
    /* The 16-bit form keeps the other half. */
    assert_int_equal(lanes_evaluate("v_bitop3_b16 v8, v2, v4, v6 bitop3:0xfe", RESULT_B32,
                                    0xffff0001, 0x1234f000, 0, 0),
                     (LANES_OLD & 0xffff0000) | 0xf001);
}

/* ---- Carry chains ---- */

REFERENCE(carry, ((uint64_t)a + b) >> 32)
REFERENCE(borrow, a < b)
REFERENCE(borrow_from, b < a)
REFERENCE(add_carry, (uint64_t)a + b + s.bit)
REFERENCE(carry_of_carry, ((uint64_t)a + b + s.bit) >> 32)
REFERENCE(subtract_borrow, (uint64_t)a - b - s.bit)
REFERENCE(borrow_of_borrow, (uint64_t)a < (uint64_t)b + s.bit)
REFERENCE(subtract_borrow_from, (uint64_t)b - a - s.bit)
REFERENCE(borrow_of_borrow_from, (uint64_t)b < (uint64_t)a + s.bit)

static void carries(void **state)
{
    (void)state;
    static const struct lane_row sums[] = {
        {"v_add_co_u32_e32 v8, vcc, v2, v4", add},
        {"v_sub_co_u32_e32 v8, vcc, v2, v4", subtract},
        {"v_subrev_co_u32_e32 v8, vcc, v2, v4", subtract_from},
        {"v_addc_co_u32_e32 v8, vcc, v2, v4, vcc", add_carry},
        {"v_subb_co_u32_e32 v8, vcc, v2, v4, vcc", subtract_borrow},
        {"v_subbrev_co_u32_e32 v8, vcc, v2, v4, vcc", subtract_borrow_from},
        {"v_addc_co_u32_e64 v8, s[12:13], v2, v4, s[10:11]", add_carry},
        {"v_add_co_u32_e64 v8, s[12:13], v2, v4 clamp", add_limited},
        {"v_sub_co_u32_e64 v8, s[12:13], v2, v4 clamp", subtract_limited},
    };
    static const struct lane_row bits[] = {
        {"v_add_co_u32_e32 v8, vcc, v2, v4", carry},
        {"v_sub_co_u32_e32 v8, vcc, v2, v4", borrow},
        {"v_subrev_co_u32_e32 v8, vcc, v2, v4", borrow_from},
        {"v_addc_co_u32_e32 v8, vcc, v2, v4, vcc", carry_of_carry},
        {"v_subb_co_u32_e32 v8, vcc, v2, v4, vcc", borrow_of_borrow},
        {"v_subbrev_co_u32_e32 v8, vcc, v2, v4, vcc", borrow_of_borrow_from},
        {"v_add_co_u32_e64 v8, s[12:13], v2, v4\ns_mov_b64 vcc, s[12:13]", carry},
    };
    lanes_check_rows(sums, RESULT_B32, &values_i32, &values_i32, NULL);
    lanes_check_rows(bits, RESULT_VCC, &values_i32, &values_i32, NULL);
}

/* ---- 64 bits ---- */

#define REFERENCE64(name, expression)                                                              \
    static uint64_t name(struct lane_sources s)                                                    \
    {                                                                                              \
        return (uint64_t)(expression);                                                             \
    }

REFERENCE64(shift_left_64, s.b << s.a % 64)
REFERENCE64(shift_right_64, s.b >> s.a % 64)
REFERENCE64(shift_right_signed_64, s.b >> 63 ? ~(~s.b >> s.a % 64) : s.b >> s.a % 64)
REFERENCE64(add_64, s.a + s.c)
REFERENCE64(add_64_of_quadruple, 4 * s.a + s.c)
REFERENCE64(multiply_add_64, (s.a & 0xffffffff) * (s.b & 0xffffffff) + s.c)
REFERENCE64(multiply_add_signed_64, (uint64_t)(sign(s.a, 32) * sign(s.b, 32)) + s.c)
__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;
REFERENCE64(multiply_add_carry, ((uint128)(s.a & 0xffffffff) * (s.b & 0xffffffff) + s.c) >> 64)
REFERENCE64(multiply_add_negative,
            (int128)(sign(s.a, 32) * sign(s.b, 32)) + (int128)(int64_t)s.c < 0)

static void wide(void **state)
{
    (void)state;
    static const struct lane_row shifts[] = {
        {"v_lshlrev_b64 v[8:9], v2, v[4:5]", shift_left_64},
        {"v_lshrrev_b64 v[8:9], v2, v[4:5]", shift_right_64},
        {"v_ashrrev_i64 v[8:9], v2, v[4:5]", shift_right_signed_64},
    };
    lanes_check_rows(shifts, RESULT_B64, &values_shift, &values_i64, NULL);
    static const struct lane_row sums[] = {
        {"v_lshl_add_u64 v[8:9], v[2:3], 0, v[6:7]", add_64},
        {"v_lshl_add_u64 v[8:9], v[2:3], 2, v[6:7]", add_64_of_quadruple},
        {"v_mad_u64_u32 v[8:9], s[12:13], v2, v4, v[6:7]", multiply_add_64},
        {"v_mad_i64_i32 v[8:9], s[12:13], v2, v4, v[6:7]", multiply_add_signed_64},
    };
    lanes_check_rows(sums, RESULT_B64, &values_i64, &values_i64, &values_i64);
    static const struct lane_row bits[] = {
        {"v_mad_u64_u32 v[8:9], vcc, v2, v4, v[6:7]", multiply_add_carry},
        {"v_mad_i64_i32 v[8:9], vcc, v2, v4, v[6:7]", multiply_add_negative},
    };
    lanes_check_rows(bits, RESULT_VCC, &values_i32, &values_i32, &values_i64);
}

static void wide_result_may_overlap_its_sources(void **state)
{
    (void)state;
    assert_int_equal(lanes_evaluate("v_lshlrev_b64 v[8:9], 1, v[2:3]\n"
                                    "v_lshlrev_b64 v[8:9], 31, v[8:9]",
                                    RESULT_B64, 0x123456789, 0, 0, 0),
                     UINT64_C(0x123456789) << 32);
    assert_int_equal(lanes_evaluate("v_mov_b64_e32 v[8:9], v[2:3]\n"
                                    "v_mad_u64_u32 v[8:9], vcc, v8, v9, v[8:9]",
                                    RESULT_B64, 0x300000005, 0, 0, 0),
                     UINT64_C(0x300000005) + 15);
}

static void negative_constants_are_sign_extended_to_64_bits(void **state)
{
    (void)state;
    assert_int_equal(lanes_evaluate("v_lshl_add_u64 v[8:9], v[2:3], 0, -1", RESULT_B64, 5, 0, 0, 0),
                     4);
}

/* ---- Four sums of absolute differences ---- */

static uint64_t quad_sums(struct lane_sources s, bool masked)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t sum = sum_of_differences(s.a >> 8 * i, s.b, 8, masked) + (s.c >> 16 * i & 0xffff);
        result |= (sum & 0xffff) << 16 * i;
    }
    return result;
}
REFERENCE64(quad_sad, quad_sums(s, false))
REFERENCE64(quad_msad, quad_sums(s, true))

static void quad_sums_of_differences(void **state)
{
    (void)state;
    static const struct lane_row rows[] = {
        {"v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]", quad_sad},
        {"v_mqsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]", quad_msad},
    };
    lanes_check_rows(rows, RESULT_B64, &values_i64, &values_i32, &values_i64);
    /* Addends in v[2:5], the sums in v[8:11]. */
    assert_int_equal(lanes_evaluate("v_mov_b32_e32 v20, v6\nv_mov_b32_e32 v21, v7\n"
                                    "v_mqsad_u32_u8 v[8:11], v[20:21], v4, v[2:5]\n"
                                    "v_add_u32_e32 v8, v8, v11",
                                    RESULT_B32, 1000, 0x02000003, UINT64_C(0x0807060504030201), 0),
                     1000 + (4 - 2) + (3 - 1) + 0 + (7 - 2) + (4 - 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_source),
        cmocka_unit_test(two_sources),
        cmocka_unit_test(three_sources),
        cmocka_unit_test(permutation_selects_bytes_signs_and_constants),
        cmocka_unit_test(three_bit_function_follows_its_table),
        cmocka_unit_test(carries),
        cmocka_unit_test(wide),
        cmocka_unit_test(wide_result_may_overlap_its_sources),
        cmocka_unit_test(negative_constants_are_sign_extended_to_64_bits),
        cmocka_unit_test(quad_sums_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
