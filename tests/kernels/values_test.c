/* What the numbers must be: exact results where the definition gives one, extreme scales and
   scores elsewhere. */
#include "harness.h"
#include "narrow_floats.h"
#include "record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { HEADS = 8 };
static const struct layout with_lse = {.return_lse = true};

static double score(const struct problem *problem, int64_t row, int64_t slot)
{
    double key[RECORD_KEY_SIZE], x = 0;
    record_read(problem->kv + slot * DSAJIT_RECORD_BYTES, key);
    for (int d = 0; d < RECORD_KEY_SIZE; d++)
        x += bf16_to_double(problem->q[row * RECORD_KEY_SIZE + d]) * key[d];
    return problem->softmax_scale * x;
}

/* Each head's output is bit for bit the key's latent in bf16. */
static void assert_output_is_the_latent(const struct problem *problem, const struct result *result,
                                        int64_t token, int64_t slot)
{
    double key[RECORD_KEY_SIZE];
    record_read(problem->kv + slot * DSAJIT_RECORD_BYTES, key);
    for (int64_t h = 0; h < problem->heads; h++) {
        const uint16_t *out = result->out + (token * problem->heads + h) * DSAJIT_KV_LORA_RANK;
        for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
            if (bf16_to_double(out[d]) != key[d])
                fail_msg("token %lld, head %lld, column %d: %a instead of %a", (long long)token,
                         (long long)h, d, bf16_to_double(out[d]), key[d]);
    }
}

static void one_key_gives_its_latent_exactly(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 1, 1};
    struct problem problem;
    struct result result;
    harness_make_problem(&problem, HEADS, 3, lengths, 10, 0, DSAJIT_SCALE_POW2);
    harness_run(&problem, &with_lse, &result);
    for (int64_t t = 0; t < 3; t++) {
        assert_output_is_the_latent(&problem, &result, t, problem.indices[t]);
        for (int64_t row = t * HEADS; row < (t + 1) * HEADS; row++) {
            const double expected = score(&problem, row, problem.indices[t]);
            assert_true(fabs(result.lse[row] - expected) <= 1e-5 * fmax(1, fabs(expected)));
        }
    }
    result_free(&result);
    problem_free(&problem);
}

static void two_equal_keys_give_their_latent_and_one_ln_2_more(void **state)
{
    (void)state;
    static const int64_t lengths[] = {2};
    struct problem problem;
    struct result result;
    harness_make_problem(&problem, HEADS, 1, lengths, 10, 0, DSAJIT_SCALE_POW2);
    memcpy(problem.kv + (size_t)3 * DSAJIT_RECORD_BYTES,
           problem.kv + (size_t)8 * DSAJIT_RECORD_BYTES, DSAJIT_RECORD_BYTES);
    problem.indices[0] = 3;
    problem.indices[1] = 8;
    harness_run(&problem, &with_lse, &result);
    assert_output_is_the_latent(&problem, &result, 0, 3);
    for (int64_t row = 0; row < HEADS; row++) {
        const double expected = score(&problem, row, 3) + log(2);
        assert_true(fabs(result.lse[row] - expected) <= 1e-5 * fmax(1, fabs(expected)));
    }
    result_free(&result);
    problem_free(&problem);
}

/* All 254 e4m3 numbers under every power of two that a writer makes, exactly. */
static void every_latent_value_is_dequantised_exactly(void **state)
{
    (void)state;
    enum { SCALES = 21, FIRST_EXPONENT = -13 };
    int64_t lengths[SCALES];
    for (int i = 0; i < SCALES; i++)
        lengths[i] = 1;
    struct problem problem;
    harness_make_problem(&problem, 1, SCALES, lengths, SCALES, 0, DSAJIT_SCALE_POW2);
    for (int slot = 0; slot < SCALES; slot++) {
        uint8_t *record = problem.kv + (int64_t)slot * DSAJIT_RECORD_BYTES;
        problem.indices[slot] = slot;
        for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
            record[d] = (d & 0x7f) == 0x7f ? 0 : (uint8_t)d;
        for (int tile = 0; tile < RECORD_SCALES; tile++)
            record_set_scale(record, tile, ldexpf(1, FIRST_EXPONENT + (slot + 5 * tile) % SCALES));
    }
    for (int format = DSAJIT_SCALE_POW2; format <= DSAJIT_SCALE_ANY; format++) {
        struct result result;
        harness_run(&problem, &(struct layout){.scale = (dsajit_scale_format)format}, &result);
        for (int64_t t = 0; t < SCALES; t++)
            assert_output_is_the_latent(&problem, &result, t, t);
        result_free(&result);
    }
    problem_free(&problem);
}

/* Older records: the f32 product rounded to bf16, exactly. */
static void any_scale_is_multiplied_in_f32_and_rounded_to_bf16(void **state)
{
    (void)state;
    static const float scales[] = {
        0.1F,       1.0F / 3, 0.7071F,   1.00390625F, 1.001F, 3e-38F, 1e-30F, 1e-4F,
        0.0022321F, 126.9F,   0x1.fep0F, 0x1.01p0F,   5e5F,   1e30F,  7e35F,  0x1.555556p-3F};
    enum { SLOTS = sizeof scales / sizeof *scales };
    int64_t lengths[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        lengths[i] = 1;
    struct problem problem;
    struct result result;
    harness_make_problem(&problem, 1, SLOTS, lengths, SLOTS, 0, DSAJIT_SCALE_ANY);
    memset(problem.q, 0, sizeof *problem.q * SLOTS * RECORD_KEY_SIZE);
    for (int slot = 0; slot < SLOTS; slot++) {
        uint8_t *record = problem.kv + (int64_t)slot * DSAJIT_RECORD_BYTES;
        problem.indices[slot] = slot;
        for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
            record[d] = (d & 0x7f) == 0x7f ? 0 : (uint8_t)(d + d / 256);
        for (int tile = 0; tile < RECORD_SCALES; tile++)
            record_set_scale(record, tile, scales[slot]);
    }
    for (int64_t i = 0; i < (int64_t)SLOTS * DSAJIT_RECORD_BYTES; i++)
        if (i % DSAJIT_RECORD_BYTES < DSAJIT_KV_LORA_RANK && (problem.kv[i] & 0x7f) == 0x7f)
            problem.kv[i] = 0x7e;
    harness_run(&problem, &(struct layout){.scale = DSAJIT_SCALE_ANY}, &result);
    for (int64_t t = 0; t < SLOTS; t++)
        assert_output_is_the_latent(&problem, &result, t, t);
    result_free(&result);
    problem_free(&problem);
}

static void the_output_does_not_depend_on_return_lse(void **state)
{
    (void)state;
    static const int64_t lengths[] = {300, 0, 64, 7};
    for (int masked = 0; masked < 2; masked++) {
        struct problem problem;
        struct result with, without;
        harness_make_problem(&problem, HEADS, 4, lengths, 200, masked ? 0.3 : 0, DSAJIT_SCALE_POW2);
        harness_run(&problem, &with_lse, &with);
        harness_run(&problem, &(struct layout){0}, &without);
        assert_memory_equal(with.out, without.out,
                            sizeof *with.out * 4 * HEADS * DSAJIT_KV_LORA_RANK);
        result_free(&with);
        result_free(&without);
        problem_free(&problem);
    }
}

static void the_same_call_gives_the_same_bits_again(void **state)
{
    (void)state;
    static const int64_t lengths[] = {300, 64, 7};
    struct problem problem;
    struct result first, second;
    harness_make_problem(&problem, HEADS, 3, lengths, 200, 0.2, DSAJIT_SCALE_POW2);
    harness_run(&problem, &with_lse, &first);
    harness_run(&problem, &with_lse, &second);
    assert_memory_equal(first.out, second.out, sizeof *first.out * 3 * HEADS * DSAJIT_KV_LORA_RANK);
    assert_memory_equal(first.lse, second.lse, sizeof *first.lse * 3 * HEADS);
    result_free(&first);
    result_free(&second);
    problem_free(&problem);
}

/* 0: the mean. Negative: the farthest key wins. Large: one key takes all. */
static void every_softmax_scale(void **state)
{
    (void)state;
    static const int64_t lengths[] = {150, 64, 2};
    static const double scales[] = {0, -0.04, 1, -3, 40, 1e-30};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 3, lengths, 200, 0.1, DSAJIT_SCALE_POW2);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        problem.softmax_scale = scales[i];
        assert_runs_right(&problem, &with_lse);
    }
    problem_free(&problem);
}

/* Tiles of 64 keys, each with larger scores than the one before, and the other way round: the
   running maximum moves at every tile, or never after the first. */
static void scores_that_grow_or_shrink_along_the_row(void **state)
{
    (void)state;
    static const int64_t lengths[] = {512};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 1, lengths, 512, 0, DSAJIT_SCALE_POW2);
    for (int direction = 0; direction < 2; direction++) {
        for (int64_t i = 0; i < 512; i++) {
            problem.indices[i] = direction ? 511 - i : i;
            uint8_t *record = problem.kv + i * DSAJIT_RECORD_BYTES;
            for (int tile = 0; tile < RECORD_SCALES; tile++)
                record_set_scale(record, tile, ldexpf(1, -10 + (int)(i / 64)));
        }
        assert_runs_right(&problem, &with_lse);
    }
    problem_free(&problem);
}

static void records_with_scales_over_the_whole_range(void **state)
{
    (void)state;
    static const int64_t lengths[] = {200, 65};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 2, lengths, 200, 0, DSAJIT_SCALE_POW2);
    problem.softmax_scale = 1e-3;
    for (int64_t slot = 0; slot < 200; slot++)
        for (int64_t tile = 0; tile < RECORD_SCALES; tile++)
            record_set_scale(problem.kv + slot * DSAJIT_RECORD_BYTES, (size_t)tile,
                             ldexpf(1, -13 + (int)((7 * slot + 5 * tile) % 21)));
    assert_runs_right(&problem, &with_lse);
    problem_free(&problem);
}

/* A cache that was never written holds zeros: every key 0, scale 0. */
static void zeroed_records_give_zero_and_the_logarithm_of_their_number(void **state)
{
    (void)state;
    static const int64_t lengths[] = {100, 1};
    struct problem problem;
    struct result result;
    harness_make_problem(&problem, HEADS, 2, lengths, 10, 0, DSAJIT_SCALE_POW2);
    memset(problem.kv, 0, (size_t)10 * DSAJIT_RECORD_BYTES);
    for (int format = DSAJIT_SCALE_POW2; format <= DSAJIT_SCALE_ANY; format++) {
        harness_run(&problem,
                    &(struct layout){.return_lse = true, .scale = (dsajit_scale_format)format},
                    &result);
        for (int i = 0; i < 2 * HEADS * DSAJIT_KV_LORA_RANK; i++)
            assert_true(bf16_to_double(result.out[i]) == 0);
        for (int row = 0; row < 2 * HEADS; row++)
            assert_true(fabs(result.lse[row] - log(row < HEADS ? 100 : 1)) < 1e-5);
        result_free(&result);
    }
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_key_gives_its_latent_exactly),
        cmocka_unit_test(two_equal_keys_give_their_latent_and_one_ln_2_more),
        cmocka_unit_test(every_latent_value_is_dequantised_exactly),
        cmocka_unit_test(any_scale_is_multiplied_in_f32_and_rounded_to_bf16),
        cmocka_unit_test(the_output_does_not_depend_on_return_lse),
        cmocka_unit_test(the_same_call_gives_the_same_bits_again),
        cmocka_unit_test(every_softmax_scale),
        cmocka_unit_test(scores_that_grow_or_shrink_along_the_row),
        cmocka_unit_test(records_with_scales_over_the_whole_range),
        cmocka_unit_test(zeroed_records_give_zero_and_the_logarithm_of_their_number),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
