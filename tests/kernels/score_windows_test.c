/* Which columns of the indexer's logits are written, with what, and what isn't read for it. */
#include "harness.h"
#include "score_problem.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { TOKENS = 700 };

/* Starts and ends of rows. Windows of nothing, of one key at the borders of tiles, pages and waves,
   across such borders, of all, and such as must be cut. */
static const int32_t windows[][2] = {
    {0, 0},
    {5, 5},
    {9, 3},
    {0, 1},
    {15, 16},
    {16, 17},
    {63, 64},
    {64, 65},
    {127, 129},
    {47, 49},
    {1, 512},
    {500, 530},
    {511, 512},
    {512, 513},
    {699, 700},
    {0, TOKENS},
    {-7, 20},
    {INT_MIN, 64},
    {650, TOKENS + 9},
    {600, INT_MAX},
    {TOKENS, TOKENS + 5},
    {INT_MAX, INT_MIN},
    {-9, -1},
    {130, 400},
    {128, 256},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

static void check_windows(dsajit_indexer_format format, const struct score_layout *layout)
{
    struct score_problem problem;
    score_problem_create(&problem, &(struct score_sizes){format, 16, 1, WINDOWS, TOKENS});
    for (int row = 0; row < WINDOWS; row++) {
        problem.starts[row] = windows[row][0];
        problem.ends[row] = windows[row][1];
    }
    assert_scores_right(&problem, layout);
    score_problem_free(&problem);
}

static void check_windows_everywhere(struct score_layout layout)
{
    static const int64_t page_tokens[] = {0, 1, 16, 48, 64};
    for (size_t i = 0; i < sizeof page_tokens / sizeof *page_tokens; i++) {
        layout.page_tokens = page_tokens[i];
        layout.columns = TOKENS;
        check_windows(DSAJIT_INDEXER_FP8, &layout);
        check_windows(DSAJIT_INDEXER_MXFP4, &layout);
    }
}

static void columns_outside_a_window_stay_untouched(void **state)
{
    (void)state;
    check_windows_everywhere((struct score_layout){.logits_gap = 3});
}

static void columns_outside_a_window_become_infinite_where_asked(void **state)
{
    (void)state;
    check_windows_everywhere((struct score_layout){.clean = true, .logits_gap = 3});
}

/* More columns than keys, and fewer. */
static void windows_are_cut_to_columns_and_keys(void **state)
{
    (void)state;
    static const int64_t columns[] = {1, 100, 512, 1300};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        check_windows(DSAJIT_INDEXER_FP8, &(struct score_layout){.columns = columns[i]});
        check_windows(DSAJIT_INDEXER_MXFP4,
                      &(struct score_layout){.columns = columns[i], .clean = true});
    }
}

/* With NaN in all other keys: the scores are those of a problem without these keys. */
static void keys_outside_the_window_may_be_nan(void **state)
{
    (void)state;
    for (int format = 0; format < 2; format++) {
        struct score_problem problem;
        score_problem_create(&problem,
                             &(struct score_sizes){(dsajit_indexer_format)format, 16, 1, 3, 200});
        for (int64_t row = 0; row < 3; row++) {
            problem.starts[row] = 40;
            problem.ends[row] = 171;
        }
        for (int64_t n = 0; n < 200; n++)
            for (size_t b = 0; (n < 40 || n >= 171) && b < sizeof problem.keys[n]; b++)
                ((uint8_t *)&problem.keys[n])[b] = 0xff;
        assert_scores_right(&problem, &(struct score_layout){0});
        assert_scores_right(&problem, &(struct score_layout){.page_tokens = 48, .clean = true});
        assert_scores_right(&problem, &(struct score_layout){.page_tokens = 1});
        score_problem_free(&problem);
    }
}

/* Requests of different lengths in one workgroup's rows, some of nothing. */
static void neighbouring_rows_of_different_requests(void **state)
{
    (void)state;
    for (int64_t page_tokens = 0; page_tokens <= 64; page_tokens += 32) {
        struct score_problem problem;
        score_problem_create(&problem, &(struct score_sizes){DSAJIT_INDEXER_FP8, 32, 7, 3, 260});
        for (int32_t row = 0; row < 21; row++)
            problem.ends[row] = row % 4 == 3 ? 0 : 250 - 11 * row;
        assert_scores_right(&problem, &(struct score_layout){.page_tokens = page_tokens});
        assert_scores_right(&problem,
                            &(struct score_layout){.page_tokens = page_tokens, .clean = true});
        score_problem_free(&problem);
    }
}

/* Context lengths down to those of padding rows, below the number of speculative tokens. */
static void decoding_with_speculative_tokens(void **state)
{
    (void)state;
    static const int32_t lengths[] = {300, 0, 1, 2, 3, 4, 65, 130, -5, INT_MIN};
    enum { REQUESTS = sizeof lengths / sizeof *lengths };
    for (int64_t next_n = 1; next_n <= 4; next_n++) {
        for (int format = 0; format < 2; format++) {
            struct score_problem problem;
            score_problem_create(&problem, &(struct score_sizes){(dsajit_indexer_format)format, 16,
                                                                 REQUESTS, next_n, 300});
            for (int64_t row = 0; row < REQUESTS * next_n; row++)
                problem.ends[row] = lengths[row / next_n];
            const struct score_layout layout = {
                .page_tokens = 64, .windows = WINDOWS_OF_LENGTHS, .clean = next_n % 2};
            assert_scores_right(&problem, &layout);
            score_problem_free(&problem);
        }
    }
}

static void context_lengths_of_each_row(void **state)
{
    (void)state;
    static const int32_t lengths[] = {300, 299, 7, 0, 64, 65, 301, 1000, -1, 128, 16, 17};
    struct score_problem problem;
    score_problem_create(&problem, &(struct score_sizes){DSAJIT_INDEXER_FP8, 64, 4, 3, 300});
    for (int row = 0; row < 12; row++)
        problem.ends[row] = lengths[row];
    const struct score_layout layout = {
        .page_tokens = 16, .windows = WINDOWS_OF_ENDS, .columns = 300};
    assert_scores_right(&problem, &layout);
    score_problem_free(&problem);
}

/* More rows of a request than share a workgroup. */
static void many_rows_of_a_request_that_decodes(void **state)
{
    (void)state;
    struct score_problem problem;
    score_problem_create(&problem, &(struct score_sizes){DSAJIT_INDEXER_FP8, 16, 3, 11, 140});
    assert_scores_right(&problem,
                        &(struct score_layout){.page_tokens = 64, .windows = WINDOWS_OF_LENGTHS});
    score_problem_free(&problem);
}

/* The table goes on after the keys, with what is no page. */
static void block_table_entries_past_the_windows_are_not_followed(void **state)
{
    (void)state;
    for (int64_t page_tokens = 1; page_tokens <= 64; page_tokens += 63) {
        struct score_problem problem;
        score_problem_create(&problem, &(struct score_sizes){DSAJIT_INDEXER_MXFP4, 32, 2, 2, 130});
        assert_scores_right(&problem, &(struct score_layout){.page_tokens = page_tokens,
                                                             .spare_pages = 9,
                                                             .clean = true,
                                                             .windows = WINDOWS_OF_LENGTHS});
        score_problem_free(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_outside_a_window_stay_untouched),
        cmocka_unit_test(columns_outside_a_window_become_infinite_where_asked),
        cmocka_unit_test(windows_are_cut_to_columns_and_keys),
        cmocka_unit_test(keys_outside_the_window_may_be_nan),
        cmocka_unit_test(neighbouring_rows_of_different_requests),
        cmocka_unit_test(decoding_with_speculative_tokens),
        cmocka_unit_test(context_lengths_of_each_row),
        cmocka_unit_test(many_rows_of_a_request_that_decodes),
        cmocka_unit_test(block_table_entries_past_the_windows_are_not_followed),
    };
    return cmocka_run_group_tests_name("score windows", tests, harness_open, harness_close);
}
