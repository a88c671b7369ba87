/* Every MFMA form: operands laid into registers by formulas of this file, results read back and
   compared with a float64 dot product, and bit by bit with the summation that the documentation of
   the emulator defines, in plain C. */
#include "formats.h"
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Registers of the operands: A, B, C, scales of A and B, D. */
enum { REG_A = 8, REG_B = 16, REG_C = 64, REG_SCALE_A = 24, REG_SCALE_B = 25, REG_D = 128 };

enum { SIZE_MAX_ = 32, DEPTH_MAX = 128, BLOCKS_MAX = 16 };

enum kind { KIND_FLOAT, KIND_F32, KIND_F64, KIND_I8 };

struct form {
    const char *name;
    enum kind kind;
    unsigned size, depth, blocks;
    const struct format *a, *b; /* of KIND_FLOAT */
    bool any_format;            /* f8f6f4: formats by cbsz and blgp */
};

#define FLOAT(name, size, depth, blocks, a, b)                                                     \
    {                                                                                              \
        name, KIND_FLOAT, size, depth, blocks, &format_##a, &format_##b, false                     \
    }

static const struct form float_forms[] = {
    FLOAT("f32_32x32x16_bf16", 32, 16, 1, bf16, bf16),
    FLOAT("f32_16x16x32_bf16", 16, 32, 1, bf16, bf16),
    FLOAT("f32_32x32x8_bf16", 32, 8, 1, bf16, bf16),
    FLOAT("f32_16x16x16_bf16", 16, 16, 1, bf16, bf16),
    FLOAT("f32_32x32x4_2b_bf16", 32, 4, 2, bf16, bf16),
    FLOAT("f32_16x16x4_4b_bf16", 16, 4, 4, bf16, bf16),
    FLOAT("f32_4x4x4_16b_bf16", 4, 4, 16, bf16, bf16),
    FLOAT("f32_32x32x16_f16", 32, 16, 1, f16, f16),
    FLOAT("f32_16x16x32_f16", 16, 32, 1, f16, f16),
    FLOAT("f32_32x32x8_f16", 32, 8, 1, f16, f16),
    FLOAT("f32_16x16x16_f16", 16, 16, 1, f16, f16),
    FLOAT("f32_32x32x4_2b_f16", 32, 4, 2, f16, f16),
    FLOAT("f32_16x16x4_4b_f16", 16, 4, 4, f16, f16),
    FLOAT("f32_4x4x4_16b_f16", 4, 4, 16, f16, f16),
    FLOAT("f32_32x32x16_fp8_fp8", 32, 16, 1, fp8, fp8),
    FLOAT("f32_32x32x16_fp8_bf8", 32, 16, 1, fp8, bf8),
    FLOAT("f32_32x32x16_bf8_fp8", 32, 16, 1, bf8, fp8),
    FLOAT("f32_32x32x16_bf8_bf8", 32, 16, 1, bf8, bf8),
    FLOAT("f32_16x16x32_fp8_fp8", 16, 32, 1, fp8, fp8),
    FLOAT("f32_16x16x32_fp8_bf8", 16, 32, 1, fp8, bf8),
    FLOAT("f32_16x16x32_bf8_fp8", 16, 32, 1, bf8, fp8),
    FLOAT("f32_16x16x32_bf8_bf8", 16, 32, 1, bf8, bf8),
};
enum { FLOAT_FORM_COUNT = sizeof float_forms / sizeof float_forms[0] };

/* By the codes of cbsz and blgp. */
static const struct format *const formats_by_code[] = {&format_fp8, &format_bf8, &format_fp6,
                                                       &format_bf6, &format_fp4};

/* ---- Where elements lie ---- */

struct place {
    unsigned lane, element; /* element: in the lane's stream of elements; for C and D a register */
};

/* Row `i` of A, or column `i` of B. */
static struct place place_of_operand(const struct form *form, unsigned bits, unsigned block,
                                     unsigned i, unsigned k)
{
    if (form->any_format && bits == 8) {
        /* Two halves of k, in each 16 elements to a lane. */
        unsigned half = form->depth / 2;
        return (struct place){i + form->size * (k % half / 16), k / half * 16 + k % 16};
    }
    unsigned per_lane = form->depth * form->size * form->blocks / LANES;
    return (struct place){i + form->size * block + form->size * form->blocks * (k / per_lane),
                          k % per_lane};
}

static struct place place_of_result(const struct form *form, unsigned block, unsigned row,
                                    unsigned column)
{
    if (form->kind == KIND_F64 && form->size == 4)
        return (struct place){column + 4 * block + 16 * row, 0};
    if (form->kind == KIND_F64)
        return (struct place){column + 16 * (row % 4), row / 4};
    switch (form->size) {
    case 32:
        return (struct place){column + 32 * (row / 4 % 2), row % 4 + row / 8 * 4 + 16 * block};
    case 16:
        return (struct place){column + 16 * (row / 4), row % 4 + 4 * block};
    default:
        return (struct place){column + 4 * block, row};
    }
}

/* ---- One product ---- */

struct product {
    struct form form;
    uint64_t a[BLOCKS_MAX][SIZE_MAX_][DEPTH_MAX]; /* codes: [block][row][k] */
    uint64_t b[BLOCKS_MAX][SIZE_MAX_][DEPTH_MAX]; /* [block][column][k] */
    uint64_t c[BLOCKS_MAX][SIZE_MAX_][SIZE_MAX_]; /* [block][row][column] */
    uint64_t d[BLOCKS_MAX][SIZE_MAX_][SIZE_MAX_];
    bool scaled;
    uint8_t a_scale[SIZE_MAX_][DEPTH_MAX / 32], b_scale[SIZE_MAX_][DEPTH_MAX / 32];
    unsigned a_byte, b_byte; /* of the scale registers */
};

static struct product product; /* too large for the stack */

static unsigned code_bits(const struct form *form, const struct format *format)
{
    switch (form->kind) {
    case KIND_F64:
        return 64;
    case KIND_F32:
        return 32;
    case KIND_I8:
        return 8;
    default:
        return (unsigned)format->bits;
    }
}

static void put_element(struct wave *wave, unsigned first, struct place place, unsigned bits,
                        uint64_t code)
{
    for (unsigned done = 0; done < bits; done += 4) {
        unsigned at = place.element * bits + done, count = bits - done < 4 ? bits - done : 4;
        for (unsigned i = 0; i < count; ++i) {
            uint32_t *dword = &wave->vector[first + (at + i) / 32][place.lane];
            uint32_t bit = 1u << (at + i) % 32;
            *dword = code >> (done + i) & 1 ? *dword | bit : *dword & ~bit;
        }
    }
}

static void put_operands(struct wave *wave)
{
    const struct form *form = &product.form;
    unsigned a_bits = code_bits(form, form->a), b_bits = code_bits(form, form->b);
    unsigned c_bits = form->kind == KIND_F64 ? 64 : 32;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned i = 0; i < form->size; ++i) {
            for (unsigned k = 0; k < form->depth; ++k) {
                put_element(wave, REG_A, place_of_operand(form, a_bits, block, i, k), a_bits,
                            product.a[block][i][k]);
                put_element(wave, REG_B, place_of_operand(form, b_bits, block, i, k), b_bits,
                            product.b[block][i][k]);
            }
            for (unsigned j = 0; j < form->size; ++j)
                put_element(wave, REG_C, place_of_result(form, block, i, j), c_bits,
                            product.c[block][i][j]);
        }
}

/* Lane i + size * (k / 32); the other bytes of the register hold something else. */
static void put_scales(struct wave *wave)
{
    const struct form *form = &product.form;
    for (unsigned i = 0; i < form->size; ++i)
        for (unsigned block = 0; block < form->depth / 32; ++block) {
            unsigned lane = i + form->size * block;
            uint32_t other = (uint32_t)random_bits();
            uint32_t a_mask = 0xffu << 8 * product.a_byte, b_mask = 0xffu << 8 * product.b_byte;
            wave->vector[REG_SCALE_A][lane] =
                (other & ~a_mask) | (uint32_t)product.a_scale[i][block] << 8 * product.a_byte;
            wave->vector[REG_SCALE_B][lane] =
                (~other & ~b_mask) | (uint32_t)product.b_scale[i][block] << 8 * product.b_byte;
        }
}

static void take_results(struct wave *wave, unsigned first)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned row = 0; row < form->size; ++row)
            for (unsigned column = 0; column < form->size; ++column) {
                struct place place = place_of_result(form, block, row, column);
                unsigned width = form->kind == KIND_F64 ? 2 : 1;
                unsigned at = first + place.element * width;
                uint64_t value = wave->vector[at][place.lane];
                if (width == 2)
                    value |= (uint64_t)wave->vector[at + 1][place.lane] << 32;
                product.d[block][row][column] = value;
            }
}

static int print_range(char *text, char file, unsigned first, unsigned count)
{
    if (count == 1)
        return sprintf(text, "%c%u", file, first);
    return sprintf(text, "%c[%u:%u]", file, first, first + count - 1);
}

/* How an instruction's text may differ from the usual. */
struct spelling {
    char a_file, b_file, cd_file; /* 'v' or 'a' */
    const char *c;                /* a constant in place of the registers */
    const char *modifiers;
};
static const struct spelling usual = {'v', 'v', 'v', NULL, ""};

static unsigned operand_dwords(const struct form *form, unsigned bits)
{
    return form->depth * form->size * form->blocks * bits / LANES / 32;
}

static void print_form(char *text, const struct spelling *spelling)
{
    const struct form *form = &product.form;
    unsigned results = form->size * form->size * form->blocks / LANES;
    if (form->kind == KIND_F64)
        results *= 2;
    text += sprintf(text, "v_mfma_%s%s ", product.scaled ? "scale_" : "", form->name);
    text += print_range(text, spelling->cd_file, REG_D, results);
    text += sprintf(text, ", ");
    text +=
        print_range(text, spelling->a_file, REG_A, operand_dwords(form, code_bits(form, form->a)));
    text += sprintf(text, ", ");
    text +=
        print_range(text, spelling->b_file, REG_B, operand_dwords(form, code_bits(form, form->b)));
    text += sprintf(text, ", ");
    if (spelling->c)
        text += sprintf(text, "%s", spelling->c);
    else
        text += print_range(text, spelling->cd_file, REG_C, results);
    if (product.scaled)
        text += sprintf(text, ", v%d, v%d op_sel:[%u,%u,0] op_sel_hi:[%u,%u,0]", REG_SCALE_A,
                        REG_SCALE_B, product.a_byte & 1, product.b_byte & 1, product.a_byte >> 1,
                        product.b_byte >> 1);
    if (form->any_format)
        for (unsigned code = 0; code < 5; ++code) {
            if (code && form->a == formats_by_code[code])
                text += sprintf(text, " cbsz:%u", code);
        }
    if (form->any_format)
        for (unsigned code = 0; code < 5; ++code) {
            if (code && form->b == formats_by_code[code])
                text += sprintf(text, " blgp:%u", code);
        }
    sprintf(text, " %s", spelling->modifiers);
}

static void move_to_accumulators(struct wave *wave, unsigned first, unsigned count)
{
    memcpy(wave->vector[VECTOR_ACCUMULATOR + first], wave->vector[first],
           count * sizeof wave->vector[0]);
    memset(wave->vector[first], 0xee, count * sizeof wave->vector[0]);
}

/* Fills product.d. EXEC is not all ones: it does not matter. */
static void run_product(const struct spelling *spelling, char text[256])
{
    print_form(text, spelling);
    struct harness harness;
    harness_create(&harness, text);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    put_operands(wave);
    if (product.scaled)
        put_scales(wave);
    if (spelling->a_file == 'a')
        move_to_accumulators(wave, REG_A, 8);
    if (spelling->b_file == 'a')
        move_to_accumulators(wave, REG_B, 8);
    if (spelling->cd_file == 'a')
        move_to_accumulators(wave, REG_C, 32);
    wave->scalar[SCALAR_EXEC] = 0x12345678;
    wave->scalar[SCALAR_EXEC + 1] = 0;
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    take_results(harness_wave(&harness),
                 spelling->cd_file == 'a' ? VECTOR_ACCUMULATOR + REG_D : REG_D);
    harness_destroy(&harness);
}

/* ---- The definition of the sums ---- */

struct term {
    double value; /* exact */
    int exponent; /* sum of the factors' exponents */
};

/* Zeros and subnormal numbers have the exponent of the least normal one. */
static int exponent_of(const struct format *format, double value)
{
    int exponent;
    frexp(value, &exponent);
    int least = 1 - format->bias;
    return value == 0 || exponent - 1 < least ? least : exponent - 1;
}

static double scale_value(uint8_t code)
{
    return code == 255 ? NAN : ldexp(1, code - 127);
}

static struct term term_of(unsigned block, unsigned row, unsigned column, unsigned k)
{
    const struct form *form = &product.form;
    double a = format_value(form->a, (uint32_t)product.a[block][row][k]);
    double b = format_value(form->b, (uint32_t)product.b[block][column][k]);
    struct term term = {a * b, exponent_of(form->a, a) + exponent_of(form->b, b)};
    if (product.scaled) {
        uint8_t a_scale = product.a_scale[row][k / 32], b_scale = product.b_scale[column][k / 32];
        term.value = term.value * scale_value(a_scale) * scale_value(b_scale);
        term.exponent += a_scale - 127 + b_scale - 127;
    }
    if (term.value == 0)
        term.exponent = -126;
    if (fabs(term.value) >= 0x1p128)
        term.value = copysign(INFINITY, term.value);
    return term;
}

static double cut(double value, int exponent, int places, double (*rounding)(double))
{
    return ldexp(rounding(ldexp(value, places - exponent)), exponent - places);
}

static struct term sum_terms(const struct term *terms, unsigned count, unsigned step)
{
    struct term sum = {0, terms[0].exponent};
    for (unsigned i = 0; i < count; ++i)
        sum.exponent =
            terms[i * step].exponent > sum.exponent ? terms[i * step].exponent : sum.exponent;
    for (unsigned i = 0; i < count; ++i)
        sum.value += cut(terms[i * step].value, sum.exponent, 24, trunc);
    return sum;
}

static int greater(int x, int y)
{
    return x > y ? x : y;
}

/* An ordinary group: everything finite. */
static float add_group(float accumulator, const struct term *terms, unsigned count, bool split)
{
    struct term sum = sum_terms(terms, split ? count / 2 : count, split ? 2 : 1);
    if (split) {
        struct term odd = sum_terms(terms + 1, count / 2, 2);
        int exponent = greater(sum.exponent, odd.exponent);
        sum.value = cut(sum.value, exponent, 24, floor) + cut(odd.value, exponent, 24, floor);
        sum.exponent = exponent;
    }
    int own = exponent_of(&format_f32, accumulator);
    int exponent = greater(own, sum.exponent);
    double kept = split && own < exponent - 25 ? 0 : cut(accumulator, exponent, 24, floor);
    return (float)(cut(sum.value, exponent, 31, floor) + kept);
}

static float add_any_group(float accumulator, const struct term *terms, unsigned count, bool split)
{
    double specials = isfinite(accumulator) ? 0 : accumulator;
    bool all_negative_zero = accumulator == 0 && signbit(accumulator);
    for (unsigned i = 0; i < count; ++i) {
        if (!isfinite(terms[i].value))
            specials += terms[i].value;
        all_negative_zero = all_negative_zero && terms[i].value == 0 && signbit(terms[i].value);
    }
    if (specials != 0)
        return (float)specials;
    return all_negative_zero ? accumulator : add_group(accumulator, terms, count, split);
}

static float defined_sum(unsigned block, unsigned row, unsigned column, float c)
{
    const struct form *form = &product.form;
    struct term terms[DEPTH_MAX];
    for (unsigned k = 0; k < form->depth; ++k)
        terms[k] = term_of(block, row, column, k);
    bool split = form->a->bits <= 8;
    unsigned group = split ? 16 : form->depth < 8 ? form->depth : 8;
    for (unsigned k = 0; k < form->depth; k += group)
        c = add_any_group(c, terms + k, group, split);
    return c;
}

static float as_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static double as_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool same_f32(float x, float y)
{
    return isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0;
}

static void check_floats(const char *text)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned row = 0; row < form->size; ++row)
            for (unsigned column = 0; column < form->size; ++column) {
                float c = as_f32(product.c[block][row][column]);
                float d = as_f32(product.d[block][row][column]);
                float expected = defined_sum(block, row, column, c);
                if (!same_f32(expected, d))
                    fail_msg("%s: block %u, D[%u][%u] is %a, expected %a", text, block, row, column,
                             d, expected);
                double exact = c, magnitude = fabs(c);
                for (unsigned k = 0; k < form->depth; ++k) {
                    double term = term_of(block, row, column, k).value;
                    exact += term;
                    magnitude += fabs(term);
                }
                if (isfinite(exact) && isfinite(d) &&
                    fabs(d - exact) > magnitude * 0x1p-18 + 0x1p-140)
                    fail_msg("%s: block %u, D[%u][%u] is %a, exactly %a", text, block, row, column,
                             d, exact);
            }
}

/* ---- Values ---- */

enum values { VALUES_ORDINARY, VALUES_WILD };

/* Ordinary: magnitudes around 1, and zeros. Wild: any code at all, of a few exponents too. */
static uint64_t random_value(const struct format *format, enum values values)
{
    uint64_t random = random_bits();
    uint32_t mask = format->bits == 32 ? UINT32_MAX : (1u << format->bits) - 1;
    if (values == VALUES_WILD && random % 4 == 0)
        return random >> 20 & mask;
    if (random % 16 == 1)
        return 0;
    if (values == VALUES_WILD && random % 16 == 2)
        return format_sign_bit(format);
    if (format->bits <= 8) {
        uint32_t code = random >> 20 & mask;
        return isfinite(format_value(format, code)) ? code : 0;
    }
    double value = ldexp((double)(random >> 40) * 0x1p-24 + 0.5, (int)(random >> 8 & 7) - 4);
    return format_nearest(format, random >> 7 & 1 ? -value : value);
}

static void randomise(enum values values)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned i = 0; i < form->size; ++i) {
            for (unsigned k = 0; k < form->depth; ++k) {
                product.a[block][i][k] = random_value(form->a, values);
                product.b[block][i][k] = random_value(form->b, values);
            }
            for (unsigned j = 0; j < form->size; ++j)
                product.c[block][i][j] = random_value(&format_f32, values);
        }
    for (unsigned i = 0; i < SIZE_MAX_; ++i)
        for (unsigned block = 0; block < DEPTH_MAX / 32; ++block) {
            bool any = values == VALUES_WILD && random_bits() % 4 == 0;
            product.a_scale[i][block] = (uint8_t)(any ? random_bits() : 120 + random_bits() % 16);
            product.b_scale[i][block] = (uint8_t)(any ? random_bits() : 120 + random_bits() % 16);
        }
}

static void start_form(const struct form *form)
{
    product.form = *form;
    product.scaled = false;
    product.a_byte = product.b_byte = 0;
}

static struct form any_form(bool large, const struct format *a, const struct format *b)
{
    return (struct form){.name = large ? "f32_32x32x64_f8f6f4" : "f32_16x16x128_f8f6f4",
                         .kind = KIND_FLOAT,
                         .size = large ? 32 : 16,
                         .depth = large ? 64 : 128,
                         .blocks = 1,
                         .a = a,
                         .b = b,
                         .any_format = true};
}

/* ---- Tests ---- */

static void run_and_check_floats(const struct spelling *spelling)
{
    char text[256];
    run_product(spelling, text);
    check_floats(text);
}

static void fixed_formats(void **state)
{
    (void)state;
    for (unsigned f = 0; f < FLOAT_FORM_COUNT; ++f)
        for (int round = 0; round < 6; ++round) {
            start_form(&float_forms[f]);
            randomise(round < 2 ? VALUES_ORDINARY : VALUES_WILD);
            run_and_check_floats(&usual);
        }
}

static void free_formats_with_and_without_scales(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 5; ++a)
        for (unsigned b = 0; b < 5; ++b)
            for (int large = 0; large < 2; ++large)
                for (int scaled = 0; scaled < 2; ++scaled)
                    for (int round = 0; round < 2; ++round) {
                        struct form form = any_form(large, formats_by_code[a], formats_by_code[b]);
                        start_form(&form);
                        product.scaled = scaled;
                        product.a_byte = (unsigned)random_bits() & 3;
                        product.b_byte = (unsigned)random_bits() & 3;
                        randomise(round ? VALUES_WILD : VALUES_ORDINARY);
                        run_and_check_floats(&usual);
                    }
}

static void every_scale_byte_can_be_picked(void **state)
{
    (void)state;
    struct form form = any_form(false, &format_fp4, &format_fp8);
    for (unsigned bytes = 0; bytes < 16; ++bytes) {
        start_form(&form);
        product.scaled = true;
        product.a_byte = bytes & 3;
        product.b_byte = bytes >> 2;
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&usual);
    }
}

/* A single 1 in A and in B makes a single 1 in D: each place of a register is one element. */
static void each_place_of_a_register_is_one_element(void **state)
{
    (void)state;
    struct form form = any_form(false, &format_fp8, &format_fp4);
    for (unsigned k = 0; k < form.depth; ++k) {
        start_form(&form);
        memset(product.a, 0, sizeof product.a);
        memset(product.b, 0, sizeof product.b);
        memset(product.c, 0, sizeof product.c);
        unsigned row = k * 7 % 16, column = k * 5 % 16;
        product.a[0][row][k] = 0x38; /* 1 */
        product.b[0][column][k] = 0x2;
        char text[256];
        run_product(&usual, text);
        for (unsigned i = 0; i < 16; ++i)
            for (unsigned j = 0; j < 16; ++j)
                assert_true(as_f32(product.d[0][i][j]) == (i == row && j == column ? 1.0f : 0.0f));
    }
}

static void operands_in_accumulation_registers(void **state)
{
    (void)state;
    static const struct spelling spellings[] = {
        {'a', 'v', 'v', NULL, ""},
        {'v', 'a', 'a', NULL, ""},
        {'a', 'a', 'a', NULL, ""},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; ++i) {
        start_form(&float_forms[0]);
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&spellings[i]);
        struct form form = any_form(true, &format_fp6, &format_fp8);
        start_form(&form);
        product.scaled = true;
        randomise(VALUES_ORDINARY);
        run_and_check_floats(&spellings[i]);
    }
}

static void set_all_c(uint64_t value)
{
    for (unsigned block = 0; block < BLOCKS_MAX; ++block)
        for (unsigned i = 0; i < SIZE_MAX_; ++i)
            for (unsigned j = 0; j < SIZE_MAX_; ++j)
                product.c[block][i][j] = value;
}

static void constants_in_place_of_c(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t bits;
    } constants[] = {{"0", 0}, {"1.0", 0x3f800000}, {"-4.0", 0xc0800000}, {"1", 1}};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i) {
        start_form(&float_forms[1]);
        randomise(VALUES_ORDINARY);
        set_all_c(constants[i].bits);
        run_and_check_floats(&(struct spelling){'v', 'v', 'v', constants[i].text, ""});
    }
}

/* D over A and B: they are read before anything is written. */
static void results_may_overlap_sources(void **state)
{
    (void)state;
    start_form(&float_forms[0]);
    randomise(VALUES_ORDINARY);
    struct harness harness;
    harness_create(&harness, "v_mfma_f32_32x32x16_bf16 v[8:23], v[8:11], v[16:19], v[64:79]");
    harness_start(&harness);
    put_operands(harness_wave(&harness));
    assert_true(harness_finish(&harness));
    take_results(harness_wave(&harness), REG_A);
    harness_destroy(&harness);
    check_floats("overlapping registers");
}

/* ---- Broadcasts ---- */

static void blocks_of_a_can_be_broadcast(void **state)
{
    (void)state;
    static const char *const names[] = {"f32_32x32x4_2b_bf16", "f32_16x16x4_4b_bf16",
                                        "f32_4x4x4_16b_bf16"};
    for (unsigned f = 0; f < FLOAT_FORM_COUNT; ++f)
        for (size_t n = 0; n < 3; ++n) {
            const struct form *form = &float_forms[f];
            if (strcmp(form->name, names[n]) != 0)
                continue;
            for (unsigned cbsz = 1; 1u << cbsz <= form->blocks; ++cbsz)
                for (unsigned abid = 0; abid < 1u << cbsz; ++abid) {
                    start_form(form);
                    randomise(VALUES_ORDINARY);
                    char modifiers[64], text[256];
                    sprintf(modifiers, "cbsz:%u abid:%u", cbsz, abid);
                    run_product(&(struct spelling){'v', 'v', 'v', NULL, modifiers}, text);
                    static uint64_t own[BLOCKS_MAX][SIZE_MAX_][DEPTH_MAX];
                    memcpy(own, product.a, sizeof own);
                    for (unsigned block = 0; block < form->blocks; ++block)
                        memcpy(product.a[block], own[(block >> cbsz << cbsz) + abid],
                               sizeof own[0]);
                    check_floats(text);
                }
        }
}

/* Which lane a lane of B reads in place of its own. */
static unsigned lane_by_pattern(unsigned pattern, unsigned lane)
{
    switch (pattern) {
    case 0:
        return lane;
    case 1:
        return lane % 32;
    case 2:
        return lane % 32 + 32;
    case 3:
        return (lane + 16) % 64;
    default:
        return lane % 16 + 16 * (pattern - 4);
    }
}

static void lanes_of_b_can_be_moved(void **state)
{
    (void)state;
    const struct form form = {
        .name = "f32_32x32x1_2b_f32", .kind = KIND_F32, .size = 32, .depth = 1, .blocks = 2};
    for (unsigned pattern = 0; pattern < 8; ++pattern) {
        start_form(&form);
        for (unsigned lane = 0; lane < LANES; ++lane) {
            float one = 1, number = (float)lane;
            uint32_t bits;
            memcpy(&bits, &one, sizeof bits);
            product.a[lane / 32][lane % 32][0] = bits;
            memcpy(&bits, &number, sizeof bits);
            product.b[lane / 32][lane % 32][0] = bits;
        }
        set_all_c(0);
        char modifiers[64], text[256];
        sprintf(modifiers, "blgp:%u", pattern);
        run_product(&(struct spelling){'v', 'v', 'v', NULL, pattern ? modifiers : ""}, text);
        for (unsigned lane = 0; lane < LANES; ++lane)
            for (unsigned row = 0; row < 32; ++row)
                assert_true(as_f32(product.d[lane / 32][row][lane % 32]) ==
                            (float)lane_by_pattern(pattern, lane));
    }
}

/* ---- The other types ---- */

static void f32_is_a_chain_of_fused_multiply_adds(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"f32_32x32x2_f32", KIND_F32, 32, 2, 1, NULL, NULL, false},
        {"f32_16x16x4_f32", KIND_F32, 16, 4, 1, NULL, NULL, false},
        {"f32_32x32x1_2b_f32", KIND_F32, 32, 1, 2, NULL, NULL, false},
        {"f32_16x16x1_4b_f32", KIND_F32, 16, 1, 4, NULL, NULL, false},
        {"f32_4x4x1_16b_f32", KIND_F32, 4, 1, 16, NULL, NULL, false},
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; ++f) {
        const struct form *form = &forms[f];
        start_form(form);
        product.form.a = product.form.b = &format_f32;
        randomise(VALUES_WILD);
        char text[256];
        run_product(&usual, text);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i)
                for (unsigned j = 0; j < form->size; ++j) {
                    float sum = as_f32(product.c[block][i][j]);
                    for (unsigned k = 0; k < form->depth; ++k)
                        sum = fmaf(as_f32(product.a[block][i][k]), as_f32(product.b[block][j][k]),
                                   sum);
                    if (!same_f32(sum, as_f32(product.d[block][i][j])))
                        fail_msg("%s: D[%u][%u] is %a, expected %a", text, i, j,
                                 as_f32(product.d[block][i][j]), sum);
                }
    }
}

static void randomise_f64(void)
{
    for (unsigned block = 0; block < BLOCKS_MAX; ++block)
        for (unsigned i = 0; i < SIZE_MAX_; ++i)
            for (unsigned j = 0; j < SIZE_MAX_; ++j) {
                uint64_t *to[] = {&product.a[block][i][j], &product.b[block][i][j],
                                  &product.c[block][i][j]};
                for (int n = 0; n < 3; ++n) {
                    double value = (double)(int64_t)random_bits() * 0x1p-60;
                    memcpy(to[n], &value, sizeof value);
                }
            }
}

static void check_f64(const char *text, unsigned negated)
{
    const struct form *form = &product.form;
    for (unsigned block = 0; block < form->blocks; ++block)
        for (unsigned i = 0; i < form->size; ++i)
            for (unsigned j = 0; j < form->size; ++j) {
                double sum = as_f64(product.c[block][i][j]) * (negated & 4 ? -1 : 1);
                for (unsigned k = 0; k < form->depth; ++k)
                    sum = fma(as_f64(product.a[block][i][k]) * (negated & 1 ? -1 : 1),
                              as_f64(product.b[block][j][k]) * (negated & 2 ? -1 : 1), sum);
                if (sum != as_f64(product.d[block][i][j]))
                    fail_msg("%s: D[%u][%u] is %a, expected %a", text, i, j,
                             as_f64(product.d[block][i][j]), sum);
            }
}

static void f64_with_negations_and_constants(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"f64_16x16x4_f64", KIND_F64, 16, 4, 1, NULL, NULL, false},
        {"f64_4x4x4_4b_f64", KIND_F64, 4, 4, 4, NULL, NULL, false},
    };
    for (size_t f = 0; f < 2; ++f)
        for (unsigned negated = 0; negated < 8; ++negated) {
            start_form(&forms[f]);
            randomise_f64();
            char modifiers[64] = "", text[256];
            if (negated)
                sprintf(modifiers, "neg:[%u,%u,%u]", negated & 1, negated >> 1 & 1, negated >> 2);
            run_product(&(struct spelling){'v', 'v', 'v', NULL, modifiers}, text);
            check_f64(text, negated);
        }
    static const struct {
        const char *text;
        double value;
    } constants[] = {{"0", 0}, {"1.0", 1}, {"-0.5", -0.5}, {"0.15915494", 0.15915494309189532}};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; ++i) {
        start_form(&forms[0]);
        randomise_f64();
        uint64_t bits;
        memcpy(&bits, &constants[i].value, sizeof bits);
        set_all_c(bits);
        char text[256];
        run_product(&(struct spelling){'v', 'v', 'v', constants[i].text, ""}, text);
        check_f64(text, 0);
    }
}

static void i8_wraps_around(void **state)
{
    (void)state;
    static const struct form forms[] = {
        {"i32_32x32x32_i8", KIND_I8, 32, 32, 1, NULL, NULL, false},
        {"i32_16x16x64_i8", KIND_I8, 16, 64, 1, NULL, NULL, false},
        {"i32_32x32x16_i8", KIND_I8, 32, 16, 1, NULL, NULL, false},
        {"i32_16x16x32_i8", KIND_I8, 16, 32, 1, NULL, NULL, false},
        {"i32_32x32x4_2b_i8", KIND_I8, 32, 4, 2, NULL, NULL, false},
        {"i32_16x16x4_4b_i8", KIND_I8, 16, 4, 4, NULL, NULL, false},
        {"i32_4x4x4_16b_i8", KIND_I8, 4, 4, 16, NULL, NULL, false},
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; ++f) {
        const struct form *form = &forms[f];
        start_form(form);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i) {
                for (unsigned k = 0; k < form->depth; ++k) {
                    product.a[block][i][k] = random_bits() & 0xff;
                    product.b[block][i][k] = random_bits() & 0xff;
                }
                for (unsigned j = 0; j < form->size; ++j)
                    product.c[block][i][j] = 0x7ffff000 + (random_bits() & 0x1fff);
            }
        char text[256];
        run_product(&usual, text);
        for (unsigned block = 0; block < form->blocks; ++block)
            for (unsigned i = 0; i < form->size; ++i)
                for (unsigned j = 0; j < form->size; ++j) {
                    int64_t sum = (int64_t)product.c[block][i][j];
                    for (unsigned k = 0; k < form->depth; ++k)
                        sum += (int8_t)product.a[block][i][k] * (int8_t)product.b[block][j][k];
                    assert_int_equal((uint32_t)product.d[block][i][j], (uint32_t)sum);
                }
    }
}

static void moves_reach_accumulation_registers(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "v_accvgpr_write_b32 a0, 1.0\n"
                             "v_accvgpr_write_b32 a255, v1\n"
                             "v_accvgpr_mov_b32 a7, a255\n"
                             "v_accvgpr_read_b32 v2, a7\n");
    harness_start(&harness);
    harness_wave(&harness)->vector[1][9] = 1234;
    assert_true(harness_finish(&harness));
    struct wave *wave = harness_wave(&harness);
    assert_int_equal(wave->vector[VECTOR_ACCUMULATOR][63], 0x3f800000);
    assert_int_equal(wave->vector[VECTOR_ACCUMULATOR + 255][9], 1234);
    assert_int_equal(wave->vector[2][9], 1234);
    harness_destroy(&harness);
}

static void meaningless_modifiers_fault(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[24:27] cbsz:5",
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[24:27] blgp:7",
        "v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[16:19], v[24:27] cbsz:1",
        "v_mfma_f32_16x16x4_4b_f16 v[0:15], v[32:33], v[34:35], v[48:63] cbsz:1 abid:2",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        struct harness harness;
        harness_create(&harness, lines[i]);
        harness_start(&harness);
        assert_false(harness_finish(&harness));
        assert_non_null(strstr(harness.error.message, "cbsz"));
        harness_destroy(&harness);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_formats),
        cmocka_unit_test(free_formats_with_and_without_scales),
        cmocka_unit_test(every_scale_byte_can_be_picked),
        cmocka_unit_test(each_place_of_a_register_is_one_element),
        cmocka_unit_test(operands_in_accumulation_registers),
        cmocka_unit_test(constants_in_place_of_c),
        cmocka_unit_test(results_may_overlap_sources),
        cmocka_unit_test(blocks_of_a_can_be_broadcast),
        cmocka_unit_test(lanes_of_b_can_be_moved),
        cmocka_unit_test(f32_is_a_chain_of_fused_multiply_adds),
        cmocka_unit_test(f64_with_negations_and_constants),
        cmocka_unit_test(i8_wraps_around),
        cmocka_unit_test(moves_reach_accumulation_registers),
        cmocka_unit_test(meaningless_modifiers_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
