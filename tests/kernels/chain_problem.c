#include "chain_problem.h"

#include "harness.h"
#include "random_numbers.h"
#include "record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

static uint16_t *random_values(int64_t count, uint64_t *random)
{
    uint16_t *values = allocate(count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = random_bf16(random);
    return values;
}

/* The first is the longest; the second has k tokens; others anything in between. */
static int64_t length_of(const struct chain_shape *shape, int64_t request)
{
    if (request >= shape->requests)
        return 0;
    if (request == 1)
        return shape->k;
    return shape->context - request * (shape->context / (2 * shape->requests));
}

static void lay_out_requests(struct chain_problem *problem)
{
    const struct chain_shape *shape = &problem->shape;
    for (int64_t request = 0; request < problem->requests; request++) {
        const int64_t length = length_of(shape, request);
        problem->context_lens[request] = (int32_t)length;
        problem->first_token[request] = problem->tokens;
        problem->tokens += length;
        problem->pages += (length + shape->page_tokens - 1) / shape->page_tokens;
        for (int64_t i = 0; i < shape->rows_per_request; i++) {
            const int64_t row = request * shape->rows_per_request + i;
            const int64_t end = length - shape->rows_per_request + 1 + i;
            problem->ends[row] = (int32_t)(end < 0 ? 0 : end);
            problem->row_requests[row] = request < shape->requests ? (int32_t)request : -1;
        }
    }
}

/* Page 0 is nobody's, as in vLLM. */
static void deal_pages(struct chain_problem *problem, uint64_t *random)
{
    int32_t *deck = allocate(problem->pages, sizeof *deck);
    for (int64_t i = 0; i < problem->pages; i++) {
        const int64_t other = random_below(random, i + 1);
        deck[i] = deck[other];
        deck[other] = (int32_t)i + 1;
    }
    int64_t dealt = 0;
    const int64_t page_tokens = problem->shape.page_tokens;
    for (int64_t request = 0; request < problem->requests; request++) {
        int32_t *table = problem->block_table + request * problem->blocks;
        for (int64_t i = 0; i < problem->blocks; i++)
            table[i] = i * page_tokens < problem->context_lens[request] ? deck[dealt++] : -1;
        for (int64_t t = 0; t < problem->context_lens[request]; t++)
            problem->slot_mapping[problem->first_token[request] + t] =
                table[t / page_tokens] * page_tokens + t % page_tokens;
    }
    free(deck);
    problem->pages++;
}

void chain_problem_create(struct chain_problem *problem, const struct chain_shape *shape)
{
    const int64_t requests = shape->requests + shape->padding;
    const int64_t rows = requests * shape->rows_per_request;
    const int64_t blocks = (shape->context + shape->page_tokens - 1) / shape->page_tokens;
    uint64_t random = 20260101;
    *problem = (struct chain_problem){
        .shape = *shape,
        .requests = requests,
        .rows = rows,
        .blocks = blocks,
        .softmax_scale = 1 / sqrt(192),
        .norm_eps = 1e-5,
        .context_lens = allocate(requests, sizeof(int32_t)),
        .ends = allocate(rows, sizeof(int32_t)),
        .row_requests = allocate(rows, sizeof(int32_t)),
        .block_table = allocate(requests * blocks, sizeof(int32_t)),
        .first_token = allocate(requests, sizeof(int64_t)),
    };
    lay_out_requests(problem);
    problem->slot_mapping = allocate(problem->tokens, sizeof(int64_t));
    deal_pages(problem, &random);
    problem->index_k = random_values(problem->tokens * DSAJIT_INDEX_HEAD_DIM, &random);
    problem->kv_c = random_values(problem->tokens * DSAJIT_KV_LORA_RANK, &random);
    problem->k_pe = random_values(problem->tokens * DSAJIT_QK_ROPE_HEAD_DIM, &random);
    problem->index_q = random_values(rows * shape->index_heads * DSAJIT_INDEX_HEAD_DIM, &random);
    problem->index_v = random_values(rows * shape->index_heads, &random);
    problem->q = random_values(rows * shape->heads * RECORD_KEY_SIZE, &random);
    for (int i = 0; i < DSAJIT_INDEX_HEAD_DIM; i++) {
        problem->norm_weight[i] = (float)(0.5 + random_uniform(&random));
        problem->norm_bias[i] = (float)(random_uniform(&random) - 0.5);
    }
}

void chain_problem_free(struct chain_problem *problem)
{
    void *const arrays[] = {
        problem->context_lens, problem->ends,         problem->row_requests, problem->block_table,
        problem->first_token,  problem->slot_mapping, problem->index_k,      problem->kv_c,
        problem->k_pe,         problem->index_q,      problem->index_v,      problem->q,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}
