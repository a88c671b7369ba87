/* Global, flat and scratch loads and stores, and loads to LDS. */
#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { BYTES = 16384, LDS_BYTES = 96 * 1024, SCRATCH_BYTES = 256, DATA = 4 };

static const uint64_t SOME_LANES = UINT64_C(0x8000f0f0a5a51234);

static struct wave *start(struct harness *harness, const char *assembly, uint32_t *random)
{
    harness_create(harness, assembly);
    harness->kernel.lds_size = LDS_BYTES;
    harness->kernel.scratch_size = SCRATCH_BYTES;
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

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* How an address is written, and how a test sets it up: each lane's place in its own 256 bytes of a
   segment, which begins at `bytes`. */
struct address_form {
    const char *prefix;  /* of the mnemonic */
    const char *address; /* operands in vector and scalar registers; the latter may be "" */
    const char *base;
    int offset;
    void (*set)(struct wave *wave, unsigned lane, uint8_t *bytes, uint32_t place);
};

static void set_full_address(struct wave *wave, unsigned lane, uint8_t *bytes, uint32_t place)
{
    set_vector64(wave, 0, lane, address_of(bytes) + place);
}

static void set_offset_to_base(struct wave *wave, unsigned lane, uint8_t *bytes, uint32_t place)
{
    /* The base lies 2 GB before: the offset is unsigned. */
    set_scalar64(wave, 8, address_of(bytes) - UINT32_C(0x80000000));
    wave->vector[0][lane] = place + UINT32_C(0x80000000);
}

static const struct address_form global_forms[] = {
    {"global", "v[0:1]", ", off", 0, set_full_address},
    {"global", "v[0:1]", ", off", 37, set_full_address},
    {"global", "v[0:1]", ", off", -41, set_full_address},
    {"global", "v0", ", s[8:9]", 4095, set_offset_to_base},
    {"global", "v0", ", s[8:9]", -4096, set_offset_to_base},
    {"flat", "v[0:1]", "", 21, set_full_address},
};
enum { GLOBAL_FORMS = sizeof global_forms / sizeof global_forms[0] };

/* In the lane's own 256 bytes, at any alignment. */
static uint32_t place_of(unsigned lane, uint32_t *random)
{
    return lane * 256 + next_random(random) % 240;
}

static void check_load(const struct memory_form *form, const struct address_form *address,
                       uint32_t *random)
{
    char result[16], line[96];
    snprintf(line, sizeof line, "%s_load_%s %s, %s%s offset:%d\n", address->prefix,
             form->vector_name, register_text(DATA, form->size, result), address->address,
             address->base, address->offset);
    struct harness harness;
    struct wave *wave = start(&harness, line, random);
    uint8_t *bytes = allocate_random(&harness, random);
    set_exec(wave, SOME_LANES);
    uint32_t expected[LANES][4];
    for (size_t lane = 0; lane < LANES; ++lane) {
        uint32_t place = place_of(lane, random);
        address->set(wave, lane, bytes - address->offset, place);
        for (size_t part = 0; part < 4; ++part)
            expected[lane][part] = wave->vector[DATA + part][lane];
        if (SOME_LANES >> lane & 1)
            expect_load(form, bytes + place, expected[lane]);
    }
    finish(&harness);
    for (size_t lane = 0; lane < LANES; ++lane) {
        for (size_t part = 0; part < 4; ++part)
            assert_int_equal(wave->vector[DATA + part][lane], expected[lane][part]);
    }
    harness_destroy(&harness);
}

static void each_load_delivers_its_bytes(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t i = 0; i < load_form_count; ++i) {
        for (unsigned j = 0; j < GLOBAL_FORMS; ++j)
            check_load(&load_forms[i], &global_forms[j], &random);
    }
}

static void check_store(const struct memory_form *form, const struct address_form *address,
                        uint32_t *random)
{
    static uint8_t expected[BYTES];
    char data[16], line[96];
    snprintf(line, sizeof line, "%s_store_%s %s, %s%s offset:%d\n", address->prefix,
             form->vector_name, address->address, register_text(DATA, form->size, data),
             address->base, address->offset);
    struct harness harness;
    struct wave *wave = start(&harness, line, random);
    uint8_t *bytes = allocate_random(&harness, random);
    memcpy(expected, bytes, BYTES);
    set_exec(wave, SOME_LANES);
    for (size_t lane = 0; lane < LANES; ++lane) {
        uint32_t place = place_of(lane, random);
        address->set(wave, lane, bytes - address->offset, place);
        const uint32_t values[4] = {wave->vector[DATA][lane], wave->vector[DATA + 1][lane],
                                    wave->vector[DATA + 2][lane], wave->vector[DATA + 3][lane]};
        if (SOME_LANES >> lane & 1)
            expect_store(form, values, expected + place);
    }
    finish(&harness);
    assert_memory_equal(bytes, expected, BYTES);
    harness_destroy(&harness);
}

static void each_store_writes_its_bytes_and_no_others(void **state)
{
    (void)state;
    uint32_t random = 2;
    for (size_t i = 0; i < store_form_count; ++i) {
        for (unsigned j = 0; j < GLOBAL_FORMS; ++j)
            check_store(&store_forms[i], &global_forms[j], &random);
    }
}

static void accumulation_registers_load_and_store(void **state)
{
    (void)state;
    uint32_t random = 3;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "global_load_dwordx4 a[4:7], v[0:1], off\n"
                              "s_waitcnt vmcnt(0)\n"
                              "global_store_dwordx4 v[2:3], a[4:7], off\n",
                              &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    for (size_t lane = 0; lane < LANES; ++lane) {
        set_vector64(wave, 0, lane, address_of(bytes) + 16 * lane);
        set_vector64(wave, 2, lane, address_of(bytes) + 8192 + 16 * lane);
    }
    finish(&harness);
    assert_memory_equal(bytes, bytes + 8192, sizeof(uint32_t[4][LANES]));
    assert_memory_equal(&wave->vector[VECTOR_ACCUMULATOR + 5][7], bytes + 116, 4);
    harness_destroy(&harness);
}

static void faults_name_lane_address_and_neighbour(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int past; /* where the last byte lies, from the end of the allocation */
        const char *message;
    } cases[] = {
        {"global_load_dwordx4 v[4:7], v[0:1], off", 4, "end 4 bytes past a 16384-byte allocation"},
        {"global_load_ubyte v4, v[0:1], off", 1, "begin 0 bytes past the end of a 16384-byte"},
        {"global_store_dword v[0:1], v4, off", 1, "end 1 bytes past a 16384-byte allocation"},
        {"flat_load_dwordx2 v[4:5], v[0:1]", 8, "begin 0 bytes past the end of a 16384-byte"},
        {"global_load_dword v4, v[0:1], off", -BYTES, "begin 4 bytes before a 16384-byte"},
    };
    static const unsigned sizes[] = {16, 1, 4, 8, 4};
    uint32_t random = 4;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct harness harness;
        struct wave *wave = start(&harness, cases[i].line, &random);
        uint8_t *bytes = allocate_random(&harness, &random);
        for (size_t lane = 0; lane < LANES; ++lane)
            set_vector64(wave, 0, lane, address_of(bytes));
        uint64_t bad = address_of(bytes) + BYTES + (uint64_t)(int64_t)cases[i].past - sizes[i];
        char address[64];
        set_vector64(wave, 0, 41, bad);
        snprintf(address, sizeof address, "lane 41, pc 0x0: %.12s", cases[i].line);
        finish_with_fault(&harness, cases[i].message);
        assert_non_null(strstr(harness.error.message, address));
        snprintf(address, sizeof address, "%u bytes at 0x%llx", sizes[i], (unsigned long long)bad);
        assert_non_null(strstr(harness.error.message, address));
        harness_destroy(&harness);
    }
}

static void null_pointers_freed_and_read_only_memory_fault(void **state)
{
    (void)state;
    static const uint8_t constant[64];
    uint32_t random = 5;
    struct harness harness;
    struct wave *wave = start(&harness, "global_load_dword v4, v[0:1], off offset:8\n", &random);
    memset(wave->vector[0], 0, 2 * sizeof wave->vector[0]);
    finish_with_fault(&harness, "4 bytes at 0x8 are in no allocation (a null pointer)");
    harness_destroy(&harness);

    wave = start(&harness, "global_load_dword v4, v0, s[8:9]\n", &random);
    void *freed = harness_allocate(&harness, 64, NULL);
    assert_true(device_memory_free(harness.memory, freed));
    memset(wave->vector[0], 0, sizeof wave->vector[0]);
    set_scalar64(wave, 8, address_of(freed));
    finish_with_fault(&harness, "are inside the freed 64-byte allocation");
    harness_destroy(&harness);

    wave = start(&harness,
                 "global_load_dword v4, v0, s[8:9]\n"
                 "global_store_dword v0, v5, s[8:9]\n",
                 &random);
    assert_true(device_memory_register(harness.memory, device_pointer((uintptr_t)constant),
                                       sizeof constant, false));
    memset(wave->vector[0], 0, sizeof wave->vector[0]);
    set_scalar64(wave, 8, address_of(constant));
    finish_with_fault(&harness, "are written inside a 64-byte read-only range");
    assert_int_equal(wave->vector[4][0], 0);
    harness_destroy(&harness);
}

static void inactive_lanes_access_nothing(void **state)
{
    (void)state;
    uint32_t random = 6;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "global_load_dword v4, v[0:1], off\n"
                              "global_store_dword v[0:1], v5, off\n"
                              "flat_load_dword v6, v[0:1]\n"
                              "scratch_store_dword v0, v5, off\n"
                              "global_load_lds_dword v[0:1], off\n",
                              &random);
    set_exec(wave, 0);
    finish(&harness);
    harness_destroy(&harness);
}

static void scratch_is_private_to_each_lane(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (size_t i = 0; i < store_form_count; ++i) {
        const struct memory_form *store = &store_forms[i];
        if (store->half)
            continue;
        char data[16], back[16], lines[256];
        const char *load = store->size == 1   ? "ubyte"
                           : store->size == 2 ? "ushort"
                                              : store->vector_name;
        snprintf(lines, sizeof lines,
                 "scratch_store_%s v0, %s, s8 offset:-8\n"
                 "s_waitcnt vmcnt(0)\n"
                 "scratch_load_%s %s, v0, s8 offset:-8\n",
                 store->vector_name, register_text(DATA, store->size, data), load,
                 register_text(DATA + 4, store->size, back));
        struct harness harness;
        struct wave *wave = start(&harness, lines, &random);
        wave->scalar[8] = 40;
        for (size_t lane = 0; lane < LANES; ++lane)
            wave->vector[0][lane] = next_random(&random) % 100;
        finish(&harness);
        for (size_t lane = 0; lane < LANES; ++lane) {
            const uint8_t *at = (const uint8_t *)device_pointer(wave->scratch_base) +
                                (size_t)lane * SCRATCH_BYTES + wave->vector[0][lane] + 32;
            for (size_t part = 0; part < (store->size + 3) / 4; ++part) {
                uint32_t mask = store->size < 4 ? (1u << 8 * store->size) - 1 : UINT32_MAX;
                assert_memory_equal(at + 4 * part, &wave->vector[DATA + part][lane],
                                    store->size < 4 ? store->size : 4);
                assert_int_equal(wave->vector[DATA + 4 + part][lane],
                                 wave->vector[DATA + part][lane] & mask);
            }
        }
        harness_destroy(&harness);
    }
}

static void scratch_addresses_may_lack_either_part(void **state)
{
    (void)state;
    uint32_t random = 8;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "scratch_store_dword off, v4, off offset:16\n"
                              "scratch_store_dword off, v5, s8\n"
                              "scratch_store_dword v0, v6, off offset:4\n"
                              "s_waitcnt vmcnt(0)\n"
                              "scratch_load_dwordx3 v[8:10], off, off offset:16\n",
                              &random);
    wave->scalar[8] = 20;
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 20;
    finish(&harness);
    assert_memory_equal(wave->vector[8], wave->vector[4], 3 * sizeof wave->vector[0]);
    harness_destroy(&harness);
}

static void scratch_is_checked_to_the_byte(void **state)
{
    (void)state;
    uint32_t random = 9;
    struct harness harness;
    struct wave *wave = start(&harness, "scratch_load_dword v4, v0, off offset:1\n", &random);
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 251 + lane / 63;
    finish_with_fault(&harness, "lane 63, pc 0x0: scratch_load_dword v4, v0, off offset:1: 4 bytes "
                                "at scratch offset 253 are outside the lane's 256 bytes");
    harness_destroy(&harness);
    wave = start(&harness, "scratch_store_dword off, v4, off offset:-4\n", &random);
    (void)wave;
    finish_with_fault(&harness, "4 bytes at scratch offset -4 are outside the lane's 256 bytes");
    harness_destroy(&harness);
}

static void flat_addresses_reach_lds_and_scratch(void **state)
{
    (void)state;
    uint32_t random = 10;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "flat_store_dword v[0:1], v4 offset:4\n"
                              "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                              "flat_load_dword v5, v[0:1] offset:4\n",
                              &random);
    uint8_t *bytes = allocate_random(&harness, &random), *lds = fill_lds(&harness, &random);
    for (size_t lane = 0; lane < LANES; ++lane) {
        const uint64_t bases[] = {address_of(bytes) + 8 * lane,
                                  (UINT64_C(1) << 48) + 80000 + 8 * lane, UINT64_C(2) << 48};
        set_vector64(wave, 0, lane, bases[lane % 3]);
    }
    finish(&harness);
    assert_memory_equal(wave->vector[5], wave->vector[4], sizeof wave->vector[0]);
    assert_memory_equal(bytes + 28, &wave->vector[4][3], 4);
    assert_memory_equal(lds + 80036, &wave->vector[4][4], 4);
    const uint8_t *scratch = (const uint8_t *)device_pointer(wave->scratch_base);
    assert_memory_equal(scratch + 1284, &wave->vector[4][5], 4);
    harness_destroy(&harness);

    wave = start(&harness, "flat_load_dword v5, v[0:1]\n", &random);
    for (size_t lane = 0; lane < LANES; ++lane)
        set_vector64(wave, 0, lane, (UINT64_C(1) << 48) + LDS_BYTES);
    finish_with_fault(&harness, "4 bytes at LDS address 0x18000 are outside the workgroup's");
    harness_destroy(&harness);
}

static void flat_results_are_counted_twice(void **state)
{
    (void)state;
    static const char *const waits[] = {"s_waitcnt vmcnt(0)\n", "s_waitcnt lgkmcnt(0)\n"};
    static const char *const open[] = {"lgkmcnt", "vmcnt"};
    for (unsigned i = 0; i < 2; ++i) {
        uint32_t random = 11;
        char lines[128], message[64];
        snprintf(lines, sizeof lines, "flat_load_dword v4, v[0:1]\n%sv_mov_b32_e32 v5, v4\n",
                 waits[i]);
        snprintf(message, sizeof message, "v4 is read before s_waitcnt %s covers", open[i]);
        struct harness harness;
        struct wave *wave = start(&harness, lines, &random);
        uint8_t *bytes = allocate_random(&harness, &random);
        for (size_t lane = 0; lane < LANES; ++lane)
            set_vector64(wave, 0, lane, address_of(bytes));
        finish_with_fault(&harness, message);
        harness_destroy(&harness);
    }
}

/* ---- Loads to LDS ---- */

static const struct to_lds_form {
    const char *name;
    unsigned size; /* in memory */
    bool sign_extend;
} to_lds_forms[] = {{"ubyte", 1, false},   {"sbyte", 1, true},  {"ushort", 2, false},
                    {"sshort", 2, true},   {"dword", 4, false}, {"dwordx3", 12, false},
                    {"dwordx4", 16, false}};

static void loads_to_lds_go_to_m0_plus_lane(void **state)
{
    (void)state;
    static uint8_t expected[LDS_BYTES];
    uint32_t random = 12;
    for (unsigned i = 0; i < sizeof to_lds_forms / sizeof to_lds_forms[0]; ++i) {
        const struct to_lds_form *form = &to_lds_forms[i];
        unsigned step = form->size < 4 ? 4 : form->size;
        char lines[128];
        snprintf(lines, sizeof lines,
                 "global_load_lds_%s v[0:1], off offset:20\ns_waitcnt vmcnt(0)\n", form->name);
        struct harness harness;
        struct wave *wave = start(&harness, lines, &random);
        uint8_t *bytes = allocate_random(&harness, &random), *lds = fill_lds(&harness, &random);
        memcpy(expected, lds, LDS_BYTES);
        wave->scalar[SCALAR_M0] = 70000; /* beyond 16 bits */
        set_exec(wave, SOME_LANES);
        for (size_t lane = 0; lane < LANES; ++lane) {
            uint32_t place = place_of(lane, &random);
            set_vector64(wave, 0, lane, address_of(bytes) + place - 20);
            if (!(SOME_LANES >> lane & 1))
                continue;
            const struct memory_form load = {.size = form->size, .sign_extend = form->sign_extend};
            uint32_t values[4];
            expect_load(&load, bytes + place, values);
            memcpy(expected + 70020 + lane * step, values, step);
        }
        finish(&harness);
        assert_memory_equal(lds, expected, LDS_BYTES);
        harness_destroy(&harness);
    }
}

/* One wave loads a dword a lane to LDS; then, with or without waits, `rest` runs. */
static void run_load_to_lds(const char *rest, const char *fault)
{
    uint32_t random = 13;
    char lines[256];
    snprintf(lines, sizeof lines, "global_load_lds_dword v0, s[8:9]\n%s", rest);
    struct harness harness;
    struct wave *wave = start(&harness, lines, &random);
    uint8_t *bytes = allocate_random(&harness, &random);
    fill_lds(&harness, &random);
    set_scalar64(wave, 8, address_of(bytes));
    wave->scalar[SCALAR_M0] = 0;
    for (size_t lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 4 * lane;
    if (fault) {
        finish_with_fault(&harness, fault);
    } else {
        finish(&harness);
        assert_memory_equal(wave->vector[4], bytes, sizeof wave->vector[0]);
    }
    harness_destroy(&harness);
}

static void a_load_to_lds_must_be_waited_for_by_vmcnt(void **state)
{
    (void)state;
    static const char in_flight[] =
        "LDS byte 0x0 is still in flight: wave 0 has not waited for its direct-to-LDS load (vmcnt)";
    run_load_to_lds("s_waitcnt vmcnt(0)\nds_read_b32 v4, v0\n", NULL);
    run_load_to_lds("ds_read_b32 v4, v0\n", in_flight);
    run_load_to_lds("s_waitcnt lgkmcnt(0)\nds_read_b32 v4, v0\n", in_flight);
    run_load_to_lds("s_barrier\nds_read_b32 v4, v0\n", in_flight);
    run_load_to_lds("ds_write_b32 v0, v5\n", in_flight);
    run_load_to_lds("global_load_lds_dword v0, s[8:9]\n", in_flight);
    run_load_to_lds("global_load_dword v5, v0, s[8:9]\ns_waitcnt vmcnt(1)\nds_read_b32 v4, v0\n",
                    NULL);
}

static void a_load_to_lds_checks_both_ends(void **state)
{
    (void)state;
    static const struct {
        uint32_t m0, past;
        const char *message;
    } cases[] = {
        {LDS_BYTES - 64 * 16 + 16, 0,
         "lane 63, pc 0x0: global_load_lds_dwordx4 v0, s[8:9]: 16 bytes at LDS address 0x18000 are "
         "outside the workgroup's 98304 bytes"},
        {2, 0,
         "lane 0, pc 0x0: global_load_lds_dwordx4 v0, s[8:9]: misaligned LDS access: 16 "
         "bytes at 0x2 want an alignment of 4"},
        {0, 1, "end 1 bytes past a 16384-byte allocation"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        uint32_t random = 14;
        struct harness harness;
        struct wave *wave = start(&harness, "global_load_lds_dwordx4 v0, s[8:9]\n", &random);
        set_scalar64(wave, 8, address_of(allocate_random(&harness, &random)));
        wave->scalar[SCALAR_M0] = cases[i].m0;
        for (size_t lane = 0; lane < LANES; ++lane)
            wave->vector[0][lane] = 256 * lane;
        wave->vector[0][63] = BYTES - 16 + cases[i].past;
        finish_with_fault(&harness, cases[i].message);
        harness_destroy(&harness);
    }
}

static void scratch_loads_to_lds(void **state)
{
    (void)state;
    uint32_t random = 15;
    struct harness harness;
    struct wave *wave = start(&harness,
                              "scratch_store_dword off, v4, s8\n"
                              "s_waitcnt vmcnt(0)\n"
                              "scratch_load_lds_dword off, s8\n",
                              &random);
    wave->scalar[8] = 24;
    wave->scalar[SCALAR_M0] = 512;
    const uint8_t *lds = fill_lds(&harness, &random);
    finish(&harness);
    assert_memory_equal(lds + 512, wave->vector[4], sizeof wave->vector[0]);
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_load_delivers_its_bytes),
        cmocka_unit_test(each_store_writes_its_bytes_and_no_others),
        cmocka_unit_test(accumulation_registers_load_and_store),
        cmocka_unit_test(faults_name_lane_address_and_neighbour),
        cmocka_unit_test(null_pointers_freed_and_read_only_memory_fault),
        cmocka_unit_test(inactive_lanes_access_nothing),
        cmocka_unit_test(scratch_is_private_to_each_lane),
        cmocka_unit_test(scratch_addresses_may_lack_either_part),
        cmocka_unit_test(scratch_is_checked_to_the_byte),
        cmocka_unit_test(flat_addresses_reach_lds_and_scratch),
        cmocka_unit_test(flat_results_are_counted_twice),
        cmocka_unit_test(loads_to_lds_go_to_m0_plus_lane),
        cmocka_unit_test(a_load_to_lds_must_be_waited_for_by_vmcnt),
        cmocka_unit_test(a_load_to_lds_checks_both_ends),
        cmocka_unit_test(scratch_loads_to_lds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
