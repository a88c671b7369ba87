/* The indexer's scorer: formats, heads, pages, and where everything lies. */
#include "harness.h"
#include "score_problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void check_sizes(const struct score_sizes *sizes, const struct score_layout *layout)
{
    struct score_problem problem;
    score_problem_create(&problem, sizes);
    assert_scores_right(&problem, layout);
    score_problem_free(&problem);
}

/* Both formats, with 16 heads. */
static void check_formats(int64_t requests, int64_t rows_per_request, int64_t tokens,
                          const struct score_layout *layout)
{
    static const dsajit_indexer_format formats[] = {DSAJIT_INDEXER_FP8, DSAJIT_INDEXER_MXFP4};
    for (int i = 0; i < 2; i++)
        check_sizes(&(struct score_sizes){formats[i], 16, requests, rows_per_request, tokens},
                    layout);
}

static void fp8_heads_are_multiples_of_4(void **state)
{
    (void)state;
    for (int64_t heads = 4; heads <= DSAJIT_INDEX_HEADS_MAX; heads += 4)
        check_sizes(&(struct score_sizes){DSAJIT_INDEXER_FP8, heads, 1, 2, 133},
                    &(struct score_layout){0});
}

static void mxfp4_heads_are_16_32_and_64(void **state)
{
    (void)state;
    for (int64_t heads = 16; heads <= DSAJIT_INDEX_HEADS_MAX; heads *= 2)
        check_sizes(&(struct score_sizes){DSAJIT_INDEXER_MXFP4, heads, 1, 2, 133},
                    &(struct score_layout){0});
}

/* With 1 page to many, the last one full or not. */
static void pages_have_1_token_or_a_multiple_of_16(void **state)
{
    (void)state;
    static const int64_t page_tokens[] = {1, 16, 48, 64, 128, 256};
    for (size_t i = 0; i < sizeof page_tokens / sizeof *page_tokens; i++) {
        check_formats(2, 3, 300, &(struct score_layout){.page_tokens = page_tokens[i]});
        check_formats(1, 1, 256, &(struct score_layout){.page_tokens = page_tokens[i]});
    }
}

/* From 1 row, which has a workgroup for itself, past the 8 that share one. */
static void rows_of_a_request_share_keys(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 17; rows += rows < 9 ? 1 : 4)
        check_formats(1, rows, 150, &(struct score_layout){0});
}

/* Far more keys than a workgroup takes at a time, in several workgroups. */
static void thousands_of_keys(void **state)
{
    (void)state;
    check_formats(1, 9, 5000, &(struct score_layout){.page_tokens = 64});
    check_formats(1, 2, 9001, &(struct score_layout){.clean = true});
}

/* Enough rows that every workgroup goes round the keys more than once. */
static void workgroups_that_go_round(void **state)
{
    (void)state;
    check_sizes(&(struct score_sizes){DSAJIT_INDEXER_FP8, 4, 600, 1, 1100},
                &(struct score_layout){.page_tokens = 64, .windows = WINDOWS_OF_LENGTHS});
    check_sizes(&(struct score_sizes){DSAJIT_INDEXER_MXFP4, 16, 1, 3, 8800},
                &(struct score_layout){.columns = 8800});
}

static void tensors_have_gaps(void **state)
{
    (void)state;
    const struct score_layout gathered = {
        .q_gap = 48, .key_gap = 4, .weights_gap = 3, .logits_gap = 7};
    const struct score_layout pages = {.page_tokens = 64,
                                       .page_gap = 60,
                                       .q_gap = 16,
                                       .weights_gap = 1,
                                       .table_gap = 5,
                                       .logits_gap = 1,
                                       .clean = true};
    const struct score_layout tokens = {.page_tokens = 1, .page_gap = 12, .table_gap = 2};
    check_formats(2, 5, 200, &gathered);
    check_formats(2, 5, 200, &pages);
    check_formats(2, 5, 70, &tokens);
}

static void weights_in_bf16_with_a_scale(void **state)
{
    (void)state;
    for (int format = 0; format < 2; format++) {
        struct score_problem problem;
        score_problem_create(&problem,
                             &(struct score_sizes){(dsajit_indexer_format)format, 32, 1, 3, 70});
        problem.weight_scale = 1 / 64.;
        assert_scores_right(&problem,
                            &(struct score_layout){.bf16_weights = true, .weights_gap = 1});
        problem.weight_scale = -3;
        assert_scores_right(&problem, &(struct score_layout){0});
        score_problem_free(&problem);
    }
}

/* Pages at 2^31, 2^32 and 2^33 bytes from the first, and the last that an i32 can name. */
static void page_addresses_take_64_bits(void **state)
{
    (void)state;
    static const int64_t bytes[] = {1ll << 31, 1ll << 32, 1ll << 33};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        check_formats(
            1, 2, 200,
            &(struct score_layout){.page_tokens = 64,
                                   .first_page = bytes[i] / DSAJIT_INDEX_KEY_BYTES_FP8 / 64 - 3});
        check_formats(
            1, 2, 20,
            &(struct score_layout){.page_tokens = 1,
                                   .first_page = bytes[i] / DSAJIT_INDEX_KEY_BYTES_FP8 - 20});
    }
    check_formats(1, 2, 200,
                  &(struct score_layout){.page_tokens = 64, .first_page = (1ll << 31) - 8});
    check_formats(1, 2, 20,
                  &(struct score_layout){.page_tokens = 1, .first_page = (1ll << 31) - 40});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_heads_are_multiples_of_4),
        cmocka_unit_test(mxfp4_heads_are_16_32_and_64),
        cmocka_unit_test(pages_have_1_token_or_a_multiple_of_16),
        cmocka_unit_test(rows_of_a_request_share_keys),
        cmocka_unit_test(thousands_of_keys),
        cmocka_unit_test(workgroups_that_go_round),
        cmocka_unit_test(tensors_have_gaps),
        cmocka_unit_test(weights_in_bf16_with_a_scale),
        cmocka_unit_test(page_addresses_take_64_bits),
    };
    return cmocka_run_group_tests_name("scores", tests, harness_open, harness_close);
}
