/* Decode context parallelism with up to 8 ranks, simulated one after the other: ids, packing, and
   the top-k of the union, against plain C. */
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

static const int rank_counts[] = {1, 2, 3, 4, 8};
static const int interleaves[] = {1, 2, 7, 64, 1000};
enum {
    RANK_COUNTS = sizeof rank_counts / sizeof *rank_counts,
    INTERLEAVES = sizeof interleaves / sizeof *interleaves
};

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

/* ---- Ids, by walking through the sequence ---- */

/* Owner and number there of each position below `count`. */
static void deal_positions(int ranks, int interleave, int count, int *owner, int *number)
{
    int next[DSAJIT_DCP_RANKS_MAX] = {0}, rank = 0, left = interleave;
    for (int p = 0; p < count; p++) {
        owner[p] = rank;
        number[p] = next[rank]++;
        if (--left == 0) {
            left = interleave;
            rank = (rank + 1) % ranks;
        }
    }
}

static void convert(const dsajit_dcp_place *place, dsajit_dcp_direction direction, int64_t rows,
                    int64_t count, int64_t stride, const int *ids, int *result)
{
    const struct operand_layout layout = {kDLInt, 32, 2, {rows, count}, {stride}};
    struct operand in, out;
    operand_create(&in, &layout, ids);
    operand_create(&out, &layout, NULL);
    const dsajit_dcp_ids_arguments arguments = {
        .struct_size = sizeof arguments,
        .ids = &in.tensor.view,
        .out = &out.tensor.view,
        .place = *place,
        .direction = direction,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_ids(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    operand_read(&out, result);
    operand_free(&in);
    operand_free(&out);
}

static void ids_are_dealt_in_turns(void **state)
{
    (void)state;
    enum { ROWS = 3, COUNT = 700, POSITIONS = ROWS * COUNT };
    static int owner[POSITIONS], number[POSITIONS], ids[POSITIONS], got[POSITIONS];
    for (int w = 0; w < RANK_COUNTS; w++) {
        for (int i = 0; i < INTERLEAVES; i++) {
            deal_positions(rank_counts[w], interleaves[i], POSITIONS, owner, number);
            for (int r = 0; r < rank_counts[w]; r++) {
                const dsajit_dcp_place place = {rank_counts[w], r, interleaves[i]};
                for (int p = 0; p < POSITIONS; p++)
                    ids[p] = p % 11 == 3 ? -1 - p : p;
                convert(&place, DSAJIT_DCP_TO_LOCAL, ROWS, COUNT, COUNT + 5, ids, got);
                for (int p = 0; p < POSITIONS; p++)
                    assert_int_equal(got[p], ids[p] >= 0 && owner[p] == r ? number[p] : -1);
                convert(&place, DSAJIT_DCP_TO_GLOBAL, ROWS, COUNT, 0, got, ids);
                for (int p = 0; p < POSITIONS; p++)
                    assert_int_equal(ids[p], got[p] >= 0 ? p : -1);
            }
        }
    }
}

/* ---- Top-k of the union ---- */

/* One problem: every rank's scores of its own tokens, and its list of the best. */
struct scoring {
    int ranks, interleave, rows, k, length;
    float *scores; /* [rows][length], by position */
    int *owner, *number;
    int *ids;      /* [ranks][rows][k], numbers of the rank's tokens; -1 behind */
    float *listed; /* [ranks][rows][k], their scores */
};

enum distribution { SPREAD, EQUAL, FEW_VALUES, SPECIAL };

static float make_score(enum distribution distribution, uint32_t *random)
{
    static const float special[] = {0.0f,   -0.0f,   INFINITY, -INFINITY,
                                    1e-45f, -1e-45f, 3e38f,    -3e38f};
    const uint32_t bits = next_random(random);
    switch (distribution) {
    case EQUAL:
        return -2.5f;
    case FEW_VALUES:
        return (float)(bits >> 20 & 3) - 1;
    case SPECIAL:
        return special[bits >> 20 & 7];
    case SPREAD:
        break;
    }
    return (float)((int32_t)bits * 0x1p-28);
}

/* Larger scores first, -0 below +0, then smaller positions. */
static bool is_better(const float *scores, int a, int b)
{
    if (scores[a] != scores[b])
        return scores[a] > scores[b];
    if (signbit(scores[a]) != signbit(scores[b]))
        return !signbit(scores[a]);
    return a < b;
}

static const float *sorted_scores;
static int compare_positions(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return x == y ? 0 : is_better(sorted_scores, x, y) ? -1 : 1;
}

/* The best `k` positions of a row, of one rank or (-1) of all; how many there are. */
static int choose_best(const struct scoring *s, int row, int rank, int *best)
{
    int *positions = allocate((size_t)s->length * sizeof *positions);
    int count = 0;
    for (int p = 0; p < s->length; p++)
        if (rank < 0 || s->owner[p] == rank)
            positions[count++] = p;
    sorted_scores = s->scores + row * s->length;
    qsort(positions, (size_t)count, sizeof *positions, compare_positions);
    count = count < s->k ? count : s->k;
    memcpy(best, positions, (size_t)count * sizeof *best);
    free(positions);
    return count;
}

/* A list's valid entries come first, in an order that isn't that of the scores. */
static void make_lists(struct scoring *s)
{
    int *best = allocate((size_t)s->k * sizeof *best);
    for (int r = 0; r < s->ranks; r++) {
        for (int row = 0; row < s->rows; row++) {
            const int at = (r * s->rows + row) * s->k, count = choose_best(s, row, r, best);
            for (int j = 0; j < s->k; j++) {
                const int p = j < count ? best[count - 1 - j] : -1;
                s->ids[at + j] = p < 0 ? -1 : s->number[p];
                s->listed[at + j] = p < 0 ? NAN : s->scores[row * s->length + p];
            }
        }
    }
    free(best);
}

static void scoring_create(struct scoring *s, enum distribution distribution)
{
    uint32_t random = (uint32_t)(s->ranks * 7919 + s->k + s->length + 1);
    const size_t listed = (size_t)(s->ranks * s->rows * s->k);
    s->scores = allocate((size_t)(s->rows * s->length) * sizeof *s->scores);
    s->owner = allocate((size_t)s->length * sizeof *s->owner);
    s->number = allocate((size_t)s->length * sizeof *s->number);
    s->ids = allocate(listed * sizeof *s->ids);
    s->listed = allocate(listed * sizeof *s->listed);
    for (int i = 0; i < s->rows * s->length; i++)
        s->scores[i] = make_score(distribution, &random);
    deal_positions(s->ranks, s->interleave, s->length, s->owner, s->number);
    make_lists(s);
}

static void scoring_free(struct scoring *s)
{
    free(s->scores);
    free(s->owner);
    free(s->number);
    free(s->ids);
    free(s->listed);
}

/* Packs one rank's lists to [rows][k][2], from the scores listed or from its logits. */
static void pack(const struct scoring *s, int rank, bool from_logits, float *packed)
{
    enum { START = 3 };
    const int at = rank * s->rows * s->k, columns = s->length + START;
    int *starts = allocate((size_t)s->rows * sizeof *starts);
    float *logits = allocate((size_t)(s->rows * columns) * sizeof *logits);
    for (int row = 0; row < s->rows; row++) {
        starts[row] = row % (START + 1);
        for (int p = 0; p < s->length; p++)
            if (s->owner[p] == rank)
                logits[row * columns + starts[row] + s->number[p]] = s->scores[row * s->length + p];
    }
    struct operand ids, scores, row_starts, out;
    operand_create(&ids, &(struct operand_layout){kDLInt, 32, 2, {s->rows, s->k}, {s->k + 3}},
                   s->ids + at);
    if (from_logits)
        operand_create(&scores,
                       &(struct operand_layout){kDLFloat, 32, 2, {s->rows, columns}, {columns + 9}},
                       logits);
    else
        operand_create_plain(&scores, kDLFloat, 32, 2, (int64_t[]){s->rows, s->k}, s->listed + at);
    operand_create_plain(&row_starts, kDLInt, 32, 1, (int64_t[]){s->rows}, starts);
    operand_create_plain(&out, kDLFloat, 32, 3, (int64_t[]){s->rows, s->k, 2}, NULL);
    const dsajit_dcp_pack_arguments arguments = {
        .struct_size = sizeof arguments,
        .ids = &ids.tensor.view,
        .scores = from_logits ? NULL : &scores.tensor.view,
        .logits = from_logits ? &scores.tensor.view : NULL,
        .row_starts = from_logits ? &row_starts.tensor.view : NULL,
        .packed = &out.tensor.view,
        .place = {s->ranks, rank, s->interleave},
    };
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_pack(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    operand_read(&out, packed);
    operand_free(&ids);
    operand_free(&scores);
    operand_free(&row_starts);
    operand_free(&out);
    free(starts);
    free(logits);
}

/* Every pair is the position of its token and that one's score. */
static void check_packed(const struct scoring *s, int rank, const float *packed)
{
    for (int row = 0; row < s->rows; row++) {
        for (int j = 0; j < s->k; j++) {
            const float *pair = packed + 2 * (row * s->k + j);
            const int id = s->ids[(rank * s->rows + row) * s->k + j];
            if (id < 0) {
                assert_true(pair[0] == -INFINITY && pair[1] == -1);
                continue;
            }
            const int position = (int)pair[1];
            assert_true(position >= 0 && position < s->length && pair[1] == (float)position);
            assert_true(s->owner[position] == rank && s->number[position] == id);
            assert_memory_equal(pair, &s->scores[row * s->length + position], sizeof *pair);
        }
    }
}

/* All ranks' lists as a collective leaves them, or moved to [rows][ranks * k][2]; `global` and
   `local` are [rows][k]. */
static void merge(const struct scoring *s, const float *gathered, bool by_rank, int rank,
                  int *global, int *local)
{
    const int list = 2 * s->k;
    float *moved = allocate((size_t)(s->ranks * s->rows * list) * sizeof *moved);
    for (int r = 0; r < s->ranks; r++)
        for (int row = 0; row < s->rows; row++)
            memcpy(moved + (row * s->ranks + r) * list, gathered + (r * s->rows + row) * list,
                   (size_t)list * sizeof *moved);
    struct operand candidates, global_ids, local_ids;
    const struct operand_layout ids = {kDLInt, 32, 2, {s->rows, s->k}, {s->k + 1}};
    if (by_rank)
        operand_create_plain(&candidates, kDLFloat, 32, 4, (int64_t[]){s->ranks, s->rows, s->k, 2},
                             gathered);
    else
        operand_create(&candidates,
                       &(struct operand_layout){
                           kDLFloat, 32, 3, {s->rows, s->ranks * s->k, 2}, {s->ranks * list + 6}},
                       moved);
    operand_create(&global_ids, &ids, NULL);
    operand_create(&local_ids, &ids, NULL);
    const dsajit_dcp_topk_arguments arguments = {
        .struct_size = sizeof arguments,
        .candidates = &candidates.tensor.view,
        .global_ids = &global_ids.tensor.view,
        .local_ids = local ? &local_ids.tensor.view : NULL,
        .place = {s->ranks, rank, s->interleave},
    };
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_topk(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    operand_read(&global_ids, global);
    if (local)
        operand_read(&local_ids, local);
    operand_free(&candidates);
    operand_free(&global_ids);
    operand_free(&local_ids);
    free(moved);
}

static int compare_numbers(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The set is the best of all positions; what is missing is -1, behind. */
static void check_merged(const struct scoring *s, const int *global)
{
    int *best = allocate((size_t)s->k * sizeof *best), *got = allocate((size_t)s->k * sizeof *got);
    for (int row = 0; row < s->rows; row++) {
        const int count = choose_best(s, row, -1, best);
        memcpy(got, global + row * s->k, (size_t)s->k * sizeof *got);
        for (int j = count; j < s->k; j++)
            assert_int_equal(got[j], -1);
        qsort(best, (size_t)count, sizeof *best, compare_numbers);
        qsort(got, (size_t)count, sizeof *got, compare_numbers);
        assert_memory_equal(got, best, (size_t)count * sizeof *got);
    }
    free(best);
    free(got);
}

/* A whole step: every rank packs, the lists are gathered, every rank merges. */
static void check_step(struct scoring s, enum distribution distribution)
{
    scoring_create(&s, distribution);
    const size_t results = (size_t)(s.rows * s.k);
    float *gathered = allocate((size_t)s.ranks * results * 2 * sizeof *gathered);
    int *global = allocate(results * sizeof *global), *local = allocate(results * sizeof *local);
    int *first = allocate(results * sizeof *first);
    for (int r = 0; r < s.ranks; r++) {
        pack(&s, r, r % 2, gathered + (size_t)r * results * 2);
        check_packed(&s, r, gathered + (size_t)r * results * 2);
    }
    merge(&s, gathered, true, 0, first, NULL);
    check_merged(&s, first);
    for (int r = 0; r < s.ranks; r++) {
        merge(&s, gathered, r % 2, r, global, local);
        /* The same bytes on every rank, whichever way the lists lie. */
        assert_memory_equal(global, first, results * sizeof *global);
        for (size_t i = 0; i < results; i++)
            assert_int_equal(local[i],
                             global[i] >= 0 && s.owner[global[i]] == r ? s.number[global[i]] : -1);
    }
    free(gathered);
    free(global);
    free(local);
    free(first);
    scoring_free(&s);
}

static void the_union_of_any_number_of_ranks(void **state)
{
    (void)state;
    for (int w = 0; w < RANK_COUNTS; w++)
        check_step((struct scoring){.ranks = rank_counts[w],
                                    .interleave = interleaves[w],
                                    .rows = 3,
                                    .k = 64,
                                    .length = 900},
                   SPREAD);
}

static void any_k_and_length(void **state)
{
    (void)state;
    static const int ks[] = {1, 2, 63, 1000};
    static const int lengths[] = {1, 62, 63, 64, 1001, 1500};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++)
            check_step(
                (struct scoring){
                    .ranks = 2, .interleave = 3, .rows = 1, .k = ks[i], .length = lengths[j]},
                SPREAD);
}

static void the_largest_lists(void **state)
{
    (void)state;
    static const int ks[] = {2047, 2048};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        for (int ranks = 1; ranks <= DSAJIT_DCP_RANKS_MAX; ranks *= 2)
            check_step(
                (struct scoring){
                    .ranks = ranks, .interleave = 64, .rows = 1, .k = ks[i], .length = 20000},
                ranks == 8 ? FEW_VALUES : SPREAD);
}

static void equal_scores_go_to_smaller_positions(void **state)
{
    (void)state;
    for (enum distribution d = EQUAL; d <= SPECIAL; d++)
        for (int ranks = 1; ranks <= DSAJIT_DCP_RANKS_MAX; ranks *= 2)
            check_step(
                (struct scoring){
                    .ranks = ranks, .interleave = 5, .rows = 2, .k = 100, .length = 1200},
                d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_dealt_in_turns),
        cmocka_unit_test(the_union_of_any_number_of_ranks),
        cmocka_unit_test(any_k_and_length),
        cmocka_unit_test(the_largest_lists),
        cmocka_unit_test(equal_scores_go_to_smaller_positions),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
