#include "problem.h"

#include "failure.h"
#include "narrow_floats.h"
#include "random_numbers.h"
#include "record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void problem_free(struct problem *problem)
{
    free(problem->q);
    free(problem->kv);
    free(problem->indptr);
    free(problem->indices);
    free(problem->expected_out);
    free(problem->expected_lse);
    *problem = (struct problem){0};
}

static dsajit_status check_shape(const struct problem_shape *shape, dsajit_error *error)
{
    enum { ENTRIES_MAX = 1 << 29 };
    const double bytes_max = 64e9;
    const double rows = (double)shape->tokens * (double)shape->heads;
    const double bytes = rows * (RECORD_KEY_SIZE + DSAJIT_KV_LORA_RANK) * sizeof(uint16_t) +
                         (double)shape->slots * DSAJIT_RECORD_BYTES;
    if (shape->tokens < 0 || shape->heads < 1 || shape->topk < 0 || shape->slots < 1)
        return failure_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                           "tokens and topk must be at least 0, heads and slots at least 1");
    if ((double)shape->tokens * (double)shape->topk >= ENTRIES_MAX)
        return failure_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                           "%" PRId64 " tokens with %" PRId64
                           " keys each are more than the 2^29 - 1 entries of an index list",
                           shape->tokens, shape->topk);
    if (shape->slots > INT32_MAX || bytes > bytes_max)
        return failure_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                           "a problem with %" PRId64 " tokens, %" PRId64 " heads and %" PRId64
                           " slots takes %.3g GB; at most %.3g are allowed",
                           shape->tokens, shape->heads, shape->slots, bytes * 1e-9,
                           bytes_max * 1e-9);
    return DSAJIT_OK;
}

static void fill_indices(const struct problem_shape *shape, struct problem *problem,
                         uint64_t *state)
{
    for (int64_t t = 0; t <= problem->tokens; t++)
        problem->indptr[t] = t * shape->topk;
    for (int64_t i = 0; i < problem->index_count; i++) {
        const int64_t slot = random_below(state, shape->slots);
        problem->indices[i] = random_uniform(state) < shape->invalid ? -1 : slot;
    }
}

static void fill_records(const struct problem_shape *shape, struct problem *problem,
                         uint64_t *state)
{
    float key[RECORD_KEY_SIZE];
    for (int64_t slot = 0; slot < shape->slots; slot++) {
        for (int d = 0; d < RECORD_KEY_SIZE; d++)
            key[d] = (float)bf16_to_double(random_bf16(state));
        record_write(key, shape->scale, problem->kv + slot * DSAJIT_RECORD_BYTES);
    }
}

dsajit_status problem_create_random(const struct problem_shape *shape, struct problem *problem,
                                    dsajit_error *error)
{
    *problem = (struct problem){0};
    dsajit_status status = check_shape(shape, error);
    if (status)
        return status;
    *problem = (struct problem){
        .tokens = shape->tokens,
        .heads = shape->heads,
        .slots = shape->slots,
        .index_count = shape->tokens * shape->topk,
        .softmax_scale = 1 / sqrt(RECORD_KEY_SIZE),
        .has_invalid = shape->invalid > 0,
    };
    const size_t q_count = (size_t)(shape->tokens * shape->heads * RECORD_KEY_SIZE);
    /* One more, so that none is of size 0. */
    problem->q = malloc((q_count + 1) * sizeof *problem->q);
    problem->kv = malloc((size_t)shape->slots * DSAJIT_RECORD_BYTES);
    problem->indptr = malloc((size_t)(shape->tokens + 1) * sizeof *problem->indptr);
    problem->indices = malloc((size_t)(problem->index_count + 1) * sizeof *problem->indices);
    if (!problem->q || !problem->kv || !problem->indptr || !problem->indices) {
        problem_free(problem);
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the problem");
    }
    uint64_t state = shape->seed;
    for (size_t i = 0; i < q_count; i++)
        problem->q[i] = random_bf16(&state);
    fill_records(shape, problem, &state);
    fill_indices(shape, problem, &state);
    return DSAJIT_OK;
}
