/* Top-k: rows of every length, every kind of number, ties, windows and strides, against the
   definition in plain C. */
#include "harness.h"
#include "topk_harness.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
    /* Sizes of the kernel at which it goes another way; see templates/topk.hip and topk_row.hpp. */
    LIST = 7936,
    HELD = 8 * 1024 * 4 + 3
};

static float *allocate_logits(int64_t rows, int64_t columns)
{
    float *logits = malloc((size_t)(rows * columns) * sizeof *logits + 1);
    assert_non_null(logits);
    return logits;
}

static float *draw_logits(int64_t rows, int64_t columns, uint64_t seed)
{
    float *logits = allocate_logits(rows, columns);
    topk_fill_random(logits, rows * columns, seed);
    return logits;
}

/* Rows of given lengths in a matrix as wide as the longest. */
static void check_lengths(const float *logits, int64_t columns, int64_t rows,
                          const int32_t *lengths, int64_t k)
{
    topk_assert_right(&(struct topk_problem){
        .rows = rows, .columns = columns, .k = k, .logits = logits, .ends = lengths});
}

static void rows_of_every_length_and_every_k(void **state)
{
    (void)state;
    static const int64_t ks[] = {1, 2, 63, 64, 65, 512, 1024, 2047, 2048};
    enum { ROWS = 9, COLUMNS = 4200 };
    float *logits = draw_logits(ROWS, COLUMNS, 1);
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        const int32_t k = (int32_t)ks[i];
        const int32_t lengths[ROWS] = {0, 1, k - 1, k, k + 1, k + 2, k + 3, 2 * k, COLUMNS};
        check_lengths(logits, COLUMNS, ROWS, lengths, k);
    }
    free(logits);
}

static void rows_around_the_sizes_of_the_kernel(void **state)
{
    (void)state;
    static const int32_t lengths[] = {4095,     4096, 4097,     LIST - 1, LIST,    LIST + 1,
                                      HELD - 1, HELD, HELD + 1, HELD + 2, 3 * HELD};
    enum { ROWS = sizeof lengths / sizeof *lengths, COLUMNS = 3 * HELD };
    float *logits = draw_logits(ROWS, COLUMNS, 2);
    check_lengths(logits, COLUMNS, ROWS, lengths, 1);
    check_lengths(logits, COLUMNS, ROWS, lengths, 2048);
    free(logits);
}

static void equal_logits(void **state)
{
    (void)state;
    static const float values[] = {0, -0.0f, 1, -3.5f, INFINITY, -INFINITY, NAN, FLT_TRUE_MIN};
    static const int32_t lengths[] = {2049, LIST, LIST + 1, HELD, HELD + 1, 70000};
    enum { ROWS = sizeof lengths / sizeof *lengths, COLUMNS = 70000 };
    float *logits = allocate_logits(ROWS, COLUMNS);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
            logits[i] = values[v];
        check_lengths(logits, COLUMNS, ROWS, lengths, v % 2 ? 2048 : 1);
    }
    free(logits);
}

/* Rows whose scores take only a few values, so that the k-th is one of many. */
static void many_ties(void **state)
{
    (void)state;
    static const int32_t lengths[] = {3000, LIST + 1, 20000, HELD + 1, 60000};
    static const int64_t ks[] = {1, 100, 2048};
    enum { ROWS = sizeof lengths / sizeof *lengths, COLUMNS = 60000 };
    float *logits = draw_logits(ROWS, COLUMNS, 3);
    for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
        logits[i] = roundf(2 * logits[i]) / 2;
    for (size_t i = 0; i < 3; i++)
        check_lengths(logits, COLUMNS, ROWS, lengths, ks[i]);
    free(logits);
}

/* So close together that their first digits, or their first two, are the same. */
static void scores_that_differ_only_in_their_last_bits(void **state)
{
    (void)state;
    static const int32_t lengths[] = {LIST + 1, HELD, HELD + 1, 60000};
    static const float steps[] = {0x1p-23f, 0x1p-16f, 0x1p-12f};
    enum { ROWS = sizeof lengths / sizeof *lengths, COLUMNS = 60000 };
    float *logits = allocate_logits(ROWS, COLUMNS);
    for (size_t s = 0; s < 3; s++) {
        topk_fill_random(logits, (int64_t)ROWS * COLUMNS, 4 + s);
        for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
            logits[i] = -5 - steps[s] * floorf(100 * fabsf(logits[i]));
        check_lengths(logits, COLUMNS, ROWS, lengths, 2048);
    }
    free(logits);
}

/* Every kind of f32, from all its bit patterns. */
static void numbers_of_every_kind(void **state)
{
    (void)state;
    static const float special[] = {
        0,       -0.0f,    FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, -FLT_MIN, 0x1.fffffcp-127f,
        FLT_MAX, -FLT_MAX, INFINITY,     -INFINITY,     NAN,     -NAN,     1,
        -1};
    enum { SPECIAL = sizeof special / sizeof *special, ROWS = 3, COLUMNS = 9000 };
    static const int32_t lengths[ROWS] = {3000, LIST, COLUMNS};
    static const int64_t ks[] = {1, 700, 2000, 2048};
    float *logits = allocate_logits(ROWS, COLUMNS);
    uint32_t random = 12345;
    for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++) {
        random = random * 1664525 + 1013904223;
        if (random >> 30)
            memcpy(&logits[i], &random, sizeof random);
        else
            logits[i] = special[(random >> 8) % SPECIAL];
    }
    for (size_t i = 0; i < 4; i++)
        check_lengths(logits, COLUMNS, ROWS, lengths, ks[i]);
    free(logits);
}

static void zeros_of_both_signs_are_equal(void **state)
{
    (void)state;
    static const int32_t lengths[] = {3000, HELD, HELD + 1};
    enum { ROWS = sizeof lengths / sizeof *lengths, COLUMNS = HELD + 1 };
    float *logits = allocate_logits(ROWS, COLUMNS);
    for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
        logits[i] = i % 50 == 0 ? 1 : (i % 3 ? -0.0f : 0);
    check_lengths(logits, COLUMNS, ROWS, lengths, 1500);
    free(logits);
}

/* Too few numbers: the rest of the k are -inf first, then NaN. */
static void minus_infinity_and_then_nan_come_last(void **state)
{
    (void)state;
    enum { COLUMNS = 5000, ROWS = 2 };
    static const int32_t lengths[ROWS] = {COLUMNS, COLUMNS};
    float *logits = allocate_logits(ROWS, COLUMNS);
    for (int64_t i = 0; i < COLUMNS; i++) {
        logits[i] = i % 100 ? NAN : -FLT_MAX;
        logits[COLUMNS + i] = i % 3 ? -INFINITY : (i % 9 ? NAN : -1);
    }
    check_lengths(logits, COLUMNS, ROWS, lengths, 49);
    check_lengths(logits, COLUMNS, ROWS, lengths, 51);
    check_lengths(logits, COLUMNS, ROWS, lengths, 2000);
    free(logits);
}

/* What is not the row's is better than all that is, the gaps between rows included. */
static void only_the_window_is_looked_at(void **state)
{
    (void)state;
    enum { ROWS = 9, COLUMNS = 9000 };
    static const int32_t starts[ROWS] = {0, 1, 5, 6000, 4000, -7, 8999, 9000, 100};
    static const int32_t ends[ROWS] = {9000, 8999, 2500, 9100, 4003, 2, 9000, 9050, 99};
    float *logits = draw_logits(ROWS, COLUMNS, 7);
    for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++) {
        const int64_t row = i / COLUMNS, column = i % COLUMNS;
        const bool inside = column >= starts[row] && column < ends[row];
        logits[i] = inside ? -1 - fabsf(logits[i]) : INFINITY;
    }
    struct topk_problem problem = {.rows = ROWS,
                                   .columns = COLUMNS,
                                   .k = 64,
                                   .logits = logits,
                                   .starts = starts,
                                   .ends = ends,
                                   .logits_gap = 13,
                                   .ids_gap = 3,
                                   .scores_gap = 1};
    topk_assert_right(&problem);
    problem.k = 2048;
    topk_assert_right(&problem);
    free(logits);
}

static void bounds_at_the_ends_of_the_integers(void **state)
{
    (void)state;
    enum { ROWS = 4, COLUMNS = 100 };
    static const int32_t starts[ROWS] = {INT32_MIN, 0, INT32_MAX, INT32_MIN};
    static const int32_t ends[ROWS] = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN};
    float *logits = draw_logits(ROWS, COLUMNS, 8);
    topk_assert_right(&(struct topk_problem){.rows = ROWS,
                                             .columns = COLUMNS,
                                             .k = 10,
                                             .logits = logits,
                                             .starts = starts,
                                             .ends = ends});
    free(logits);
}

/* The last tokens of each request, and requests that do not have as many. */
static void rows_that_end_with_their_request(void **state)
{
    (void)state;
    enum { REQUESTS = 4, ROWS = 12, COLUMNS = 400 };
    static const int32_t lens[REQUESTS] = {400, 0, 2, 399};
    static const int32_t by_row[ROWS] = {1, 400, 0, 17, 18, 19, 20, -1, 500, 100, 33, 34};
    float *logits = draw_logits(ROWS, COLUMNS, 9);
    struct topk_problem problem = {.rows = ROWS,
                                   .columns = COLUMNS,
                                   .k = 32,
                                   .logits = logits,
                                   .context_lens = lens,
                                   .requests = REQUESTS};
    topk_assert_right(&problem);
    problem.context_lens = by_row;
    problem.lens_by_row = true;
    topk_assert_right(&problem);
    free(logits);
}

static void a_row_of_a_million(void **state)
{
    (void)state;
    enum { COLUMNS = 1 << 20 };
    static const int32_t length = COLUMNS;
    float *logits = draw_logits(1, COLUMNS, 10);
    check_lengths(logits, COLUMNS, 1, &length, 2048);
    free(logits);
}

static void nothing_to_do(void **state)
{
    (void)state;
    static const int32_t no_bounds = 0;
    topk_assert_right(&(struct topk_problem){
        .rows = 0, .columns = 8, .k = 4, .logits = NULL, .ends = &no_bounds});
    static const int32_t end = 3;
    topk_assert_right(
        &(struct topk_problem){.rows = 1, .columns = 0, .k = 4, .logits = NULL, .ends = &end});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_and_every_k),
        cmocka_unit_test(rows_around_the_sizes_of_the_kernel),
        cmocka_unit_test(equal_logits),
        cmocka_unit_test(many_ties),
        cmocka_unit_test(scores_that_differ_only_in_their_last_bits),
        cmocka_unit_test(numbers_of_every_kind),
        cmocka_unit_test(zeros_of_both_signs_are_equal),
        cmocka_unit_test(minus_infinity_and_then_nan_come_last),
        cmocka_unit_test(only_the_window_is_looked_at),
        cmocka_unit_test(bounds_at_the_ends_of_the_integers),
        cmocka_unit_test(rows_that_end_with_their_request),
        cmocka_unit_test(a_row_of_a_million),
        cmocka_unit_test(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
