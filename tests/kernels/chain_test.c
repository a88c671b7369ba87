/* A layer's sparse attention from projected activations to its output, in one call, against the
   chain in float64. */
#include "chain_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct chain_shape decode = {
    .norm = DSAJIT_KEY_NORM_LAYERNORM,
    .index_heads = 32,
    .heads = 12,
    .requests = 3,
    .rows_per_request = 1,
    .context = 200,
    .page_tokens = 64,
    .k = 48,
};

static void run_chain(struct chain_call *call, const struct chain_problem *problem)
{
    dsajit_error error = {0};
    assert_ok(dsajit_sparse_attention(harness_context(), &call->whole, NULL, &error), &error);
    chain_call_check(call, problem);
}

static void check_chain(const struct chain_shape *shape, enum chain_rows rows)
{
    struct chain_problem problem;
    struct chain_call call;
    chain_problem_create(&problem, shape);
    chain_call_create(&call, &problem, rows);
    run_chain(&call, &problem);
    chain_call_free(&call);
    chain_problem_free(&problem);
}

/* With every norm. */
static void check_format(struct chain_shape shape, enum chain_rows rows)
{
    for (int norm = DSAJIT_KEY_NORM_NONE; norm <= DSAJIT_KEY_NORM_LAYERNORM; norm++) {
        shape.norm = (dsajit_key_norm)norm;
        check_chain(&shape, rows);
    }
}

static void fp8_decode(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.format = DSAJIT_INDEXER_FP8;
    check_format(shape, CHAIN_ROWS_BY_LENGTH);
}

static void mxfp4_decode(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.format = DSAJIT_INDEXER_MXFP4;
    check_format(shape, CHAIN_ROWS_BY_LENGTH);
}

static void speculative_tokens(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.rows_per_request = 3;
    for (int format = DSAJIT_INDEXER_FP8; format <= DSAJIT_INDEXER_MXFP4; format++) {
        shape.format = (dsajit_indexer_format)format;
        check_chain(&shape, CHAIN_ROWS_BY_LENGTH);
    }
}

/* A request's rows begin before its first token is there, too. */
static void prefill(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.rows_per_request = 60;
    shape.requests = 2;
    shape.context = 90;
    shape.index_heads = 16;
    shape.heads = 2;
    for (int format = DSAJIT_INDEXER_FP8; format <= DSAJIT_INDEXER_MXFP4; format++) {
        shape.format = (dsajit_indexer_format)format;
        check_chain(&shape, CHAIN_ROWS_BY_END);
    }
}

/* Rows of a graph that stand for nobody get no keys, and attend nothing. */
static void padding(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.padding = 3;
    shape.rows_per_request = 2;
    check_chain(&shape, CHAIN_ROWS_BY_LENGTH);
    check_chain(&shape, CHAIN_ROWS_BY_END);
}

/* Logits of a row take 1024 bytes here. A part has whole requests, and one at least. */
static void rows_scored_in_parts(void **state)
{
    (void)state;
    static const int64_t bytes[] = {1, 1024, 5000, 6144, 1 << 20};
    struct chain_shape shape = decode;
    shape.rows_per_request = 2;
    shape.padding = 1;
    struct chain_problem problem;
    chain_problem_create(&problem, &shape);
    for (int rows = CHAIN_ROWS_BY_LENGTH; rows <= CHAIN_ROWS_BY_END; rows++) {
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            struct chain_call call;
            chain_call_create(&call, &problem, (enum chain_rows)rows);
            call.indexer.logits_bytes_max = bytes[i];
            chain_call_resize_workspace(&call);
            run_chain(&call, &problem);
            chain_call_free(&call);
        }
    }
    chain_problem_free(&problem);
}

/* Sizes off the beaten track. */
static void other_pages_heads_and_k(void **state)
{
    (void)state;
    struct chain_shape shape = decode;
    shape.page_tokens = 16;
    shape.index_heads = 20;
    shape.heads = 1;
    shape.k = 1;
    check_chain(&shape, CHAIN_ROWS_BY_LENGTH);
    shape.page_tokens = 1;
    shape.index_heads = 64;
    shape.heads = 16;
    shape.k = 199;
    check_chain(&shape, CHAIN_ROWS_BY_END);
    shape.format = DSAJIT_INDEXER_MXFP4;
    check_chain(&shape, CHAIN_ROWS_BY_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_decode),
        cmocka_unit_test(mxfp4_decode),
        cmocka_unit_test(speculative_tokens),
        cmocka_unit_test(prefill),
        cmocka_unit_test(padding),
        cmocka_unit_test(rows_scored_in_parts),
        cmocka_unit_test(other_pages_heads_and_k),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
