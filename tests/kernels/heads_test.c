/* Every kind of variant, compiled and executed: rows of all the lengths at which the kernel's work
   changes, some of them masked. */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const int64_t heads[] = {1, 2, 4, 6, 7, 8, 12, 13, 16};
static const int64_t lengths[] = {129, 0, 64, 37, 1};
enum { TOKENS = sizeof lengths / sizeof *lengths, SLOTS = 96 };

static void run_all_heads(bool has_invalid, const struct layout *layout)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct problem problem;
        harness_make_problem(&problem, heads[i], TOKENS, lengths, SLOTS, has_invalid ? 0.3 : 0,
                             layout->scale);
        assert_runs_right(&problem, layout);
        problem_free(&problem);
    }
}

static void valid_indices_without_lse(void **state)
{
    (void)state;
    run_all_heads(false, &(struct layout){0});
}

static void valid_indices_with_lse(void **state)
{
    (void)state;
    run_all_heads(false, &(struct layout){.return_lse = true});
}

static void masked_indices_without_lse(void **state)
{
    (void)state;
    run_all_heads(true, &(struct layout){0});
}

static void masked_indices_with_lse(void **state)
{
    (void)state;
    run_all_heads(true, &(struct layout){.return_lse = true});
}

static void indices_of_64_bits(void **state)
{
    (void)state;
    run_all_heads(false, &(struct layout){.return_lse = true, .indices_bits = 64});
}

static void masked_indices_of_64_bits(void **state)
{
    (void)state;
    run_all_heads(true, &(struct layout){.return_lse = true, .indices_bits = 64});
}

static void records_of_older_writers(void **state)
{
    (void)state;
    run_all_heads(false, &(struct layout){.return_lse = true, .scale = DSAJIT_SCALE_ANY});
}

static void masked_records_of_older_writers_with_64_bit_indices(void **state)
{
    (void)state;
    run_all_heads(
        true, &(struct layout){.return_lse = true, .indices_bits = 64, .scale = DSAJIT_SCALE_ANY});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_indices_without_lse),
        cmocka_unit_test(valid_indices_with_lse),
        cmocka_unit_test(masked_indices_without_lse),
        cmocka_unit_test(masked_indices_with_lse),
        cmocka_unit_test(indices_of_64_bits),
        cmocka_unit_test(masked_indices_of_64_bits),
        cmocka_unit_test(records_of_older_writers),
        cmocka_unit_test(masked_records_of_older_writers_with_64_bit_indices),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
