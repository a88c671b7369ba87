/* ds_permute, ds_bpermute and ds_swizzle. */
#include "memory_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const uint64_t SOME_LANES = UINT64_C(0xf7ff00ff8421ffff);

static struct wave *start(struct harness *harness, const char *assembly)
{
    uint32_t random = 1;
    harness_create(harness, assembly);
    harness_start(harness);
    fill_registers(harness_wave(harness), &random);
    set_exec(harness_wave(harness), SOME_LANES);
    return harness_wave(harness);
}

static bool is_active(unsigned lane)
{
    return SOME_LANES >> lane & 1;
}

static void bpermute_pulls_and_inactive_lanes_give_zero(void **state)
{
    (void)state;
    struct harness harness;
    struct wave *wave = start(&harness, "ds_bpermute_b32 v4, v0, v1 offset:12\n");
    uint32_t expected[LANES];
    for (unsigned lane = 0; lane < LANES; ++lane) {
        /* v0 is random: high bits and the two lowest don't count. */
        unsigned source = (wave->vector[0][lane] + 12u) / 4 % 64;
        expected[lane] = wave->vector[4][lane];
        if (is_active(lane))
            expected[lane] = is_active(source) ? wave->vector[1][source] : 0;
    }
    finish(&harness);
    assert_memory_equal(wave->vector[4], expected, sizeof expected);
    harness_destroy(&harness);
}

static void permute_pushes_and_the_highest_lane_wins(void **state)
{
    (void)state;
    struct harness harness;
    struct wave *wave = start(&harness, "ds_permute_b32 v4, v0, v1\n");
    uint32_t expected[LANES], arrived[LANES] = {0};
    for (unsigned lane = 0; lane < LANES; ++lane)
        wave->vector[0][lane] = 4 * ((lane * 7 + 3) % 50);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (is_active(lane))
            arrived[(lane * 7 + 3) % 50] = wave->vector[1][lane];
    }
    for (unsigned lane = 0; lane < LANES; ++lane)
        expected[lane] = is_active(lane) ? arrived[lane] : wave->vector[4][lane];
    finish(&harness);
    assert_memory_equal(wave->vector[4], expected, sizeof expected);
    harness_destroy(&harness);
}

/* The lane that lane `at` of 32 takes from, for each line below. */
static unsigned quad_3012(unsigned at)
{
    static const unsigned order[] = {3, 0, 1, 2};
    return at / 4 * 4 + order[at % 4];
}

static unsigned swapped_by_16(unsigned at)
{
    return (at + 16) % 32;
}

static unsigned reversed_by_8(unsigned at)
{
    return at / 8 * 8 + 7 - at % 8;
}

static unsigned broadcast_3_of_8(unsigned at)
{
    return at / 8 * 8 + 3;
}

/* "01pi0": bits 4…0 are 0, 1, kept, inverted, 0 */
static unsigned masked(unsigned at)
{
    return 8 + (at & 4) + (~at & 2);
}

static unsigned rotated_left_by_3(unsigned at)
{
    return (at + 3) % 32;
}

static unsigned rotated_right_by_3(unsigned at)
{
    return (at + 29) % 32;
}

static unsigned bit_reversed(unsigned at)
{
    return (at & 1) << 4 | (at & 2) << 2 | (at & 4) | (at & 8) >> 2 | (at & 16) >> 4;
}

/* The upper bit stays, the others are reversed. */
static unsigned bit_reversed_by_16(unsigned at)
{
    return (at & 16) | (at & 1) << 3 | (at & 2) << 1 | (at & 4) >> 1 | (at & 8) >> 3;
}

static unsigned first_lane(unsigned at)
{
    (void)at;
    return 0;
}

static void swizzle_knows_all_modes(void **state)
{
    (void)state;
    static const struct {
        const char *offset;
        unsigned (*source)(unsigned at);
    } modes[] = {
        {" offset:swizzle(QUAD_PERM,3,0,1,2)", quad_3012},
        {" offset:swizzle(SWAP,16)", swapped_by_16},
        {" offset:swizzle(REVERSE,8)", reversed_by_8},
        {" offset:swizzle(BROADCAST,8,3)", broadcast_3_of_8},
        {" offset:swizzle(BITMASK_PERM,\"01pi0\")", masked},
        {" offset:swizzle(ROTATE,0,3)", rotated_left_by_3},
        {" offset:swizzle(ROTATE,1,3)", rotated_right_by_3},
        {" offset:swizzle(FFT,0)", bit_reversed},
        {" offset:swizzle(FFT,16)", bit_reversed_by_16},
        {"", first_lane},
    };
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
        char line[96];
        snprintf(line, sizeof line, "ds_swizzle_b32 v4, v1%s\n", modes[i].offset);
        struct harness harness;
        struct wave *wave = start(&harness, line);
        uint32_t expected[LANES];
        for (unsigned lane = 0; lane < LANES; ++lane) {
            unsigned source = lane / 32 * 32 + modes[i].source(lane % 32);
            expected[lane] = wave->vector[4][lane];
            if (is_active(lane))
                expected[lane] = is_active(source) ? wave->vector[1][source] : 0;
        }
        finish(&harness);
        assert_memory_equal(wave->vector[4], expected, sizeof expected);
        harness_destroy(&harness);
    }
}

static void the_result_must_be_waited_for(void **state)
{
    (void)state;
    struct harness harness;
    start(&harness, "ds_bpermute_b32 v4, v0, v1\nv_mov_b32_e32 v5, v4\n");
    finish_with_fault(&harness, "v4 is read before s_waitcnt lgkmcnt covers the ds_bpermute_b32");
    harness_destroy(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpermute_pulls_and_inactive_lanes_give_zero),
        cmocka_unit_test(permute_pushes_and_the_highest_lane_wins),
        cmocka_unit_test(swizzle_knows_all_modes),
        cmocka_unit_test(the_result_must_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
