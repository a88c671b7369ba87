/* The writer of fp8_ds_mla records: against the definition, against FlashMLA's own records, and by
   attending to what was written. */
#include "case_directory.h"
#include "narrow_floats.h"
#include "operand.h"
#include "record.h"

#include <dsajit/indexer.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LATENT = DSAJIT_KV_LORA_RANK, ROPE = DSAJIT_QK_ROPE_HEAD_DIM };

/* A write. Zeroed strides: no gaps. */
struct writing {
    int64_t tokens, rows; /* rows: of latent and rope, tokens or more */
    int64_t latent_stride, rope_stride;
    int64_t pages, page_tokens, page_stride;
    const uint16_t *latent, *rope; /* [rows][512], [rows][64] */
    const int64_t *slots;
};

static int64_t page_stride_of(const struct writing *w)
{
    return w->page_stride ? w->page_stride : w->page_tokens * DSAJIT_RECORD_BYTES;
}

/* Writes into [pages][page_stride] bytes, gaps included. */
static void write_records(const struct writing *w, uint8_t *cache)
{
    struct operand latent, rope, slots, pages;
    operand_create(
        &latent, &(struct operand_layout){kDLBfloat, 16, 2, {w->rows, LATENT}, {w->latent_stride}},
        w->latent);
    operand_create(&rope,
                   &(struct operand_layout){kDLBfloat, 16, 2, {w->rows, ROPE}, {w->rope_stride}},
                   w->rope);
    operand_create_plain(&slots, kDLInt, 64, 1, &w->tokens, w->slots);
    operand_create_plain(&pages, kDLUInt, 8, 2, (int64_t[]){w->pages, page_stride_of(w)}, cache);
    struct tensor view;
    tensor_set(&view, pages.memory, kDLUInt, 8, 3,
               (int64_t[]){w->pages, w->page_tokens, DSAJIT_RECORD_BYTES});
    view.strides[0] = page_stride_of(w);
    const dsajit_mla_cache_write_arguments arguments = {
        .struct_size = sizeof arguments,
        .kv_c = &latent.tensor.view,
        .k_pe = &rope.tensor.view,
        .slot_mapping = &slots.tensor.view,
        .cache = &view.view,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_mla_cache_write(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    operand_read(&pages, cache);
    operand_free(&latent);
    operand_free(&rope);
    operand_free(&slots);
    operand_free(&pages);
}

/* The definition, for values of any kind. */
static void write_expected(const uint16_t *latent, const uint16_t *rope, uint8_t *record)
{
    for (size_t t = 0; t < RECORD_SCALES; t++) {
        double largest = 0;
        for (int i = 0; i < RECORD_LATENT_PER_SCALE; i++)
            largest = fmax(largest, fabs(bf16_to_double(latent[t * RECORD_LATENT_PER_SCALE + i])));
        int exponent;
        const double least = fmax(largest / 448, 1e-4), fraction = frexp(least, &exponent);
        const double scale = ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
        for (size_t i = t * RECORD_LATENT_PER_SCALE; i < (t + 1) * RECORD_LATENT_PER_SCALE; i++)
            record[i] = double_to_e4m3(bf16_to_double(latent[i]) / scale);
        record_set_scale(record, t, (float)scale);
    }
    memcpy(record + RECORD_ROPE_OFFSET, rope, ROPE * sizeof *rope);
}

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

/* Any bits in rope, NaN too; latent of a magnitude that changes from tile to tile. */
static void fill_random(uint16_t *latent, uint16_t *rope, int64_t rows)
{
    uint32_t state = 7;
    for (int64_t i = 0; i < rows * LATENT; i++) {
        const uint32_t exponent = (uint32_t)(i / RECORD_LATENT_PER_SCALE * 37 % 200 + 10);
        const uint32_t spread = next_random(&state) >> 24 & 15;
        latent[i] = (uint16_t)((next_random(&state) >> 8 & 0x807f) |
                               (exponent > spread ? exponent - spread : 0) << 7);
    }
    for (int64_t i = 0; i < rows * ROPE; i++)
        rope[i] = (uint16_t)(next_random(&state) >> 12);
}

/* Tokens go to all slots but every third, backwards; every fifth is skipped. */
static void check_writing(struct writing w)
{
    const int64_t capacity = w.pages * w.page_tokens, stride = page_stride_of(&w);
    const size_t size = (size_t)(w.pages * stride);
    w.rows = capacity + 3;
    uint16_t *latent = malloc((size_t)w.rows * LATENT * 2);
    uint16_t *rope = malloc((size_t)w.rows * ROPE * 2);
    int64_t *slots = malloc((size_t)capacity * sizeof *slots);
    uint8_t *cache = malloc(size), *expected = malloc(size);
    assert_true(latent && rope && slots && cache && expected);
    fill_random(latent, rope, w.rows);
    memset(cache, 0x3c, size);
    memset(expected, 0x3c, size);
    for (int64_t s = capacity - 1; s >= 0; s--) {
        if (s % 3 == 0)
            continue;
        const int64_t token = w.tokens++;
        slots[token] = s % 5 == 4 ? -1 - s : s;
        if (slots[token] >= 0)
            write_expected(latent + token * LATENT, rope + token * ROPE,
                           expected + s / w.page_tokens * stride +
                               s % w.page_tokens * DSAJIT_RECORD_BYTES);
    }
    w.latent = latent;
    w.rope = rope;
    w.slots = slots;
    write_records(&w, cache);
    for (size_t i = 0; i < size; i++)
        if (cache[i] != expected[i])
            fail_msg("byte %zu (of a record: %zu) is 0x%02x, not 0x%02x", i,
                     i % (size_t)stride % DSAJIT_RECORD_BYTES, cache[i], expected[i]);
    free(latent);
    free(rope);
    free(slots);
    free(cache);
    free(expected);
}

static void pages_of_every_size(void **state)
{
    (void)state;
    check_writing((struct writing){.pages = 40, .page_tokens = 1});
    check_writing((struct writing){.pages = 3, .page_tokens = 16});
    check_writing((struct writing){.pages = 2, .page_tokens = 64});
    check_writing((struct writing){.pages = 5, .page_tokens = 7});
}

static void pages_with_gaps_and_rows_that_are_slices(void **state)
{
    (void)state;
    check_writing((struct writing){
        .pages = 3, .page_tokens = 16, .page_stride = 16 * DSAJIT_RECORD_BYTES + 16});
    check_writing((struct writing){.pages = 3,
                                   .page_tokens = 5,
                                   .page_stride = 5 * DSAJIT_RECORD_BYTES + 4096,
                                   .latent_stride = LATENT + ROPE,
                                   .rope_stride = LATENT + ROPE + 2});
}

static void nothing_to_write(void **state)
{
    (void)state;
    static uint16_t latent[LATENT], rope[ROPE];
    const int64_t slot = -1, first = 0;
    uint8_t cache[DSAJIT_RECORD_BYTES], before[sizeof cache];
    struct writing w = {.tokens = 1,
                        .rows = 1,
                        .pages = 1,
                        .page_tokens = 1,
                        .latent = latent,
                        .rope = rope,
                        .slots = &slot};
    memset(cache, 9, sizeof cache);
    memcpy(before, cache, sizeof cache);
    write_records(&w, cache);
    assert_memory_equal(cache, before, sizeof cache);
    w.slots = &first;
    w.tokens = 0;
    write_records(&w, cache);
    assert_memory_equal(cache, before, sizeof cache);
    w.tokens = 1;
    w.pages = 0;
    write_records(&w, cache);
}

/* The table of the specification, in its own numbers: one tile each. */
static void the_edge_table(void **state)
{
    (void)state;
    static const struct {
        double largest, scale;
    } tiles[] = {{0, 0x1p-13},
                 {448, 1},
                 {450, 2},
                 {336, 1},
                 {57344, 0x1p7},
                 {57600, 0x1p8},
                 {0.044677734375, 0x1p-13},
                 {0x1p-100, 0x1p-13}};
    enum { TILES = sizeof tiles / sizeof *tiles, TOKENS = TILES / RECORD_SCALES };
    uint16_t latent[TOKENS * LATENT] = {0}, rope[TOKENS * ROPE] = {0};
    uint8_t cache[TOKENS * DSAJIT_RECORD_BYTES];
    const int64_t slots[TOKENS] = {0, 1};
    for (int t = 0; t < TILES; t++)
        latent[t * RECORD_LATENT_PER_SCALE + 17 * t] = double_to_bf16(-tiles[t].largest);
    latent[0] = 0x8000; /* -0 stays */
    memset(cache, 0, sizeof cache);
    write_records(&(struct writing){.tokens = TOKENS,
                                    .rows = TOKENS,
                                    .pages = 1,
                                    .page_tokens = TOKENS,
                                    .latent = latent,
                                    .rope = rope,
                                    .slots = slots},
                  cache);
    for (size_t t = 0; t < TILES; t++)
        assert_true(record_scale(cache + t / RECORD_SCALES * DSAJIT_RECORD_BYTES,
                                 t % RECORD_SCALES) == (float)tiles[t].scale);
    assert_int_equal(cache[0], 0x80);
    assert_int_equal(cache[1], 0);
    assert_int_equal(cache[RECORD_LATENT_PER_SCALE + 17], 0xfe);
}

static void a_nan_spoils_no_other_value_of_its_tile(void **state)
{
    (void)state;
    uint16_t latent[LATENT], rope[ROPE], without[LATENT];
    uint8_t record[DSAJIT_RECORD_BYTES], expected[DSAJIT_RECORD_BYTES];
    const int64_t slot = 0;
    fill_random(latent, rope, 1);
    latent[200] = 0xffc0;
    memcpy(without, latent, sizeof without);
    without[200] = 0;
    write_expected(without, rope, expected);
    expected[200] = 0xff;
    memset(record, 0, sizeof record);
    write_records(&(struct writing){.tokens = 1,
                                    .rows = 1,
                                    .pages = 1,
                                    .page_tokens = 1,
                                    .latent = latent,
                                    .rope = rope,
                                    .slots = &slot},
                  record);
    assert_memory_equal(record, expected, sizeof record);
}

/* FlashMLA's records, read, give what FlashMLA's quantiser could have been given: written again
   they are the same bytes, but where a tile's largest value came to 224, for which half the scale
   would have done. */
static void flashmla_records_written_again_are_the_same(void **state)
{
    (void)state;
    char folder[4096];
    struct problem problem;
    dsajit_error error = {0};
    snprintf(folder, sizeof folder, "%s/tests/vectors/mla_h12_spread",
             getenv("DSAJIT_TEST_SOURCE"));
    assert_ok(case_directory_read(folder, &problem, &error), &error);
    const int64_t count = problem.slots;
    uint16_t *latent = malloc((size_t)count * LATENT * 2);
    uint16_t *rope = malloc((size_t)count * ROPE * 2);
    int64_t *slots = malloc((size_t)count * sizeof *slots);
    uint8_t *cache = calloc((size_t)count, DSAJIT_RECORD_BYTES);
    assert_true(latent && rope && slots && cache);
    for (int64_t s = 0; s < count; s++) {
        double key[RECORD_KEY_SIZE];
        record_read(problem.kv + s * DSAJIT_RECORD_BYTES, key);
        for (int i = 0; i < LATENT; i++)
            latent[s * LATENT + i] = double_to_bf16(key[i]);
        memcpy(rope + s * ROPE, problem.kv + s * DSAJIT_RECORD_BYTES + RECORD_ROPE_OFFSET,
               ROPE * sizeof *rope);
        slots[s] = s;
    }
    write_records(&(struct writing){.tokens = count,
                                    .rows = count,
                                    .pages = count,
                                    .page_tokens = 1,
                                    .latent = latent,
                                    .rope = rope,
                                    .slots = slots},
                  cache);
    int64_t tiles = 0, same_scales = 0;
    for (int64_t s = 0; s < count; s++) {
        const uint8_t *ours = cache + s * DSAJIT_RECORD_BYTES;
        const uint8_t *theirs = problem.kv + s * DSAJIT_RECORD_BYTES;
        double our_key[RECORD_KEY_SIZE], their_key[RECORD_KEY_SIZE];
        record_read(ours, our_key);
        record_read(theirs, their_key);
        assert_memory_equal(our_key, their_key, sizeof our_key);
        for (size_t t = 0; t < RECORD_SCALES; t++, tiles++) {
            const size_t at = t * RECORD_LATENT_PER_SCALE;
            if (record_scale(ours, t) != record_scale(theirs, t))
                continue;
            same_scales++;
            assert_memory_equal(ours + at, theirs + at, RECORD_LATENT_PER_SCALE);
        }
    }
    print_message("%lld of %lld tiles have FlashMLA's own scale\n", (long long)same_scales,
                  (long long)tiles);
    assert_true(same_scales * 10 >= tiles * 9);
    free(latent);
    free(rope);
    free(slots);
    free(cache);
    problem_free(&problem);
}

/* Attention to what was written is that to the latent, but for its rounding to e4m3: one key gives
   an output within half a step of it. */
static void what_is_written_can_be_attended(void **state)
{
    (void)state;
    enum { TOKENS = 40, HEADS = 4 };
    static const int64_t lengths[] = {TOKENS, 1};
    struct problem problem;
    harness_make_problem(&problem, HEADS, 2, lengths, TOKENS, 0, DSAJIT_SCALE_POW2);
    uint16_t latent[TOKENS * LATENT], rope[TOKENS * ROPE];
    int64_t slots[TOKENS];
    uint32_t random = 3;
    for (int i = 0; i < TOKENS * LATENT; i++)
        latent[i] = double_to_bf16((double)(next_random(&random) >> 8) / (1 << 23) - 1);
    for (int i = 0; i < TOKENS * ROPE; i++)
        rope[i] = double_to_bf16((double)(next_random(&random) >> 8) / (1 << 23) - 1);
    for (int64_t s = 0; s < TOKENS; s++)
        slots[s] = TOKENS - 1 - s;
    memset(problem.kv, 0, (size_t)TOKENS * DSAJIT_RECORD_BYTES);
    write_records(&(struct writing){.tokens = TOKENS,
                                    .rows = TOKENS,
                                    .pages = 1,
                                    .page_tokens = TOKENS,
                                    .latent = latent,
                                    .rope = rope,
                                    .slots = slots},
                  problem.kv);
    struct result result;
    harness_run(&problem, &(struct layout){.return_lse = true}, &result);
    assert_right(&problem, &result);
    const uint16_t *key = latent + (TOKENS - 1 - problem.indices[TOKENS]) * LATENT;
    for (int i = 0; i < LATENT; i++) {
        const double expected = bf16_to_double(key[i]);
        const double got = bf16_to_double(result.out[HEADS * LATENT + i]);
        assert_true(fabs(got - expected) <= fmax(fabs(expected) / 16, 0x1p-17));
    }
    result_free(&result);
    problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_every_size),
        cmocka_unit_test(pages_with_gaps_and_rows_that_are_slices),
        cmocka_unit_test(nothing_to_write),
        cmocka_unit_test(the_edge_table),
        cmocka_unit_test(a_nan_spoils_no_other_value_of_its_tile),
        cmocka_unit_test(flashmla_records_written_again_are_the_same),
        cmocka_unit_test(what_is_written_can_be_attended),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
