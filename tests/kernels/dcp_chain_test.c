/* Decode context parallelism: one step with the keys spread over ranks, simulated one after the
   other, against the step without it and against the chain in float64. */
#include "chain_call.h"
#include "chain_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct chain_shape decode = {
    .norm = DSAJIT_KEY_NORM_LAYERNORM,
    .index_heads = 32,
    .heads = 8,
    .requests = 3,
    .rows_per_request = 2,
    .context = 180,
    .page_tokens = 16,
    .k = 40,
    .padding = 1,
};

/* One of the ranks, with caches of its own. */
struct rank {
    dsajit_dcp_place place;
    struct chain_problem problem; /* the whole one's activations; slots, pages and ends are local */
    struct chain_call call;
    struct operand global_ids, local_ids;
};

/* What the ranks exchange. */
struct exchange {
    struct operand packed;  /* [ranks, rows, k, 2] f32 */
    struct operand partial; /* [ranks, rows, heads, 512] bf16 */
    struct operand lse;     /* [ranks, rows, heads] f32 */
};

static void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

/* How many of a sequence's first `length` tokens are a rank's. */
static int64_t count_own(const dsajit_dcp_place *place, int64_t length)
{
    int64_t count = 0;
    for (int64_t p = 0; p < length; p++)
        count += p / place->interleave % place->ranks == place->rank;
    return count;
}

/* Pages in order; page 0 is nobody's. */
static void make_local(struct rank *rank, const struct chain_problem *whole)
{
    struct chain_problem *local = &rank->problem;
    const int64_t page_tokens = whole->shape.page_tokens;
    *local = *whole;
    local->pages = 1;
    local->slot_mapping = allocate(whole->tokens, sizeof(int64_t));
    local->block_table = allocate(whole->requests * whole->blocks, sizeof(int32_t));
    local->ends = allocate(whole->rows, sizeof(int32_t));
    memset(local->block_table, 0xff, (size_t)(whole->requests * whole->blocks) * sizeof(int32_t));
    for (int64_t request = 0; request < whole->requests; request++) {
        int32_t *table = local->block_table + request * whole->blocks;
        for (int64_t p = 0, number = 0; p < whole->context_lens[request]; p++) {
            int64_t *slot = &local->slot_mapping[whole->first_token[request] + p];
            *slot = -1;
            if (p / rank->place.interleave % rank->place.ranks != rank->place.rank)
                continue;
            if (number % page_tokens == 0)
                table[number / page_tokens] = (int32_t)local->pages++;
            *slot = table[number / page_tokens] * page_tokens + number % page_tokens;
            number++;
        }
    }
    for (int64_t row = 0; row < whole->rows; row++)
        local->ends[row] = (int32_t)count_own(&rank->place, whole->ends[row]);
}

static void create_rank(struct rank *rank, const struct chain_problem *whole,
                        dsajit_dcp_place place)
{
    const int64_t ids[] = {whole->rows, whole->shape.k};
    memset(rank, 0, sizeof *rank);
    rank->place = place;
    make_local(rank, whole);
    chain_call_create(&rank->call, &rank->problem, CHAIN_ROWS_BY_END);
    rank->call.indexer.kv_indptr = rank->call.indexer.kv_indices = NULL; /* not yet */
    operand_create_plain(&rank->global_ids, kDLInt, 32, 2, ids, NULL);
    operand_create_plain(&rank->local_ids, kDLInt, 32, 2, ids, NULL);
}

static void free_rank(struct rank *rank)
{
    chain_call_free(&rank->call);
    operand_free(&rank->global_ids);
    operand_free(&rank->local_ids);
    free(rank->problem.slot_mapping);
    free(rank->problem.block_table);
    free(rank->problem.ends);
}

/* A rank's part of an exchanged tensor. */
static void take_part(struct tensor *part, const struct operand *all, int rank)
{
    const DLTensor *view = &all->tensor.view;
    int64_t size = view->dtype.bits / 8;
    for (int i = 1; i < view->ndim; i++)
        size *= all->tensor.shape[i];
    tensor_set(part, (char *)all->memory + rank * size, (DLDataTypeCode)view->dtype.code,
               view->dtype.bits, view->ndim - 1, all->tensor.shape + 1);
}

/* Scores its keys and offers its best. */
static void offer_candidates(struct rank *rank, const struct exchange *exchange)
{
    struct tensor packed;
    take_part(&packed, &exchange->packed, rank->place.rank);
    const dsajit_dcp_pack_arguments pack = {
        .struct_size = sizeof pack,
        .ids = &rank->call.ids.tensor.view,
        .scores = &rank->call.scores.tensor.view,
        .packed = &packed.view,
        .place = rank->place,
    };
    dsajit_context *context = harness_context();
    dsajit_error error = {0};
    assert_ok(dsajit_mla_cache_write(context, &rank->call.cache_write, NULL, &error), &error);
    assert_ok(dsajit_indexer_forward(context, &rank->call.indexer, NULL, &error), &error);
    assert_ok(dsajit_dcp_pack(context, &pack, NULL, &error), &error);
}

/* Attends those of the best of all that are its own. */
static void attend_own(struct rank *rank, const struct exchange *exchange)
{
    struct tensor out, lse;
    struct chain_call *call = &rank->call;
    take_part(&out, &exchange->partial, rank->place.rank);
    take_part(&lse, &exchange->lse, rank->place.rank);
    const dsajit_dcp_topk_arguments topk = {
        .struct_size = sizeof topk,
        .candidates = &exchange->packed.tensor.view,
        .global_ids = &rank->global_ids.tensor.view,
        .local_ids = &rank->local_ids.tensor.view,
        .place = rank->place,
    };
    const dsajit_index_lists_arguments lists = {
        .struct_size = sizeof lists,
        .ids = &rank->local_ids.tensor.view,
        .row_requests = &call->row_requests.tensor.view,
        .block_table = &call->block_table.tensor.view,
        .kv_indptr = &call->indptr.tensor.view,
        .kv_indices = &call->indices.tensor.view,
        .workspace = &call->workspace.tensor.view,
        .pages = rank->problem.pages,
        .page_tokens = rank->problem.shape.page_tokens,
    };
    dsajit_sparse_mla_arguments attention = call->attention;
    attention.kv_indptr = lists.kv_indptr;
    attention.kv_indices = lists.kv_indices;
    attention.out = &out.view;
    attention.lse = &lse.view;
    dsajit_context *context = harness_context();
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_topk(context, &topk, NULL, &error), &error);
    assert_ok(dsajit_index_lists(context, &lists, NULL, &error), &error);
    assert_ok(dsajit_sparse_mla_forward(context, &attention, NULL, &error), &error);
}

static void create_exchange(struct exchange *exchange, const struct chain_problem *problem,
                            int64_t ranks)
{
    const int64_t T = problem->rows, H = problem->shape.heads;
    operand_create_plain(&exchange->packed, kDLFloat, 32, 4,
                         (const int64_t[]){ranks, T, problem->shape.k, 2}, NULL);
    operand_create_plain(&exchange->partial, kDLBfloat, 16, 4,
                         (const int64_t[]){ranks, T, H, DSAJIT_KV_LORA_RANK}, NULL);
    operand_create_plain(&exchange->lse, kDLFloat, 32, 3, (const int64_t[]){ranks, T, H}, NULL);
}

static void free_exchange(struct exchange *exchange)
{
    operand_free(&exchange->packed);
    operand_free(&exchange->partial);
    operand_free(&exchange->lse);
}

/* Merges all parts into a call's out and lse. */
static void merge(const struct exchange *exchange, const struct chain_call *result)
{
    const dsajit_dcp_attention_arguments arguments = {
        .struct_size = sizeof arguments,
        .partial = &exchange->partial.tensor.view,
        .lse = &exchange->lse.tensor.view,
        .out = &result->out.tensor.view,
        .merged_lse = &result->lse.tensor.view,
    };
    dsajit_error error = {0};
    assert_ok(dsajit_dcp_attention(harness_context(), &arguments, NULL, &error), &error);
    operand_wait();
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The rows' sets. */
static void assert_same_selection(const struct chain_problem *problem, int32_t *ids,
                                  int32_t *expected)
{
    const size_t k = (size_t)problem->shape.k;
    for (int64_t row = 0; row < problem->rows; row++) {
        qsort(ids + row * problem->shape.k, k, sizeof *ids, ascending);
        qsort(expected + row * problem->shape.k, k, sizeof *ids, ascending);
    }
    assert_memory_equal(ids, expected, (size_t)problem->rows * k * sizeof *ids);
}

static void check_results(const struct chain_problem *problem, const struct rank *ranks,
                          const struct chain_call *alone)
{
    int32_t *expected = operand_take(&alone->ids), *ids = operand_take(&ranks->global_ids);
    uint16_t *out = operand_take(&alone->out);
    float *lse = operand_take(&alone->lse);
    for (int r = 1; r < ranks->place.ranks; r++) {
        int32_t *others = operand_take(&ranks[r].global_ids);
        assert_memory_equal(others, ids, operand_elements_size(&ranks->global_ids));
        free(others);
    }
    chain_reference_check_attention(problem, ids, out, lse, ranks->place.ranks > 1 ? 3 : 2);
    assert_same_selection(problem, ids, expected);
    free(expected);
    free(ids);
    free(out);
    free(lse);
}

static void check_ranks(const struct chain_problem *problem, int count, int interleave)
{
    struct rank *ranks = allocate(count, sizeof *ranks);
    struct chain_call alone;
    struct exchange exchange;
    dsajit_error error = {0};
    chain_call_create(&alone, problem, CHAIN_ROWS_BY_END);
    assert_ok(dsajit_sparse_attention(harness_context(), &alone.whole, NULL, &error), &error);
    chain_call_check(&alone, problem);
    create_exchange(&exchange, problem, count);
    for (int r = 0; r < count; r++) {
        create_rank(&ranks[r], problem, (dsajit_dcp_place){count, r, interleave});
        offer_candidates(&ranks[r], &exchange);
    }
    for (int r = 0; r < count; r++)
        attend_own(&ranks[r], &exchange);
    merge(&exchange, &alone);
    check_results(problem, ranks, &alone);
    for (int r = 0; r < count; r++)
        free_rank(&ranks[r]);
    free_exchange(&exchange);
    chain_call_free(&alone);
    free(ranks);
}

static void check_format(dsajit_indexer_format format)
{
    static const int rank_counts[] = {1, 2, 4, 8}, interleaves[] = {1, 16, 50};
    struct chain_shape shape = decode;
    struct chain_problem problem;
    shape.format = format;
    chain_problem_create(&problem, &shape);
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++)
        for (size_t j = 0; j < sizeof interleaves / sizeof *interleaves; j++)
            check_ranks(&problem, rank_counts[i], interleaves[j]);
    chain_problem_free(&problem);
}

static void fp8(void **state)
{
    (void)state;
    check_format(DSAJIT_INDEXER_FP8);
}

static void mxfp4(void **state)
{
    (void)state;
    check_format(DSAJIT_INDEXER_MXFP4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8),
        cmocka_unit_test(mxfp4),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
