/* Moves between lanes: DPP, SDWA, readlane and its kin, row swaps, mbcnt. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

/* Before the assembly runs, lane l holds 100 + l in v2, 200 + l in v4 and 900 + l in v8. */
static void run(struct harness *harness, const char *assembly)
{
    harness_create(harness, assembly);
    harness_start(harness);
    struct wave *wave = harness_wave(harness);
    for (unsigned lane = 0; lane < LANES; lane++) {
        wave->vector[2][lane] = 100 + lane;
        wave->vector[4][lane] = 200 + lane;
        wave->vector[8][lane] = 900 + lane;
    }
    if (!harness_finish(harness))
        fail_msg("%s", harness->error.message);
}

/* ---- DPP ---- */

enum { OLD = -1, ZERO = -2 };

/* The lane whose v2 comes into v8, or OLD or ZERO. */
typedef int (*lane_source)(int lane);

static void check_move(const char *assembly, lane_source source)
{
    struct harness harness;
    run(&harness, assembly);
    for (int lane = 0; lane < LANES; lane++) {
        int from = source(lane);
        unsigned expected = from == OLD    ? 900 + (unsigned)lane
                            : from == ZERO ? 0
                                           : 100 + (unsigned)from;
        unsigned value = harness_wave(&harness)->vector[8][lane];
        if (value != expected)
            fail_msg("%s: lane %d holds %u instead of %u", assembly, lane, value, expected);
    }
    harness_destroy(&harness);
}

static int same_quad(int lane)
{
    static const int order[] = {3, 1, 0, 2};
    return lane / 4 * 4 + order[lane % 4];
}

static int row_left_3(int lane)
{
    return lane % 16 + 3 < 16 ? lane + 3 : OLD;
}

static int row_left_3_bound(int lane)
{
    return lane % 16 + 3 < 16 ? lane + 3 : ZERO;
}

static int row_right_1(int lane)
{
    return lane % 16 ? lane - 1 : OLD;
}

static int row_rotated_5(int lane)
{
    return lane / 16 * 16 + (lane % 16 + 11) % 16;
}

static int wave_left(int lane)
{
    return lane < 63 ? lane + 1 : OLD;
}

static int wave_right(int lane)
{
    return lane ? lane - 1 : OLD;
}

static int wave_rotated_left(int lane)
{
    return (lane + 1) % 64;
}

static int wave_rotated_right(int lane)
{
    return (lane + 63) % 64;
}

static int mirrored(int lane)
{
    return lane / 16 * 16 + 15 - lane % 16;
}

static int half_mirrored(int lane)
{
    return lane / 8 * 8 + 7 - lane % 8;
}

static int last_of_row_before(int lane)
{
    return lane < 16 ? OLD : lane / 16 * 16 - 1;
}

static int last_of_row_before_in_rows_1_3(int lane)
{
    return lane / 16 % 2 ? lane / 16 * 16 - 1 : OLD;
}

static int lane_31(int lane)
{
    return lane < 32 ? OLD : 31;
}

static int lane_9_of_row(int lane)
{
    return lane / 16 * 16 + 9;
}

static int bank_2_of_row_0(int lane)
{
    return lane >= 8 && lane < 12 ? lane : OLD;
}

static void dpp_moves(void **state)
{
    (void)state;
    static const struct {
        const char *modifiers;
        lane_source source;
    } moves[] = {
        {"quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf", same_quad},
        {"row_shl:3 row_mask:0xf bank_mask:0xf", row_left_3},
        {"row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:0", row_left_3_bound},
        {"row_shr:1 row_mask:0xf bank_mask:0xf", row_right_1},
        {"row_ror:5 row_mask:0xf bank_mask:0xf", row_rotated_5},
        {"wave_shl:1 row_mask:0xf bank_mask:0xf", wave_left},
        {"wave_shr:1 row_mask:0xf bank_mask:0xf", wave_right},
        {"wave_rol:1 row_mask:0xf bank_mask:0xf", wave_rotated_left},
        {"wave_ror:1 row_mask:0xf bank_mask:0xf", wave_rotated_right},
        {"row_mirror row_mask:0xf bank_mask:0xf", mirrored},
        {"row_half_mirror row_mask:0xf bank_mask:0xf", half_mirrored},
        {"row_bcast:15 row_mask:0xf bank_mask:0xf", last_of_row_before},
        {"row_bcast:15 row_mask:0xa bank_mask:0xf", last_of_row_before_in_rows_1_3},
        {"row_bcast:31 row_mask:0xf bank_mask:0xf", lane_31},
        {"row_newbcast:9 row_mask:0xf bank_mask:0xf", lane_9_of_row},
        {"quad_perm:[0,1,2,3] row_mask:0x1 bank_mask:0x4", bank_2_of_row_0},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        char assembly[128] = "v_mov_b32_dpp v8, v2 ";
        strcat(assembly, moves[i].modifiers);
        check_move(assembly, moves[i].source);
    }
}

static int not_from_lane_that_is_off(int lane)
{
    if (lane >= 8 && lane < 12) /* off itself */
        return OLD;
    return lane % 16 + 1 < 16 && !(lane + 1 >= 8 && lane + 1 < 12) ? lane + 1 : OLD;
}

static void dpp_does_not_read_lanes_that_are_off(void **state)
{
    (void)state;
    check_move("s_mov_b32 exec_lo, 0xfffff0ff\n"
               "v_mov_b32_dpp v8, v2 row_shl:1 row_mask:0xf bank_mask:0xf",
               not_from_lane_that_is_off);
}

static void dpp_moves_the_first_source_only(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "v_sub_u32_dpp v8, v2, v4 row_mirror row_mask:0xf bank_mask:0xf\n"
                  "v_add_f32_dpp v9, -v2, |v4| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"
                  "v_add_co_u32_dpp v10, vcc, v2, v4 row_ror:1 row_mask:0xf bank_mask:0xf");
    const struct wave *wave = harness_wave(&harness);
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned mirror = lane / 16 * 16 + 15 - lane % 16;
        assert_int_equal(wave->vector[8][lane], 100 + mirror - (200 + lane));
        unsigned before = lane / 16 * 16 + (lane + 15) % 16;
        assert_int_equal(wave->vector[10][lane], 100 + before + 200 + lane);
        /* Small integers are subnormal floats: their sum is the integers' sum. */
        assert_int_equal(wave->vector[9][lane], 200 + lane - (100 + (lane ^ 1)));
    }
    harness_destroy(&harness);
}

static void wide_moves_take_row_newbcast(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "v_mov_b32_e32 v3, v4\n"
                  "v_mov_b64_dpp v[10:11], v[2:3] row_newbcast:5 row_mask:0xf bank_mask:0xf");
    const struct wave *wave = harness_wave(&harness);
    for (unsigned lane = 0; lane < LANES; lane++) {
        assert_int_equal(wave->vector[10][lane], 100 + lane / 16 * 16 + 5);
        assert_int_equal(wave->vector[11][lane], 200 + lane / 16 * 16 + 5);
    }
    harness_destroy(&harness);
}

/* ---- SDWA ---- */

static uint32_t sdwa(const char *instruction, uint32_t a, uint32_t b, uint32_t old)
{
    struct harness harness;
    harness_create(&harness, instruction);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    wave->vector[2][7] = a;
    wave->vector[4][7] = b;
    wave->vector[8][7] = old;
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    uint32_t result = wave->vector[8][7];
    harness_destroy(&harness);
    return result;
}

static void sdwa_selects_and_places(void **state)
{
    (void)state;
    assert_int_equal(sdwa("v_mov_b32_sdwa v8, v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
                          "src0_sel:BYTE_2",
                          0x11f23344, 0, 0xaaaaaaaa),
                     0xf2);
    assert_int_equal(sdwa("v_mov_b32_sdwa v8, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD "
                          "src0_sel:BYTE_2",
                          0x11f23344, 0, 0xaaaaaaaa),
                     0xfffffff2);
    assert_int_equal(sdwa("v_mov_b32_sdwa v8, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE "
                          "src0_sel:BYTE_3",
                          0x11f23344, 0, 0xaaaaaaaa),
                     0xaaaa11aa);
    assert_int_equal(sdwa("v_mov_b32_sdwa v8, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT "
                          "src0_sel:BYTE_2",
                          0x11f23344, 0, 0xaaaaaaaa),
                     0xfffff200);
    assert_int_equal(sdwa("v_add_u32_sdwa v8, v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
                          "src0_sel:WORD_1 src1_sel:WORD_0",
                          0x1234ffff, 0xffff0001, 0),
                     0x12350000);
    assert_int_equal(sdwa("v_mul_f16_sdwa v8, -v2, |v4| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
                          "src0_sel:WORD_1 src1_sel:WORD_1",
                          0x4000ffff, 0xc2000000, 0x1111beef),
                     0xc600beef); /* -2 * |-3| */
    assert_int_equal(sdwa("v_lshlrev_b16_sdwa v8, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD "
                          "src0_sel:BYTE_1 src1_sel:BYTE_0",
                          0x00000400, 0xffffff0f, 0),
                     0xf0);
}

/* ---- Between vector and scalar registers ---- */

static void readlane_and_its_kin(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "s_mov_b32 s20, 0x45\n" /* lane 5: the index wraps at 64 */
                  "v_readlane_b32 s21, v2, s20\n"
                  "v_readlane_b32 s22, v2, 63\n"
                  "s_mov_b64 exec, 0xff00\n"
                  "v_readfirstlane_b32 s23, v2\n"
                  "v_readlane_b32 s24, v2, 1\n" /* although lane 1 is off */
                  "s_mov_b32 m0, 17\n"
                  "v_writelane_b32 v8, 0x64, m0\n"
                  "v_writelane_b32 v8, s21, 2\n"
                  "s_mov_b64 exec, 0\n"
                  "v_readfirstlane_b32 s25, v4");
    const struct wave *wave = harness_wave(&harness);
    assert_int_equal(wave->scalar[21], 105);
    assert_int_equal(wave->scalar[22], 163);
    assert_int_equal(wave->scalar[23], 108);
    assert_int_equal(wave->scalar[24], 101);
    assert_int_equal(wave->scalar[25], 200);
    for (unsigned lane = 0; lane < LANES; lane++)
        assert_int_equal(wave->vector[8][lane], lane == 17 ? 100 : lane == 2 ? 105 : 900 + lane);
    harness_destroy(&harness);
}

static void accumulation_registers_move(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "v_accvgpr_write_b32 a3, v2\n"
                  "v_accvgpr_mov_b32 a255, a3\n"
                  "v_accvgpr_read_b32 v8, a255\n"
                  "v_accvgpr_write_b32 a4, 7\n"
                  "v_accvgpr_read_b32 v9, a4");
    for (unsigned lane = 0; lane < LANES; lane++) {
        assert_int_equal(harness_wave(&harness)->vector[8][lane], 100 + lane);
        assert_int_equal(harness_wave(&harness)->vector[9][lane], 7);
    }
    harness_destroy(&harness);
}

/* ---- Exchanges ---- */

static void swap_obeys_exec(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "s_mov_b32 exec_hi, 0\nv_swap_b32 v2, v4");
    for (unsigned lane = 0; lane < LANES; lane++) {
        const struct wave *wave = harness_wave(&harness);
        assert_int_equal(wave->vector[2][lane], (lane < 32 ? 200 : 100) + lane);
        assert_int_equal(wave->vector[4][lane], (lane < 32 ? 100 : 200) + lane);
    }
    harness_destroy(&harness);
}

static void row_swaps(void **state)
{
    (void)state;
    static const struct {
        const char *assembly;
        unsigned span;
    } swaps[] = {{"v_permlane16_swap_b32_e32 v2, v4", 16},
                 {"v_permlane32_swap_b32_e32 v2, v4", 32}};
    for (unsigned i = 0; i < 2; i++) {
        struct harness harness;
        run(&harness, swaps[i].assembly);
        const struct wave *wave = harness_wave(&harness);
        for (unsigned lane = 0; lane < LANES; lane++) {
            bool odd_row = lane / swaps[i].span % 2;
            assert_int_equal(wave->vector[2][lane],
                             odd_row ? 200 + lane - swaps[i].span : 100 + lane);
            assert_int_equal(wave->vector[4][lane],
                             odd_row ? 200 + lane : 100 + lane + swaps[i].span);
        }
        harness_destroy(&harness);
    }
}

/* Lane 0 is off: what lane 16 of the first register gets depends on the modifiers. */
static void row_swaps_with_lanes_off(void **state)
{
    (void)state;
    static const struct {
        const char *assembly;
        unsigned lane_16;
    } swaps[] = {
        {"s_mov_b32 exec_lo, -2\nv_permlane16_swap_b32_e32 v2, v4", 116},
        {"s_mov_b32 exec_lo, -2\nv_permlane16_swap_b32_e64 v2, v4 bound_ctrl:1", 0},
        {"s_mov_b32 exec_lo, -2\nv_permlane16_swap_b32_e64 v2, v4 fi:1", 200},
    };
    for (unsigned i = 0; i < sizeof swaps / sizeof swaps[0]; i++) {
        struct harness harness;
        run(&harness, swaps[i].assembly);
        assert_int_equal(harness_wave(&harness)->vector[2][16], swaps[i].lane_16);
        assert_int_equal(harness_wave(&harness)->vector[4][0], 200); /* is off itself */
        assert_int_equal(harness_wave(&harness)->vector[2][17], 201);
        harness_destroy(&harness);
    }
}

static void mbcnt_counts_lower_lanes(void **state)
{
    (void)state;
    struct harness harness;
    run(&harness, "v_mbcnt_lo_u32_b32 v9, -1, 0\n"
                  "v_mbcnt_hi_u32_b32 v9, -1, v9\n"
                  "s_mov_b32 s20, 0x0f0000f0\n"
                  "s_mov_b32 s21, 0xa0000001\n"
                  "v_mbcnt_lo_u32_b32 v8, s20, v2\n"
                  "v_mbcnt_hi_u32_b32 v8, s21, v8");
    const uint64_t mask = UINT64_C(0xa00000010f0000f0);
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned count = 0;
        for (unsigned lower = 0; lower < lane; lower++)
            count += mask >> lower & 1;
        assert_int_equal(harness_wave(&harness)->vector[9][lane], lane);
        assert_int_equal(harness_wave(&harness)->vector[8][lane], 100 + lane + count);
    }
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dpp_moves),
        cmocka_unit_test(dpp_does_not_read_lanes_that_are_off),
        cmocka_unit_test(dpp_moves_the_first_source_only),
        cmocka_unit_test(wide_moves_take_row_newbcast),
        cmocka_unit_test(sdwa_selects_and_places),
        cmocka_unit_test(readlane_and_its_kin),
        cmocka_unit_test(accumulation_registers_move),
        cmocka_unit_test(swap_obeys_exec),
        cmocka_unit_test(row_swaps),
        cmocka_unit_test(row_swaps_with_lanes_off),
        cmocka_unit_test(mbcnt_counts_lower_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
