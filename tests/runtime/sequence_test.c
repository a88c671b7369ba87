/* Calls of several kernels: nothing is enqueued of one that is refused, and what a plan says is
   what they need. */
#include "captures.h"
#include "chain_call.h"
#include "chain_reference.h"

#include "dsajit/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct chain_shape small = {
    .norm = DSAJIT_KEY_NORM_LAYERNORM,
    .index_heads = 32,
    .heads = 12,
    .requests = 2,
    .rows_per_request = 1,
    .context = 100,
    .page_tokens = 64,
    .k = 24,
    .padding = 1,
};

struct fixture {
    struct chain_problem problem;
    struct chain_call call;
};

static void create(struct fixture *f)
{
    chain_problem_create(&f->problem, &small);
    chain_call_create(&f->call, &f->problem, CHAIN_ROWS_BY_LENGTH);
}

static void destroy(struct fixture *f)
{
    chain_call_free(&f->call);
    chain_problem_free(&f->problem);
}

static dsajit_status attend(const struct fixture *f, hipStream_t stream, dsajit_error *error)
{
    return dsajit_sparse_attention(harness_context(), &f->call.whole, stream, error);
}

static dsajit_plan *plan_call(const struct fixture *f)
{
    dsajit_plan *plan;
    dsajit_error error = {0};
    assert_ok(dsajit_plan_create(&plan, &error), &error);
    assert_ok(dsajit_plan_add_sparse_attention(plan, harness_context(), &f->call.whole, &error),
              &error);
    return plan;
}

/* The plan's variants from `first` to the one before `end`. */
static void warm(const dsajit_plan *plan, size_t first, size_t end)
{
    dsajit_plan *part;
    dsajit_error error = {0};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    assert_ok(dsajit_plan_create(&part, &error), &error);
    for (size_t i = first; i < end; i++)
        assert_ok(dsajit_plan_add(part, dsajit_plan_variant(plan, i), &error), &error);
    assert_ok(dsajit_warmup(harness_context(), part, &options, NULL, &error), &error);
    dsajit_plan_free(part);
}

static void a_cold_call_is_refused_in_a_capture_after_one_query(void **state)
{
    (void)state;
    struct fixture f;
    dsajit_error error = {0};
    create(&f);
    hipStream_t stream = create_stream();
    begin_capture(stream);
    reset_counts();
    assert_int_equal(attend(&f, stream, &error), DSAJIT_ERROR_NOT_WARM);
    assert_int_equal(count_calls("hipStreamIsCapturing"), 1);
    assert_int_equal(count_calls(NULL), 1);
    assert_non_null(strstr(error.message, "mla_cache_write: mla_cache_write/gfx950/"));
    end_capture(stream);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    destroy(&f);
}

/* The last kernel alone is missing: none of those before is enqueued. */
static void one_missing_kernel_keeps_all_out_of_the_capture(void **state)
{
    (void)state;
    struct fixture f;
    dsajit_error error = {0};
    create(&f);
    dsajit_plan *plan = plan_call(&f);
    const size_t size = dsajit_plan_size(plan);
    assert_int_equal(size, 7);
    warm(plan, 0, size - 1);
    hipStream_t stream = create_stream();
    begin_capture(stream);
    reset_counts();
    assert_int_equal(attend(&f, stream, &error), DSAJIT_ERROR_NOT_WARM);
    assert_non_null(strstr(error.message, "sparse_mla: sparse_mla/gfx950/heads=12"));
    assert_int_equal(count_calls("hipModuleLaunchKernel"), 0);
    end_capture(stream);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    dsajit_plan_free(plan);
    destroy(&f);
}

/* Up to 4 rows, the lists are made by one kernel. */
static void a_warm_call_is_nothing_but_seven_launches(void **state)
{
    (void)state;
    struct fixture f;
    dsajit_error error = {0};
    create(&f);
    dsajit_plan *plan = plan_call(&f);
    warm(plan, 0, dsajit_plan_size(plan));
    assert_ok(dsajit_assert_warm(harness_context(), plan, 0, NULL, &error), &error);
    reset_counts();
    assert_ok(dsajit_sparse_attention_supported(harness_context(), &f.call.whole, &error), &error);
    assert_int_equal(count_calls(NULL), 0);
    assert_ok(attend(&f, NULL, &error), &error);
    assert_int_equal(count_calls("hipModuleLaunchKernel"), 7);
    assert_int_equal(count_calls(NULL), 7);
    chain_call_check(&f.call, &f.problem);
    dsajit_plan_free(plan);
    destroy(&f);
}

static void upload(const struct operand *operand, const void *data, size_t size)
{
    assert_true(size <= operand->size);
    assert_int_equal(hip.hipMemcpy(operand->memory, data, size, hipMemcpyHostToDevice), hipSuccess);
}

/* Another step in the same buffers: other queries, and contexts one token shorter each time. */
static void change_step(struct fixture *f)
{
    struct chain_problem *p = &f->problem;
    const int64_t queries = p->rows * small.index_heads * DSAJIT_INDEX_HEAD_DIM;
    const int64_t width = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM;
    for (int64_t i = 0; i < queries; i += 3)
        p->index_q[i] ^= 0x8000;
    for (int64_t i = 0; i < p->rows * small.heads * width; i += 5)
        p->q[i] ^= 0x8000;
    for (int64_t i = 0; i < small.requests; i++)
        p->ends[i] = --p->context_lens[i];
    upload(&f->call.index_q, p->index_q, (size_t)queries * sizeof *p->index_q);
    upload(&f->call.q, p->q, (size_t)(p->rows * small.heads * width) * sizeof *p->q);
    upload(&f->call.context_lens, p->context_lens, (size_t)p->requests * sizeof *p->context_lens);
}

static void a_graph_replays_right_on_new_contents_of_its_buffers(void **state)
{
    (void)state;
    struct fixture f;
    dsajit_error error = {0};
    create(&f);
    hipStream_t stream = create_stream();
    assert_ok(attend(&f, stream, &error), &error); /* loads the kernels */
    begin_capture(stream);
    assert_ok(attend(&f, stream, &error), &error);
    hipGraphExec_t graph = end_capture_as_graph(stream);
    for (int i = 0; i < 3; i++) {
        change_step(&f);
        replay_graph(graph, stream);
        chain_call_check(&f.call, &f.problem);
    }
    assert_int_equal(hip.hipGraphExecDestroy(graph), hipSuccess);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    destroy(&f);
}

/* Empty caches: the size of the workspace is all that is wanted, and kernels needn't be warm. */
static void a_dummy_run_enqueues_nothing(void **state)
{
    (void)state;
    struct fixture f;
    dsajit_error error = {0};
    create(&f);
    f.call.index_cache.tensor.shape[0] = 0;
    f.call.index_cache.tensor.view.data = NULL;
    hipStream_t stream = create_stream();
    begin_capture(stream);
    reset_counts();
    assert_ok(dsajit_indexer_forward(harness_context(), &f.call.indexer, stream, &error), &error);
    assert_ok(attend(&f, stream, &error), &error);
    f.call.kv.tensor.shape[0] = 0;
    f.call.indexer.kv_pages = 0;
    assert_ok(attend(&f, stream, &error), &error);
    assert_int_equal(count_calls(NULL), 0);
    end_capture(stream);
    assert_int_equal(hip.hipStreamDestroy(stream), hipSuccess);
    /* What the real run will need is known all the same. */
    dsajit_plan *plan = plan_call(&f);
    assert_int_equal(dsajit_plan_size(plan), 7);
    dsajit_plan_free(plan);
    destroy(&f);
}

/* ---- What is refused ---- */

static void expect_refusal(const struct fixture *f, const char *words)
{
    dsajit_error error = {0};
    reset_counts();
    const dsajit_status status = attend(f, NULL, &error);
    if (status != DSAJIT_ERROR_INVALID_ARGUMENT && status != DSAJIT_ERROR_UNSUPPORTED)
        fail_msg("%s: %s", words, dsajit_status_name(status));
    if (!strstr(error.message, words))
        fail_msg("'%s' isn't in '%s'", words, error.message);
    assert_int_equal(count_calls(NULL), 0);
}

static void a_workspace_too_small_is_told_with_both_sizes(void **state)
{
    (void)state;
    struct fixture f;
    char words[128];
    create(&f);
    const size_t size = chain_call_workspace_size(&f.call.indexer);
    f.call.workspace.tensor.shape[0] = (int64_t)size - 1;
    snprintf(words, sizeof words, "workspace has %zu bytes; this call needs %zu", size - 1, size);
    expect_refusal(&f, words);
    f.call.workspace.tensor.shape[0] = (int64_t)size;
    f.call.workspace.tensor.view.byte_offset = 8;
    expect_refusal(&f, "workspace starts at");
    f.call.indexer.workspace = NULL;
    expect_refusal(&f, "workspace is NULL");
    destroy(&f);
}

/* Each with the words that its refusal has; NULL in place of the member. */
static void missing_arguments_are_named(void **state)
{
    (void)state;
    struct fixture f;
    create(&f);
    struct chain_call *call = &f.call;
    const struct {
        const void **member;
        const char *words;
    } missing[] = {
        {(const void **)&call->whole.indexer, "indexer is NULL"},
        {(const void **)&call->whole.attention, "attention is NULL"},
        {(const void **)&call->attention.kv, "attention.kv is NULL"},
        {(const void **)&call->cache_write.cache, "cache_write.cache is NULL"},
        {(const void **)&call->cache_write.kv_c, "mla_cache_write: kv_c is NULL"},
        {(const void **)&call->indexer.kv_indptr, "indexer.kv_indptr is NULL"},
        {(const void **)&call->indexer.kv_indices, "lists need both"},
        {(const void **)&call->indexer.index_q, "index_q is NULL"},
        {(const void **)&call->indexer.index_v, "indexer_query: index_v is NULL"},
        {(const void **)&call->indexer.index_k, "slot_mapping is given and index_k is NULL"},
        {(const void **)&call->indexer.norm_weight, "indexer_key: norm_weight is NULL"},
        {(const void **)&call->indexer.cache, "indexer.cache is NULL"},
        {(const void **)&call->indexer.block_table, "block_table is NULL"},
        {(const void **)&call->indexer.context_lens, "none of ends and context_lens"},
        {(const void **)&call->indexer.row_requests, "row_requests is NULL"},
        {(const void **)&call->indexer.ids, "ids is NULL"},
        {(const void **)&call->attention.q, "sparse_mla: q is NULL"},
    };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        const void *value = *missing[i].member;
        *missing[i].member = NULL;
        expect_refusal(&f, missing[i].words);
        *missing[i].member = value;
    }
    destroy(&f);
}

static void arguments_that_contradict_each_other_are_named(void **state)
{
    (void)state;
    struct fixture f;
    create(&f);
    struct chain_call *call = &f.call;
    call->indexer.ends = &call->ends.tensor.view;
    expect_refusal(&f, "both of ends and context_lens");
    call->indexer.ends = NULL;
    call->attention.kv_indices = &call->indices.tensor.view;
    expect_refusal(&f, "attention.kv_indices is given");
    call->attention.kv_indices = NULL;
    call->indexer.kv_pages++;
    expect_refusal(&f, "attention.kv has");
    call->indexer.kv_pages--;
    call->context_lens.tensor.shape[0] = 2;
    expect_refusal(&f, "index_q has 3 rows; the 2 requests");
    call->context_lens.tensor.shape[0] = 3;
    call->block_table.tensor.shape[0] = 2;
    expect_refusal(&f, "block_table.shape[0] is 2; 3 is served");
    call->block_table.tensor.shape[0] = 3;
    call->ids.tensor.shape[0] = 2;
    expect_refusal(&f, "ids.shape[0] is 2; 3 is served");
    call->ids.tensor.shape[0] = 3;
    call->q.tensor.shape[0] = 2;
    expect_refusal(&f, "sparse_mla: ");
    call->q.tensor.shape[0] = 3;
    call->indexer.max_context = 0;
    expect_refusal(&f, "max_context is 0");
    call->indexer.max_context = (1 << 22) + 1;
    expect_refusal(&f, "max_context is 4194305");
    call->indexer.max_context = small.context;
    call->attention.struct_size--;
    expect_refusal(&f, "attention.struct_size is");
    call->attention.struct_size++;
    call->whole.struct_size = 0;
    expect_refusal(&f, "struct_size is 0");
    destroy(&f);
}

/* ---- Workspace ---- */

static size_t workspace_size(dsajit_indexer_shape shape)
{
    size_t size;
    dsajit_error error = {0};
    assert_ok(dsajit_indexer_workspace_size(&shape, &size, &error), &error);
    return size;
}

/* So that what is reserved for the largest call is enough for all. */
static void the_workspace_grows_with_each_number(void **state)
{
    (void)state;
    const int64_t default_rows = DSAJIT_LOGITS_BYTES_DEFAULT / (131072 * 4);
    for (int64_t rows = 0; rows < 3 * default_rows; rows += 117) {
        for (int64_t context = 1; context <= DSAJIT_TOPK_COLUMNS_MAX; context = 3 * context + 50) {
            const dsajit_indexer_shape shape = {DSAJIT_INDEXER_MXFP4, rows, 1, 16, context, 0};
            dsajit_indexer_shape larger[] = {shape, shape, shape, shape};
            larger[0].rows += 1;
            larger[1].max_context =
                context < DSAJIT_TOPK_COLUMNS_MAX - 1000 ? context + 1000 : context;
            larger[2].heads = 32;
            larger[3].logits_bytes_max = DSAJIT_LOGITS_BYTES_DEFAULT + 12345;
            for (int i = 0; i < 4; i++)
                assert_true(workspace_size(larger[i]) >= workspace_size(shape));
        }
    }
}

/* FP8 queries and f32 weights of 8 rows with 32 heads; logits of 2 requests of 4 rows. */
static void the_workspace_holds_queries_weights_and_logits(void **state)
{
    (void)state;
    const dsajit_indexer_shape shape = {DSAJIT_INDEXER_FP8, 8, 4, 32, 1000, 0};
    const size_t queries = 256, row = 4000;
    const size_t least = queries * 128 + queries * 4 + 8 * row;
    assert_in_range(workspace_size(shape), least, least + 4096);
    dsajit_indexer_shape in_parts = shape;
    in_parts.logits_bytes_max = 1;
    assert_in_range(workspace_size(in_parts), least - 4 * row, least - 4 * row + 4096);
}

static void shapes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const dsajit_indexer_shape right = {DSAJIT_INDEXER_FP8, 8, 1, 32, 1000, 0};
    dsajit_indexer_shape wrong[] = {right, right, right, right, right, right};
    static const char *const names[] = {"format", "rows",        "rows_per_request",
                                        "heads",  "max_context", "logits_bytes_max"};
    wrong[0].format = (dsajit_indexer_format)2;
    wrong[1].rows = -1;
    wrong[2].rows_per_request = 0;
    wrong[3].heads = 65;
    wrong[4].max_context = (1 << 22) + 1;
    wrong[5].logits_bytes_max = -1;
    size_t size;
    dsajit_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(dsajit_indexer_workspace_size(&wrong[i], &size, &error),
                         DSAJIT_ERROR_INVALID_ARGUMENT);
        assert_memory_equal(error.message, names[i], strlen(names[i]));
    }
    assert_int_equal(dsajit_indexer_workspace_size(NULL, &size, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_indexer_workspace_size(&right, NULL, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
}

/* ---- Plans ---- */

static bool has_variant(const dsajit_plan *plan, const char *variant)
{
    for (size_t i = 0; i < dsajit_plan_size(plan); i++)
        if (strcmp(dsajit_plan_variant(plan, i), variant) == 0)
            return true;
    return false;
}

static dsajit_model model_of(const struct chain_shape *shape, int ranks)
{
    return (dsajit_model){
        .layout = {.tensor = ranks, .decode_context = ranks, .prefill_context = 1, .interleave = 1},
        .indexer_format = shape->format,
        .attended_heads = (int)shape->heads,
        .index_heads = (int)shape->index_heads,
        .index_topk = 2048,
        .key_norm = shape->norm,
    };
}

/* With and without DCP, with and without LSE, stable or not. */
static void a_model_s_plan_covers_its_calls(void **state)
{
    (void)state;
    struct fixture f;
    create(&f);
    f.call.indexer.scores = NULL;
    for (int ranks = 1; ranks <= 4; ranks *= 4) {
        const dsajit_model model = model_of(&small, ranks);
        dsajit_plan *model_plan;
        dsajit_error error = {0};
        assert_ok(dsajit_plan_create(&model_plan, &error), &error);
        assert_ok(dsajit_plan_add_model(model_plan, &model, &error), &error);
        for (int options = 0; options < 4; options++) {
            f.call.indexer.stable = options & 1;
            f.call.attention.lse = options & 2 ? &f.call.lse.tensor.view : NULL;
            f.call.indexer.scores = ranks > 1 ? &f.call.scores.tensor.view : NULL;
            dsajit_plan *plan = plan_call(&f);
            for (size_t i = 0; i < dsajit_plan_size(plan); i++)
                if (!has_variant(model_plan, dsajit_plan_variant(plan, i)))
                    fail_msg("%s isn't in the model's plan", dsajit_plan_variant(plan, i));
            dsajit_plan_free(plan);
        }
        assert_int_equal(has_variant(model_plan, "dcp_topk/gfx950/capacity=8192"), ranks == 4);
        assert_int_equal(has_variant(model_plan, "dcp_attention/gfx950/out=f32"), ranks == 4);
        dsajit_plan_free(model_plan);
    }
    destroy(&f);
}

static void a_model_without_kernels_is_refused(void **state)
{
    (void)state;
    dsajit_model wrong[] = {model_of(&small, 1), model_of(&small, 1), model_of(&small, 1),
                            model_of(&small, 1), model_of(&small, 1)};
    static const char *const words[] = {"model.key_norm", "model.index_heads", "model.index_topk",
                                        "model.layout.decode_context", "heads"};
    wrong[0].key_norm = (dsajit_key_norm)9;
    wrong[1].index_heads = 65;
    wrong[2].index_topk = 0;
    wrong[3].layout.decode_context = 9;
    wrong[4].attended_heads = 17;
    dsajit_plan *plan;
    dsajit_error error = {0};
    assert_ok(dsajit_plan_create(&plan, &error), &error);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(dsajit_plan_add_model(plan, &wrong[i], &error),
                         DSAJIT_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, words[i]));
    }
    assert_int_equal(dsajit_plan_add_model(plan, NULL, &error), DSAJIT_ERROR_INVALID_ARGUMENT);
    dsajit_plan_free(plan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, captures_open, harness_close)
    const struct CMUnitTest tests[] = {
        TEST(a_cold_call_is_refused_in_a_capture_after_one_query),
        TEST(one_missing_kernel_keeps_all_out_of_the_capture),
        TEST(a_warm_call_is_nothing_but_seven_launches),
        TEST(a_graph_replays_right_on_new_contents_of_its_buffers),
        TEST(a_dummy_run_enqueues_nothing),
        TEST(a_workspace_too_small_is_told_with_both_sizes),
        TEST(missing_arguments_are_named),
        TEST(arguments_that_contradict_each_other_are_named),
        TEST(the_workspace_grows_with_each_number),
        TEST(the_workspace_holds_queries_weights_and_logits),
        TEST(shapes_that_make_no_sense_are_refused),
        TEST(a_model_s_plan_covers_its_calls),
        TEST(a_model_without_kernels_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
