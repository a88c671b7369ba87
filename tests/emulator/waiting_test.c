/* Memory operations under way, and the s_waitcnt that covers them; scalar memory. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

/* ---- Memory under way ---- */

static void registers_in_flight_are_not_to_be_touched(void **state)
{
    (void)state;
    harness_check_fault("s_load_dword s8, s[0:1], 0x0\ns_mov_b32 s9, s8\n",
                        "s8 is read before s_waitcnt lgkmcnt covers the s_load_dword at pc 0x0");
    harness_check_fault("s_load_dwordx2 s[8:9], s[0:1], 0x0\ns_mov_b32 s9, 0\n",
                        "s9 is written before");
    harness_check_fault("s_load_dwordx2 vcc, s[0:1], 0x0\ns_and_b64 s[4:5], exec, vcc\n",
                        "vcc_lo is read");
    harness_check_fault(
        "v_mov_b32_e32 v1, 0\nglobal_load_dwordx2 v[2:3], v1, s[0:1]\n"
        "v_add_u32_e32 v4, v3, v1\n",
        "v3 is read before s_waitcnt vmcnt covers the global_load_dwordx2 at pc 0x4");
    harness_check_fault("v_mov_b32_e32 v1, 0\nglobal_load_dword a2, v1, s[0:1]\n"
                        "v_accvgpr_write_b32 a2, 0\n",
                        "a2 is written before s_waitcnt vmcnt");
    harness_check_success(
        "v_mov_b32_e32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
        "v_mov_b32_e32 v3, v2\n");
}

static void vector_loads_return_in_order(void **state)
{
    (void)state;
    static const char loads[] = "v_mov_b32_e32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\n"
                                "global_load_dword v3, v1, s[0:1]\n";
    char text[256];
    snprintf(text, sizeof text, "%ss_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v2\n", loads);
    harness_check_success(text);
    snprintf(text, sizeof text, "%ss_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v3\n", loads);
    harness_check_fault(text, "v3 is read");
    snprintf(text, sizeof text, "%ss_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v4, v2\n", loads);
    harness_check_fault(text, "v2 is read");
    /* a store counts as well */
    snprintf(text, sizeof text,
             "%sglobal_store_dword v1, v1, s[0:1] offset:128\n"
             "s_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v3\n",
             loads);
    harness_check_success(text);
    /* a load over a load delivers after it, so no wait is needed in between */
    snprintf(text, sizeof text,
             "%sglobal_load_dword v2, v1, s[0:1] offset:4\n"
             "s_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v3\n",
             loads);
    harness_check_success(text);
    snprintf(text, sizeof text,
             "%sglobal_load_dword v2, v1, s[0:1] offset:4\n"
             "s_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v2\n",
             loads);
    harness_check_fault(text, "covers the global_load_dword at pc 0xc");
}

static void scalar_loads_return_in_any_order(void **state)
{
    (void)state;
    static const char loads[] = "s_load_dword s8, s[0:1], 0x0\ns_load_dword s9, s[0:1], 0x4\n";
    char text[256];
    snprintf(text, sizeof text, "%ss_waitcnt lgkmcnt(1)\ns_mov_b32 s10, s8\n", loads);
    harness_check_fault(text, "s8 is read");
    snprintf(text, sizeof text, "%ss_waitcnt lgkmcnt(0)\ns_mov_b32 s10, s8\n", loads);
    harness_check_success(text);
}

static void waiting_with_both_kinds_under_way(void **state)
{
    (void)state;
    /* Two LDS reads and one scalar load are under way. That two of the three are left may mean that
       the scalar load came; one left means that one read at least, the first, has come. */
    static const char prologue[] = "v_mov_b32_e32 v1, 0\nv_mov_b32_e32 v2, 7\nds_write_b32 v1, v2\n"
                                   "s_waitcnt lgkmcnt(0)\nds_read_b32 v3, v1\nds_read_b32 v4, v1\n"
                                   "s_load_dword s8, s[0:1], 0x0\n";
    static const struct {
        const char *rest, *fault;
    } cases[] = {
        {"s_waitcnt lgkmcnt(2)\nv_mov_b32_e32 v5, v3\n", "v3 is read before s_waitcnt lgkmcnt"},
        {"s_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v5, v3\n", NULL},
        {"s_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v5, v4\n", "v4 is read before s_waitcnt lgkmcnt"},
        {"s_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v5, v4\n", NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        struct harness h;
        char text[512];
        snprintf(text, sizeof text, "%s%s", prologue, cases[c].rest);
        harness_create(&h, text);
        h.dispatch.dynamic_lds = 64;
        h.dispatch.block[0] = 1;
        if (cases[c].fault)
            harness_expect_fault(&h, cases[c].fault);
        else if (harness_dispatch(&h) != DSAJIT_OK)
            fail_msg("%s", h.error.message);
        harness_destroy(&h);
    }
}

static void full_counters_wait_for_the_oldest(void **state)
{
    (void)state;
    struct bytes text = {0};
    bytes_append_text(&text, "v_mov_b32_e32 v1, 0\n");
    for (int i = 0; i < 64; ++i)
        bytes_append_format(&text, "global_load_dword v%d, v1, s[0:1]\n", 10 + i);
    bytes_append_text(&text, "v_mov_b32_e32 v2, v10\n");
    harness_check_success(bytes_text(&text)); /* the 64th waited for the first */
    bytes_append_text(&text, "v_mov_b32_e32 v2, v11\n");
    harness_check_fault(bytes_text(&text), "v11 is read");
    bytes_free(&text);
}

static void nothing_need_be_waited_for_at_the_end(void **state)
{
    (void)state;
    harness_check_success("s_load_dword s8, s[0:1], 0x0\n");
}

/* ---- Scalar memory ---- */

static void scalar_loads_read_memory(void **state)
{
    (void)state;
    struct harness h;
    uint32_t data[16];
    for (unsigned i = 0; i < 16; ++i)
        data[i] = 100 + i;
    harness_create(&h, "s_load_dwordx2 s[4:5], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\n"
                       "s_load_dwordx16 s[16:31], s[4:5], 0x0\ns_movk_i32 s6, 0x14\n"
                       "s_load_dword s7, s[4:5], s6\ns_load_dword s8, s[4:5], s6 offset:0x10\n"
                       "s_add_u32 s10, s4, 32\ns_addc_u32 s11, s5, 0\n"
                       "s_load_dword s12, s[10:11], -0x1c\ns_waitcnt lgkmcnt(0)\n");
    void *memory = harness_allocate(&h, sizeof data, data);
    harness_set_argument(&h, 8, &memory, sizeof memory);
    harness_start(&h);
    if (!harness_finish(&h))
        fail_msg("%s", h.error.message);
    const uint32_t *s = harness_wave(&h)->scalar;
    for (unsigned i = 0; i < 16; ++i)
        assert_int_equal(s[16 + i], 100 + i);
    assert_int_equal(s[7], 105);
    assert_int_equal(s[8], 109);
    assert_int_equal(s[12], 101);
    harness_destroy(&h);
}

static void scalar_loads_check_their_address(void **state)
{
    (void)state;
    harness_check_fault("s_load_dword s8, s[0:1], 0x100\n", "s_load_dword s8, s[0:1], 0x100: ");
    harness_check_fault("s_load_dword s8, s[0:1], 0x2\n", "is no multiple of 4");
}

/* base, stride 0, 24 bytes: the rest of the eight dwords reads as 0 */
static void scalar_buffer_loads_end_with_the_buffer(void **state)
{
    (void)state;
    struct harness h;
    uint32_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    harness_create(&h, "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
                       "s_buffer_load_dwordx4 s[12:15], s[4:7], 0x10\n"
                       "s_buffer_load_dword s16, s[4:7], 0x4\ns_waitcnt lgkmcnt(0)\n");
    void *memory = harness_allocate(&h, sizeof data, data);
    uint32_t records[2] = {24, 0x20000};
    harness_set_argument(&h, 0, &memory, sizeof memory);
    harness_set_argument(&h, 8, records, sizeof records);
    harness_start(&h);
    if (!harness_finish(&h))
        fail_msg("%s", h.error.message);
    const uint32_t *s = harness_wave(&h)->scalar;
    assert_int_equal(s[12], 5);
    assert_int_equal(s[13], 6);
    assert_int_equal(s[14], 0);
    assert_int_equal(s[15], 0);
    assert_int_equal(s[16], 2);
    harness_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_in_flight_are_not_to_be_touched),
        cmocka_unit_test(vector_loads_return_in_order),
        cmocka_unit_test(scalar_loads_return_in_any_order),
        cmocka_unit_test(waiting_with_both_kinds_under_way),
        cmocka_unit_test(full_counters_wait_for_the_oldest),
        cmocka_unit_test(nothing_need_be_waited_for_at_the_end),
        cmocka_unit_test(scalar_loads_read_memory),
        cmocka_unit_test(scalar_loads_check_their_address),
        cmocka_unit_test(scalar_buffer_loads_end_with_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
