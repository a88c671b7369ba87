/* Attention over parts of the keys, merged: against float64. */
#include "narrow_floats.h"
#include "operand.h"

#include <dsajit/indexer.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { WIDTH = DSAJIT_KV_LORA_RANK };

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size + 1);
    assert_non_null(memory);
    return memory;
}

struct merging {
    int ranks, tokens, heads, first, parts;
    bool f32, gaps, in_place;
};

/* Spread so that some parts matter, some hardly, some not at all; every kind of value that counts
   as none. */
static float make_lse(int rank, int row, uint32_t *random)
{
    const uint32_t bits = next_random(random) >> 8;
    if (row % 7 == 0)
        return -INFINITY; /* no part at all */
    if ((rank + row) % 5 == 0)
        return row % 3 == 0 ? NAN : row % 3 == 1 ? INFINITY : -INFINITY;
    return (float)(bits % 1000) * (row % 2 ? 0.004f : 0.2f) - 50;
}

/* The merge in float64, of one value of each part. */
static double merge_lse(const float *lse, int ranks, int rows, int row)
{
    double largest = -INFINITY, sum = 0;
    for (int r = 0; r < ranks; r++)
        if (lse[r * rows + row] < INFINITY)
            largest = fmax(largest, lse[r * rows + row]);
    if (largest == -INFINITY)
        return -INFINITY;
    for (int r = 0; r < ranks; r++)
        if (lse[r * rows + row] < INFINITY)
            sum += exp(lse[r * rows + row] - largest);
    return largest + log(sum);
}

static double factor_of(float lse, double merged)
{
    return lse < INFINITY && lse > -INFINITY ? exp(lse - merged) : 0;
}

static void check_values(const struct merging *m, const uint16_t *partial, const float *lse,
                         const void *out, const float *merged)
{
    const int rows = m->tokens * m->heads;
    for (int row = 0; row < rows; row++) {
        const double expected_lse = merge_lse(lse, m->ranks, rows, row);
        if (expected_lse == -INFINITY)
            assert_true(merged[row] == -INFINITY);
        else
            assert_true(fabs(merged[row] - expected_lse) <= 1e-6 * fmax(1, fabs(expected_lse)));
        for (int i = 0; i < WIDTH; i++) {
            double expected = 0, magnitude = 0;
            for (int p = 0; p < m->parts; p++) {
                const double factor = factor_of(lse[(m->first + p) * rows + row], expected_lse);
                const double value = bf16_to_double(partial[(p * rows + row) * WIDTH + i]);
                expected += factor == 0 ? 0 : factor * value;
                magnitude += factor == 0 ? 0 : fabs(factor * value);
            }
            const double got = m->f32 ? ((const float *)out)[row * WIDTH + i]
                                      : bf16_to_double(((const uint16_t *)out)[row * WIDTH + i]);
            const double allowed =
                2e-5 * magnitude + 1e-30 + (m->f32 ? 0 : fabs(expected) * 0x1.01p-8);
            if (!(fabs(got - expected) <= allowed))
                fail_msg("row %d, value %d: %g, not %g", row, i, got, expected);
        }
    }
}

/* Parts that don't count hold NaN. */
static void make_parts(const struct merging *m, uint16_t *partial, float *lse)
{
    const int rows = m->tokens * m->heads;
    uint32_t random = (uint32_t)(m->ranks * 31 + m->heads);
    for (int r = 0; r < m->ranks; r++)
        for (int row = 0; row < rows; row++)
            lse[r * rows + row] = make_lse(r, row, &random);
    for (int p = 0; p < m->parts; p++)
        for (int row = 0; row < rows; row++)
            for (int i = 0; i < WIDTH; i++)
                partial[(p * rows + row) * WIDTH + i] =
                    isfinite(lse[(m->first + p) * rows + row])
                        ? double_to_bf16((int32_t)next_random(&random) * 0x1p-29)
                        : 0x7fc0;
}

static void check_merge(struct merging m)
{
    const int64_t gap = m.gaps ? 2 : 0, rows = m.tokens * m.heads;
    const int64_t head = WIDTH + gap, token = m.heads * head + 2 * gap;
    uint16_t *partial = allocate((size_t)(m.parts * rows * WIDTH) * sizeof *partial);
    float *lse = allocate((size_t)(m.ranks * rows) * sizeof *lse);
    struct operand parts, parts_lse, out, merged;
    make_parts(&m, partial, lse);
    operand_create(&parts,
                   &(struct operand_layout){kDLBfloat,
                                            16,
                                            4,
                                            {m.parts, m.tokens, m.heads, WIDTH},
                                            {m.tokens * token + gap, token, head}},
                   partial);
    operand_create(&parts_lse,
                   &(struct operand_layout){
                       kDLFloat, 32, 3, {m.ranks, m.tokens, m.heads}, {0, 0, m.gaps ? 3 : 1}},
                   lse);
    operand_create(&out,
                   &(struct operand_layout){m.f32 ? kDLFloat : kDLBfloat,
                                            m.f32 ? 32 : 16,
                                            3,
                                            {m.tokens, m.heads, WIDTH},
                                            {token, head}},
                   NULL);
    operand_create_plain(&merged, kDLFloat, 32, 2, (int64_t[]){m.tokens, m.heads}, NULL);
    if (m.in_place)
        out.tensor.view.data = parts.memory;
    const dsajit_dcp_attention_arguments arguments = {
        .struct_size = sizeof arguments,
        .partial = &parts.tensor.view,
        .lse = &parts_lse.tensor.view,
        .out = &out.tensor.view,
        .merged_lse = &merged.tensor.view,
        .first = m.first,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_attention(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    void *values = operand_take(m.in_place ? &parts : &out);
    float *merged_values = operand_take(&merged);
    check_values(&m, partial, lse, values, merged_values);
    free(values);
    free(merged_values);
    operand_free(&parts);
    operand_free(&parts_lse);
    operand_free(&out);
    operand_free(&merged);
    free(partial);
    free(lse);
}

static void all_parts_are_merged(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= DSAJIT_DCP_RANKS_MAX; ranks++)
        for (int f32 = 0; f32 < 2; f32++)
            check_merge((struct merging){.ranks = ranks,
                                         .tokens = 3,
                                         .heads = 7,
                                         .parts = ranks,
                                         .f32 = f32,
                                         .gaps = ranks % 2});
}

static void one_rank_scales_its_own_part(void **state)
{
    (void)state;
    for (int rank = 0; rank < 8; rank++)
        check_merge((struct merging){.ranks = 8,
                                     .tokens = 2,
                                     .heads = 5,
                                     .first = rank,
                                     .parts = 1,
                                     .in_place = rank % 2,
                                     .gaps = rank % 3 == 0});
    check_merge(
        (struct merging){.ranks = 8, .tokens = 2, .heads = 4, .first = 2, .parts = 3, .f32 = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_merged),
        cmocka_unit_test(one_rank_scales_its_own_part),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
