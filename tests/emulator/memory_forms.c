#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

const struct memory_form load_forms[] = {
    {"ubyte", "u8", 1, false, false, false},
    {"sbyte", "i8", 1, true, false, false},
    {"ushort", "u16", 2, false, false, false},
    {"sshort", "i16", 2, true, false, false},
    {"dword", "b32", 4, false, false, false},
    {"dwordx2", "b64", 8, false, false, false},
    {"dwordx3", "b96", 12, false, false, false},
    {"dwordx4", "b128", 16, false, false, false},
    {"ubyte_d16", "u8_d16", 1, false, true, false},
    {"ubyte_d16_hi", "u8_d16_hi", 1, false, true, true},
    {"sbyte_d16", "i8_d16", 1, true, true, false},
    {"sbyte_d16_hi", "i8_d16_hi", 1, true, true, true},
    {"short_d16", "u16_d16", 2, false, true, false},
    {"short_d16_hi", "u16_d16_hi", 2, false, true, true},
};
const size_t load_form_count = sizeof load_forms / sizeof load_forms[0];

const struct memory_form store_forms[] = {
    {"byte", "b8", 1, false, false, false},
    {"byte_d16_hi", "b8_d16_hi", 1, false, true, true},
    {"short", "b16", 2, false, false, false},
    {"short_d16_hi", "b16_d16_hi", 2, false, true, true},
    {"dword", "b32", 4, false, false, false},
    {"dwordx2", "b64", 8, false, false, false},
    {"dwordx3", "b96", 12, false, false, false},
    {"dwordx4", "b128", 16, false, false, false},
};
const size_t store_form_count = sizeof store_forms / sizeof store_forms[0];

const char *register_text(unsigned first, unsigned size, char text[16])
{
    if (size <= 4)
        snprintf(text, 16, "v%u", first);
    else
        snprintf(text, 16, "v[%u:%u]", first, first + size / 4 - 1);
    return text;
}

static int32_t narrow(const struct memory_form *form, const uint8_t *bytes)
{
    if (form->size == 1)
        return form->sign_extend ? (int8_t)bytes[0] : bytes[0];
    int32_t value = bytes[0] + 256 * bytes[1];
    return form->sign_extend && value >= 32768 ? value - 65536 : value;
}

void expect_load(const struct memory_form *form, const uint8_t *bytes, uint32_t values[4])
{
    if (form->half) {
        uint16_t halves[2] = {values[0] & 0xffff, values[0] >> 16};
        halves[form->high] = (uint16_t)narrow(form, bytes);
        values[0] = halves[0] + 65536u * halves[1];
    } else if (form->size < 4) {
        values[0] = (uint32_t)narrow(form, bytes);
    } else {
        memcpy(values, bytes, form->size);
    }
}

void expect_store(const struct memory_form *form, const uint32_t values[4], uint8_t *bytes)
{
    memcpy(bytes, (const uint8_t *)values + (form->high ? 2 : 0), form->size);
}

uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 7 ^ *state << 13;
}

void fill_random(void *data, size_t size, uint32_t *state)
{
    uint8_t *bytes = data;
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (uint8_t)(next_random(state) >> 8);
}

void fill_registers(struct wave *wave, uint32_t *state)
{
    fill_random(wave->vector, 16 * sizeof wave->vector[0], state);
}

void set_exec(struct wave *wave, uint64_t exec)
{
    set_scalar64(wave, SCALAR_EXEC, exec);
}

void set_scalar64(struct wave *wave, unsigned first, uint64_t value)
{
    wave->scalar[first] = (uint32_t)value;
    wave->scalar[first + 1] = (uint32_t)(value >> 32);
}

void set_vector64(struct wave *wave, unsigned first, unsigned lane, uint64_t value)
{
    wave->vector[first][lane] = (uint32_t)value;
    wave->vector[first + 1][lane] = (uint32_t)(value >> 32);
}

uint8_t *fill_lds(struct harness *harness, uint32_t *state)
{
    char why[MEMORY_WHY_SIZE];
    struct lds *lds = harness->workgroup.lds;
    assert_true(lds_check(lds, 0, 0, lds_size(lds), LDS_WRITE, why));
    fill_random(lds_bytes(lds), lds_size(lds), state);
    lds_barrier(lds);
    return lds_bytes(lds);
}

void finish(struct harness *harness)
{
    if (!harness_finish(harness))
        fail_msg("%s", harness->error.message);
}

void finish_with_fault(struct harness *harness, const char *text)
{
    assert_false(harness_finish(harness));
    if (!strstr(harness->error.message, text))
        fail_msg("expected \"%s\" in: %s", text, harness->error.message);
}
