/* How waves start, take turns, branch, wait and end; and what stops them. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* ---- Branches and jumps ---- */

static void branches_follow_their_conditions(void **state)
{
    (void)state;
    /* Each s_trap is jumped over, or its branch not taken leads around it. */
    harness_check_success(
        "s_cmp_eq_u32 0, 0\ns_cbranch_scc1 1\ns_trap 2\ns_cbranch_scc0 1\ns_branch 1\n"
        "s_trap 2\ns_mov_b64 vcc, 0\ns_cbranch_vccz 1\ns_trap 2\ns_cbranch_vccnz 1\n"
        "s_branch 1\ns_trap 2\ns_cbranch_execnz 1\ns_trap 2\ns_mov_b64 exec, 0\n"
        "s_cbranch_execz 1\ns_trap 2\ns_cbranch_execnz 1\ns_branch 1\ns_trap 2\n");
}

static void loops_count(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_mov_b32 s8, 0\ns_add_u32 s8, s8, 1\ns_cmp_lt_u32 s8, 10\n"
                       "s_cbranch_scc1 65533\n");
    harness_start(&h);
    assert_true(harness_finish(&h));
    assert_int_equal(harness_wave(&h)->scalar[8], 10);
    harness_destroy(&h);
}

static void bad_targets_fault_when_taken(void **state)
{
    (void)state;
    harness_check_fault("s_branch 100\n",
                        "pc 0x0: s_branch 100: the target is no instruction of this code object");
    harness_check_fault("s_nop 0\ns_branch 65000\n", "the target is no instruction");
    harness_check_success("s_cmp_eq_u32 0, 1\ns_cbranch_scc1 100\n");
}

static void calls_return(void **state)
{
    (void)state;
    struct harness h;
    /* 4: s[4:5] = 8; the callee lies at 0x1c */
    harness_create(&h, "s_mov_b32 s9, 0\ns_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 20\n"
                       "s_addc_u32 s5, s5, 0\ns_swappc_b64 s[6:7], s[4:5]\ns_call_b64 s[6:7], 1\n"
                       "s_branch 2\ns_add_u32 s9, s9, 1\ns_setpc_b64 s[6:7]\n");
    h.program.text_address = 0x7fff00000100;
    harness_start(&h);
    if (!harness_finish(&h))
        fail_msg("%s", h.error.message);
    assert_int_equal(harness_wave(&h)->scalar[9], 2);
    assert_int_equal(harness_wave(&h)->scalar[4], 0x11c);
    assert_int_equal(harness_wave(&h)->scalar[5], 0x7fff);
    harness_destroy(&h);
    harness_check_fault("s_mov_b64 s[4:5], 2\ns_setpc_b64 s[4:5]\n", "0x2 is no instruction");
}

static void what_ends_badly_is_told(void **state)
{
    (void)state;
    harness_check_fault("s_trap 2\n", "the kernel trapped");
    harness_check_fault("s_sethalt 1\n", "the wave halted");
    harness_check_fault(
        "s_nop 0\ns_mystery_b32 s0, s1\n",
        "kernel test, workgroup (0,0,0), wave 0, pc 0x4: s_mystery_b32 s0, s1: the emulator "
        "does not know this instruction");
}

static void unreached_unknown_instructions_do_no_harm(void **state)
{
    (void)state;
    harness_check_success("s_branch 1\ns_mystery_b32 s0, s1\n");
}

static void running_past_the_end_is_a_fault(void **state)
{
    (void)state;
    struct harness h;
    dsajit_error error;
    harness_create(&h, "");
    program_free_instructions(&h.program);
    assert_int_equal(program_decode(&h.program, "0 4 s_nop 0\n", &error), DSAJIT_OK);
    harness_expect_fault(&h, "pc 0x4: (end of .text): execution ran past the last instruction");
    harness_destroy(&h);
}

static void endless_loops_are_stopped(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_branch 65535\n");
    h.dispatch.instruction_limit = 100000;
    harness_expect_fault(&h, "the wave has not ended after");
    harness_destroy(&h);
}

/* ---- Barriers ---- */

/* Wave w stores its number to LDS, and after the barrier reads its neighbour's. */
static const char exchange[] = "v_lshrrev_b32_e32 v1, 6, v0\nv_lshlrev_b32_e32 v2, 2, v0\n"
                               "ds_write_b32 v2, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                               "v_xor_b32_e32 v2, 0x100, v2\nds_read_b32 v3, v2\n"
                               "s_waitcnt lgkmcnt(0)\n";

static void barriers_order_waves(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        struct harness h;
        harness_create(&h, exchange);
        h.dispatch.block[0] = 256;
        h.dispatch.dynamic_lds = 1024;
        h.dispatch.schedule_seed = seed;
        harness_start(&h);
        if (!harness_finish(&h))
            fail_msg("seed %d: %s", (int)seed, h.error.message);
        for (unsigned w = 0; w < 4; ++w)
            assert_int_equal(h.workgroup.waves[w].vector[3][17], w ^ 1);
        harness_destroy(&h);
    }
}

static void missing_barrier_is_a_race(void **state)
{
    (void)state;
    struct harness h;
    char text[sizeof exchange];
    strcpy(text, exchange);
    memcpy(strstr(text, "s_barrier"), "s_nop 000", 9);
    harness_create(&h, text);
    h.dispatch.block[0] = 256;
    h.dispatch.dynamic_lds = 1024;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_KERNEL_FAULT);
    harness_destroy(&h);
}

static void barrier_that_not_all_reach(void **state)
{
    (void)state;
    struct harness h;
    /* wave 1 jumps over the barrier */
    harness_create(&h, "v_readfirstlane_b32 s8, v0\ns_cmp_eq_u32 s8, 64\ns_cbranch_scc1 1\n"
                       "s_barrier\n");
    h.dispatch.block[0] = 192;
    harness_expect_fault(
        &h, "kernel test, workgroup (0,0,0): a barrier that not all waves reach: waiting 0 "
            "(pc 0xc), 2 (pc 0xc); ended 1 (pc 0x10)");
    harness_destroy(&h);
}

/* ---- How waves start ---- */

static void waves_start_as_the_descriptor_says(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "");
    h.dispatch.block[0] = 10;
    h.dispatch.block[1] = 5;
    h.dispatch.block[2] = 2;
    h.dispatch.grid[0] = 3;
    h.dispatch.grid[1] = 4;
    h.dispatch.grid[2] = 2;
    harness_start(&h);
    workgroup_start(&h.workgroup, 2 + 3 * 1 + 12 * 1);
    assert_int_equal(h.workgroup.wave_count, 2);
    const struct wave *wave = &h.workgroup.waves[1];
    assert_int_equal(wave->scalar[0], (uint32_t)(uintptr_t)h.kernarg);
    assert_int_equal(wave->scalar[1], (uint32_t)((uintptr_t)h.kernarg >> 32));
    assert_int_equal(wave->scalar[2], 2);
    assert_int_equal(wave->scalar[3], 1);
    assert_int_equal(wave->scalar[4], 1);
    assert_int_equal(wave_exec(wave), (UINT64_C(1) << 36) - 1); /* 100 threads */
    /* thread 64 + 7 = 1 + 10 * 2 + 50 * 1 */
    assert_int_equal(wave->vector[0][7], 1 | 2 << 10 | 1 << 20);
    assert_true(wave->vector[5][0] != 0);
    harness_destroy(&h);
}

static void user_registers_come_in_order(void **state)
{
    (void)state;
    struct harness h;
    uint32_t arguments[4] = {11, 12, 13, 14};
    harness_create(&h, "");
    harness_set_argument(&h, 0, arguments, sizeof arguments);
    h.kernel.scratch_size = 48;
    /* dispatch pointer, kernarg pointer, dispatch id, private segment size; two preloaded dwords
       from the second on; the workgroup's id in y; ids in x only */
    h.kernel.code_properties = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6;
    h.kernel.rsrc2 = 9 << 1 | 1 << 8;
    h.kernel.kernarg_preload = 2 | 1 << 7;
    h.dispatch.block[1] = 2;
    struct bytes listing = {0};
    for (unsigned i = 0; i < 65; ++i) /* the prologue of 256 bytes, and behind it the end */
        bytes_append_format(&listing, "%x 4 %s\n", 4 * i, i < 64 ? "s_trap 2" : "s_endpgm");
    program_free_instructions(&h.program);
    assert_int_equal(program_decode(&h.program, bytes_text(&listing), &h.error), DSAJIT_OK);
    bytes_free(&listing);
    harness_start(&h);
    const struct wave *wave = harness_wave(&h);
    assert_int_equal(wave->scalar[0], 0); /* the harness has no packet */
    assert_int_equal(wave->scalar[2], (uint32_t)(uintptr_t)h.kernarg);
    assert_int_equal(wave->scalar[4], 0);
    assert_int_equal(wave->scalar[6], 48);
    assert_int_equal(wave->scalar[7], 12);
    assert_int_equal(wave->scalar[8], 13);
    assert_int_equal(wave->scalar[9], 0);
    assert_int_equal(h.workgroup.waves[1].vector[0][3], 3);
    assert_int_equal(wave->scratch_size, 48);
    assert_true(harness_finish(&h));
    harness_destroy(&h);
}

static void the_dispatch_packet_tells_the_sizes(void **state)
{
    (void)state;
    struct harness h;
    uint32_t *result;
    harness_create(&h, "s_load_dwordx2 s[4:5], s[2:3], 0x0\ns_load_dword s6, s[0:1], 0x4\n"
                       "s_load_dword s7, s[0:1], 0xc\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, 0\n"
                       "v_mov_b32_e32 v2, s6\nv_mov_b32_e32 v3, s7\n"
                       "global_store_dwordx2 v1, v[2:3], s[4:5]\n");
    result = harness_allocate(&h, 8, NULL);
    harness_set_argument(&h, 0, &result, sizeof result);
    h.kernel.code_properties = 1 << 1 | 1 << 3;
    h.dispatch.block[1] = 3;
    h.dispatch.grid[0] = 2;
    if (harness_dispatch(&h) != DSAJIT_OK)
        fail_msg("%s", h.error.message);
    assert_int_equal(result[0], 64 | 3 << 16);
    assert_int_equal(result[1], 128);
    harness_destroy(&h);
}

static void what_the_device_lacks_is_refused(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "");
    h.kernel.code_properties = 1 << 10;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(h.error.message, "waves of 32 lanes"));
    h.kernel.code_properties = 0;
    h.dispatch.block[0] = 1025;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_INVALID_ARGUMENT);
    h.dispatch.block[0] = 512;
    h.dispatch.block[1] = 3;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_INVALID_ARGUMENT);
    h.dispatch.block[1] = 1;
    h.dispatch.dynamic_lds = 163841;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_INVALID_ARGUMENT);
    h.dispatch.dynamic_lds = 163840;
    assert_int_equal(harness_dispatch(&h), DSAJIT_OK);
    h.kernel.entry = 1;
    assert_int_equal(harness_dispatch(&h), DSAJIT_ERROR_INVALID_ARGUMENT);
    harness_destroy(&h);
}

static void reads_of_unwritten_registers_can_be_found(void **state)
{
    (void)state;
    static const struct {
        const char *assembly, *fault;
    } cases[] = {
        {"v_mov_b32_e32 v1, v0\nv_add_u32_e32 v2, v1, v1\n", NULL},
        {"v_mov_b32_e32 v3, v4\n", "v4 is read before anything wrote it"},
        {"v_mov_b32_e32 v1, 0\nv_add_f64 v[2:3], v[0:1], v[1:2]\n", "v2 is read before"},
        {"v_accvgpr_read_b32 v3, a4\n", "a4 is read before"},
        /* the upper result takes v0 too, or takes the unwritten v1 */
        {"v_pk_mul_f32 v[2:3], v[0:1], v[0:1] op_sel_hi:[0,0]\n", NULL},
        {"v_pk_mul_f32 v[2:3], v[0:1], v[0:1] op_sel_hi:[0,1]\n", "v1 is read before"},
        /* the upper half of an addend reaches the upper half of the sum alone */
        {"v_mad_u64_u32 v[2:3], s[4:5], v0, v0, v[0:1]\nv_mov_b32_e32 v4, v2\n", NULL},
        {"v_mad_u64_u32 v[2:3], s[4:5], v0, v0, v[0:1]\nv_mov_b32_e32 v4, v3\n",
         "v3 is read before"},
        {"v_mad_u64_u32 v[2:3], s[4:5], v0, v0, v[1:2]\n", "v1 is read before"},
        {"v_lshl_add_u64 v[4:5], v[0:1], 2, v[0:1]\nv_mov_b32_e32 v6, v4\n", NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        struct harness h;
        harness_create(&h, cases[c].assembly);
        assert_int_equal(harness_dispatch(&h), DSAJIT_OK);
        h.dispatch.check_initialised = true;
        if (cases[c].fault)
            harness_expect_fault(&h, cases[c].fault);
        else if (harness_dispatch(&h) != DSAJIT_OK)
            fail_msg("%s", h.error.message);
        harness_destroy(&h);
    }
}

/* ---- Grids ---- */

/* Every workgroup adds 1 to a counter and its linear id to another. */
static void every_workgroup_runs_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        struct harness h;
        uint32_t zero[2] = {0, 0};
        harness_create(&h, "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_mov_b64 exec, 1\n"
                           "s_mul_i32 s3, s3, 5\ns_mul_i32 s4, s4, 35\ns_add_u32 s2, s2, s3\n"
                           "s_add_u32 s2, s2, s4\nv_mov_b32_e32 v1, 0\nv_mov_b32_e32 v2, 1\n"
                           "v_mov_b32_e32 v3, s2\ns_waitcnt lgkmcnt(0)\n"
                           "global_atomic_add v1, v2, s[6:7]\n"
                           "global_atomic_add v1, v3, s[6:7] offset:4\n");
        uint32_t *result = harness_allocate(&h, sizeof zero, zero);
        harness_set_argument(&h, 0, &result, sizeof result);
        h.dispatch.grid[0] = 5;
        h.dispatch.grid[1] = 7;
        h.dispatch.grid[2] = 3;
        h.dispatch.threads = threads;
        if (harness_dispatch(&h) != DSAJIT_OK)
            fail_msg("%s", h.error.message);
        assert_int_equal(result[0], 105);
        assert_int_equal(result[1], 105 * 104 / 2);
        assert_int_equal(h.counters.workgroups, 105);
        assert_int_equal(h.counters.waves, 105);
        assert_int_equal(h.counters.instructions, 105 * 13);
        assert_int_equal(h.counters.scalar_memory, 105);
        assert_int_equal(h.counters.vector_memory, 210);
        assert_int_equal(h.counters.vector, 315);
        harness_destroy(&h);
    }
}

static void empty_grids_do_nothing(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_trap 2\n");
    h.dispatch.grid[1] = 0;
    assert_int_equal(harness_dispatch(&h), DSAJIT_OK);
    assert_int_equal(h.counters.instructions, 0);
    harness_destroy(&h);
}

/* A wave that polls what another writes later is given turns, but does not keep them. */
static void waves_may_wait_for_each_other_in_memory(void **state)
{
    (void)state;
    struct harness h;
    uint32_t zero = 0;
    /* wave 0 polls until wave 1 has stored 1 */
    harness_create(&h, "s_load_dwordx2 s[6:7], s[0:1], 0x0\nv_readfirstlane_b32 s8, v0\n"
                       "v_mov_b32_e32 v1, 0\nv_mov_b32_e32 v2, 1\ns_waitcnt lgkmcnt(0)\n"
                       "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 2\n"
                       "global_store_dword v1, v2, s[6:7]\ns_endpgm\n"
                       "global_load_dword v3, v1, s[6:7]\ns_waitcnt vmcnt(0)\n"
                       "v_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 65531\n");
    uint32_t *flag = harness_allocate(&h, sizeof zero, &zero);
    harness_set_argument(&h, 0, &flag, sizeof flag);
    h.dispatch.block[0] = 128;
    if (harness_dispatch(&h) != DSAJIT_OK)
        fail_msg("%s", h.error.message);
    assert_int_equal(*flag, 1);
    harness_destroy(&h);
}

static void only_one_fault_is_told(void **state)
{
    (void)state;
    struct harness h;
    harness_create(&h, "s_cmp_lt_u32 s2, 3\ns_cbranch_scc1 1\ns_trap 2\n");
    h.dispatch.grid[0] = 1000;
    h.dispatch.threads = 1;
    harness_expect_fault(
        &h, "kernel test, workgroup (3,0,0), wave 0, pc 0x8: s_trap 2: the kernel trapped");
    harness_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_follow_their_conditions),
        cmocka_unit_test(loops_count),
        cmocka_unit_test(bad_targets_fault_when_taken),
        cmocka_unit_test(calls_return),
        cmocka_unit_test(what_ends_badly_is_told),
        cmocka_unit_test(unreached_unknown_instructions_do_no_harm),
        cmocka_unit_test(running_past_the_end_is_a_fault),
        cmocka_unit_test(endless_loops_are_stopped),
        cmocka_unit_test(barriers_order_waves),
        cmocka_unit_test(missing_barrier_is_a_race),
        cmocka_unit_test(barrier_that_not_all_reach),
        cmocka_unit_test(waves_start_as_the_descriptor_says),
        cmocka_unit_test(user_registers_come_in_order),
        cmocka_unit_test(the_dispatch_packet_tells_the_sizes),
        cmocka_unit_test(what_the_device_lacks_is_refused),
        cmocka_unit_test(reads_of_unwritten_registers_can_be_found),
        cmocka_unit_test(every_workgroup_runs_once),
        cmocka_unit_test(empty_grids_do_nothing),
        cmocka_unit_test(waves_may_wait_for_each_other_in_memory),
        cmocka_unit_test(only_one_fault_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
