/* FlashMLA's own cases: no further from float64 than FlashMLA itself. */
#include "case_directory.h"
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct vector {
    const char *name;
    double out_error; /* FlashMLA's ||out - ref|| / ||ref||, from tests/vectors/README.md */
};

static void check_case(const char *folder, const struct vector *vector)
{
    char path[4096];
    struct problem problem;
    struct result result;
    struct reference reference;
    dsajit_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, vector->name);
    assert_ok(case_directory_read(path, &problem, &error), &error);
    harness_run(&problem, &(struct layout){.return_lse = true}, &result);
    assert_ok(reference_compute(&problem, &reference, &error), &error);
    const struct comparison errors = comparison_make(&problem, &reference, result.out, result.lse);
    print_message("%s: out %.3e (FlashMLA %.2e), lse %.2e, relative %.2e\n", vector->name,
                  errors.out_relative, vector->out_error, errors.lse_max, errors.lse_relative);
    assert_true(errors.out_relative <= 1.1 * vector->out_error);
    assert_true(errors.lse_relative <= 1e-5);
    assert_int_equal(errors.empty_rows_wrong, 0);
    reference_free(&reference);
    result_free(&result);
    problem_free(&problem);
}

static void check_here(const struct vector *vector)
{
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/tests/vectors", getenv("DSAJIT_TEST_SOURCE"));
    check_case(folder, vector);
}

static void h16_k128(void **state)
{
    (void)state;
    check_here(&(struct vector){"mla_h16_k128", 1.81e-3});
}

static void h8_invalid(void **state)
{
    (void)state;
    check_here(&(struct vector){"mla_h8_invalid", 1.78e-3});
}

static void h6_ragged(void **state)
{
    (void)state;
    check_here(&(struct vector){"mla_h6_ragged", 1.83e-3});
}

static void h12_spread(void **state)
{
    (void)state;
    check_here(&(struct vector){"mla_h12_spread", 7.7e-4});
}

static void h1_k64(void **state)
{
    (void)state;
    check_here(&(struct vector){"mla_h1_k64", 1.71e-3});
}

/* Too large for the repository: in DSAJIT_TEST_VECTORS, or in ../shared/vectors. */
static void h16_k2048(void **state)
{
    (void)state;
    const char *named = getenv("DSAJIT_TEST_VECTORS");
    char folder[2048], probe[4096];
    snprintf(folder, sizeof folder, named ? "%s" : "%s/../shared/vectors",
             named ? named : getenv("DSAJIT_TEST_SOURCE"));
    snprintf(probe, sizeof probe, "%s/mla_h16_k2048/case.json", folder);
    FILE *file = fopen(probe, "r");
    if (!file) {
        print_message("skipped: no %s; DSAJIT_TEST_VECTORS can name another folder\n", probe);
        skip();
    }
    fclose(file);
    check_case(folder, &(struct vector){"mla_h16_k2048", 1.70e-3});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h16_k128),   cmocka_unit_test(h8_invalid), cmocka_unit_test(h6_ragged),
        cmocka_unit_test(h12_spread), cmocka_unit_test(h1_k64),     cmocka_unit_test(h16_k2048),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
