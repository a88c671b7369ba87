/* What every kernel costs: no scratch, no spills, and no matrix instruction more than the algorithm
 * has. */
#include "score_problem.h"

#include "dsajit/warmup.h"
#include "emulator/emulator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool show_progress(void *user, const dsajit_warm_progress *progress)
{
    (void)user;
    if (progress->finished && progress->done % 32 == 0)
        print_message("%zu of %zu variants\n", progress->done, progress->total);
    return true;
}

static void no_variant_of_any_family_spills_or_uses_scratch(void **state)
{
    (void)state;
    dsajit_plan *plan;
    dsajit_error error = {0};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.progress = show_progress;
    assert_int_equal(dsajit_plan_create(&plan, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_plan_add(plan, "", NULL), DSAJIT_OK);
    assert_ok(dsajit_warmup(harness_context(), plan, &options, NULL, &error), &error);
    for (size_t i = 0; i < dsajit_plan_size(plan); i++) {
        const char *variant = dsajit_plan_variant(plan, i);
        dsajit_kernel_info info;
        assert_ok(dsajit_prepare(harness_context(), variant, &info, &error), &error);
        if (info.scratch_bytes || info.vgpr_spills || info.sgpr_spills)
            fail_msg("%s: %u bytes of scratch, %u VGPR and %u SGPR spills", variant,
                     info.scratch_bytes, info.vgpr_spills, info.sgpr_spills);
        assert_true(info.vgprs <= 512);
        assert_true(info.lds_bytes <= 160 * 1024);
    }
    dsajit_plan_free(plan);
}

static void start_counting(void)
{
    void (*reset_counters)(void);
    void *symbol = dsajit_hip_symbol(harness_context(), "dsajit_emulator_reset_counters");
    memcpy(&reset_counters, &symbol, sizeof symbol);
    reset_counters();
}

static uint64_t count_matrix_instructions(void)
{
    struct dsajit_emulator_counters counters;
    void (*read_counters)(struct dsajit_emulator_counters *);
    void *symbol = dsajit_hip_symbol(harness_context(), "dsajit_emulator_counters");
    memcpy(&read_counters, &symbol, sizeof symbol);
    read_counters(&counters);
    return counters.matrix;
}

/* 16x16x32: for 64 keys, 4 waves of 16 keys multiply 576 / 32 = 18 times for the scores of up to 16
   heads, and 512 / 16 output blocks take 64 / 32 multiplications each. */
static void sparse_mla_multiplies_as_often_as_the_algorithm(void **state)
{
    (void)state;
    enum { PER_TILE = 4 * 18 + 512 / 16 * 2, TILE_KEYS = 64 };
    static const int64_t lengths[] = {0, 1, 64, 65, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct layout layout = {0};
        struct problem problem;
        struct result result;
        harness_make_problem(&problem, 7, 1, &lengths[i], 50, 0, layout.scale);
        start_counting();
        harness_run(&problem, &layout, &result);
        int64_t tiles = (lengths[i] + TILE_KEYS - 1) / TILE_KEYS;
        assert_int_equal(count_matrix_instructions(), tiles * PER_TILE);
        result_free(&result);
        problem_free(&problem);
    }
}

/* 16x16x128: 16 heads of a row with 16 keys. A row costs nothing where all of a wave's 128 keys are
   outside its window. */
static void the_scorer_multiplies_windows_only(void **state)
{
    enum { WAVE_KEYS = 128, PER_WAVE = WAVE_KEYS / 16, HEADS = 40, ROWS = 5, TOKENS = 2000 };
    static const int32_t starts[ROWS] = {0, 127, 1000, 640, 300};
    static const int32_t ends[ROWS] = {0, 129, 2000, 768, 301};
    struct score_problem problem;
    struct score_call call;
    uint64_t waves = 0;
    (void)state;
    score_problem_create(&problem,
                         &(struct score_sizes){DSAJIT_INDEXER_FP8, HEADS, 1, ROWS, TOKENS});
    for (int row = 0; row < ROWS; row++) {
        problem.starts[row] = starts[row];
        problem.ends[row] = ends[row];
        for (int wave = 0; wave * WAVE_KEYS < TOKENS; wave++)
            waves += starts[row] < ends[row] && starts[row] < (wave + 1) * WAVE_KEYS &&
                     ends[row] > wave * WAVE_KEYS;
    }
    score_call_prepare(&call, &problem, &(struct score_layout){.page_tokens = 64});
    start_counting();
    free(score_call_run(&call));
    assert_int_equal(count_matrix_instructions(), waves * PER_WAVE * ((HEADS + 15) / 16));
    score_call_free(&call);
    score_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_variant_of_any_family_spills_or_uses_scratch),
        cmocka_unit_test(sparse_mla_multiplies_as_often_as_the_algorithm),
        cmocka_unit_test(the_scorer_multiplies_windows_only),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
