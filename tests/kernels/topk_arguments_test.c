/* Top-k and index lists refuse what they must, with the right status and a message that names what
   was wrong. Nothing here is launched. */
#include "harness.h"

#include <dsajit/topk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* An address for tensors whose memory nobody looks at. */
static _Alignas(16) char somewhere[16];

static void set(struct tensor *t, DLDataTypeCode code, int bits, int rank, int64_t a, int64_t b)
{
    tensor_set(t, somewhere, code, bits, rank, (int64_t[]){a, b});
}

static void assert_refused(dsajit_status status, const dsajit_error *error, dsajit_status wanted,
                           const char *const *words, const char *function, size_t row)
{
    if (status != wanted || error->status != wanted)
        fail_msg("row %zu: %s gives %s, not %s: %s", row, function, dsajit_status_name(status),
                 dsajit_status_name(wanted), error->message);
    for (size_t i = 0; i < 2; i++)
        if (words[i] && !strstr(error->message, words[i]))
            fail_msg("row %zu: %s doesn't say \"%s\": %s", row, function, words[i], error->message);
}

/* ---- Top-k ---- */

struct topk_call {
    struct tensor logits, starts, ends, context_lens, ids, scores;
    dsajit_topk_arguments a;
};

/* Six rows; ends for each, and context_lens beside them, which a good call has not. */
static void make_topk(struct topk_call *c)
{
    set(&c->logits, kDLFloat, 32, 2, 6, 100);
    set(&c->starts, kDLInt, 32, 1, 6, 0);
    set(&c->ends, kDLInt, 32, 1, 6, 0);
    set(&c->context_lens, kDLInt, 32, 1, 3, 0);
    set(&c->ids, kDLInt, 32, 2, 6, 10);
    set(&c->scores, kDLFloat, 32, 2, 6, 10);
    c->a = (dsajit_topk_arguments){
        .struct_size = sizeof c->a,
        .logits = &c->logits.view,
        .starts = &c->starts.view,
        .ends = &c->ends.view,
        .ids = &c->ids.view,
        .scores = &c->scores.view,
    };
}

static void use_context_lens(struct topk_call *c)
{
    c->a.ends = NULL;
    c->a.context_lens = &c->context_lens.view;
}

#define TOPK_FAULT(name, statement)                                                                \
    static void name(struct topk_call *c)                                                          \
    {                                                                                              \
        statement;                                                                                 \
    }

TOPK_FAULT(topk_short_struct, c->a.struct_size--)
TOPK_FAULT(logits_null, c->a.logits = NULL)
TOPK_FAULT(logits_f64, set(&c->logits, kDLFloat, 64, 2, 6, 100))
TOPK_FAULT(logits_rank, set(&c->logits, kDLFloat, 32, 1, 6, 0))
TOPK_FAULT(logits_on_host, c->logits.view.device.device_type = kDLCPU)
TOPK_FAULT(logits_columns, c->logits.shape[1] = (1 << 22) + 1)
TOPK_FAULT(logits_rows, c->logits.shape[0] = (int64_t)1 << 40)
TOPK_FAULT(logits_last_stride, c->logits.strides[1] = 2)
TOPK_FAULT(logits_misaligned, c->logits.view.byte_offset = 2)
TOPK_FAULT(starts_i64, set(&c->starts, kDLInt, 64, 1, 6, 0))
TOPK_FAULT(starts_short, c->starts.shape[0] = 5)
TOPK_FAULT(ends_long, c->ends.shape[0] = 7)
TOPK_FAULT(ends_stride, c->ends.strides[0] = 2)
TOPK_FAULT(no_ends, c->a.ends = NULL)
TOPK_FAULT(both_ends, c->a.context_lens = &c->context_lens.view)
TOPK_FAULT(lens_that_do_not_divide, use_context_lens(c); c->context_lens.shape[0] = 4)
TOPK_FAULT(no_lens_for_rows, use_context_lens(c); c->context_lens.shape[0] = 0)
TOPK_FAULT(lens_by_row_short, use_context_lens(c); set(&c->context_lens, kDLInt, 32, 2, 3, 1))
TOPK_FAULT(ids_null, c->a.ids = NULL)
TOPK_FAULT(ids_i64, set(&c->ids, kDLInt, 64, 2, 6, 10))
TOPK_FAULT(ids_rows, c->ids.shape[0] = 5)
TOPK_FAULT(k_0, c->ids.shape[1] = c->scores.shape[1] = 0)
TOPK_FAULT(k_2049, c->ids.shape[1] = c->scores.shape[1] = 2049)
TOPK_FAULT(scores_f16, set(&c->scores, kDLFloat, 16, 2, 6, 10))
TOPK_FAULT(scores_k, c->scores.shape[1] = 9)
TOPK_FAULT(scores_no_data, c->scores.view.data = NULL)

static const struct {
    void (*spoil)(struct topk_call *call);
    dsajit_status status;
    const char *words[2];
} topk_faults[] = {
    {topk_short_struct, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {logits_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"logits is NULL"}},
    {logits_f64, DSAJIT_ERROR_UNSUPPORTED, {"logits", "f64"}},
    {logits_rank, DSAJIT_ERROR_UNSUPPORTED, {"logits", "1 dimensions"}},
    {logits_on_host, DSAJIT_ERROR_UNSUPPORTED, {"logits", "device (1, 0)"}},
    {logits_columns, DSAJIT_ERROR_UNSUPPORTED, {"logits.shape[1]", "4194305"}},
    {logits_rows, DSAJIT_ERROR_UNSUPPORTED, {"logits.shape[0]", "1099511627776"}},
    {logits_last_stride, DSAJIT_ERROR_UNSUPPORTED, {"logits.strides[1]", "2"}},
    {logits_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"logits starts at", "4"}},
    {starts_i64, DSAJIT_ERROR_UNSUPPORTED, {"starts", "i64"}},
    {starts_short, DSAJIT_ERROR_UNSUPPORTED, {"starts.shape[0]", "6 is served"}},
    {ends_long, DSAJIT_ERROR_UNSUPPORTED, {"ends.shape[0]", "6 is served"}},
    {ends_stride, DSAJIT_ERROR_UNSUPPORTED, {"ends.strides[0]", "2"}},
    {no_ends, DSAJIT_ERROR_INVALID_ARGUMENT, {"none of ends and context_lens"}},
    {both_ends, DSAJIT_ERROR_INVALID_ARGUMENT, {"both of ends and context_lens"}},
    {lens_that_do_not_divide, DSAJIT_ERROR_INVALID_ARGUMENT, {"6 rows", "4 requests"}},
    {no_lens_for_rows, DSAJIT_ERROR_INVALID_ARGUMENT, {"6 rows", "0 requests"}},
    {lens_by_row_short, DSAJIT_ERROR_UNSUPPORTED, {"context_lens.shape[1]", "2 is served"}},
    {ids_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"ids is NULL"}},
    {ids_i64, DSAJIT_ERROR_UNSUPPORTED, {"ids", "i64"}},
    {ids_rows, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[0]", "6 is served"}},
    {k_0, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[1] is 0", "1 to 2048"}},
    {k_2049, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[1] is 2049", "1 to 2048"}},
    {scores_f16, DSAJIT_ERROR_UNSUPPORTED, {"scores", "f16"}},
    {scores_k, DSAJIT_ERROR_UNSUPPORTED, {"scores.shape[1]", "10 is served"}},
    {scores_no_data, DSAJIT_ERROR_INVALID_ARGUMENT, {"scores.data", "NULL"}},
};

static void bad_arguments_of_topk(void **state)
{
    (void)state;
    dsajit_error error = {0};
    struct topk_call good;
    make_topk(&good);
    assert_ok(dsajit_topk_supported(harness_context(), &good.a, &error), &error);
    use_context_lens(&good);
    assert_ok(dsajit_topk_supported(harness_context(), &good.a, &error), &error);
    for (size_t i = 0; i < sizeof topk_faults / sizeof *topk_faults; i++) {
        struct topk_call call;
        make_topk(&call);
        topk_faults[i].spoil(&call);
        error = (dsajit_error){0};
        assert_refused(dsajit_topk_supported(harness_context(), &call.a, &error), &error,
                       topk_faults[i].status, topk_faults[i].words, "supported", i);
        error = (dsajit_error){0};
        assert_refused(dsajit_topk(harness_context(), &call.a, NULL, &error), &error,
                       topk_faults[i].status, topk_faults[i].words, "topk", i);
    }
    assert_int_equal(dsajit_topk(harness_context(), NULL, NULL, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_topk(NULL, &good.a, NULL, NULL), DSAJIT_ERROR_INVALID_ARGUMENT);
}

/* ---- Index lists ---- */

struct lists_call {
    struct tensor ids, row_requests, block_table, kv_indptr, kv_indices, workspace;
    dsajit_index_lists_arguments a;
};

static void make_lists(struct lists_call *c)
{
    set(&c->ids, kDLInt, 32, 2, 6, 10);
    set(&c->row_requests, kDLInt, 32, 1, 6, 0);
    set(&c->block_table, kDLInt, 32, 2, 3, 5);
    set(&c->kv_indptr, kDLInt, 32, 1, 7, 0);
    set(&c->kv_indices, kDLInt, 32, 1, 60, 0);
    set(&c->workspace, kDLUInt, 8, 1, 8, 0);
    c->a = (dsajit_index_lists_arguments){
        .struct_size = sizeof c->a,
        .ids = &c->ids.view,
        .row_requests = &c->row_requests.view,
        .block_table = &c->block_table.view,
        .kv_indptr = &c->kv_indptr.view,
        .kv_indices = &c->kv_indices.view,
        .workspace = &c->workspace.view,
        .pages = 100,
        .page_tokens = 64,
    };
}

#define LISTS_FAULT(name, statement)                                                               \
    static void name(struct lists_call *c)                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

LISTS_FAULT(lists_short_struct, c->a.struct_size--)
LISTS_FAULT(list_ids_null, c->a.ids = NULL)
LISTS_FAULT(list_ids_f32, set(&c->ids, kDLFloat, 32, 2, 6, 10))
LISTS_FAULT(list_ids_k_2049, c->ids.shape[1] = 2049)
LISTS_FAULT(list_ids_k_0, c->ids.shape[1] = 0)
LISTS_FAULT(list_ids_many, c->ids.shape[0] = (int64_t)1 << 28)
LISTS_FAULT(list_ids_stride, c->ids.strides[1] = 3)
LISTS_FAULT(requests_null, c->a.row_requests = NULL)
LISTS_FAULT(requests_short, c->row_requests.shape[0] = 5)
LISTS_FAULT(table_null, c->a.block_table = NULL)
LISTS_FAULT(table_rank, set(&c->block_table, kDLInt, 32, 1, 15, 0))
LISTS_FAULT(table_stride, c->block_table.strides[1] = 2)
LISTS_FAULT(table_long, c->block_table.shape[1] = (int64_t)1 << 31)
LISTS_FAULT(indptr_null, c->a.kv_indptr = NULL)
LISTS_FAULT(indptr_i64, set(&c->kv_indptr, kDLInt, 64, 1, 7, 0))
LISTS_FAULT(indptr_short, c->kv_indptr.shape[0] = 6)
LISTS_FAULT(indices_null, c->a.kv_indices = NULL)
LISTS_FAULT(indices_i16, set(&c->kv_indices, kDLInt, 16, 1, 60, 0))
LISTS_FAULT(indices_short, c->kv_indices.shape[0] = 59)
LISTS_FAULT(indices_stride, c->kv_indices.strides[0] = 2)
LISTS_FAULT(indices_misaligned, set(&c->kv_indices, kDLInt, 64, 1, 60, 0);
            c->kv_indices.view.byte_offset = 4)
LISTS_FAULT(workspace_null, c->a.workspace = NULL)
LISTS_FAULT(workspace_short, c->workspace.shape[0] = 7)
LISTS_FAULT(workspace_on_host, c->workspace.view.device.device_type = kDLCPU)
LISTS_FAULT(pages_negative, c->a.pages = -1)
LISTS_FAULT(page_of_nothing, c->a.page_tokens = 0)
LISTS_FAULT(page_that_overlaps, c->a.rows_per_page = 63)
LISTS_FAULT(rows_per_page_negative, c->a.rows_per_page = -64)
LISTS_FAULT(slots_too_large_for_i32, c->a.pages = ((int64_t)1 << 25) + 1)

static const struct {
    void (*spoil)(struct lists_call *call);
    dsajit_status status;
    const char *words[2];
} lists_faults[] = {
    {lists_short_struct, DSAJIT_ERROR_INVALID_ARGUMENT, {"struct_size"}},
    {list_ids_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"ids is NULL"}},
    {list_ids_f32, DSAJIT_ERROR_UNSUPPORTED, {"ids", "f32"}},
    {list_ids_k_2049, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[1] is 2049", "1 to 2048"}},
    {list_ids_k_0, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[1] is 0", "1 to 2048"}},
    {list_ids_many, DSAJIT_ERROR_UNSUPPORTED, {"ids.shape[0]", "2^31"}},
    {list_ids_stride, DSAJIT_ERROR_UNSUPPORTED, {"ids.strides[1]", "3"}},
    {requests_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"row_requests is NULL"}},
    {requests_short, DSAJIT_ERROR_UNSUPPORTED, {"row_requests.shape[0]", "6 is served"}},
    {table_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"block_table is NULL"}},
    {table_rank, DSAJIT_ERROR_UNSUPPORTED, {"block_table", "1 dimensions"}},
    {table_stride, DSAJIT_ERROR_UNSUPPORTED, {"block_table.strides[1]", "2"}},
    {table_long, DSAJIT_ERROR_UNSUPPORTED, {"block_table.shape[1]", "2147483648"}},
    {indptr_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indptr is NULL"}},
    {indptr_i64, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr", "i64"}},
    {indptr_short, DSAJIT_ERROR_UNSUPPORTED, {"kv_indptr.shape[0]", "7 is served"}},
    {indices_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"kv_indices is NULL"}},
    {indices_i16, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices", "i16"}},
    {indices_short, DSAJIT_ERROR_INVALID_ARGUMENT, {"59", "60"}},
    {indices_stride, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices.strides[0]", "2"}},
    {indices_misaligned, DSAJIT_ERROR_UNSUPPORTED, {"kv_indices starts at", "8"}},
    {workspace_null, DSAJIT_ERROR_INVALID_ARGUMENT, {"workspace is NULL"}},
    {workspace_short, DSAJIT_ERROR_INVALID_ARGUMENT, {"workspace has 7", "need 8"}},
    {workspace_on_host, DSAJIT_ERROR_UNSUPPORTED, {"workspace", "device (1, 0)"}},
    {pages_negative, DSAJIT_ERROR_INVALID_ARGUMENT, {"pages is -1"}},
    {page_of_nothing, DSAJIT_ERROR_INVALID_ARGUMENT, {"page_tokens is 0"}},
    {page_that_overlaps, DSAJIT_ERROR_INVALID_ARGUMENT, {"rows_per_page is 63", "64"}},
    {rows_per_page_negative, DSAJIT_ERROR_INVALID_ARGUMENT, {"rows_per_page is -64"}},
    {slots_too_large_for_i32, DSAJIT_ERROR_UNSUPPORTED, {"33554433 pages of 64", "i64"}},
};

static void bad_arguments_of_index_lists(void **state)
{
    (void)state;
    dsajit_error error = {0};
    struct lists_call good;
    make_lists(&good);
    assert_ok(dsajit_index_lists_supported(harness_context(), &good.a, &error), &error);
    good.a.pages = (int64_t)1 << 25; /* slots up to 2^31 - 1 */
    assert_ok(dsajit_index_lists_supported(harness_context(), &good.a, &error), &error);
    for (size_t i = 0; i < sizeof lists_faults / sizeof *lists_faults; i++) {
        struct lists_call call;
        make_lists(&call);
        lists_faults[i].spoil(&call);
        error = (dsajit_error){0};
        assert_refused(dsajit_index_lists_supported(harness_context(), &call.a, &error), &error,
                       lists_faults[i].status, lists_faults[i].words, "supported", i);
        error = (dsajit_error){0};
        assert_refused(dsajit_index_lists(harness_context(), &call.a, NULL, &error), &error,
                       lists_faults[i].status, lists_faults[i].words, "index_lists", i);
    }
}

/* ---- Variants ---- */

static void a_call_names_its_variant(void **state)
{
    (void)state;
    dsajit_error error = {0};
    dsajit_text text = {0};
    struct topk_call topk;
    make_topk(&topk);
    topk.a.stable = true;
    assert_ok(dsajit_topk_variant(harness_context(), &topk.a, &text, &error), &error);
    assert_string_equal(text.data, "topk/gfx950/stable=1,scores=1");
    dsajit_text_free(&text);
    topk.a.stable = false;
    topk.a.scores = NULL;
    assert_ok(dsajit_topk_variant(harness_context(), &topk.a, &text, &error), &error);
    assert_string_equal(text.data, "topk/gfx950/stable=0,scores=0");
    dsajit_text_free(&text);

    struct lists_call lists;
    make_lists(&lists);
    assert_ok(dsajit_index_lists_variant(harness_context(), &lists.a, &text, &error), &error);
    assert_string_equal(text.data, "index_lists/gfx950/index=i32");
    dsajit_text_free(&text);
    set(&lists.kv_indices, kDLInt, 64, 1, 60, 0);
    assert_ok(dsajit_index_lists_variant(harness_context(), &lists.a, &text, &error), &error);
    assert_string_equal(text.data, "index_lists/gfx950/index=i64");
    dsajit_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_of_topk),
        cmocka_unit_test(bad_arguments_of_index_lists),
        cmocka_unit_test(a_call_names_its_variant),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
