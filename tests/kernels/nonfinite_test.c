/* Infinities and NaNs in the input: what they reach, and above all what they don't. */
#include "harness.h"
#include "record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TOKENS = 3, SLOTS = 300, BF16_INFINITY = 0x7f80, BF16_NAN = 0x7fc1, E4M3_NAN = 0x7f };
static const struct layout with_lse = {.return_lse = true};
static const int64_t lengths[TOKENS] = {70, 200, 1};

static size_t out_index(const struct problem *problem, int64_t token, int64_t head)
{
    return (size_t)(token * problem->heads + head) * DSAJIT_KV_LORA_RANK;
}

/* One token's head has the bits it has without the odd input. */
static void assert_untouched(const struct problem *problem, const struct result *result,
                             const struct result *clean, int64_t token, int64_t head)
{
    const size_t at = out_index(problem, token, head),
                 row = (size_t)(token * problem->heads + head);
    assert_memory_equal(result->out + at, clean->out + at, 2 * DSAJIT_KV_LORA_RANK);
    assert_memory_equal(result->lse + row, clean->lse + row, sizeof(float));
}

static void assert_nan(const struct problem *problem, const struct result *result, int64_t token,
                       int64_t head)
{
    const uint16_t *out = result->out + out_index(problem, token, head);
    for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
        assert_true((out[d] & 0x7fff) > BF16_INFINITY);
    assert_true(isnan(result->lse[token * problem->heads + head]));
}

static void make(struct problem *problem, int64_t heads, struct result *clean)
{
    harness_make_problem(problem, heads, TOKENS, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    harness_run(problem, &with_lse, clean);
}

static void a_query_that_is_no_number_stays_with_its_head(void **state)
{
    (void)state;
    static const uint16_t odd[] = {BF16_NAN, BF16_INFINITY, 0x8000 | BF16_INFINITY};
    static const int64_t heads[] = {16, 5};
    for (size_t i = 0; i < 6; i++) {
        struct problem problem;
        struct result clean, result;
        make(&problem, heads[i % 2], &clean);
        const int64_t bad = (int64_t)(i * 7) % heads[i % 2];
        uint16_t *q = problem.q + (heads[i % 2] + bad) * RECORD_KEY_SIZE; /* of token 1 */
        for (int d = 0; d < RECORD_KEY_SIZE; d++)
            q[d] = odd[i / 2];
        harness_run(&problem, &with_lse, &result);
        for (int64_t token = 0; token < TOKENS; token++)
            for (int64_t head = 0; head < problem.heads; head++)
                if (token != 1 || head != bad)
                    assert_untouched(&problem, &result, &clean, token, head);
        assert_nan(&problem, &result, 1, bad); /* infinities of both signs meet in the sums */
        result_free(&clean);
        result_free(&result);
        problem_free(&problem);
    }
}

/* A record whose latent holds a NaN: all heads of the tokens that attend to it, and no others. */
static void a_record_with_a_nan_stays_with_its_tokens(void **state)
{
    (void)state;
    struct problem problem;
    struct result clean, result;
    make(&problem, 8, &clean);
    const int32_t slot = SLOTS - 1;
    int64_t *indices = problem.indices;
    for (int64_t i = 0; i < lengths[0] + lengths[1] + lengths[2]; i++)
        if (indices[i] == slot)
            indices[i] = 0;
    result_free(&clean);
    harness_run(&problem, &with_lse, &clean);
    indices[lengths[0] + 150] = slot;
    problem.kv[(size_t)slot * DSAJIT_RECORD_BYTES + 77] = E4M3_NAN;
    harness_run(&problem, &with_lse, &result);
    for (int64_t head = 0; head < problem.heads; head++) {
        assert_untouched(&problem, &result, &clean, 0, head);
        assert_nan(&problem, &result, 1, head);
        assert_untouched(&problem, &result, &clean, 2, head);
    }
    result_free(&clean);
    result_free(&result);
    problem_free(&problem);
}

/* Scores so far apart that their differences overflow: the largest takes all, exactly. */
static void scores_at_the_ends_of_the_range(void **state)
{
    (void)state;
    static const int64_t two[] = {2};
    struct problem problem;
    struct result result;
    harness_make_problem(&problem, 2, 1, two, 2, 0, DSAJIT_SCALE_POW2);
    memset(problem.q, 0, sizeof(uint16_t[2 * RECORD_KEY_SIZE]));
    memset(problem.kv, 0, (size_t)2 * DSAJIT_RECORD_BYTES);
    problem.q[0] = 0x7e80;                  /* 2^126 */
    problem.q[RECORD_KEY_SIZE] = 0xfe80;    /* the other head: -2^126 */
    problem.kv[0] = 0x38;                   /* 1 */
    problem.kv[DSAJIT_RECORD_BYTES] = 0xb8; /* -1 */
    for (int64_t slot = 0; slot < 2; slot++)
        for (int tile = 0; tile < RECORD_SCALES; tile++)
            record_set_scale(problem.kv + slot * DSAJIT_RECORD_BYTES, tile, 1);
    problem.indices[0] = 0;
    problem.indices[1] = 1;
    problem.softmax_scale = 1;
    harness_run(&problem, &with_lse, &result);
    assert_int_equal(result.out[0], 0x3f80);                   /* 1 */
    assert_int_equal(result.out[DSAJIT_KV_LORA_RANK], 0xbf80); /* -1 */
    for (int head = 0; head < 2; head++)
        assert_true(fabs(result.lse[head] / ldexp(1, 126) - 1) < 1e-6);
    result_free(&result);
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_that_is_no_number_stays_with_its_head),
        cmocka_unit_test(a_record_with_a_nan_stays_with_its_tokens),
        cmocka_unit_test(scores_at_the_ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
