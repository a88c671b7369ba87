/* LDS reads and writes, single and in pairs, transposing reads, and what they refuse. */
#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { LDS_BYTES = 160 * 1024 };

static const uint64_t SOME_LANES = UINT64_C(0x8000f0f0a5a51234);

/* Starts a wave that runs `assembly`, with 160 KB of LDS and random registers. */
static struct wave *start(struct harness *harness, const char *assembly, uint32_t *random)
{
    harness_create(harness, assembly);
    harness->kernel.lds_size = LDS_BYTES;
    harness_start(harness);
    struct wave *wave = harness_wave(harness);
    fill_registers(wave, random);
    return wave;
}

/* Random addresses in v0, such that `size` bytes at it plus `reach` are inside. */
static void set_addresses(struct wave *wave, unsigned alignment, unsigned reach, uint32_t *random)
{
    unsigned places = (LDS_BYTES - reach) / alignment;
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = next_random(random) % places * alignment;
}

/* Addresses that no two lanes share: a window of 2 KB for each. */
static void set_separate_addresses(struct wave *wave, unsigned alignment, uint32_t *random)
{
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = lane * 2048 + next_random(random) % 64 * (size_t)alignment;
}

static unsigned alignment_of(unsigned size)
{
    return size == 12 ? 16 : size;
}

static void each_read_delivers_its_bytes(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t i = 0; i < load_form_count; ++i) {
        const struct memory_form *form = &load_forms[i];
        unsigned offset = 5 * alignment_of(form->size);
        char result[16], line[64];
        snprintf(line, sizeof line, "ds_read_%s %s, v0 offset:%u\n", form->lds_name,
                 register_text(4, form->size, result), offset);
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        set_addresses(wave, alignment_of(form->size), offset + 16, &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        set_exec(wave, SOME_LANES);
        uint32_t expected[LANES][4];
        for (size_t lane = 0; lane < LANES; ++lane) {
            for (size_t part = 0; part < 4; ++part)
                expected[lane][part] = wave->vector[4 + part][lane];
            if (SOME_LANES >> lane & 1)
                expect_load(form, bytes + wave->vector[0][lane] + offset, expected[lane]);
        }
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            for (size_t part = 0; part < 4; ++part)
                assert_int_equal(wave->vector[4 + part][lane], expected[lane][part]);
        }
        harness_destroy(&harness);
    }
}

static void each_write_stores_its_bytes_and_no_others(void **state)
{
    (void)state;
    static uint8_t expected[LDS_BYTES];
    uint32_t random = 2;
    for (size_t i = 0; i < store_form_count; ++i) {
        const struct memory_form *form = &store_forms[i];
        unsigned offset = 3 * alignment_of(form->size);
        char data[16], line[64];
        snprintf(line, sizeof line, "ds_write_%s v0, %s offset:%u\n", form->lds_name,
                 register_text(4, form->size, data), offset);
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        set_separate_addresses(wave, alignment_of(form->size), &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        set_exec(wave, SOME_LANES);
        memcpy(expected, bytes, LDS_BYTES);
        for (size_t lane = 0; lane < LANES; ++lane) {
            const uint32_t values[4] = {wave->vector[4][lane], wave->vector[5][lane],
                                        wave->vector[6][lane], wave->vector[7][lane]};
            if (SOME_LANES >> lane & 1)
                expect_store(form, values, expected + wave->vector[0][lane] + offset);
        }
        finish(&harness);
        assert_memory_equal(bytes, expected, LDS_BYTES);
        harness_destroy(&harness);
    }
}

static const struct pair_form {
    const char *suffix;
    size_t size, unit;
} pair_forms[] = {{"2_b32", 4, 4}, {"2_b64", 8, 8}, {"2st64_b32", 4, 256}, {"2st64_b64", 8, 512}};
enum { PAIR_FORMS = sizeof pair_forms / sizeof pair_forms[0] };

static void pairs_are_read_from_two_offsets(void **state)
{
    (void)state;
    uint32_t random = 3;
    for (unsigned i = 0; i < PAIR_FORMS; ++i) {
        const struct pair_form *form = &pair_forms[i];
        char result[16], line[64];
        snprintf(line, sizeof line, "ds_read%s %s, v0 offset0:7 offset1:2\n", form->suffix,
                 register_text(4, 2 * (unsigned)form->size, result));
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        set_addresses(wave, (unsigned)form->size, 8 * (unsigned)form->unit, &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            uint32_t expected[4];
            const uint8_t *at = bytes + wave->vector[0][lane];
            memcpy(expected, at + 7 * form->unit, form->size);
            memcpy((uint8_t *)expected + form->size, at + 2 * form->unit, form->size);
            for (size_t part = 0; part < form->size / 2; ++part)
                assert_int_equal(wave->vector[4 + part][lane], expected[part]);
        }
        harness_destroy(&harness);
    }
}

static void pairs_are_written_to_two_offsets(void **state)
{
    (void)state;
    static uint8_t expected[LDS_BYTES];
    uint32_t random = 4;
    for (unsigned i = 0; i < PAIR_FORMS; ++i) {
        const struct pair_form *form = &pair_forms[i];
        char first[16], second[16], line[64];
        snprintf(line, sizeof line, "ds_write%s v0, %s, %s offset1:3\n", form->suffix,
                 register_text(4, (unsigned)form->size, first),
                 register_text(8, (unsigned)form->size, second));
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        set_separate_addresses(wave, 4 * (unsigned)form->size, &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        memcpy(expected, bytes, LDS_BYTES);
        for (size_t lane = 0; lane < LANES; ++lane) {
            uint8_t *at = expected + wave->vector[0][lane];
            for (size_t part = 0; part < form->size / 4; ++part) {
                memcpy(at + 4 * part, &wave->vector[4 + part][lane], 4);
                memcpy(at + 3 * form->unit + 4 * part, &wave->vector[8 + part][lane], 4);
            }
        }
        finish(&harness);
        assert_memory_equal(bytes, expected, LDS_BYTES);
        harness_destroy(&harness);
    }
}

static void a_read_may_overwrite_its_own_address(void **state)
{
    (void)state;
    static const char *const lines[] = {"ds_read2_b32 v[0:1], v0 offset1:1\n",
                                        "ds_read_b64 v[0:1], v0\n"};
    uint32_t random = 5;
    for (unsigned i = 0; i < 2; ++i) {
        struct harness harness;
        struct wave *wave = start(&harness, lines[i], &random);
        set_addresses(wave, 8, 16, &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        uint32_t addresses[LANES];
        memcpy(addresses, wave->vector[0], sizeof addresses);
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            assert_memory_equal(&wave->vector[0][lane], bytes + addresses[lane], 4);
            assert_memory_equal(&wave->vector[1][lane], bytes + addresses[lane] + 4, 4);
        }
        harness_destroy(&harness);
    }
}

/* What LLVM makes of all[127 - t]: -4 * t and offset:508. */
static void a_negative_address_and_an_offset_meet_in_lds(void **state)
{
    (void)state;
    uint32_t random = 16;
    struct harness harness;
    struct wave *wave = start(&harness, "ds_read_b32 v4, v0 offset:508\n", &random);
    const uint8_t *bytes = fill_lds(&harness, &random);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = (uint32_t)(-4 * (int32_t)lane);
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane)
        assert_memory_equal(&wave->vector[4][lane], bytes + 508 - 4 * lane, 4);
    harness_destroy(&harness);
}

static void addresses_by_lane_come_from_m0(void **state)
{
    (void)state;
    uint32_t random = 6;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "ds_write_addtid_b32 v3 offset:8\n"
                              "ds_read_addtid_b32 v4 offset:12\n",
                              &random);
    const uint8_t *bytes = fill_lds(&harness, &random);
    wave->scalar[SCALAR_M0] = 70000;
    uint32_t after_last;
    memcpy(&after_last, bytes + 70008 + 256, 4);
    finish(&harness);
    assert_memory_equal(bytes + 70008, wave->vector[3], 256);
    for (size_t lane = 0; lane < LANES; ++lane)
        assert_int_equal(wave->vector[4][lane], lane < 63 ? wave->vector[3][lane + 1] : after_last);
    harness_destroy(&harness);
}

/* Bit `index` of a lane's `size` bytes. */
static unsigned bit_at(const uint8_t *bytes, unsigned index)
{
    return bytes[index / 8] >> index % 8 & 1;
}

static void transposing_reads_give_each_lane_a_column(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bits, size, lanes_per_row;
    } forms[] = {{"b64_tr_b16", 16, 8, 4},
                 {"b64_tr_b8", 8, 8, 2},
                 {"b64_tr_b4", 4, 8, 1},
                 {"b96_tr_b6", 6, 12, 1}};
    uint32_t random = 7;
    for (unsigned i = 0; i < 4; ++i) {
        unsigned bits = forms[i].bits, rows = forms[i].size * 8 / bits;
        unsigned piece = 16 / forms[i].lanes_per_row; /* columns that one lane reads */
        char result[16], line[64];
        snprintf(line, sizeof line, "ds_read_%s %s, v0 offset:32\n", forms[i].name,
                 register_text(4, forms[i].size, result));
        struct harness harness;
        struct wave *wave = start(&harness, line, &random);
        set_addresses(wave, alignment_of(forms[i].size), 64, &random);
        const uint8_t *bytes = fill_lds(&harness, &random);
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            unsigned group = lane / 16 * 16, column = lane % 16;
            uint8_t expected[12] = {0}, actual[12];
            for (size_t row = 0; row < rows; ++row) {
                unsigned source = group + row * forms[i].lanes_per_row + column / piece;
                const uint8_t *at = bytes + wave->vector[0][source] + 32;
                for (unsigned bit = 0; bit < bits; ++bit) {
                    unsigned to = row * bits + bit;
                    unsigned set = bit_at(at, column % piece * bits + bit);
                    expected[to / 8] = (uint8_t)(expected[to / 8] | set << to % 8);
                }
            }
            for (size_t part = 0; part < forms[i].size / 4; ++part)
                memcpy(actual + 4 * part, &wave->vector[4 + part][lane], 4);
            assert_memory_equal(actual, expected, forms[i].size);
        }
        harness_destroy(&harness);
    }
}

static void transposing_reads_want_every_lane(void **state)
{
    (void)state;
    uint32_t random = 8;
    struct harness harness;
    struct wave *wave = start(&harness, "ds_read_b64_tr_b8 v[4:5], v0\n", &random);
    set_addresses(wave, 8, 8, &random);
    fill_lds(&harness, &random);
    set_exec(wave, UINT64_MAX >> 1);
    finish_with_fault(&harness, "needs all lanes, EXEC is 0x7fffffffffffffff");
    harness_destroy(&harness);
}

static void inactive_lanes_access_nothing(void **state)
{
    (void)state;
    uint32_t random = 9;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "ds_read_b128 v[4:7], v0\n"
                              "ds_write_b128 v0, v[8:11]\n"
                              "ds_add_u32 v0, v8\n",
                              &random);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = UINT32_MAX;
    set_exec(wave, 0);
    finish(&harness);
    harness_destroy(&harness);
}

static void misaligned_accesses_fault(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint32_t address;
        const char *message;
    } cases[] = {
        {"ds_read_u16 v4, v0", 1, "misaligned LDS access: 2 bytes at 0x1 want an alignment of 2"},
        {"ds_read_b32 v4, v0 offset:4", 6, "4 bytes at 0xa want an alignment of 4"},
        {"ds_read_b64 v[4:5], v0", 4, "8 bytes at 0x4 want an alignment of 8"},
        {"ds_read_b96 v[4:6], v0", 8, "12 bytes at 0x8 want an alignment of 16"},
        {"ds_read_b128 v[4:7], v0", 24, "16 bytes at 0x18 want an alignment of 16"},
        {"ds_read2_b32 v[4:5], v0", 2, "4 bytes at 0x2 want an alignment of 4"},
        {"ds_read2_b64 v[4:7], v0 offset1:1", 4, "8 bytes at 0x4 want an alignment of 8"},
        {"ds_read_b64_tr_b16 v[4:5], v0", 4, "8 bytes at 0x4 want an alignment of 8"},
        {"ds_read_b96_tr_b6 v[4:6], v0", 8, "12 bytes at 0x8 want an alignment of 16"},
        {"ds_write_b128 v0, v[4:7]", 8, "16 bytes at 0x8 want an alignment of 16"},
        {"ds_add_u64 v0, v[4:5]", 4, "8 bytes at 0x4 want an alignment of 8"},
    };
    uint32_t random = 10;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct harness harness;
        struct wave *wave = start(&harness, cases[i].line, &random);
        memset(wave->vector[0], 0, sizeof wave->vector[0]);
        fill_lds(&harness, &random);
        wave->vector[0][37] = cases[i].address;
        finish_with_fault(&harness, cases[i].message);
        assert_non_null(strstr(harness.error.message, "lane 37"));
        harness_destroy(&harness);
    }
}

static void accesses_outside_the_workgroup_fault(void **state)
{
    (void)state;
    static const struct {
        uint32_t address;
        const char *message;
    } cases[] = {
        {LDS_BYTES - 4, "8 bytes at LDS address 0x28000 are outside the workgroup's 163840 bytes"},
        {UINT32_MAX - 11,
         "8 bytes at LDS address 0xfffffff8 are outside the workgroup's 163840 bytes"},
    };
    uint32_t random = 11;
    for (unsigned i = 0; i < 2; ++i) {
        struct harness harness;
        struct wave *wave = start(&harness, "ds_read_b64 v[4:5], v0 offset:4\n", &random);
        fill_lds(&harness, &random);
        memset(wave->vector[0], 0, sizeof wave->vector[0]);
        for (size_t lane = 0; lane < LANES; ++lane)
            wave->vector[0][lane] = 4;
        wave->vector[0][1] = cases[i].address;
        finish_with_fault(&harness, cases[i].message);
        harness_destroy(&harness);
    }
}

static void reading_what_nobody_wrote_faults(void **state)
{
    (void)state;
    uint32_t random = 12;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "ds_write_b64 v0, v[4:5]\n"
                              "ds_read_b64 v[6:7], v0\n"
                              "ds_read_b128 v[8:11], v0\n",
                              &random);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 16 * lane;
    finish_with_fault(&harness, "ds_read_b128 v[8:11], v0: LDS byte 0x8 is read, but nothing was "
                                "written there in this workgroup");
    harness_destroy(&harness);
}

/* Two waves that write and read the same bytes, the barrier between them there or missing. */
static void a_missing_barrier_is_a_race(void **state)
{
    (void)state;
    static const char write_then_read[] = "ds_write_b32 v0, v1\n"
                                          "s_waitcnt lgkmcnt(0)\n"
                                          "s_barrier\n"
                                          "ds_read_b32 v2, v3\n";
    static const char missing[] = "ds_write_b32 v0, v1\n"
                                  "s_waitcnt lgkmcnt(0)\n"
                                  "ds_read_b32 v2, v3\n";
    uint32_t random = 15;
    for (unsigned with = 0; with < 2; ++with) {
        struct harness harness;
        harness_create(&harness, with ? write_then_read : missing);
        harness.kernel.lds_size = 512;
        harness.dispatch.block[0] = 128;
        harness_start(&harness);
        fill_lds(&harness, &random);
        for (size_t w = 0; w < 2; ++w) {
            struct wave *wave = &harness.workgroup.waves[w];
            for (size_t lane = 0; lane < LANES; ++lane) {
                wave->vector[0][lane] = 4 * (64 * w + lane);
                wave->vector[1][lane] = 1000 * w + lane;
                wave->vector[3][lane] = 4 * (64 * (1 - w) + lane);
            }
        }
        if (with) {
            finish(&harness);
            for (size_t w = 0; w < 2; ++w)
                assert_int_equal(harness.workgroup.waves[w].vector[2][5], 1000 * (1 - w) + 5);
        } else {
            finish_with_fault(&harness,
                              "LDS race at 0x100: wave 1 writes what wave 0 read since the "
                              "last barrier");
        }
        harness_destroy(&harness);
    }
}

static void a_result_must_be_waited_for(void **state)
{
    (void)state;
    uint32_t random = 13;
    struct harness harness;
    start(&harness, "ds_read_b64 v[4:5], v0\nv_mov_b32_e32 v6, v5\n", &random);
    memset(harness_wave(&harness)->vector[0], 0, sizeof(uint32_t[LANES]));
    fill_lds(&harness, &random);
    finish_with_fault(&harness, "v5 is read before s_waitcnt lgkmcnt covers the ds_read_b64");
    harness_destroy(&harness);

    struct wave *wave = start(&harness,
                              "ds_read_b64 v[4:5], v0\n"
                              "ds_read_b32 v7, v0 offset:4\n"
                              "s_waitcnt lgkmcnt(1)\n"
                              "v_mov_b32_e32 v6, v5\n",
                              &random);
    memset(wave->vector[0], 0, sizeof wave->vector[0]);
    fill_lds(&harness, &random);
    finish(&harness);
    assert_int_equal(wave->vector[6][63], wave->vector[7][63]);
    harness_destroy(&harness);
}

static void global_data_share_is_refused(void **state)
{
    (void)state;
    uint32_t random = 14;
    struct harness harness;
    start(&harness, "ds_read_b32 v4, v0 gds\n", &random);
    finish_with_fault(&harness, "global data share is not supported");
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_delivers_its_bytes),
        cmocka_unit_test(each_write_stores_its_bytes_and_no_others),
        cmocka_unit_test(pairs_are_read_from_two_offsets),
        cmocka_unit_test(pairs_are_written_to_two_offsets),
        cmocka_unit_test(a_read_may_overwrite_its_own_address),
        cmocka_unit_test(a_negative_address_and_an_offset_meet_in_lds),
        cmocka_unit_test(addresses_by_lane_come_from_m0),
        cmocka_unit_test(transposing_reads_give_each_lane_a_column),
        cmocka_unit_test(transposing_reads_want_every_lane),
        cmocka_unit_test(inactive_lanes_access_nothing),
        cmocka_unit_test(misaligned_accesses_fault),
        cmocka_unit_test(accesses_outside_the_workgroup_fault),
        cmocka_unit_test(reading_what_nobody_wrote_faults),
        cmocka_unit_test(a_missing_barrier_is_a_race),
        cmocka_unit_test(a_result_must_be_waited_for),
        cmocka_unit_test(global_data_share_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
