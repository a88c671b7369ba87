/* What the indexer's quantisers make of single values: the edges of the formats, ties, signs, and
   streams of bits, against the definitions. */
#include "index_calls.h"
#include "index_reference.h"
#include "narrow_floats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { HEADS = 16, PAGE = 16, LARGEST = 0x7f7f, QUIET_NAN = 0x7fc0 };

/* Each row stands in for what the test is about. */
typedef void fill_function(uint16_t row[INDEX_ROW], int64_t number);

/* As keys, rows are inserted in slots 0, 1, 2, … */
static void store_as_keys(dsajit_indexer_format format, int64_t rows, const uint16_t *values,
                          struct index_row *stored)
{
    const int64_t pages = (rows + PAGE - 1) / PAGE, token_bytes = index_token_bytes(format);
    uint8_t *cache = calloc((size_t)pages, (size_t)(PAGE * token_bytes));
    int64_t *slots = malloc((size_t)rows * sizeof *slots);
    assert_true(cache && slots);
    for (int64_t i = 0; i < rows; i++)
        slots[i] = i;
    insert_keys(&(struct key_insertion){.format = format,
                                        .keys = rows,
                                        .tokens = rows,
                                        .pages = pages,
                                        .page_tokens = PAGE,
                                        .index_k = values,
                                        .slot_mapping = slots},
                cache);
    for (int64_t i = 0; i < rows; i++)
        index_page_get(format, cache + i / PAGE * PAGE * token_bytes, PAGE, i % PAGE, &stored[i]);
    free(slots);
    free(cache);
}

static void assert_row(dsajit_indexer_format format, const struct index_row *row,
                       const uint16_t *values, double least, int64_t number)
{
    struct index_row expected;
    index_quantise(format, values, least, &expected);
    for (int i = 0; i < INDEX_ROW; i++) {
        const double scale = index_stored_scale(format, &expected, i);
        if (index_stored_scale(format, row, i) != scale)
            fail_msg("row %lld, value %d: scale %a, not %a", (long long)number, i,
                     index_stored_scale(format, row, i), scale);
        if (index_stored_code(format, row, i) != index_stored_code(format, &expected, i))
            fail_msg("row %lld, value %d: %a over %a is 0x%x, not 0x%x", (long long)number, i,
                     bf16_to_double(values[i]), scale, index_stored_code(format, row, i),
                     index_stored_code(format, &expected, i));
    }
}

/* Both calls, both formats; FP8 weights carry the query's scale. */
static void check_rows(int64_t rows, fill_function *fill)
{
    uint16_t *values = malloc((size_t)rows * INDEX_ROW * sizeof *values);
    uint16_t *head_weights = malloc((size_t)rows * sizeof *head_weights);
    struct index_row *stored = malloc((size_t)rows * sizeof *stored);
    assert_true(values && head_weights && stored && rows % HEADS == 0);
    for (int64_t i = 0; i < rows; i++) {
        fill(values + i * INDEX_ROW, i);
        head_weights[i] = double_to_bf16(i % 2 ? -1.0 - (double)i : 1.0 + (double)i);
    }
    for (dsajit_indexer_format format = DSAJIT_INDEXER_FP8; format <= DSAJIT_INDEXER_MXFP4;
         format++) {
        struct query_result queries;
        store_as_keys(format, rows, values, stored);
        for (int64_t i = 0; i < rows; i++)
            assert_row(format, &stored[i], values + i * INDEX_ROW, INDEX_KEY_LEAST, i);
        quantise_queries(&(struct query_call){.format = format,
                                              .rows = rows / HEADS,
                                              .heads = HEADS,
                                              .index_q = values,
                                              .index_v = head_weights},
                         &queries);
        for (int64_t i = 0; i < rows; i++) {
            struct index_row query = {0};
            index_quantise(format, values + i * INDEX_ROW, INDEX_QUERY_LEAST, &query);
            const float weight =
                index_weight(format, HEADS, head_weights[i], index_row_scale(&query));
            memcpy(query.values, queries.bytes + i * index_row_bytes(format),
                   (size_t)index_row_bytes(format));
            if (queries.scales)
                memcpy(query.scales, queries.scales + i * INDEX_GROUPS, INDEX_GROUPS);
            assert_row(format, &query, values + i * INDEX_ROW, INDEX_QUERY_LEAST, i);
            assert_memory_equal(&queries.weights[i], &weight, sizeof weight);
        }
        query_result_free(&queries);
    }
    free(values);
    free(head_weights);
    free(stored);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Finite values of any bits, so of all exponents at once. */
static void fill_any_bits(uint16_t row[INDEX_ROW], int64_t number)
{
    uint32_t state = (uint32_t)number + 1;
    for (int i = 0; i < INDEX_ROW; i++) {
        row[i] = (uint16_t)(next_random(&state) >> 8);
        if ((row[i] & 0x7f80) == 0x7f80)
            row[i] ^= 0x4000;
    }
}

static void any_finite_bits(void **state)
{
    (void)state;
    check_rows(256, fill_any_bits);
}

/* Values of the same magnitude or so: row n has exponent n, subnormals to the largest. */
static void fill_one_exponent(uint16_t row[INDEX_ROW], int64_t number)
{
    uint32_t state = (uint32_t)number + 1000;
    for (int i = 0; i < INDEX_ROW; i++)
        row[i] = (uint16_t)((next_random(&state) >> 8 & 0x807f) | (uint32_t)(number % 255) << 7);
}

static void every_exponent(void **state)
{
    (void)state;
    check_rows(256, fill_one_exponent);
}

/* Row n's largest magnitude has the fraction n / 128 of an exponent near 1, alone or negative: each
   side of where a scale is one power of two more. */
static void fill_one_large(uint16_t row[INDEX_ROW], int64_t number)
{
    memset(row, 0, INDEX_ROW * sizeof *row);
    row[number % INDEX_ROW] = (uint16_t)(0x3f80 + number % 512);
    row[(number + 1) % INDEX_ROW] = (uint16_t)(0x8000 | (0x3f80 - number % 512));
    if (number % 2)
        row[number % INDEX_ROW] |= 0x8000;
}

static void every_fraction_of_the_largest(void **state)
{
    (void)state;
    check_rows(512, fill_one_large);
}

static void fill_extremes(uint16_t row[INDEX_ROW], int64_t number)
{
    static const uint16_t values[] = {
        0x0000,  0x8000,           0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x00ff,
        LARGEST, 0x8000 | LARGEST, 0x7f00, 0x3f80, 0xbf80, 0x0100, 0x3f7f, 0x0040};
    enum { COUNT = sizeof values / sizeof *values };
    for (int i = 0; i < INDEX_ROW; i++)
        row[i] = values[number % COUNT];
    row[number / COUNT] = values[(number / COUNT) % COUNT];
}

static void zeros_subnormals_and_the_largest(void **state)
{
    (void)state;
    check_rows(256, fill_extremes);
}

/* The table of the specification, in its own numbers. */
static void the_edge_table(void **state)
{
    (void)state;
    static const struct {
        double largest;
        double key_scale; /* FP8 */
        uint8_t mxfp4_scale;
    } rows[] = {
        {0, 0x1p-22, 1},  {448, 1, 134},          {450, 2, 134},    {336, 1, 133},
        {6, 0x1p-6, 127}, {6.03125, 0x1p-6, 128}, {3, 0x1p-7, 126}, {384, 1, 133},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    uint16_t values[COUNT][INDEX_ROW] = {{0}};
    struct index_row stored[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i][37] = double_to_bf16(-rows[i].largest);
    values[0][37] = 0;
    store_as_keys(DSAJIT_INDEXER_FP8, COUNT, values[0], stored);
    for (int i = 0; i < COUNT; i++)
        assert_true(index_row_scale(&stored[i]) == rows[i].key_scale);
    assert_int_equal(stored[1].values[37], 0xfe);
    store_as_keys(DSAJIT_INDEXER_MXFP4, COUNT, values[0], stored);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(stored[i].scales[1], rows[i].mxfp4_scale);
        assert_int_equal(stored[i].scales[0], 1);
    }
    assert_int_equal(stored[4].values[18], 0xf0); /* -6 is value 37: the high half of byte 18 */
}

static void a_zero_query_has_the_smallest_scale(void **state)
{
    (void)state;
    static const uint16_t values[4 * INDEX_ROW];
    uint16_t weights[4];
    for (int i = 0; i < 4; i++)
        weights[i] = double_to_bf16(1);
    struct query_result result;
    quantise_queries(
        &(struct query_call){.rows = 1, .heads = 4, .index_q = values, .index_v = weights},
        &result);
    for (int i = 0; i < 4; i++)
        assert_true(result.weights[i] == 0.5f * 0x1p-42f * (float)pow(128, -0.5));
    for (int i = 0; i < 4 * INDEX_ROW; i++)
        assert_int_equal(result.bytes[i], 0);
    query_result_free(&result);
}

static void ties_of_e2m1_go_to_the_even_code(void **state)
{
    (void)state;
    static const struct {
        double value;
        unsigned code;
    } rows[] = {{6, 7},   {0.25, 0}, {0.75, 2},        {1.25, 2},    {1.75, 4},
                {2.5, 4}, {3.5, 6},  {5, 6},           {-0.25, 8},   {-0.75, 10},
                {-5, 14}, {-0.0, 8}, {0.251953125, 1}, {5.03125, 7}, {2.515625, 5}};
    uint16_t values[INDEX_ROW] = {0};
    struct index_row stored;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        values[i] = double_to_bf16(rows[i].value);
    store_as_keys(DSAJIT_INDEXER_MXFP4, 1, values, &stored);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(index_stored_code(DSAJIT_INDEXER_MXFP4, &stored, (int)i), rows[i].code);
}

/* 448 makes the scale 1: between 256 and 448 e4m3 has every 32nd number. */
static void ties_of_e4m3_go_to_the_even_byte(void **state)
{
    (void)state;
    static const struct {
        double value;
        unsigned byte;
    } rows[] = {{448, 0x7e},  {272, 0x78},      {304, 0x7a},     {432, 0x7e},  {0x1p-10, 0},
                {0x3p-10, 2}, {-0x1p-10, 0x80}, {0x1.02p-10, 1}, {-0.0, 0x80}, {0x1p-6, 8}};
    uint16_t values[INDEX_ROW] = {0};
    struct index_row stored;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        values[i] = double_to_bf16(rows[i].value);
    store_as_keys(DSAJIT_INDEXER_FP8, 1, values, &stored);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(stored.values[i], rows[i].byte);
}

static void a_nan_spoils_no_other_value_of_an_fp8_row(void **state)
{
    (void)state;
    uint16_t values[INDEX_ROW], without[INDEX_ROW];
    struct index_row stored, expected;
    fill_one_exponent(values, 127);
    values[5] = QUIET_NAN;
    values[127] = 0x8000 | QUIET_NAN;
    memcpy(without, values, sizeof without);
    without[5] = without[127] = 0;
    index_quantise(DSAJIT_INDEXER_FP8, without, INDEX_KEY_LEAST, &expected);
    expected.values[5] = 0x7f;
    expected.values[127] = 0xff;
    store_as_keys(DSAJIT_INDEXER_FP8, 1, values, &stored);
    assert_memory_equal(&stored, &expected, sizeof stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_finite_bits),
        cmocka_unit_test(every_exponent),
        cmocka_unit_test(every_fraction_of_the_largest),
        cmocka_unit_test(zeros_subnormals_and_the_largest),
        cmocka_unit_test(the_edge_table),
        cmocka_unit_test(a_zero_query_has_the_smallest_scale),
        cmocka_unit_test(ties_of_e2m1_go_to_the_even_code),
        cmocka_unit_test(ties_of_e4m3_go_to_the_even_byte),
        cmocka_unit_test(a_nan_spoils_no_other_value_of_an_fp8_row),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
