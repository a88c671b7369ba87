/* How operands reach and leave an operation: movement between lanes, parts of registers, signs, and
   the lanes that are written. Expected lanes follow from the manual's definitions, lane by lane. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define KEPT UINT32_C(0xdddd0000) /* plus the lane: the destination before */

/* Runs one instruction: v0 is KEPT + lane before, v1 and v2 as given. */
static void run(const char *text, uint64_t exec, const uint32_t v1[LANES], const uint32_t v2[LANES],
                uint32_t result[LANES])
{
    struct harness h;
    harness_create(&h, text);
    harness_start(&h);
    struct wave *wave = harness_wave(&h);
    for (unsigned lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = KEPT + lane;
    memcpy(wave->vector[1], v1, sizeof(uint32_t[LANES]));
    if (v2)
        memcpy(wave->vector[2], v2, sizeof(uint32_t[LANES]));
    wave->scalar[SCALAR_EXEC] = (uint32_t)exec;
    wave->scalar[SCALAR_EXEC + 1] = (uint32_t)(exec >> 32);
    wave->scalar[4] = 0x12345678;
    if (!harness_finish(&h))
        fail_msg("%s", h.error.message);
    memcpy(result, wave->vector[0], sizeof(uint32_t[LANES]));
    harness_destroy(&h);
}

static void fill(uint32_t lanes[LANES], uint32_t base, uint32_t step)
{
    for (unsigned lane = 0; lane < LANES; ++lane)
        lanes[lane] = base + lane * step;
}

/* ---- Movement between lanes ---- */

enum { NOWHERE = -1 };

static int from_quad_perm_3012(int lane)
{
    static const int selection[] = {3, 0, 1, 2};
    return lane / 4 * 4 + selection[lane % 4];
}

static int from_row_shl_3(int lane)
{
    return lane % 16 < 13 ? lane + 3 : NOWHERE;
}

static int from_row_shr_1(int lane)
{
    return lane % 16 ? lane - 1 : NOWHERE;
}

static int from_row_ror_5(int lane)
{
    return lane / 16 * 16 + (lane % 16 + 16 - 5) % 16;
}

static int from_wave_shl(int lane)
{
    return lane < 63 ? lane + 1 : NOWHERE;
}

static int from_wave_rol(int lane)
{
    return (lane + 1) % 64;
}

static int from_wave_shr(int lane)
{
    return lane ? lane - 1 : NOWHERE;
}

static int from_wave_ror(int lane)
{
    return (lane + 63) % 64;
}

static int from_row_mirror(int lane)
{
    return lane / 16 * 16 + 15 - lane % 16;
}

static int from_row_half_mirror(int lane)
{
    return lane / 8 * 8 + 7 - lane % 8;
}

static int from_row_bcast_15(int lane)
{
    return lane >= 16 ? lane / 16 * 16 - 1 : NOWHERE;
}

static int from_row_bcast_31(int lane)
{
    return lane >= 32 ? 31 : NOWHERE;
}

static int from_row_newbcast_9(int lane)
{
    return lane / 16 * 16 + 9;
}

static const struct {
    const char *modifier;
    int (*from)(int lane);
} movements[] = {
    {"quad_perm:[3,0,1,2]", from_quad_perm_3012},
    {"row_shl:3", from_row_shl_3},
    {"row_shr:1", from_row_shr_1},
    {"row_ror:5", from_row_ror_5},
    {"wave_shl:1", from_wave_shl},
    {"wave_rol:1", from_wave_rol},
    {"wave_shr:1", from_wave_shr},
    {"wave_ror:1", from_wave_ror},
    {"row_mirror", from_row_mirror},
    {"row_half_mirror", from_row_half_mirror},
    {"row_bcast:15", from_row_bcast_15},
    {"row_bcast:31", from_row_bcast_31},
    {"row_newbcast:9", from_row_newbcast_9},
};

/* Lanes whose source does not exist or is inactive keep their value; with bound_ctrl they get 0. */
static void check_movements(uint64_t exec, unsigned row_mask, unsigned bank_mask, bool bound_ctrl)
{
    uint32_t v1[LANES], result[LANES];
    fill(v1, 1000, 1);
    for (size_t m = 0; m < sizeof movements / sizeof movements[0]; ++m) {
        char text[160];
        snprintf(text, sizeof text, "v_mov_b32_dpp v0, v1 %s row_mask:0x%x bank_mask:0x%x%s",
                 movements[m].modifier, row_mask, bank_mask, bound_ctrl ? " bound_ctrl:1" : "");
        run(text, exec, v1, NULL, result);
        for (int lane = 0; lane < LANES; ++lane) {
            int from = movements[m].from(lane);
            bool enabled = (exec >> lane & 1) && (row_mask >> lane / 16 & 1) &&
                           (bank_mask >> lane % 16 / 4 & 1);
            uint32_t expected = KEPT + (uint32_t)lane;
            if (enabled && from != NOWHERE && (exec >> from & 1))
                expected = 1000 + (uint32_t)from;
            else if (enabled && bound_ctrl)
                expected = 0;
            if (result[lane] != expected)
                fail_msg("%s: lane %d is %u instead of %u", text, lane, result[lane], expected);
        }
    }
}

static void lanes_move(void **state)
{
    (void)state;
    check_movements(UINT64_MAX, 15, 15, false);
    check_movements(UINT64_MAX, 15, 15, true);
}

static void lanes_move_by_rows_and_banks(void **state)
{
    (void)state;
    check_movements(UINT64_MAX, 0xa, 15, false);
    check_movements(UINT64_MAX, 15, 0x6, true);
    check_movements(UINT64_MAX, 0xc, 0x3, false);
}

static void inactive_lanes_are_no_sources(void **state)
{
    (void)state;
    check_movements(UINT64_C(0x00ff5a5afffe7fff), 15, 15, false);
    check_movements(UINT64_C(0x00ff5a5afffe7fff), 15, 15, true);
}

static void signs_follow_movement(void **state)
{
    (void)state;
    uint32_t v1[LANES], v2[LANES], result[LANES];
    const float value = 2.5f, minus = -2.5f;
    for (unsigned lane = 0; lane < LANES; ++lane)
        memcpy(&v1[lane], lane % 2 ? &minus : &value, 4);
    fill(v2, 0, 0);
    run("v_add_f32_dpp v0, -|v1|, v2 row_shl:1 row_mask:0xf bank_mask:0xf", UINT64_MAX, v1, v2,
        result);
    assert_int_equal(result[0], 0xc0200000);
    assert_int_equal(result[1], 0xc0200000);
    assert_int_equal(result[15], KEPT + 15);
}

/* ---- Parts of registers ---- */

static void sdwa_selects_and_extends_sources(void **state)
{
    (void)state;
    static const struct {
        const char *select;
        uint32_t expected;
    } cases[] = {
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", 0xd4},
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD", 0x43},
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:DWORD", 0xb2},
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD", 0x91},
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD", 0x43d4},
        {"v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD", 0x91b2},
        {"sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD",
         0xffffffd4},
        {"sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD", 0x43d4},
        {"v2, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1",
         0xffff91b2},
    };
    uint32_t v1[LANES], v2[LANES], result[LANES];
    fill(v1, 0x91b243d4, 0);
    fill(v2, 0, 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        char text[160];
        snprintf(text, sizeof text, "v_or_b32_sdwa v0, %s", cases[c].select);
        run(text, UINT64_MAX, v1, v2, result);
        assert_int_equal(result[63], cases[c].expected);
    }
}

static void sdwa_places_results(void **state)
{
    (void)state;
    /* The result before placement is 0x91b243d4, the register before is 0xdddd0003. */
    static const struct {
        const char *destination;
        uint32_t expected;
    } cases[] = {
        {"dst_sel:BYTE_0 dst_unused:UNUSED_PAD", 0xd4},
        {"dst_sel:BYTE_1 dst_unused:UNUSED_PAD", 0xd400},
        {"dst_sel:BYTE_1 dst_unused:UNUSED_SEXT", 0xffffd400},
        {"dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE", 0xddddd403},
        {"dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE", 0xd4dd0003},
        {"dst_sel:WORD_0 dst_unused:UNUSED_SEXT", 0x43d4},
        {"dst_sel:WORD_1 dst_unused:UNUSED_PAD", 0x43d40000},
        {"dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE", 0x43d40003},
        {"dst_sel:DWORD dst_unused:UNUSED_PRESERVE", 0x91b243d4},
    };
    uint32_t v1[LANES], v2[LANES], result[LANES];
    fill(v1, 0x91b243d4, 0);
    fill(v2, 0, 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        char text[160];
        snprintf(text, sizeof text, "v_or_b32_sdwa v0, v1, v2 %s src0_sel:DWORD src1_sel:DWORD",
                 cases[c].destination);
        run(text, UINT64_C(1) << 3, v1, v2, result);
        if (result[3] != cases[c].expected)
            fail_msg("%s: 0x%x instead of 0x%x", text, result[3], cases[c].expected);
        assert_int_equal(result[2], KEPT + 2);
    }
}

static void op_sel_picks_halves(void **state)
{
    (void)state;
    uint32_t v1[LANES], v2[LANES], result[LANES];
    fill(v1, 0x40003c00, 0); /* 2.0 and 1.0 */
    fill(v2, 0x44004200, 0); /* 4.0 and 3.0 */
    /* 1 * 4 + 2 = 6 in the upper half, the lower one stays */
    run("v_fma_f16 v0, v1, v2, v1 op_sel:[0,1,1,1]", UINT64_MAX, v1, v2, result);
    assert_int_equal(result[5], 0x46000005);
    /* 1 * 3 + 1 = 4 in the lower half, the upper one stays */
    run("v_fma_f16 v0, v1, v2, v1", UINT64_MAX, v1, v2, result);
    assert_int_equal(result[5], 0xdddd4400);
    /* an old 16-bit operation clears the other half */
    run("v_add_f16_e32 v0, v1, v2", UINT64_MAX, v1, v2, result);
    assert_int_equal(result[5], 0x4400);
}

/* ---- The lanes that are written ---- */

static void exec_selects_lanes(void **state)
{
    (void)state;
    static const uint64_t masks[] = {
        0, 1, UINT64_MAX, UINT64_C(0x8000000000000001), 0x0f0f, UINT64_C(0xaaaaaaaa55555555)};
    uint32_t v1[LANES], result[LANES];
    fill(v1, 7, 3);
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; ++m) {
        run("v_mov_b32_e32 v0, v1", masks[m], v1, NULL, result);
        for (unsigned lane = 0; lane < LANES; ++lane)
            assert_int_equal(result[lane], masks[m] >> lane & 1 ? 7 + 3 * lane : KEPT + lane);
    }
}

static void scalars_and_constants_reach_all_lanes(void **state)
{
    (void)state;
    uint32_t v1[LANES], result[LANES];
    fill(v1, 1, 1);
    run("v_add_u32_e32 v0, s4, v1", UINT64_MAX, v1, NULL, result);
    for (unsigned lane = 0; lane < LANES; ++lane)
        assert_int_equal(result[lane], 0x12345679 + lane);
    run("v_add_u32_e32 v0, -5, v1", UINT64_MAX, v1, NULL, result);
    for (unsigned lane = 0; lane < LANES; ++lane)
        assert_int_equal(result[lane], (uint32_t)lane - 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_move),
        cmocka_unit_test(lanes_move_by_rows_and_banks),
        cmocka_unit_test(inactive_lanes_are_no_sources),
        cmocka_unit_test(signs_follow_movement),
        cmocka_unit_test(sdwa_selects_and_extends_sources),
        cmocka_unit_test(sdwa_places_results),
        cmocka_unit_test(op_sel_picks_halves),
        cmocka_unit_test(exec_selects_lanes),
        cmocka_unit_test(scalars_and_constants_reach_all_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
