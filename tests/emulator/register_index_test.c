/* Vector registers chosen at run time by s_set_gpr_idx_on and M0. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* s6 holds 3; lane l holds 1000 r + l in each v[r], r up to 19. Returns lane 5 of v[r] after. */
static uint32_t run(const char *assembly, unsigned r)
{
    struct harness harness;
    harness_create(&harness, assembly);
    harness_start(&harness);
    struct wave *wave = harness_wave(&harness);
    wave->scalar[6] = 3;
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            wave->vector[i][lane] = 1000 * i + lane;
    }
    if (!harness_finish(&harness))
        fail_msg("%s", harness.error.message);
    uint32_t value = harness_wave(&harness)->vector[r][5];
    harness_destroy(&harness);
    return value;
}

static void sources_and_destinations_move_as_selected(void **state)
{
    (void)state;
    const char *source = "s_set_gpr_idx_on s6, gpr_idx(SRC0)\nv_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(source, 10), 4005);
    const char *destination = "s_set_gpr_idx_on s6, gpr_idx(DST)\nv_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(destination, 13), 1005);
    assert_int_equal(run(destination, 10), 10005);
    const char *both = "s_set_gpr_idx_on s6, gpr_idx(SRC0,DST)\nv_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(both, 13), 4005);
    const char *others = "s_set_gpr_idx_on s6, gpr_idx(SRC1,SRC2)\nv_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(others, 10), 1005);
}

static void selection_and_distance_change_on_their_own(void **state)
{
    (void)state;
    const char *off = "s_set_gpr_idx_on s6, gpr_idx(DST)\ns_set_gpr_idx_off\n"
                      "v_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(off, 10), 1005);
    const char *distance = "s_set_gpr_idx_on s6, gpr_idx(DST)\ns_set_gpr_idx_idx 2\n"
                           "v_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(distance, 12), 1005);
    const char *selection = "s_set_gpr_idx_on s6, gpr_idx(DST)\ns_set_gpr_idx_mode gpr_idx(SRC0)\n"
                            "v_mov_b32_e32 v10, v1\n";
    assert_int_equal(run(selection, 10), 4005);
    const char *saved = "s_set_gpr_idx_on s6, 0x9\ns_set_gpr_idx_off\nv_mov_b32_e32 v10, m0\n";
    assert_int_equal(run(saved, 10) & 0xf0ff, 0x9003); /* its other bits stay */
}

static void only_vector_moves_are_concerned(void **state)
{
    (void)state;
    const char *scalar = "s_set_gpr_idx_on s6, gpr_idx(SRC0,DST)\ns_mov_b32 s7, s6\n"
                         "s_set_gpr_idx_off\nv_mov_b32_e32 v10, s7\n";
    assert_int_equal(run(scalar, 10), 3);
    harness_check_fault("s_set_gpr_idx_on 3, gpr_idx(DST)\nv_add_u32_e32 v10, v1, v1\n",
                        "only plain v_mov_b32");
}

static void indices_beyond_the_registers_are_faults(void **state)
{
    (void)state;
    harness_check_success("s_set_gpr_idx_on 15, gpr_idx(DST)\nv_mov_b32_e32 v240, v0\n");
    harness_check_fault("s_set_gpr_idx_on 16, gpr_idx(DST)\nv_mov_b32_e32 v240, v0\n",
                        "an index of 16 leads beyond the vector registers");
    harness_check_fault("s_set_gpr_idx_on 16, gpr_idx(SRC0)\nv_mov_b32_e32 v0, v240\n",
                        "an index of 16 leads beyond the vector registers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_and_destinations_move_as_selected),
        cmocka_unit_test(selection_and_distance_change_on_their_own),
        cmocka_unit_test(only_vector_moves_are_concerned),
        cmocka_unit_test(indices_beyond_the_registers_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
