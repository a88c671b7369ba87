/* Atomics in LDS and in memory, through every kind of address, and from several threads. */
#include "lanes.h"
#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096 };

/* ---- What each operation does, by the manual's description ---- */

typedef uint64_t (*expectation)(uint64_t old, uint64_t data, uint64_t compare, unsigned bits);

static int64_t as_signed(uint64_t value, unsigned bits)
{
    return bits == 32 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static uint64_t add(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old + data;
}

static uint64_t subtract(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old - data;
}

static uint64_t subtract_from_data(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return data - old;
}

static uint64_t wrapping_increment(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old < data ? old + 1 : 0;
}

static uint64_t wrapping_decrement(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old != 0 && old <= data ? old - 1 : data;
}

static uint64_t signed_minimum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare;
    return as_signed(data, bits) < as_signed(old, bits) ? data : old;
}

static uint64_t signed_maximum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare;
    return as_signed(data, bits) > as_signed(old, bits) ? data : old;
}

static uint64_t unsigned_minimum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return data < old ? data : old;
}

static uint64_t unsigned_maximum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return data > old ? data : old;
}

static uint64_t bit_and(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old & data;
}

static uint64_t bit_or(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old | data;
}

static uint64_t bit_xor(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    return old ^ data;
}

static uint64_t exchange(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)old, (void)compare, (void)bits;
    return data;
}

static uint64_t compare_exchange(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)bits;
    return old == compare ? data : old;
}

/* Masked or: the first operand says which bits are cleared. */
static uint64_t mask_or(uint64_t old, uint64_t data, uint64_t mask, unsigned bits)
{
    (void)bits;
    return (old & ~mask) | data;
}

static uint64_t wrap(uint64_t old, uint64_t data, uint64_t limit, unsigned bits)
{
    (void)bits;
    return old >= limit ? old - limit : old + data;
}

static uint64_t float_add(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare;
    return bits == 32 ? bits32(f32(old) + f32(data)) : bits64(f64(old) + f64(data));
}

static uint64_t float_minimum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare;
    return bits == 32 ? bits32(fminf(f32(old), f32(data))) : bits64(fmin(f64(old), f64(data)));
}

static uint64_t float_maximum(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare;
    return bits == 32 ? bits32(fmaxf(f32(old), f32(data))) : bits64(fmax(f64(old), f64(data)));
}

static uint64_t float_compare(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    bool same = bits == 32 ? f32(old) == f32(compare) : f64(old) == f64(compare);
    return same ? data : old;
}

/* Rounds to bf16, nearest even, by integer arithmetic on the bits of an f32. */
static uint32_t to_bf16(float value)
{
    uint32_t bits = (uint32_t)bits32(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static uint64_t add_bf16_pair(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    uint32_t low = to_bf16(f32(old << 16) + f32(data << 16));
    uint32_t high = to_bf16(f32(old & 0xffff0000) + f32(data & 0xffff0000));
    return low | high << 16;
}

static uint64_t add_f16_pair(uint64_t old, uint64_t data, uint64_t compare, unsigned bits)
{
    (void)compare, (void)bits;
    uint32_t low = (uint32_t)bits16(f16(old) + f16(data));
    uint32_t high = (uint32_t)bits16(f16(old >> 16) + f16(data >> 16));
    return low | high << 16;
}

/* ---- The instructions ---- */

enum kind { INTEGER, FLOAT, HALVES_F16, HALVES_BF16 };

static const struct atomic_form {
    const char *vector_name; /* global_atomic_NAME, NULL if there is none */
    const char *lds_name;    /* ds_NAME_TYPE and ds_NAME_rtn_TYPE; NULL if there is none */
    const char *lds_type;
    unsigned bits;
    expectation expect;
    bool two; /* takes a second operand, "compare" */
    bool returns_only;
    enum kind kind;
} forms[] = {
    {"add", "add", "u32", 32, add, false, false, INTEGER},
    {"sub", "sub", "u32", 32, subtract, false, false, INTEGER},
    {NULL, "rsub", "u32", 32, subtract_from_data, false, false, INTEGER},
    {"inc", "inc", "u32", 32, wrapping_increment, false, false, INTEGER},
    {"dec", "dec", "u32", 32, wrapping_decrement, false, false, INTEGER},
    {"smin", "min", "i32", 32, signed_minimum, false, false, INTEGER},
    {"smax", "max", "i32", 32, signed_maximum, false, false, INTEGER},
    {"umin", "min", "u32", 32, unsigned_minimum, false, false, INTEGER},
    {"umax", "max", "u32", 32, unsigned_maximum, false, false, INTEGER},
    {"and", "and", "b32", 32, bit_and, false, false, INTEGER},
    {"or", "or", "b32", 32, bit_or, false, false, INTEGER},
    {"xor", "xor", "b32", 32, bit_xor, false, false, INTEGER},
    {"swap", "wrxchg", "b32", 32, exchange, false, true, INTEGER},
    {"cmpswap", "cmpst", "b32", 32, compare_exchange, true, false, INTEGER},
    {NULL, "mskor", "b32", 32, mask_or, true, false, INTEGER},
    {NULL, "wrap", "b32", 32, wrap, true, true, INTEGER},
    {"add_x2", "add", "u64", 64, add, false, false, INTEGER},
    {"sub_x2", "sub", "u64", 64, subtract, false, false, INTEGER},
    {NULL, "rsub", "u64", 64, subtract_from_data, false, false, INTEGER},
    {"inc_x2", "inc", "u64", 64, wrapping_increment, false, false, INTEGER},
    {"dec_x2", "dec", "u64", 64, wrapping_decrement, false, false, INTEGER},
    {"smin_x2", "min", "i64", 64, signed_minimum, false, false, INTEGER},
    {"smax_x2", "max", "i64", 64, signed_maximum, false, false, INTEGER},
    {"umin_x2", "min", "u64", 64, unsigned_minimum, false, false, INTEGER},
    {"umax_x2", "max", "u64", 64, unsigned_maximum, false, false, INTEGER},
    {"and_x2", "and", "b64", 64, bit_and, false, false, INTEGER},
    {"or_x2", "or", "b64", 64, bit_or, false, false, INTEGER},
    {"xor_x2", "xor", "b64", 64, bit_xor, false, false, INTEGER},
    {"swap_x2", "wrxchg", "b64", 64, exchange, false, true, INTEGER},
    {"cmpswap_x2", "cmpst", "b64", 64, compare_exchange, true, false, INTEGER},
    {NULL, "mskor", "b64", 64, mask_or, true, false, INTEGER},
    {"add_f32", "add", "f32", 32, float_add, false, false, FLOAT},
    {NULL, "min", "f32", 32, float_minimum, false, false, FLOAT},
    {NULL, "max", "f32", 32, float_maximum, false, false, FLOAT},
    {NULL, "cmpst", "f32", 32, float_compare, true, false, FLOAT},
    {"add_f64", "add", "f64", 64, float_add, false, false, FLOAT},
    {"min_f64", "min", "f64", 64, float_minimum, false, false, FLOAT},
    {"max_f64", "max", "f64", 64, float_maximum, false, false, FLOAT},
    {NULL, "cmpst", "f64", 64, float_compare, true, false, FLOAT},
    {"pk_add_f16", "pk_add", "f16", 32, add_f16_pair, false, false, HALVES_F16},
    {"pk_add_bf16", "pk_add", "bf16", 32, add_bf16_pair, false, false, HALVES_BF16},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* Values that make the operation interesting: small and large, negative, finite if floats. */
static uint64_t random_value(const struct atomic_form *form, uint32_t *random)
{
    uint64_t value = (uint64_t)next_random(random) << 32 | next_random(random);
    switch (form->kind) {
    case FLOAT:
        return form->bits == 32 ? bits32(ldexpf((float)(int32_t)value, -20))
                                : bits64(ldexp((double)(int64_t)value, -20));
    case HALVES_F16: /* all finite numbers but the greatest */
        return (value & 0x83ff83ff) | (value >> 36) % 30 << 10 | (value >> 50) % 30 << 26;
    case HALVES_BF16: /* exponents around 1 */
        return (value & 0x81ff81ff) | 0x3e003e00;
    case INTEGER:
        break;
    }
    if (next_random(random) >> 20 & 1)
        value %= 5;
    return form->bits == 32 ? (uint32_t)value : value;
}

static const char *range_text(unsigned first, unsigned bits, char text[16])
{
    return register_text(first, bits / 8, text);
}

enum { ADDRESS = 0, DATA = 4, RESULT = 8 };

/* One run of a form: an instruction with or without a result, and each lane's value in memory. */
struct atomic_run {
    const struct atomic_form *form;
    bool returns;
    unsigned result;  /* register that receives the old value */
    unsigned data;    /* register of the data */
    unsigned compare; /* register of the second operand */
};

static uint64_t read_value(const uint8_t *at, unsigned bits)
{
    uint64_t value = 0;
    memcpy(&value, at, bits / 8);
    return value;
}

static uint64_t read_registers(const struct wave *wave, unsigned first, unsigned lane,
                               unsigned bits)
{
    uint64_t value = wave->vector[first][lane];
    return bits == 64 ? value | (uint64_t)wave->vector[first + 1][lane] << 32 : value;
}

static void write_registers(struct wave *wave, unsigned first, unsigned lane, unsigned bits,
                            uint64_t value)
{
    wave->vector[first][lane] = (uint32_t)value;
    if (bits == 64)
        wave->vector[first + 1][lane] = (uint32_t)(value >> 32);
}

static const uint64_t SOME_LANES = UINT64_C(0xfffffffffffffffb);

/* `memory` holds a value for each lane, 8 bytes apart. */
static void check_run(struct harness *harness, const struct atomic_run *run, uint8_t *memory,
                      uint32_t *random)
{
    struct wave *wave = harness_wave(harness);
    unsigned bits = run->form->bits;
    uint64_t old[LANES], data[LANES], compare[LANES], untouched[LANES];
    set_exec(wave, SOME_LANES);
    for (size_t lane = 0; lane < LANES; ++lane) {
        old[lane] = random_value(run->form, random);
        data[lane] = random_value(run->form, random);
        compare[lane] = lane % 2 ? old[lane] : random_value(run->form, random);
        memcpy(memory + 8 * lane, &old[lane], bits / 8);
        write_registers(wave, run->data, lane, bits, data[lane]);
        if (run->form->two)
            write_registers(wave, run->compare, lane, bits, compare[lane]);
        untouched[lane] = read_registers(wave, run->result, lane, bits);
    }
    finish(harness);
    uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
    for (size_t lane = 0; lane < LANES; ++lane) {
        bool active = SOME_LANES >> lane & 1;
        uint64_t expected =
            active ? run->form->expect(old[lane], data[lane], compare[lane], bits) & mask
                   : old[lane];
        assert_int_equal(read_value(memory + 8 * lane, bits), expected);
        assert_int_equal(read_registers(wave, run->result, lane, bits),
                         run->returns && active ? old[lane] : untouched[lane]);
    }
}

static void lds_atomics_compute_and_return(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (unsigned i = 0; i < FORMS; ++i) {
        for (unsigned returns = forms[i].returns_only; returns < 2; ++returns) {
            const struct atomic_form *form = &forms[i];
            /* The second operand comes first in the text: compare, then the new value. */
            struct atomic_run run = {form, returns, RESULT, form->two ? 6 : DATA, DATA};
            char line[96], result[16], first[16], second[16];
            range_text(RESULT, form->bits, result);
            range_text(DATA, form->bits, first);
            range_text(6, form->bits, second);
            snprintf(line, sizeof line, "ds_%s%s_%s %s%sv0, %s%s%s offset:16\n", form->lds_name,
                     returns ? "_rtn" : "", form->lds_type, returns ? result : "",
                     returns ? ", " : "", first, form->two ? ", " : "", form->two ? second : "");
            struct harness harness;
            harness_create(&harness, line);
            harness.kernel.lds_size = BYTES;
            harness_start(&harness);
            struct wave *wave = harness_wave(&harness);
            fill_registers(wave, &random);
            uint8_t *lds = fill_lds(&harness, &random);
            for (size_t lane = 0; lane < LANES; ++lane)
                wave->vector[ADDRESS][lane] = 8 * lane;
            check_run(&harness, &run, lds + 16, &random);
            harness_destroy(&harness);
        }
    }
}

enum segment_text { GLOBAL, GLOBAL_BASE, FLAT, BUFFER, SEGMENTS };

/* The text of a memory atomic; the address is set up for each lane's 8 bytes. */
static void write_vector_line(char line[128], enum segment_text segment,
                              const struct atomic_form *form, bool returns)
{
    char result[16] = "", data[16];
    if (returns)
        snprintf(result, sizeof result, "%s, ", range_text(RESULT, form->bits, data));
    range_text(DATA, form->two ? 2 * form->bits : form->bits, data);
    const char *suffix = returns ? " sc0" : "";
    switch (segment) {
    case GLOBAL:
        snprintf(line, 128, "global_atomic_%s %sv[0:1], %s, off offset:-8%s\n", form->vector_name,
                 result, data, suffix);
        break;
    case GLOBAL_BASE:
        snprintf(line, 128, "global_atomic_%s %sv0, %s, s[8:9] offset:-8%s\n", form->vector_name,
                 result, data, suffix);
        break;
    case FLAT:
        snprintf(line, 128, "flat_atomic_%s %sv[0:1], %s offset:8%s\n", form->vector_name, result,
                 data, suffix);
        break;
    default:
        snprintf(line, 128, "buffer_atomic_%s %s, v0, s[12:15], 0 offen offset:8%s\n",
                 form->vector_name, data, suffix);
    }
}

static void check_vector_form(enum segment_text segment, const struct atomic_form *form,
                              bool returns, uint32_t *random)
{
    char line[128];
    write_vector_line(line, segment, form, returns);
    struct harness harness;
    harness_create(&harness, line);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    fill_registers(wave, random);
    uint8_t *memory = harness_allocate(&harness, BYTES, NULL);
    uint64_t start = (uint64_t)(uintptr_t)memory;
    int offset = segment == GLOBAL || segment == GLOBAL_BASE ? -8 : 8;
    set_scalar64(wave, 8, start - (uint64_t)(int64_t)offset);
    set_scalar64(wave, 12, start);
    wave->scalar[14] = BYTES;
    wave->scalar[15] = 0x00027000;
    for (size_t lane = 0; lane < LANES; ++lane) {
        if (segment == GLOBAL_BASE || segment == BUFFER)
            wave->vector[ADDRESS][lane] = 8 * lane;
        else
            set_vector64(wave, ADDRESS, lane, start + 8 * lane - (uint64_t)(int64_t)offset);
    }
    struct atomic_run run = {form, returns, segment == BUFFER ? DATA : RESULT, DATA,
                             DATA + form->bits / 32};
    if (segment == BUFFER && !returns)
        run.result = RESULT; /* which nothing touches */
    if (segment == BUFFER)
        memory += 8;
    /* A buffer's result replaces the data, so an inactive lane keeps those. */
    check_run(&harness, &run, memory, random);
    harness_destroy(&harness);
}

static void memory_atomics_compute_and_return(void **state)
{
    (void)state;
    uint32_t random = 2;
    for (unsigned i = 0; i < FORMS; ++i) {
        for (unsigned segment = 0; forms[i].vector_name && segment < SEGMENTS; ++segment) {
            for (unsigned returns = 0; returns < 2; ++returns)
                check_vector_form(segment, &forms[i], returns, &random);
        }
    }
}

static void float_minima_prefer_numbers_and_order_zeros(void **state)
{
    (void)state;
    static const struct {
        double old, data, least, greatest;
    } cases[] = {{NAN, 1.0, 1.0, 1.0},
                 {1.0, NAN, 1.0, 1.0},
                 {0.0, -0.0, -0.0, 0.0},
                 {-0.0, 0.0, -0.0, 0.0},
                 {-INFINITY, 3.0, -INFINITY, 3.0}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct harness harness;
        harness_create(&harness, "global_atomic_min_f64 v0, v[4:5], s[8:9]\n"
                                 "global_atomic_max_f64 v0, v[4:5], s[8:9] offset:8\n");
        harness_start(&harness);
        struct wave *wave = harness_wave(&harness);
        const double both[] = {cases[i].old, cases[i].old};
        double *memory = harness_allocate(&harness, sizeof both, both);
        set_exec(wave, 1);
        set_scalar64(wave, 8, (uint64_t)(uintptr_t)memory);
        wave->vector[0][0] = 0;
        set_vector64(wave, 4, 0, bits64(cases[i].data));
        finish(&harness);
        assert_memory_equal(&memory[0], &cases[i].least, 8);
        assert_memory_equal(&memory[1], &cases[i].greatest, 8);
        harness_destroy(&harness);
    }
}

static void f32_denormals_are_kept(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "global_atomic_add_f32 v0, v1, s[8:9]\n");
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    const uint32_t denormal = 0x00000123;
    uint32_t *memory = harness_allocate(&harness, 4, &denormal);
    set_exec(wave, 1);
    set_scalar64(wave, 8, (uint64_t)(uintptr_t)memory);
    wave->vector[0][0] = 0;
    wave->vector[1][0] = 0x00000011;
    finish(&harness);
    assert_int_equal(*memory, 0x134);
    harness_destroy(&harness);
}

static void lanes_on_one_address_all_count(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "ds_add_rtn_u32 v4, v0, v1\n");
    harness.kernel.lds_size = 64;
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    uint32_t random = 3, *lds = (uint32_t *)(void *)fill_lds(&harness, &random);
    lds[2] = 1000;
    for (size_t lane = 0; lane < LANES; ++lane) {
        wave->vector[0][lane] = 8;
        wave->vector[1][lane] = 1;
    }
    finish(&harness);
    assert_int_equal(lds[2], 1064);
    uint64_t seen = 0;
    for (size_t lane = 0; lane < LANES; ++lane)
        seen |= UINT64_C(1) << (wave->vector[4][lane] - 1000);
    assert_int_equal(seen, UINT64_MAX);
    harness_destroy(&harness);
}

static void append_and_consume_count_active_lanes(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "ds_append v4 offset:4\n"
                             "ds_consume v5 offset:8\n");
    harness.kernel.lds_size = 256;
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    uint32_t random = 4, *lds = (uint32_t *)(void *)fill_lds(&harness, &random);
    lds[33] = 100;
    lds[34] = 100;
    wave->scalar[SCALAR_M0] = 128;
    set_exec(wave, 0xff00ff);
    finish(&harness);
    assert_int_equal(lds[33], 116);
    assert_int_equal(lds[34], 84);
    assert_int_equal(wave->vector[4][0], 100);
    assert_int_equal(wave->vector[5][23], 100);
    harness_destroy(&harness);
}

static void a_pair_is_exchanged(void **state)
{
    (void)state;
    uint32_t random = 5;
    struct harness harness;
    harness_create(&harness, "ds_wrxchg2_rtn_b32 v[4:5], v0, v6, v7 offset0:1 offset1:3\n"
                             "ds_wrxchg2st64_rtn_b64 v[8:11], v0, v[12:13], v[14:15] offset1:2\n");
    harness.kernel.lds_size = 16384;
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    fill_registers(wave, &random);
    uint8_t *lds = fill_lds(&harness, &random);
    static uint8_t before[16384];
    memcpy(before, lds, sizeof before);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 16 * lane;
    set_exec(wave, 1);
    finish(&harness);
    assert_memory_equal(&wave->vector[4][0], before + 4, 4);
    assert_memory_equal(&wave->vector[5][0], before + 12, 4);
    assert_memory_equal(lds + 4 + 8, &wave->vector[7][0], 4);
    assert_memory_equal(&wave->vector[8][0], before, 4);
    assert_memory_equal(&wave->vector[9][0], &wave->vector[6][0], 4); /* just written there */
    assert_memory_equal(&wave->vector[10][0], before + 1024, 4);
    assert_memory_equal(&wave->vector[11][0], before + 1028, 4);
    assert_memory_equal(lds, &wave->vector[12][0], 4);
    assert_memory_equal(lds + 1028, &wave->vector[15][0], 4);
    harness_destroy(&harness);
}

static void buffer_atomics_out_of_range_do_nothing_and_return_zero(void **state)
{
    (void)state;
    struct harness harness;
    harness_create(&harness, "buffer_atomic_add_x2 v[4:5], v0, s[8:11], 0 offen sc0\n");
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    uint64_t *memory = harness_allocate(&harness, sizeof(uint64_t[LANES]), NULL);
    for (size_t lane = 0; lane < LANES; ++lane) {
        memory[lane] = 1000 + lane;
        wave->vector[0][lane] = 8 * lane;
        set_vector64(wave, 4, lane, 5);
    }
    set_scalar64(wave, 8, (uint64_t)(uintptr_t)memory);
    wave->scalar[10] = 8 * 32 + 4; /* half of lane 32's value: all or nothing */
    wave->scalar[11] = 0x00027000;
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane) {
        assert_int_equal(memory[lane], 1000 + lane + (lane < 32 ? 5 : 0));
        assert_int_equal(read_registers(wave, 4, lane, 64), lane < 32 ? 1000 + lane : 0);
    }
    harness_destroy(&harness);
}

static void misaligned_and_foreign_addresses_fault(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int offset;
        const char *message;
    } cases[] = {
        {"global_atomic_add v0, v4, s[8:9]\n", 2, "misaligned atomic: 4 bytes at 0x"},
        {"global_atomic_add_x2 v0, v[4:5], s[8:9]\n", 4, "misaligned atomic: 8 bytes at 0x"},
        {"global_atomic_add v0, v4, s[8:9]\n", 64, "begin 0 bytes past the end of a 64-byte"},
        {"global_atomic_add v0, v4, s[8:9]\n", -4, "begin 4 bytes before a 64-byte allocation"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct harness harness;
        harness_create(&harness, cases[i].line);
        harness_start(&harness);
        struct wave *wave = harness_wave(&harness);
        uint64_t start = (uint64_t)(uintptr_t)harness_allocate(&harness, 64, NULL);
        set_scalar64(wave, 8, start + (uint64_t)(int64_t)cases[i].offset);
        memset(wave->vector[0], 0, sizeof wave->vector[0]);
        finish_with_fault(&harness, cases[i].message);
        harness_destroy(&harness);
    }
}

/* Every lane of 64 workgroups takes a ticket, adds it to a sum, and adds 1.5 to a double. */
static void threads_lose_no_update(void **state)
{
    (void)state;
    enum { WORKGROUPS = 64, WORK_ITEMS = WORKGROUPS * 256 };
    struct harness harness;
    harness_create(&harness, "s_load_dwordx2 s[8:9], s[0:1], 0x0\n"
                             "s_load_dwordx2 s[10:11], s[0:1], 0x8\n"
                             "v_mov_b32_e32 v1, 0\n"
                             "v_mov_b32_e32 v2, 1\n"
                             "v_mov_b32_e32 v4, 0\n"
                             "v_mov_b32_e32 v5, 0x3ff80000\n"
                             "v_mov_b32_e32 v7, 0\n"
                             "s_waitcnt lgkmcnt(0)\n"
                             "global_atomic_add v6, v1, v2, s[8:9] sc0\n"
                             "global_atomic_add_f64 v1, v[4:5], s[8:9] offset:16\n"
                             "s_waitcnt vmcnt(0)\n"
                             "global_atomic_add_x2 v1, v[6:7], s[8:9] offset:8\n"
                             "v_lshlrev_b32_e32 v6, 2, v6\n"
                             "global_atomic_inc v8, v6, v2, s[10:11] sc0\n");
    struct {
        uint32_t tickets, unused;
        uint64_t sum;
        double halves;
    } totals = {0}, *shared = harness_allocate(&harness, sizeof totals, &totals);
    uint32_t *taken = harness_allocate(&harness, WORK_ITEMS * sizeof *taken, NULL);
    memset(taken, 0, WORK_ITEMS * sizeof *taken);
    harness_set_argument(&harness, 0, &shared, sizeof(void *));
    harness_set_argument(&harness, 8, &taken, sizeof taken);
    harness.dispatch.grid[0] = WORKGROUPS;
    harness.dispatch.block[0] = 256;
    harness.dispatch.threads = 4;
    if (harness_dispatch(&harness) != DSAJIT_OK)
        fail_msg("%s", harness.error.message);
    assert_int_equal(shared->tickets, WORK_ITEMS);
    assert_int_equal(shared->sum, (uint64_t)WORK_ITEMS * (WORK_ITEMS - 1) / 2);
    assert_true(shared->halves == 1.5 * WORK_ITEMS);
    for (unsigned i = 0; i < WORK_ITEMS; ++i)
        assert_int_equal(taken[i], 1); /* each ticket was given out once */
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lds_atomics_compute_and_return),
        cmocka_unit_test(memory_atomics_compute_and_return),
        cmocka_unit_test(float_minima_prefer_numbers_and_order_zeros),
        cmocka_unit_test(f32_denormals_are_kept),
        cmocka_unit_test(lanes_on_one_address_all_count),
        cmocka_unit_test(append_and_consume_count_active_lanes),
        cmocka_unit_test(a_pair_is_exchanged),
        cmocka_unit_test(buffer_atomics_out_of_range_do_nothing_and_return_zero),
        cmocka_unit_test(misaligned_and_foreign_addresses_fault),
        cmocka_unit_test(threads_lose_no_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
