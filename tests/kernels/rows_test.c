/* Rows of every length, masked entries, and index lists that are wrong. */
#include "harness.h"
#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { HEADS = 4, SLOTS = 100 };
static const struct layout with_lse = {.return_lse = true};

/* Around the 16 keys of a wave, the 64 of a tile, and two and three tiles. */
static void rows_of_every_length_around_the_tiles(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0,  1,  2,  15, 16,  17,  31,  32,  33,  47,  48, 49,
                                      62, 63, 64, 65, 127, 128, 129, 191, 192, 193, 0,  256};
    struct problem problem;
    harness_make_problem(&problem, HEADS, sizeof lengths / sizeof *lengths, lengths, SLOTS, 0,
                         DSAJIT_SCALE_POW2);
    assert_runs_right(&problem, &with_lse);
    problem_free(&problem);
}

static void rows_of_the_usual_length_and_one_less(void **state)
{
    (void)state;
    static const int64_t lengths[] = {2047, 2048};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 2, lengths, 3000, 0, DSAJIT_SCALE_POW2);
    assert_runs_right(&problem, &with_lse);
    problem_free(&problem);
}

/* A row's entries are all masked, up to one that is not, at each place in turn. */
static void one_valid_entry_anywhere_among_masked_ones(void **state)
{
    (void)state;
    enum { TOKENS = 12 };
    static const int64_t places[TOKENS] = {0, 1, 15, 16, 31, 48, 63, 64, 65, 127, 128, 129};
    int64_t lengths[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        lengths[t] = 130;
    struct problem problem;
    harness_make_problem(&problem, HEADS, TOKENS, lengths, SLOTS, 1, DSAJIT_SCALE_POW2);
    for (int t = 0; t < TOKENS; t++)
        problem.indices[problem.indptr[t] + places[t]] = t;
    assert_runs_right(&problem, &with_lse);
    problem_free(&problem);
}

static void rows_with_only_masked_entries(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 64, 65, 200, 0};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 5, lengths, SLOTS, 1, DSAJIT_SCALE_POW2);
    assert_runs_right(&problem, &with_lse);
    assert_runs_right(&problem, &(struct layout){.return_lse = true, .indices_bits = 64});
    problem_free(&problem);
}

/* Any entry below 0, not only -1. */
static void every_negative_entry_is_masked(void **state)
{
    (void)state;
    static const int64_t lengths[] = {80};
    static const int64_t negative[] = {-1, -2, -656, INT32_MIN, INT32_MIN + 1, -1000000};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 1, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    problem.has_invalid = true;
    for (size_t i = 0; i < 6; i++)
        problem.indices[13 * i] = negative[i];
    assert_runs_right(&problem, &with_lse);
    problem.indices[5] = INT64_MIN;
    problem.indices[6] = -((int64_t)1 << 32); /* its lower half is the valid slot 0 */
    problem.indices[7] = 5 - ((int64_t)1 << 32);
    assert_runs_right(&problem, &(struct layout){.return_lse = true, .indices_bits = 64});
    problem_free(&problem);
}

static void fill_with_nan(uint8_t *record)
{
    memset(record, 0xff, DSAJIT_RECORD_BYTES); /* e4m3, f32 and bf16 NaN alike */
}

/* NaN records where a masked entry could lead if it were read: slot 0, the slot before, the last
   slot, and behind the cache nothing at all, which the emulator tells. */
static void masked_entries_never_let_data_in(void **state)
{
    (void)state;
    static const int64_t lengths[] = {70, 64, 3, 129};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 4, lengths, SLOTS, 0.4, DSAJIT_SCALE_POW2);
    fill_with_nan(problem.kv);
    fill_with_nan(problem.kv + (size_t)(SLOTS - 1) * DSAJIT_RECORD_BYTES);
    for (int64_t i = 0; i < problem.index_count; i++)
        if (problem.indices[i] == 0 || problem.indices[i] == SLOTS - 1)
            problem.indices[i] = -1;
    assert_runs_right(&problem, &with_lse);
    assert_runs_right(&problem, &(struct layout){.return_lse = true, .indices_bits = 64});
    problem_free(&problem);
}

/* Entries before and behind a row belong to other rows: here they are NaN records' slots. */
static void a_row_ends_where_its_bounds_say(void **state)
{
    (void)state;
    static const int64_t lengths[] = {5, 63, 5, 65, 5};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 5, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    fill_with_nan(problem.kv);
    for (int64_t i = 0; i < problem.index_count; i++)
        problem.indices[i] = 1 + problem.indices[i] % (SLOTS - 1);
    for (int t = 0; t < 5; t += 2)
        for (int64_t i = problem.indptr[t]; i < problem.indptr[t + 1]; i++)
            problem.indices[i] = 0;
    struct result result;
    harness_run(&problem, &with_lse, &result);
    /* The rows of NaN records are NaN; the others must not be. */
    for (int t = 0; t < 5; t += 2)
        for (int h = 0; h < HEADS; h++)
            assert_true(result.lse[t * HEADS + h] != result.lse[t * HEADS + h]);
    struct problem row = problem;
    row.tokens = 1;
    for (int t = 1; t < 5; t += 2) {
        row.q = problem.q + (int64_t)t * HEADS * RECORD_KEY_SIZE;
        row.indptr = problem.indptr + t;
        const struct result its = {result.out + (int64_t)t * HEADS * DSAJIT_KV_LORA_RANK,
                                   result.lse + (int64_t)t * HEADS};
        assert_right(&row, &its);
    }
    result_free(&result);
    problem_free(&problem);
}

static void entries_that_occur_twice_count_twice(void **state)
{
    (void)state;
    static const int64_t lengths[] = {3, 2, 96};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 3, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    problem.indices[0] = problem.indices[1] = 4;
    problem.indices[2] = 9;
    for (int64_t i = problem.indptr[2]; i < problem.indptr[3]; i++)
        problem.indices[i] = i % 3;
    assert_runs_right(&problem, &with_lse);
    problem_free(&problem);
}

/* Bounds come from the device and nobody can check them before: they are cut to the list, and a
   decreasing pair is an empty row. */
static void wrong_bounds_lead_nowhere(void **state)
{
    (void)state;
    static const int64_t lengths[] = {20, 20, 20, 20, 20, 20};
    static const int64_t wrong[] = {-5, 20, 10, 60, 1000, INT32_MAX, INT32_MIN};
    static const int64_t meant[][2] = {{0, 20}, {0, 0}, {10, 60}, {60, 120}, {0, 0}, {0, 0}};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 6, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    memcpy(problem.indptr, wrong, sizeof wrong);
    for (int bits = 32; bits <= 64; bits += 32) {
        struct result result;
        harness_run(&problem, &(struct layout){.return_lse = true, .indptr_bits = bits}, &result);
        for (int t = 0; t < 6; t++) {
            int64_t bounds[2] = {meant[t][0], meant[t][1]};
            struct problem row = problem;
            row.tokens = 1;
            row.q = problem.q + (int64_t)t * HEADS * RECORD_KEY_SIZE;
            row.indptr = bounds;
            const struct result its = {result.out + (int64_t)t * HEADS * DSAJIT_KV_LORA_RANK,
                                       result.lse + (int64_t)t * HEADS};
            assert_right(&row, &its);
        }
        result_free(&result);
    }
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_around_the_tiles),
        cmocka_unit_test(rows_of_the_usual_length_and_one_less),
        cmocka_unit_test(one_valid_entry_anywhere_among_masked_ones),
        cmocka_unit_test(rows_with_only_masked_entries),
        cmocka_unit_test(every_negative_entry_is_masked),
        cmocka_unit_test(masked_entries_never_let_data_in),
        cmocka_unit_test(a_row_ends_where_its_bounds_say),
        cmocka_unit_test(entries_that_occur_twice_count_twice),
        cmocka_unit_test(wrong_bounds_lead_nowhere),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
