/* Index lists against their definition in plain C: holes, tables that lack a page, padding, pages
   of every size, slots of both widths. */
#include "operand.h"

#include <dsajit/topk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct lists_problem {
    int64_t rows, k, requests, blocks;
    const int32_t *ids;          /* [rows][k] */
    const int32_t *row_requests; /* [rows] */
    const int32_t *block_table;  /* [requests][blocks] */
    int64_t pages, page_tokens, rows_per_page;
    int64_t ids_gap, table_gap; /* elements between rows */
};

struct lists {
    int32_t *indptr;  /* [rows + 1] */
    int64_t *indices; /* [indptr[rows]] */
};

static void lists_free(struct lists *lists)
{
    free(lists->indptr);
    free(lists->indices);
}

static void *allocate(size_t size)
{
    void *memory = malloc(size + 1);
    assert_non_null(memory);
    return memory;
}

/* ---- The definition ---- */

/* -1 where there is none. */
static int64_t find_slot(const struct lists_problem *p, int64_t row, int64_t id)
{
    const int64_t request = p->row_requests[row], block = id / p->page_tokens;
    if (request < 0 || request >= p->requests || id < 0 || block >= p->blocks)
        return -1;
    const int64_t page = p->block_table[request * p->blocks + block];
    if (page < 0 || page >= p->pages)
        return -1;
    const int64_t pitch = p->rows_per_page ? p->rows_per_page : p->page_tokens;
    return page * pitch + id % p->page_tokens;
}

static struct lists define(const struct lists_problem *p)
{
    struct lists lists = {
        .indptr = allocate((size_t)(p->rows + 1) * sizeof *lists.indptr),
        .indices = allocate((size_t)(p->rows * p->k) * sizeof *lists.indices),
    };
    int32_t count = 0;
    for (int64_t row = 0; row < p->rows; row++) {
        lists.indptr[row] = count;
        for (int64_t i = 0; i < p->k; i++) {
            const int64_t slot = find_slot(p, row, p->ids[row * p->k + i]);
            if (slot >= 0)
                lists.indices[count++] = slot;
        }
    }
    lists.indptr[p->rows] = count;
    return lists;
}

/* ---- Running ---- */

struct lists_operands {
    struct operand ids, row_requests, block_table, kv_indptr, kv_indices, workspace;
};

static void create_rows(struct operand *operand, const int32_t *elements, int64_t rows,
                        int64_t columns, int64_t gap)
{
    operand_create(operand,
                   &(struct operand_layout){.code = kDLInt,
                                            .bits = 32,
                                            .rank = 2,
                                            .shape = {rows, columns},
                                            .strides = {columns + gap, 1}},
                   elements);
}

static void create_operands(struct lists_operands *o, const struct lists_problem *p, int bits)
{
    const int64_t bounds = p->rows + 1, entries = p->rows * p->k;
    const int64_t workspace = (int64_t)dsajit_index_lists_workspace_size(p->rows);
    create_rows(&o->ids, p->ids, p->rows, p->k, p->ids_gap);
    create_rows(&o->block_table, p->block_table, p->requests, p->blocks, p->table_gap);
    operand_create_plain(&o->row_requests, kDLInt, 32, 1, &p->rows, p->row_requests);
    operand_create_plain(&o->kv_indptr, kDLInt, 32, 1, &bounds, NULL);
    operand_create_plain(&o->kv_indices, kDLInt, bits, 1, &entries, NULL);
    operand_create_plain(&o->workspace, kDLUInt, 8, 1, &workspace, NULL);
}

static dsajit_index_lists_arguments set_arguments(struct lists_operands *o,
                                                  const struct lists_problem *p)
{
    return (dsajit_index_lists_arguments){
        .struct_size = sizeof(dsajit_index_lists_arguments),
        .ids = &o->ids.tensor.view,
        .row_requests = &o->row_requests.tensor.view,
        .block_table = &o->block_table.tensor.view,
        .kv_indptr = &o->kv_indptr.tensor.view,
        .kv_indices = &o->kv_indices.tensor.view,
        .workspace = o->workspace.size ? &o->workspace.tensor.view : NULL,
        .pages = p->pages,
        .page_tokens = p->page_tokens,
        .rows_per_page = p->rows_per_page,
    };
}

static void free_operands(struct lists_operands *o)
{
    struct operand *all[] = {&o->ids,       &o->row_requests, &o->block_table,
                             &o->kv_indptr, &o->kv_indices,   &o->workspace};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        operand_free(all[i]);
}

static int64_t read_index(const uint8_t *indices, int bits, int64_t i)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, indices + i * bits / 8, sizeof narrow);
    if (bits == 32)
        return narrow;
    memcpy(&wide, indices + i * bits / 8, sizeof wide);
    return wide;
}

/* Entries behind the last row's are not touched. */
static void check_indices(const struct lists_problem *p, const struct lists *expected,
                          const uint8_t *indices, int bits)
{
    const int64_t count = expected->indptr[p->rows];
    for (int64_t i = 0; i < count; i++)
        if (read_index(indices, bits, i) != expected->indices[i])
            fail_msg("kv_indices[%lld] (i%d) is %lld, not %lld", (long long)i, bits,
                     (long long)read_index(indices, bits, i), (long long)expected->indices[i]);
    for (int64_t i = count * bits / 8; i < p->rows * p->k * bits / 8; i++)
        if (indices[i] != OPERAND_FILLER)
            fail_msg("byte %lld of kv_indices is written, behind the last entry", (long long)i);
}

static void assert_right_with(const struct lists_problem *p, int bits)
{
    struct lists_operands o;
    create_operands(&o, p, bits);
    const dsajit_index_lists_arguments arguments = set_arguments(&o, p);
    dsajit_error error = {0};
    assert_ok(dsajit_index_lists(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
    struct lists expected = define(p);
    int32_t *indptr = operand_take(&o.kv_indptr);
    uint8_t *indices = operand_take(&o.kv_indices);
    for (int64_t row = 0; row <= p->rows; row++)
        if (indptr[row] != expected.indptr[row])
            fail_msg("kv_indptr[%lld] is %d, not %d", (long long)row, indptr[row],
                     expected.indptr[row]);
    check_indices(p, &expected, indices, bits);
    free(indptr);
    free(indices);
    lists_free(&expected);
    free_operands(&o);
}

static void assert_lists_right(const struct lists_problem *p)
{
    assert_right_with(p, 32);
    assert_right_with(p, 64);
}

/* ---- Problems ---- */

static uint32_t draw(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*state * limit >> 32);
}

struct lists_data {
    int32_t *ids, *row_requests, *block_table;
};

/* Every third id is a hole or past the table, every eighth page of the table is none, every eighth
   row is padding. */
static struct lists_data draw_data(struct lists_problem *p, uint32_t seed)
{
    struct lists_data data = {
        .ids = allocate((size_t)(p->rows * p->k) * sizeof(int32_t)),
        .row_requests = allocate((size_t)p->rows * sizeof(int32_t)),
        .block_table = allocate((size_t)(p->requests * p->blocks) * sizeof(int32_t)),
    };
    const uint32_t tokens = (uint32_t)(p->blocks * p->page_tokens);
    for (int64_t i = 0; i < p->rows * p->k; i++) {
        const uint32_t kind = draw(&seed, 6);
        data.ids[i] = kind == 0   ? -(int32_t)draw(&seed, 100)
                      : kind == 1 ? (int32_t)(tokens + draw(&seed, 100))
                                  : (int32_t)draw(&seed, tokens);
    }
    for (int64_t i = 0; i < p->rows; i++) {
        const uint32_t kind = draw(&seed, 16);
        data.row_requests[i] = kind == 0   ? -1
                               : kind == 1 ? (int32_t)p->requests
                                           : (int32_t)draw(&seed, (uint32_t)p->requests);
    }
    for (int64_t i = 0; i < p->requests * p->blocks; i++) {
        const uint32_t kind = draw(&seed, 16);
        data.block_table[i] = kind == 0   ? -1
                              : kind == 1 ? (int32_t)p->pages
                                          : (int32_t)draw(&seed, (uint32_t)p->pages);
    }
    p->ids = data.ids;
    p->row_requests = data.row_requests;
    p->block_table = data.block_table;
    return data;
}

static void check_drawn(struct lists_problem p, uint32_t seed)
{
    struct lists_data data = draw_data(&p, seed);
    assert_lists_right(&p);
    free(data.ids);
    free(data.row_requests);
    free(data.block_table);
}

/* ---- Tests ---- */

/* Around the 64 ids of a wave's step and the 512 of a wave. */
static void rows_of_every_width(void **state)
{
    (void)state;
    static const int64_t ks[] = {1, 2, 63, 64, 65, 511, 512, 513, 1024, 1025, 2047, 2048};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        check_drawn(
            (struct lists_problem){
                .rows = 6, .k = ks[i], .requests = 3, .blocks = 10, .pages = 50, .page_tokens = 64},
            (uint32_t)i);
}

/* Around the rows of a workgroup and the workgroups whose sums one load of all threads reads. */
static void any_number_of_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 64, 1001, 4096, 4100};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_drawn(
            (struct lists_problem){
                .rows = rows[i], .k = 5, .requests = 7, .blocks = 4, .pages = 9, .page_tokens = 16},
            (uint32_t)i);
}

static void pages_of_every_size(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 16, 48, 63, 64, 65, 100, 127, 641, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_drawn((struct lists_problem){.rows = 5,
                                           .k = 300,
                                           .requests = 2,
                                           .blocks = 11,
                                           .pages = 20,
                                           .page_tokens = sizes[i]},
                    (uint32_t)i);
}

static void padded_pages_and_strided_rows(void **state)
{
    (void)state;
    check_drawn((struct lists_problem){.rows = 9,
                                       .k = 100,
                                       .requests = 4,
                                       .blocks = 6,
                                       .pages = 30,
                                       .page_tokens = 64,
                                       .rows_per_page = 67,
                                       .ids_gap = 11,
                                       .table_gap = 3},
                1);
}

/* The largest ids, and slots that only 64 bits hold. */
static void the_largest_ids_and_slots(void **state)
{
    (void)state;
    enum { K = 8 };
    static const int32_t ids[2 * K] = {INT32_MAX, INT32_MAX - 1, 0,  1, 1 << 30, -1,
                                       INT32_MIN, INT32_MIN + 1, 63, 64};
    static const int32_t requests[2] = {0, 0};
    static const int32_t table[2] = {INT32_MAX - 1, 7};
    struct lists_problem p = {.rows = 2,
                              .k = K,
                              .requests = 1,
                              .blocks = 2,
                              .ids = ids,
                              .row_requests = requests,
                              .block_table = table,
                              .pages = INT32_MAX,
                              .page_tokens = 1 << 30,
                              .rows_per_page = INT32_MAX};
    assert_right_with(&p, 64);
    p.page_tokens = INT32_MAX;
    assert_right_with(&p, 64);
    p.page_tokens = p.rows_per_page = 1;
    assert_lists_right(&p);
}

static void rows_that_are_all_holes_or_all_there(void **state)
{
    (void)state;
    enum { ROWS = 8, K = 2048, BLOCKS = 32 };
    static int32_t ids[ROWS * K], table[BLOCKS];
    static const int32_t requests[ROWS] = {0};
    for (int i = 0; i < ROWS * K; i++)
        ids[i] = i / K % 3 == 1 ? -1 : i % K;
    for (int i = 0; i < BLOCKS; i++)
        table[i] = BLOCKS - i;
    assert_lists_right(&(struct lists_problem){.rows = ROWS,
                                               .k = K,
                                               .requests = 1,
                                               .blocks = BLOCKS,
                                               .ids = ids,
                                               .row_requests = requests,
                                               .block_table = table,
                                               .pages = BLOCKS + 1,
                                               .page_tokens = 64});
}

/* No request, no column of the table, no page: nothing can be read, and all rows are empty. */
static void an_empty_table(void **state)
{
    (void)state;
    static const int32_t ids[5] = {0, 1, 2, 3, 4}, requests[5] = {0, 0, -1, 1, 0}, table[1] = {0};
    struct lists_problem p = {.rows = 5,
                              .k = 1,
                              .ids = ids,
                              .row_requests = requests,
                              .block_table = table,
                              .pages = 1,
                              .page_tokens = 16};
    p.blocks = 1;
    assert_lists_right(&p);
    p.blocks = 0, p.requests = 1;
    assert_lists_right(&p);
    p.blocks = 1, p.pages = 0;
    assert_lists_right(&p);
}

static void workspace_is_wanted_for_more_rows_than_one_workgroup_has(void **state)
{
    (void)state;
    assert_int_equal(dsajit_index_lists_workspace_size(0), 0);
    assert_int_equal(dsajit_index_lists_workspace_size(4), 0);
    assert_int_equal(dsajit_index_lists_workspace_size(5), 2 * 4);
    assert_int_equal(dsajit_index_lists_workspace_size(8), 2 * 4);
    assert_int_equal(dsajit_index_lists_workspace_size(100000), 25000 * 4);
    assert_int_equal(dsajit_index_lists_workspace_size(-1), 0);
    assert_int_equal(dsajit_index_lists_workspace_size(INT64_MAX), (uint64_t)1 << 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_width),
        cmocka_unit_test(any_number_of_rows),
        cmocka_unit_test(pages_of_every_size),
        cmocka_unit_test(padded_pages_and_strided_rows),
        cmocka_unit_test(the_largest_ids_and_slots),
        cmocka_unit_test(rows_that_are_all_holes_or_all_there),
        cmocka_unit_test(an_empty_table),
        cmocka_unit_test(workspace_is_wanted_for_more_rows_than_one_workgroup_has),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
