#include "reference.h"

#include "failure.h"
#include "narrow_floats.h"
#include "record.h"

#include <math.h>
#include <stdlib.h>

void reference_free(struct reference *reference)
{
    free(reference->out);
    free(reference->lse);
    *reference = (struct reference){0};
}

/* The unmasked keys of one row, and room for one head's query and weights. */
struct row {
    double (*keys)[RECORD_KEY_SIZE];
    double *weights;
    double query[RECORD_KEY_SIZE];
    int64_t key_count;
};

static void read_keys(const struct problem *problem, int64_t token, struct row *row)
{
    row->key_count = 0;
    for (int64_t i = problem->indptr[token]; i < problem->indptr[token + 1]; i++) {
        const int64_t slot = problem->indices[i];
        if (slot >= 0)
            record_read(problem->kv + slot * DSAJIT_RECORD_BYTES, row->keys[row->key_count++]);
    }
}

/*     x[j]   = sum_d q[d] K[j][d]
       lse    = ln sum_j exp(softmax_scale x[j])
       out[d] = sum_j exp(softmax_scale x[j] - lse) K[j][d],  d < 512
   The largest exponent is taken out of the sum, so that nothing overflows. */
static void attend(const struct row *row, double softmax_scale, double out[DSAJIT_KV_LORA_RANK],
                   double *lse)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < row->key_count; j++) {
        double x = 0;
        for (int d = 0; d < RECORD_KEY_SIZE; d++)
            x += row->query[d] * row->keys[j][d];
        row->weights[j] = softmax_scale * x;
        largest = fmax(largest, row->weights[j]);
    }
    for (int64_t j = 0; j < row->key_count; j++)
        sum += exp(row->weights[j] - largest);
    *lse = row->key_count ? largest + log(sum) : -INFINITY;
    for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
        out[d] = 0;
    for (int64_t j = 0; j < row->key_count; j++) {
        const double weight = exp(row->weights[j] - *lse);
        for (int d = 0; d < DSAJIT_KV_LORA_RANK; d++)
            out[d] += weight * row->keys[j][d];
    }
}

dsajit_status reference_compute(const struct problem *problem, struct reference *reference,
                                dsajit_error *error)
{
    const int64_t rows = problem->tokens * problem->heads;
    int64_t longest = 1;
    for (int64_t t = 0; t < problem->tokens; t++) {
        const int64_t length = problem->indptr[t + 1] - problem->indptr[t];
        longest = length > longest ? length : longest;
    }
    struct row row = {.keys = calloc((size_t)longest, sizeof *row.keys),
                      .weights = calloc((size_t)longest, sizeof *row.weights)};
    *reference = (struct reference){
        .out = calloc((size_t)(rows + 1), DSAJIT_KV_LORA_RANK * sizeof *reference->out),
        .lse = calloc((size_t)(rows + 1), sizeof *reference->lse)};
    dsajit_status status = DSAJIT_OK;
    if (!row.keys || !row.weights || !reference->out || !reference->lse) {
        reference_free(reference);
        status = failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the reference");
        goto out;
    }
    for (int64_t r = 0; r < rows; r++) {
        if (r % problem->heads == 0)
            read_keys(problem, r / problem->heads, &row);
        for (int d = 0; d < RECORD_KEY_SIZE; d++)
            row.query[d] = bf16_to_double(problem->q[r * RECORD_KEY_SIZE + d]);
        attend(&row, problem->softmax_scale, reference->out + r * DSAJIT_KV_LORA_RANK,
               &reference->lse[r]);
    }
out:
    free(row.keys);
    free(row.weights);
    return status;
}
