/* Buffer loads and stores: addresses through a descriptor, and its range check. */
#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { BYTES = 16384, LDS_BYTES = 8192, DATA = 4, DESCRIPTOR = 8, SOFFSET = 12 };

static const uint64_t SOME_LANES = UINT64_C(0x8000f0f0a5a51234);

static struct wave *start(struct harness *harness, const char *assembly, uint32_t *random)
{
    harness_create(harness, assembly);
    harness->kernel.lds_size = LDS_BYTES;
    harness_start(harness);
    fill_registers(harness_wave(harness), random);
    return harness_wave(harness);
}

static uint8_t *allocate_random(struct harness *harness, uint32_t *random)
{
    static uint8_t bytes[BYTES];
    fill_random(bytes, sizeof bytes, random);
    return harness_allocate(harness, sizeof bytes, bytes);
}

/* As compilers make it: word 3 says 32-bit unsigned integers, which untyped accesses ignore. */
static void set_descriptor(struct wave *wave, const void *base, uint32_t stride, uint32_t records)
{
    uint64_t address = (uint64_t)(uintptr_t)base;
    wave->scalar[DESCRIPTOR] = (uint32_t)address;
    wave->scalar[DESCRIPTOR + 1] = (uint32_t)(address >> 32) | stride << 16;
    wave->scalar[DESCRIPTOR + 2] = records;
    wave->scalar[DESCRIPTOR + 3] = 0x00027000;
}

static void each_load_delivers_its_bytes(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t i = 0; i < load_form_count; ++i) {
        const struct memory_form *form = &load_forms[i];
        char result[16], line[96];
        snprintf(line, sizeof line, "buffer_load_%s %s, v0, s[8:11], s12 offen offset:100\n",
                 form->vector_name, register_text(DATA, form->size, result));
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        uint8_t *bytes = allocate_random(&harness, &random);
        set_descriptor(wave, bytes, 0, BYTES);
        wave->scalar[SOFFSET] = 1000;
        set_exec(wave, SOME_LANES);
        uint32_t expected[LANES][4];
        for (size_t lane = 0; lane < LANES; ++lane) {
            wave->vector[0][lane] = next_random(&random) % (BYTES - 1116);
            for (size_t part = 0; part < 4; ++part)
                expected[lane][part] = wave->vector[DATA + part][lane];
            if (SOME_LANES >> lane & 1)
                expect_load(form, bytes + wave->vector[0][lane] + 1100, expected[lane]);
        }
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            for (size_t part = 0; part < 4; ++part)
                assert_int_equal(wave->vector[DATA + part][lane], expected[lane][part]);
        }
        harness_destroy(&harness);
    }
}

static void each_store_writes_its_bytes_and_no_others(void **state)
{
    (void)state;
    static uint8_t expected[BYTES];
    uint32_t random = 2;
    for (size_t i = 0; i < store_form_count; ++i) {
        const struct memory_form *form = &store_forms[i];
        char data[16], line[96];
        snprintf(line, sizeof line, "buffer_store_%s %s, v0, s[8:11], 0 offen offset:7\n",
                 form->vector_name, register_text(DATA, form->size, data));
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        uint8_t *bytes = allocate_random(&harness, &random);
        memcpy(expected, bytes, BYTES);
        set_descriptor(wave, bytes, 0, BYTES);
        set_exec(wave, SOME_LANES);
        for (size_t lane = 0; lane < LANES; ++lane) {
            wave->vector[0][lane] = lane * 256 + next_random(&random) % 200;
            const uint32_t values[4] = {wave->vector[DATA][lane], wave->vector[DATA + 1][lane],
                                        wave->vector[DATA + 2][lane], wave->vector[DATA + 3][lane]};
            if (SOME_LANES >> lane & 1)
                expect_store(form, values, expected + wave->vector[0][lane] + 7);
        }
        finish(&harness);
        assert_memory_equal(bytes, expected, BYTES);
        harness_destroy(&harness);
    }
}

/* Where lane `lane` reads: base + soffset + index * stride + offset + immediate. */
static void addresses_have_all_their_parts(void **state)
{
    (void)state;
    static const struct {
        const char *operands;
        size_t index, offset, soffset; /* factors of the lane's index, of the offset, of soffset */
        size_t immediate;
    } forms[] = {
        {"off, s[8:11], 0", 0, 0, 0, 0},
        {"off, s[8:11], 0 offset:60", 0, 0, 0, 60},
        {"off, s[8:11], s12 offset:60", 0, 0, 1, 60},
        {"v0, s[8:11], s12 offen", 0, 1, 1, 0},
        {"v1, s[8:11], 0 idxen", 1, 0, 0, 0},
        {"v[1:2], s[8:11], s12 idxen offen offset:8", 1, 1, 1, 8},
        {"off, s[8:11], 64", 0, 0, 0, 64}, /* an inline constant as soffset */
    };
    enum { STRIDE = 24 };
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; ++i) {
        uint32_t random = 3;
        char line[96];
        snprintf(line, sizeof line, "buffer_load_dword v4, %s\n", forms[i].operands);
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        uint8_t *bytes = allocate_random(&harness, &random);
        set_descriptor(wave, bytes, STRIDE, BYTES);
        wave->scalar[SOFFSET] = 500;
        uint32_t expected[LANES];
        for (size_t lane = 0; lane < LANES; ++lane) {
            wave->vector[0][lane] = wave->vector[2][lane] = 4 * (63 - lane);
            wave->vector[1][lane] = 2 * lane;
            memcpy(&expected[lane],
                   bytes + forms[i].index * 2 * lane * STRIDE + forms[i].offset * 4 * (63 - lane) +
                       forms[i].soffset * 500 + forms[i].immediate,
                   4);
        }
        finish(&harness);
        assert_memory_equal(wave->vector[4], expected, sizeof expected);
        harness_destroy(&harness);
    }
}

/* The dwords of one that are in range: their bytes lie before the number of records. */
static void loads_out_of_range_give_zero_dword_by_dword(void **state)
{
    (void)state;
    uint32_t random = 4;
    struct harness harness;
    struct wave *wave =
        start(&harness, "buffer_load_dwordx4 v[4:7], v0, s[8:11], s12 offen offset:16\n", &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    enum { RECORDS = 4001 };
    set_descriptor(wave, bytes, 0, RECORDS);
    wave->scalar[SOFFSET] = 32;
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = RECORDS - 48 - 24 + lane;
    /* What compilers put there to switch a lane off. */
    wave->vector[0][60] = UINT32_C(0x80000000);
    wave->vector[0][61] = UINT32_MAX;
    wave->vector[0][62] = UINT32_MAX - 47;
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane) {
        for (size_t part = 0; part < 4; ++part) {
            uint64_t at = (uint64_t)wave->vector[0][lane] + 48 + 4 * part;
            uint32_t expected = 0;
            if (at + 4 <= RECORDS)
                memcpy(&expected, bytes + at, 4);
            assert_int_equal(wave->vector[4 + part][lane], expected);
        }
    }
    harness_destroy(&harness);
}

static void stores_out_of_range_are_dropped_dword_by_dword(void **state)
{
    (void)state;
    static uint8_t expected[BYTES];
    uint32_t random = 5;
    struct harness harness;
    struct wave *wave =
        start(&harness, "buffer_store_dwordx3 v[4:6], v0, s[8:11], 0 offen\n", &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    enum { RECORDS = 32 * 12 + 8 }; /* lane 32 has two dwords in range */
    memcpy(expected, bytes, BYTES);
    set_descriptor(wave, bytes, 0, RECORDS);
    for (size_t lane = 0; lane < LANES; ++lane) {
        wave->vector[0][lane] = 12 * lane;
        for (size_t part = 0; part < 3; ++part) {
            if (12 * lane + 4 * part < RECORDS)
                memcpy(expected + 12 * lane + 4 * part, &wave->vector[4 + part][lane], 4);
        }
    }
    finish(&harness);
    assert_memory_equal(bytes, expected, BYTES);
    harness_destroy(&harness);
}

static void narrow_accesses_are_checked_whole(void **state)
{
    (void)state;
    uint32_t random = 6;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "buffer_load_ushort v4, v0, s[8:11], 0 offen\n"
                              "buffer_load_sbyte v5, v0, s[8:11], 0 offen\n"
                              "buffer_load_short_d16_hi v6, v0, s[8:11], 0 offen\n",
                              &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    set_descriptor(wave, bytes, 0, 33);
    uint32_t kept[LANES];
    memcpy(kept, wave->vector[6], sizeof kept);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = lane;
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane) {
        uint32_t word = lane + 2 <= 33 ? bytes[lane] + 256u * bytes[lane + 1] : 0;
        assert_int_equal(wave->vector[4][lane], word);
        assert_int_equal((int32_t)wave->vector[5][lane], lane < 33 ? (int8_t)bytes[lane] : 0);
        assert_int_equal(wave->vector[6][lane], (kept[lane] & 0xffff) | word << 16);
    }
    harness_destroy(&harness);
}

static void with_index_and_stride_the_records_are_strides(void **state)
{
    (void)state;
    uint32_t random = 7;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "buffer_load_dword v4, v0, s[8:11], 0 idxen offset:4\n"
                              "buffer_load_dword v5, v1, s[8:11], 0 offen\n",
                              &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    enum { STRIDE = 16, RECORDS = 40 };
    set_descriptor(wave, bytes, STRIDE, RECORDS);
    for (size_t lane = 0; lane < LANES; ++lane) {
        wave->vector[0][lane] = lane;
        wave->vector[1][lane] = lane;
    }
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane) {
        uint32_t structured = 0, raw = 0;
        if (lane < RECORDS)
            memcpy(&structured, bytes + lane * STRIDE + 4, 4);
        if (lane + 4 <= RECORDS) /* without an index they are bytes */
            memcpy(&raw, bytes + lane, 4);
        assert_int_equal(wave->vector[4][lane], structured);
        assert_int_equal(wave->vector[5][lane], raw);
    }
    harness_destroy(&harness);
}

static void what_is_in_range_must_be_in_an_allocation(void **state)
{
    (void)state;
    uint32_t random = 8;
    struct harness harness;
    struct wave *wave = start(&harness, "buffer_load_dword v4, v0, s[8:11], 0 offen\n", &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    set_descriptor(wave, bytes, 0, UINT32_MAX);
    memset(wave->vector[0], 0, sizeof wave->vector[0]);
    wave->vector[0][9] = BYTES;
    finish_with_fault(&harness, "lane 9, pc 0x0: buffer_load_dword v4, v0, s[8:11], 0 offen: 4 "
                                "bytes at ");
    assert_non_null(strstr(harness.error.message, "begin 0 bytes past the end of a 16384-byte"));
    harness_destroy(&harness);
}

static void unsupported_descriptors_are_refused(void **state)
{
    (void)state;
    uint32_t random = 9;
    struct harness harness;
    struct wave *wave = start(&harness, "buffer_load_dword v4, off, s[8:11], 0\n", &random);
    set_descriptor(wave, allocate_random(&harness, &random), 16, 16);
    wave->scalar[DESCRIPTOR + 1] |= UINT32_C(1) << 31;
    finish_with_fault(&harness, "enables swizzled addresses, which are not supported");
    harness_destroy(&harness);
    wave = start(&harness, "buffer_load_dword v4, off, s[8:11], 0\n", &random);
    set_descriptor(wave, allocate_random(&harness, &random), 16, 16);
    wave->scalar[DESCRIPTOR + 3] |= UINT32_C(1) << 23;
    finish_with_fault(&harness, "adds the lane's index, which is not supported");
    harness_destroy(&harness);
}

/* `width`: dwords of a lane. Lanes out of range bring zeros to LDS. */
static void check_load_to_lds(const char *name, size_t width)
{
    static uint8_t expected[LDS_BYTES];
    uint32_t random = 10;
    char lines[96];
    snprintf(lines, sizeof lines,
             "buffer_load_%s v0, s[8:11], s12 offen offset:8 lds\ns_waitcnt vmcnt(0)\n", name);
    struct harness harness;
    struct wave *wave = start(&harness, lines, &random);
    uint8_t *bytes = allocate_random(&harness, &random), *lds = fill_lds(&harness, &random);
    memcpy(expected, lds, LDS_BYTES);
    set_descriptor(wave, bytes, 0, 8000);
    wave->scalar[SOFFSET] = 100;
    wave->scalar[SCALAR_M0] = 2048;
    for (size_t lane = 0; lane < LANES; ++lane) {
        uint8_t *to = expected + 2048 + 8 + 4 * width * lane;
        wave->vector[0][lane] = lane % 5 == 2 ? UINT32_C(0x80000000) : 16 * (lane * 29 % 64);
        if (lane % 5 == 2)
            memset(to, 0, 4 * width);
        else
            memcpy(to, bytes + wave->vector[0][lane] + 108, 4 * width);
    }
    finish(&harness);
    assert_memory_equal(lds, expected, LDS_BYTES);
    harness_destroy(&harness);
}

static void loads_to_lds_go_to_m0_plus_lane(void **state)
{
    (void)state;
    check_load_to_lds("dword", 1);
    check_load_to_lds("dwordx3", 3);
    check_load_to_lds("dwordx4", 4);
}

static void cache_operations_are_accepted_and_counted(void **state)
{
    (void)state;
    uint32_t random = 11;
    struct harness harness;
    /* The write-back counts in vmcnt, so vmcnt(1) covers the load before it; the invalidation
       doesn't. */
    struct wave *wave = start(&harness,
                              "buffer_load_dword v4, off, s[8:11], 0\n"
                              "buffer_wbl2 sc1\n"
                              "buffer_inv sc1\n"
                              "s_waitcnt vmcnt(1)\n"
                              "v_mov_b32_e32 v5, v4\n",
                              &random);
    set_descriptor(wave, allocate_random(&harness, &random), 0, 16);
    finish(&harness);
    harness_destroy(&harness);
    wave = start(&harness,
                 "buffer_load_dword v4, off, s[8:11], 0\n"
                 "buffer_inv sc1\n"
                 "s_waitcnt vmcnt(1)\n"
                 "v_mov_b32_e32 v5, v4\n",
                 &random);
    set_descriptor(wave, allocate_random(&harness, &random), 0, 16);
    finish_with_fault(&harness, "v4 is read before s_waitcnt vmcnt covers the buffer_load_dword");
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_load_delivers_its_bytes),
        cmocka_unit_test(each_store_writes_its_bytes_and_no_others),
        cmocka_unit_test(addresses_have_all_their_parts),
        cmocka_unit_test(loads_out_of_range_give_zero_dword_by_dword),
        cmocka_unit_test(stores_out_of_range_are_dropped_dword_by_dword),
        cmocka_unit_test(narrow_accesses_are_checked_whole),
        cmocka_unit_test(with_index_and_stride_the_records_are_strides),
        cmocka_unit_test(what_is_in_range_must_be_in_an_allocation),
        cmocka_unit_test(unsupported_descriptors_are_refused),
        cmocka_unit_test(loads_to_lds_go_to_m0_plus_lane),
        cmocka_unit_test(cache_operations_are_accepted_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
