/* The indexer's quantisers in every layout that the calls allow: page sizes, strides, slots in any
   order, all head counts. What lies around the results must stay as it was. */
#include "index_calls.h"
#include "index_reference.h"
#include "narrow_floats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint16_t *random_values(int64_t count, uint32_t seed)
{
    uint16_t *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = double_to_bf16(((double)(state >> 8) / (1 << 23) - 1) * 4);
    }
    return values;
}

/* Inserts in `cache` what the insertion should. */
static void insert_expected(const struct key_insertion *insertion, uint8_t *cache)
{
    const int64_t stride = insertion->page_stride
                               ? insertion->page_stride
                               : insertion->page_tokens * index_token_bytes(insertion->format);
    for (int64_t i = 0; i < insertion->tokens; i++) {
        const int64_t slot = insertion->slot_mapping[i];
        struct index_row row;
        if (slot < 0)
            continue;
        index_quantise(insertion->format, insertion->index_k + i * INDEX_ROW, INDEX_KEY_LEAST,
                       &row);
        index_page_put(insertion->format, cache + slot / insertion->page_tokens * stride,
                       insertion->page_tokens, slot % insertion->page_tokens, &row);
    }
}

/* Keys go to all slots but every third, backwards; every fifth token is skipped. */
static void check_insertion(struct key_insertion insertion)
{
    enum { PAGES = 3 };
    const int64_t capacity = PAGES * insertion.page_tokens;
    const int64_t stride = insertion.page_stride
                               ? insertion.page_stride
                               : insertion.page_tokens * index_token_bytes(insertion.format);
    const size_t size = (size_t)(PAGES * stride);
    uint16_t *keys = random_values((capacity + 7) * INDEX_ROW, (uint32_t)insertion.page_tokens);
    int64_t *slots = malloc((size_t)capacity * sizeof *slots);
    uint8_t *cache = malloc(size), *expected = malloc(size);
    assert_true(slots && cache && expected);
    insertion.tokens = 0;
    for (int64_t s = capacity - 1; s >= 0; s--)
        if (s % 3 || capacity < 6)
            slots[insertion.tokens++] = s % 5 == 4 ? -1 - s : s;
    insertion.keys = insertion.tokens + 7; /* rows past the slots are no tokens */
    insertion.pages = PAGES;
    insertion.index_k = keys;
    insertion.slot_mapping = slots;
    memset(cache, 0x3c, size);
    memset(expected, 0x3c, size);
    insert_expected(&insertion, expected);
    insert_keys(&insertion, cache);
    for (size_t i = 0; i < size; i++)
        if (cache[i] != expected[i])
            fail_msg("pages of %lld, byte %zu: 0x%02x, not 0x%02x",
                     (long long)insertion.page_tokens, i, cache[i], expected[i]);
    free(keys);
    free(slots);
    free(cache);
    free(expected);
}

static void check_both_formats(int64_t page_tokens, int64_t page_gap, int64_t key_stride)
{
    for (dsajit_indexer_format format = DSAJIT_INDEXER_FP8; format <= DSAJIT_INDEXER_MXFP4;
         format++)
        check_insertion((struct key_insertion){
            .format = format,
            .page_tokens = page_tokens,
            .page_stride = page_tokens * index_token_bytes(format) + page_gap,
            .key_stride = key_stride});
}

static void pages_of_every_size(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 16, 48, 64, 112, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_both_formats(sizes[i], 0, 0);
}

static void pages_with_gaps(void **state)
{
    (void)state;
    check_both_formats(1, 4, 0);
    check_both_formats(16, 60, 0);
    check_both_formats(64, 256, 0);
    check_both_formats(80, 4096 + 4, 0);
}

static void keys_that_are_slices(void **state)
{
    (void)state;
    check_both_formats(64, 0, INDEX_ROW + 2);
    check_both_formats(16, 0, INDEX_ROW + 4096);
}

/* Skipped tokens, and tokens of a dummy run, touch nothing. */
static void nothing_to_insert(void **state)
{
    (void)state;
    enum { TOKENS = 20, PAGE = 16 };
    static uint16_t keys[TOKENS * INDEX_ROW];
    int64_t slots[TOKENS];
    uint8_t cache[PAGE * DSAJIT_INDEX_KEY_BYTES_FP8], before[sizeof cache];
    struct key_insertion insertion = {.keys = TOKENS,
                                      .tokens = TOKENS,
                                      .pages = 1,
                                      .page_tokens = PAGE,
                                      .index_k = keys,
                                      .slot_mapping = slots};
    memset(cache, 7, sizeof cache);
    memcpy(before, cache, sizeof cache);
    for (int i = 0; i < TOKENS; i++)
        slots[i] = i % 2 ? -1 : INT64_MIN + i;
    insert_keys(&insertion, cache);
    assert_memory_equal(cache, before, sizeof cache);
    insertion.tokens = 0;
    insert_keys(&insertion, cache);
    assert_memory_equal(cache, before, sizeof cache);
    for (int i = 0; i < TOKENS; i++)
        slots[i] = i;
    insertion.tokens = TOKENS;
    insertion.pages = 0;
    insert_keys(&insertion, cache);
}

static void check_queries(struct query_call call)
{
    const int64_t rows = call.rows * call.heads;
    uint16_t *q = random_values(rows * INDEX_ROW, (uint32_t)call.heads);
    uint16_t *v = random_values(rows, (uint32_t)call.heads + 1);
    struct query_result result;
    call.index_q = q;
    call.index_v = v;
    quantise_queries(&call, &result);
    for (int64_t i = 0; i < rows; i++) {
        struct index_row expected;
        index_quantise(call.format, q + i * INDEX_ROW, INDEX_QUERY_LEAST, &expected);
        const float weight =
            index_weight(call.format, call.heads, v[i], index_row_scale(&expected));
        assert_memory_equal(result.bytes + i * index_row_bytes(call.format), expected.values,
                            (size_t)index_row_bytes(call.format));
        if (result.scales)
            assert_memory_equal(result.scales + i * INDEX_GROUPS, expected.scales, INDEX_GROUPS);
        assert_memory_equal(&result.weights[i], &weight, sizeof weight);
    }
    query_result_free(&result);
    free(q);
    free(v);
}

static void every_number_of_heads(void **state)
{
    (void)state;
    for (int64_t heads = 4; heads <= DSAJIT_INDEX_HEADS_MAX; heads += 4)
        check_queries((struct query_call){.rows = 3, .heads = heads});
    for (int64_t heads = 16; heads <= DSAJIT_INDEX_HEADS_MAX; heads *= 2)
        check_queries(
            (struct query_call){.format = DSAJIT_INDEXER_MXFP4, .rows = 3, .heads = heads});
}

static void queries_and_weights_that_are_slices(void **state)
{
    (void)state;
    check_queries((struct query_call){.rows = 5,
                                      .heads = 12,
                                      .row_stride = 14 * INDEX_ROW + 10,
                                      .head_stride = INDEX_ROW + 6,
                                      .weight_stride = 13});
    check_queries((struct query_call){.format = DSAJIT_INDEXER_MXFP4,
                                      .rows = 5,
                                      .heads = 16,
                                      .row_stride = 17 * INDEX_ROW,
                                      .weight_stride = 7168});
}

static void no_queries(void **state)
{
    (void)state;
    check_queries((struct query_call){.rows = 0, .heads = 32});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_every_size),
        cmocka_unit_test(pages_with_gaps),
        cmocka_unit_test(keys_that_are_slices),
        cmocka_unit_test(nothing_to_insert),
        cmocka_unit_test(every_number_of_heads),
        cmocka_unit_test(queries_and_weights_that_are_slices),
        cmocka_unit_test(no_queries),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
