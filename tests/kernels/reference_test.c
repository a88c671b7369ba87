/* The float64 reference itself, against definitions and against results that others computed. */
#include "case_directory.h"
#include "comparison.h"
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

/* Some values that the OCP 8-bit floating point specification lists for E4M3. */
static void e4m3_has_the_values_of_its_specification(void **state)
{
    (void)state;
    static const struct {
        uint8_t byte;
        double value;
    } known[] = {
        {0x00, 0.0},    {0x01, 0x1p-9}, {0x07, 0.875 * 0x1p-6}, {0x08, 0x1p-6},
        {0x38, 1.0},    {0x7e, 448.0},  {0x81, -0x1p-9},        {0xb8, -1.0},
        {0xfe, -448.0}, {0x3c, 1.5},    {0x39, 1.125},          {0x40, 2.0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(e4m3_to_double(known[i].byte) == known[i].value);
    assert_true(signbit(e4m3_to_double(0x80)) && e4m3_to_double(0x80) == 0);
    assert_true(isnan(e4m3_to_double(0x7f)) && isnan(e4m3_to_double(0xff)));
}

/* The nearest of all 127 finite magnitudes, ties to the even byte: the definition of the rounding,
   without its arithmetic. */
static uint8_t find_nearest_e4m3(double value)
{
    uint8_t best = 0;
    for (uint8_t byte = 1; byte < 0x7f; byte++) {
        const double distance = fabs(e4m3_to_double(byte) - fabs(value));
        const double best_distance = fabs(e4m3_to_double(best) - fabs(value));
        if (distance < best_distance || (distance == best_distance && byte % 2 == 0))
            best = byte;
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static void e4m3_rounds_to_the_nearest_even_value_and_saturates(void **state)
{
    (void)state;
    for (int byte = 0; byte < 0x7e; byte++) {
        const double low = e4m3_to_double((uint8_t)byte),
                     high = e4m3_to_double((uint8_t)(byte + 1));
        const double middle = (low + high) / 2;
        const double tried[] = {low, middle, nextafter(middle, low), nextafter(middle, high)};
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(double_to_e4m3(tried[i]), find_nearest_e4m3(tried[i]));
            assert_int_equal(double_to_e4m3(-tried[i]), find_nearest_e4m3(-tried[i]));
        }
    }
    assert_int_equal(double_to_e4m3(1e30), 0x7e);
    assert_int_equal(double_to_e4m3(-INFINITY), 0xfe);
    assert_int_equal(double_to_e4m3(NAN) & 0x7f, 0x7f);
}

static void bf16_is_the_upper_half_of_an_f32_and_rounds_to_nearest_even(void **state)
{
    (void)state;
    assert_true(bf16_to_double(0x3f80) == 1.0);
    assert_true(bf16_to_double(0x0001) == 0x1p-133);
    assert_true(isnan(bf16_to_double(0x7fc0)) && isinf(bf16_to_double(0xff80)));
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        const double low = bf16_to_double((uint16_t)bits);
        const double high = bits == 0x7f7f ? 0x1p128 : bf16_to_double((uint16_t)(bits + 1));
        const double middle = (low + high) / 2;
        const uint16_t even = (uint16_t)(bits + (bits & 1));
        assert_int_equal(double_to_bf16(low), bits);
        assert_int_equal(double_to_bf16(middle), even);
        assert_int_equal(double_to_bf16(nextafter(middle, 0)), bits);
        assert_int_equal(double_to_bf16(-nextafter(middle, INFINITY)), 0x8000 | (bits + 1));
    }
    assert_int_equal(double_to_bf16(NAN) & 0x7fff, 0x7fc0);
}

/* A record's tiles of one value each: their scales and bytes. */
static void records_have_the_scales_of_the_writers_rule(void **state)
{
    (void)state;
    static const struct {
        float value, scale;
        uint8_t byte;
    } tiles[] = {
        {0, 0x1p-13F, 0x00},
        {448, 1, 0x7e},
        {450, 2, 0x76},
        {336, 1, 0x7a},
        {57344, 128, 0x7e},
        {57600, 256, 0x76},
        {0.03125F, 0x1p-13F, 0x78},
        {-448, 1, 0xfe},
    };
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        float key[RECORD_KEY_SIZE] = {0};
        double read[RECORD_KEY_SIZE];
        uint8_t record[DSAJIT_RECORD_BYTES];
        for (int d = 0; d < RECORD_LATENT_PER_SCALE; d++)
            key[d] = tiles[i].value;
        record_write(key, DSAJIT_SCALE_POW2, record);
        assert_true(record_scale(record, 0) == tiles[i].scale);
        assert_true(record_scale(record, 1) == 0x1p-13F);
        assert_int_equal(record[0], tiles[i].byte);
        record_read(record, read);
        assert_true(fabs(read[0] - tiles[i].value) <= fabsf(tiles[i].value) / 16);
    }
}

static void older_records_have_any_scale(void **state)
{
    (void)state;
    float key[RECORD_KEY_SIZE] = {300};
    uint8_t record[DSAJIT_RECORD_BYTES];
    record_write(key, DSAJIT_SCALE_ANY, record);
    assert_true(record_scale(record, 0) == 300.0F / 448);
    assert_int_equal(record[0], 0x7e);
}

/* FlashMLA's distance from float64, as those who made the vectors measured it. */
static void the_reference_gives_flashmla_its_published_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double out, lse;
    } cases[] = {
        {"mla_h16_k128", 1.81e-3, 3.4e-6},  {"mla_h8_invalid", 1.78e-3, 1.5e-6},
        {"mla_h6_ragged", 1.83e-3, 1.6e-6}, {"mla_h12_spread", 7.7e-4, 1.8e-4},
        {"mla_h1_k64", 1.71e-3, 5.7e-6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4096];
        struct problem problem;
        struct reference reference;
        dsajit_error error = {0};
        snprintf(path, sizeof path, "%s/tests/vectors/%s", getenv("DSAJIT_TEST_SOURCE"),
                 cases[i].name);
        if (case_directory_read(path, &problem, &error) ||
            reference_compute(&problem, &reference, &error))
            fail_msg("%s", error.message);
        const struct comparison errors =
            comparison_make(&problem, &reference, problem.expected_out, problem.expected_lse);
        assert_true(fabs(errors.out_relative / cases[i].out - 1) < 0.01);
        assert_true(fabs(errors.lse_max / cases[i].lse - 1) < 0.03);
        reference_free(&reference);
        problem_free(&problem);
    }
}

/* Two keys, one number each that isn't 0: all by hand. */
static void the_reference_is_the_formula(void **state)
{
    (void)state;
    float key[RECORD_KEY_SIZE] = {1};
    uint8_t kv[2 * DSAJIT_RECORD_BYTES];
    record_write(key, DSAJIT_SCALE_POW2, kv);
    key[0] = 2;
    record_write(key, DSAJIT_SCALE_POW2, kv + DSAJIT_RECORD_BYTES);
    uint16_t q[2 * RECORD_KEY_SIZE] = {[0] = double_to_bf16(3)};
    int64_t indptr[] = {0, 3, 4}, indices[] = {0, -1, 1, -7};
    const struct problem problem = {.tokens = 2,
                                    .heads = 1,
                                    .slots = 2,
                                    .index_count = 4,
                                    .softmax_scale = 0.5,
                                    .has_invalid = true,
                                    .q = q,
                                    .kv = kv,
                                    .indptr = indptr,
                                    .indices = indices};
    struct reference reference;
    dsajit_error error = {0};
    assert_int_equal(reference_compute(&problem, &reference, &error), DSAJIT_OK);
    const double a = exp(1.5), b = exp(3.0); /* exp(0.5 * 3 * 1), exp(0.5 * 3 * 2) */
    assert_true(fabs(reference.lse[0] - log(a + b)) < 1e-14);
    assert_true(fabs(reference.out[0] - (a * 1 + b * 2) / (a + b)) < 1e-14);
    assert_true(reference.out[1] == 0);
    assert_true(reference.lse[1] == -INFINITY && reference.out[DSAJIT_KV_LORA_RANK] == 0);
    reference_free(&reference);
}

static void a_nan_is_never_within_the_tolerance(void **state)
{
    (void)state;
    uint16_t out[DSAJIT_KV_LORA_RANK] = {0x7fc0};
    double expected[DSAJIT_KV_LORA_RANK] = {1}, expected_lse = 0;
    const struct problem problem = {.tokens = 1, .heads = 1};
    const struct reference reference = {expected, &expected_lse};
    const float nan_lse = NAN;
    struct comparison errors = comparison_make(&problem, &reference, out, NULL);
    assert_false(comparison_within(&errors));
    out[0] = 0x3f80;
    errors = comparison_make(&problem, &reference, out, NULL);
    assert_true(comparison_within(&errors));
    errors = comparison_make(&problem, &reference, out, &nan_lse);
    assert_false(comparison_within(&errors));
    /* An empty row must be exactly 0 and -inf. */
    expected_lse = -INFINITY;
    errors = comparison_make(&problem, &reference, out, NULL);
    assert_false(comparison_within(&errors));
}

static void a_random_problem_depends_on_its_seed_alone(void **state)
{
    (void)state;
    struct problem_shape shape = {
        .tokens = 2, .heads = 3, .topk = 50, .slots = 20, .seed = 7, .invalid = 0.25};
    struct problem a, b, c;
    dsajit_error error = {0};
    assert_int_equal(problem_create_random(&shape, &a, &error), DSAJIT_OK);
    assert_int_equal(problem_create_random(&shape, &b, &error), DSAJIT_OK);
    shape.seed = 8;
    assert_int_equal(problem_create_random(&shape, &c, &error), DSAJIT_OK);
    const size_t q_size = sizeof *a.q * 2 * 3 * RECORD_KEY_SIZE;
    assert_memory_equal(a.q, b.q, q_size);
    assert_memory_equal(a.kv, b.kv, (size_t)20 * DSAJIT_RECORD_BYTES);
    assert_memory_equal(a.indices, b.indices, 100 * sizeof *a.indices);
    assert_memory_not_equal(a.q, c.q, q_size);
    int masked = 0;
    for (int i = 0; i < 100; i++)
        masked += a.indices[i] < 0;
    assert_in_range(masked, 10, 45);
    double sum = 0, squares = 0;
    for (int i = 0; i < 2 * 3 * RECORD_KEY_SIZE; i++) {
        sum += bf16_to_double(a.q[i]);
        squares += bf16_to_double(a.q[i]) * bf16_to_double(a.q[i]);
    }
    assert_true(fabs(sum / 3456) < 0.1 && fabs(squares / 3456 - 1) < 0.1);
    problem_free(&a);
    problem_free(&b);
    problem_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(e4m3_has_the_values_of_its_specification),
        cmocka_unit_test(e4m3_rounds_to_the_nearest_even_value_and_saturates),
        cmocka_unit_test(bf16_is_the_upper_half_of_an_f32_and_rounds_to_nearest_even),
        cmocka_unit_test(records_have_the_scales_of_the_writers_rule),
        cmocka_unit_test(older_records_have_any_scale),
        cmocka_unit_test(the_reference_gives_flashmla_its_published_errors),
        cmocka_unit_test(the_reference_is_the_formula),
        cmocka_unit_test(a_nan_is_never_within_the_tolerance),
        cmocka_unit_test(a_random_problem_depends_on_its_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
