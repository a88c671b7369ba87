/* The cases of numpy: quantised queries, weights and the cache, byte for byte. */
#include "index_calls.h"
#include "index_case.h"
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

static void assert_bytes_equal(const char *what, const void *actual, const void *expected,
                               size_t size)
{
    const uint8_t *a = actual, *e = expected;
    for (size_t i = 0; i < size; i++)
        if (a[i] != e[i])
            fail_msg("%s: byte %zu is 0x%02x, not 0x%02x", what, i, a[i], e[i]);
}

static void check_queries(const struct indexer_case *c)
{
    const dsajit_indexer_format format = (dsajit_indexer_format)c->format;
    const size_t rows = (size_t)(c->rows * c->heads);
    struct query_result result;
    quantise_queries(&(struct query_call){.format = format,
                                          .rows = c->rows,
                                          .heads = c->heads,
                                          .index_q = c->index_q,
                                          .index_v = c->index_v},
                     &result);
    assert_bytes_equal("q_bytes", result.bytes, c->q_bytes, rows * (size_t)index_row_bytes(format));
    if (c->weights)
        assert_bytes_equal("weights", result.weights, c->weights, rows * sizeof(float));
    if (c->q_scales)
        assert_bytes_equal("q_scales", result.scales, c->q_scales, rows * INDEX_GROUPS);
    query_result_free(&result);
}

static uint8_t *insert(const struct indexer_case *c, dsajit_key_norm norm, const uint16_t *index_k)
{
    const size_t size = (size_t)(c->pages * c->page_stride);
    uint8_t *cache = malloc(size);
    assert_non_null(cache);
    memcpy(cache, c->cache_before, size);
    insert_keys(
        &(struct key_insertion){.format = (dsajit_indexer_format)c->format,
                                .norm = norm,
                                .keys = c->keys,
                                .tokens = c->keys,
                                .pages = c->pages,
                                .page_tokens = c->page_tokens,
                                .page_stride = c->page_stride,
                                .eps = c->norm_eps,
                                .index_k = index_k,
                                .slot_mapping = c->slot_mapping,
                                .weight = norm ? c->norm_weight : NULL,
                                .bias = norm == DSAJIT_KEY_NORM_LAYERNORM ? c->norm_bias : NULL},
        cache);
    return cache;
}

static void check_insertion(const struct indexer_case *c)
{
    uint8_t *cache = insert(c, DSAJIT_KEY_NORM_NONE, c->index_k);
    assert_bytes_equal("cache", cache, c->cache, (size_t)(c->pages * c->page_stride));
    free(cache);
}

/* The norm may be off by a bf16 step: each value's scale must be that of the expected key, or of it
   with all magnitudes a step smaller or larger, and under that scale so must its code. Gives how
   many values aren't those of the expected key itself. */
static int check_normalised_key(dsajit_indexer_format format, const struct index_row *row,
                                const uint16_t *expected)
{
    enum { STEPS = 3 };
    uint16_t keys[STEPS][INDEX_ROW];
    struct index_row rows[STEPS];
    int different = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < INDEX_ROW; i++)
            keys[step][i] = (uint16_t)(expected[i] & 0x7fff ? expected[i] + step - 1 : expected[i]);
        index_quantise(format, keys[step], INDEX_KEY_LEAST, &rows[step]);
    }
    for (int i = 0; i < INDEX_ROW; i++) {
        const double scale = index_stored_scale(format, row, i);
        const unsigned code = index_stored_code(format, row, i);
        bool scale_right = false, code_right = false;
        for (int step = 0; step < STEPS; step++) {
            scale_right |= scale == index_stored_scale(format, &rows[step], i);
            code_right |= code == index_code(format, bf16_to_double(keys[step][i]), scale);
        }
        if (!scale_right || !code_right)
            fail_msg("value %d: 0x%x with scale %a is no key's within a step of %a", i, code, scale,
                     bf16_to_double(expected[i]));
        different += code != index_stored_code(format, &rows[1], i);
    }
    return different;
}

static void check_norm(const struct indexer_case *c)
{
    const dsajit_indexer_format format = (dsajit_indexer_format)c->format;
    const int64_t zeroed = c->keys - 1 < 5 ? c->keys - 1 : 5; /* after the norm */
    uint8_t *cache = insert(c, (dsajit_key_norm)c->norm, c->index_k_raw);
    int different = 0;
    for (int64_t k = 0; k < c->keys; k++) {
        const int64_t slot = c->slot_mapping[k];
        if (slot < 0 || k == zeroed)
            continue;
        struct index_row row;
        index_page_get(format, cache + slot / c->page_tokens * c->page_stride, c->page_tokens,
                       slot % c->page_tokens, &row);
        different += check_normalised_key(format, &row, c->index_k + k * INDEX_ROW);
    }
    print_message("%d of %lld values differ from numpy's\n", different,
                  (long long)(c->keys * INDEX_ROW));
    free(cache);
}

static void check_case(void **state)
{
    const char *name = *state;
    struct indexer_case index_case;
    index_case_read(name, &index_case);
    check_queries(&index_case);
    check_insertion(&index_case);
    check_norm(&index_case);
    indexer_case_free(&index_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {INDEX_CASE_TESTS(check_case)};
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
