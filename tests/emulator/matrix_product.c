#include "matrix_product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct product product;

const struct spelling usual = {'v', 'v', 'v', NULL, ""};

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

/* ---- Registers ---- */

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

void put_operands(struct wave *wave)
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

void take_results(struct wave *wave, unsigned first)
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

void run_product(const struct spelling *spelling, char text[256])
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

/* ---- Values ---- */

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

void randomise(enum values values)
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
    for (unsigned i = 0; i < PRODUCT_SIZE_MAX; ++i)
        for (unsigned block = 0; block < DEPTH_MAX / 32; ++block) {
            bool any = values == VALUES_WILD && random_bits() % 4 == 0;
            product.a_scale[i][block] = (uint8_t)(any ? random_bits() : 120 + random_bits() % 16);
            product.b_scale[i][block] = (uint8_t)(any ? random_bits() : 120 + random_bits() % 16);
        }
}

void set_all_c(uint64_t value)
{
    for (unsigned block = 0; block < BLOCKS_MAX; ++block)
        for (unsigned i = 0; i < PRODUCT_SIZE_MAX; ++i)
            for (unsigned j = 0; j < PRODUCT_SIZE_MAX; ++j)
                product.c[block][i][j] = value;
}

void start_form(const struct form *form)
{
    product.form = *form;
    product.scaled = false;
    product.a_byte = product.b_byte = 0;
}

float as_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

double as_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool same_f32(float x, float y)
{
    return isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0;
}
