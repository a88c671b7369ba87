#include "problem.h"

#include "failure.h"
#include "narrow_floats.h"
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

/* SplitMix64: one addition and a mixing function a number, any seed is good. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/* In [0, 1), a multiple of 2^-53. */
static double draw_uniform(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

/* Below `limit`, which is far below 2^64: the bias is of no importance. */
static int64_t draw_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(draw(state) % (uint64_t)limit);
}

/* Nearly normal, and free of the differences between maths libraries: the sum of four uniform
   numbers, shifted and stretched to mean 0 and variance 1; a bf16 value. */
static uint16_t draw_bf16(uint64_t *state)
{
    const uint64_t bits = draw(state);
    const int sum = (int)(bits >> 48) + (int)(bits >> 32 & 0xffff) + (int)(bits >> 16 & 0xffff) +
                    (int)(bits & 0xffff);
    const double root_3 = 0x1.bb67ae8584caap0;
    return double_to_bf16((sum - 2 * 0xffff) * 0x1p-16 * root_3);
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
        const int64_t slot = draw_below(state, shape->slots);
        problem->indices[i] = draw_uniform(state) < shape->invalid ? -1 : slot;
    }
}

static void fill_records(const struct problem_shape *shape, struct problem *problem,
                         uint64_t *state)
{
    float key[RECORD_KEY_SIZE];
    for (int64_t slot = 0; slot < shape->slots; slot++) {
        for (int d = 0; d < RECORD_KEY_SIZE; d++)
            key[d] = (float)bf16_to_double(draw_bf16(state));
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
        problem->q[i] = draw_bf16(&state);
    fill_records(shape, problem, &state);
    fill_indices(shape, problem, &state);
    return DSAJIT_OK;
}
