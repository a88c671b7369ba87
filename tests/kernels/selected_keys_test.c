/* Top-k, index lists and sparse MLA on one stream, each reading what the one before left on the
   device, against a float64 attention of the keys that the definition selects. */
#include "operand.h"
#include "topk_harness.h"

#include <dsajit/topk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Three requests of two rows each, and two rows of padding. Pages have a record that no token is
   in. */
enum {
    REQUESTS = 3,
    ROWS_EACH = 2,
    ROWS = REQUESTS * ROWS_EACH + 2,
    HEADS = 4,
    K = 40,
    BLOCKS = 9,
    COLUMNS = 130,
    PAGES = 32,
    PAGE_TOKENS = 16,
    ROWS_PER_PAGE = 17,
    SLOTS = PAGES * ROWS_PER_PAGE
};
static const int32_t row_ends[ROWS] = {129, 130, 7, 8, 40, 41, 0, 0};

struct selection {
    float logits[ROWS * COLUMNS];
    int32_t row_requests[ROWS];
    int32_t block_table[REQUESTS * BLOCKS];
    struct problem problem; /* of the attention; its lists are the definition's */
};

static void fill(struct selection *s)
{
    topk_fill_random(s->logits, (int64_t)ROWS * COLUMNS, 1);
    for (int row = 0; row < ROWS; row++)
        s->row_requests[row] = row < REQUESTS * ROWS_EACH ? row / ROWS_EACH : -1;
    for (int i = 0; i < REQUESTS * BLOCKS; i++)
        s->block_table[i] = (7 * i + 3) % PAGES;
}

static void define_lists(struct selection *s)
{
    int64_t count = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        int32_t *best = topk_sort(s->logits + row * COLUMNS, row_ends[row]);
        s->problem.indptr[row] = count;
        for (int i = 0; i < K && i < row_ends[row]; i++) {
            const int32_t page =
                s->block_table[s->row_requests[row] * BLOCKS + best[i] / PAGE_TOKENS];
            s->problem.indices[count++] = page * ROWS_PER_PAGE + best[i] % PAGE_TOKENS;
        }
        free(best);
    }
    s->problem.indptr[ROWS] = s->problem.index_count = count;
}

struct operands {
    struct operand logits, ends, ids, row_requests, block_table, indptr, indices, workspace;
    struct operand q, kv, out, lse;
};

static void put(struct operand *operand, DLDataTypeCode code, int bits, int rank, int64_t a,
                int64_t b, int64_t c, const void *elements)
{
    operand_create_plain(operand, code, bits, rank, (int64_t[]){a, b, c}, elements);
}

static void create_operands(struct operands *o, const struct selection *s)
{
    const int64_t workspace = (int64_t)dsajit_index_lists_workspace_size(ROWS);
    put(&o->logits, kDLFloat, 32, 2, ROWS, COLUMNS, 0, s->logits);
    put(&o->ends, kDLInt, 32, 1, ROWS, 0, 0, row_ends);
    put(&o->ids, kDLInt, 32, 2, ROWS, K, 0, NULL);
    put(&o->row_requests, kDLInt, 32, 1, ROWS, 0, 0, s->row_requests);
    put(&o->block_table, kDLInt, 32, 2, REQUESTS, BLOCKS, 0, s->block_table);
    put(&o->indptr, kDLInt, 32, 1, ROWS + 1, 0, 0, NULL);
    put(&o->indices, kDLInt, 32, 1, (int64_t)ROWS * K, 0, 0, NULL);
    put(&o->workspace, kDLUInt, 8, 1, workspace, 0, 0, NULL);
    put(&o->q, kDLBfloat, 16, 3, ROWS, HEADS, 576, s->problem.q);
    put(&o->kv, kDLUInt, 8, 2, SLOTS, DSAJIT_RECORD_BYTES, 0, s->problem.kv);
    put(&o->out, kDLBfloat, 16, 3, ROWS, HEADS, 512, NULL);
    put(&o->lse, kDLFloat, 32, 2, ROWS, HEADS, 0, NULL);
}

static void free_operands(struct operands *o)
{
    struct operand *all[] = {&o->logits,      &o->ends,   &o->ids,     &o->row_requests,
                             &o->block_table, &o->indptr, &o->indices, &o->workspace,
                             &o->q,           &o->kv,     &o->out,     &o->lse};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        operand_free(all[i]);
}

static void enqueue(struct operands *o, double softmax_scale)
{
    const dsajit_topk_arguments topk = {
        .struct_size = sizeof topk,
        .logits = &o->logits.tensor.view,
        .ends = &o->ends.tensor.view,
        .ids = &o->ids.tensor.view,
    };
    const dsajit_index_lists_arguments lists = {
        .struct_size = sizeof lists,
        .ids = &o->ids.tensor.view,
        .row_requests = &o->row_requests.tensor.view,
        .block_table = &o->block_table.tensor.view,
        .kv_indptr = &o->indptr.tensor.view,
        .kv_indices = &o->indices.tensor.view,
        .workspace = &o->workspace.tensor.view,
        .pages = PAGES,
        .page_tokens = PAGE_TOKENS,
        .rows_per_page = ROWS_PER_PAGE,
    };
    const dsajit_sparse_mla_arguments attention = {
        .struct_size = sizeof attention,
        .q = &o->q.tensor.view,
        .kv = &o->kv.tensor.view,
        .kv_indptr = &o->indptr.tensor.view,
        .kv_indices = &o->indices.tensor.view,
        .out = &o->out.tensor.view,
        .lse = &o->lse.tensor.view,
        .softmax_scale = softmax_scale,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_topk(harness_context(), &topk, NULL, &error), &error);
    assert_ok(dsajit_index_lists(harness_context(), &lists, NULL, &error), &error);
    assert_ok(dsajit_sparse_mla_forward(harness_context(), &attention, NULL, &error), &error);
    operand_wait();
}

static void the_selected_keys_are_attended(void **state)
{
    (void)state;
    struct selection s = {0};
    struct operands o;
    const int64_t lengths[ROWS] = {K, K, K, K, K, K, K, K};
    fill(&s);
    harness_make_problem(&s.problem, HEADS, ROWS, lengths, SLOTS, 0, DSAJIT_SCALE_POW2);
    define_lists(&s);
    create_operands(&o, &s);
    enqueue(&o, s.problem.softmax_scale);
    struct result result = {.out = operand_take(&o.out), .lse = operand_take(&o.lse)};
    assert_right(&s.problem, &result);
    result_free(&result);
    free_operands(&o);
    problem_free(&s.problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_selected_keys_are_attended)};
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
