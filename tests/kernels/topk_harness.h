/* Runs top-k through the public API on the emulator, and compares it with the definition, in plain
   C. A failing call that should work fails the running test. */
#ifndef TESTS_KERNELS_TOPK_HARNESS_H
#define TESTS_KERNELS_TOPK_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

/* Logits in host memory and what is wanted of them. */
struct topk_problem {
    int64_t rows, columns, k;
    const float *logits;         /* [rows][columns] */
    const int32_t *starts;       /* [rows], or NULL */
    const int32_t *ends;         /* [rows], or NULL */
    const int32_t *context_lens; /* [requests], or [requests][rows / requests] with `lens_by_row` */
    int64_t requests;
    bool lens_by_row;
    bool stable, scores;
    int64_t logits_gap, ids_gap, scores_gap; /* elements */
};

/* -1 and -inf where nothing was selected. The caller frees both. */
struct topk_result {
    int32_t *ids;  /* [rows][k] */
    float *scores; /* [rows][k], or NULL */
};
void topk_run(const struct topk_problem *problem, struct topk_result *result);
void topk_result_free(struct topk_result *result);

/* A row's bounds by the definition. */
void topk_bounds(const struct topk_problem *problem, int64_t row, int64_t *start, int64_t *length);

/* The positions of a row by the definition, the best first, of equals the smaller first: `length`
   of them. The caller frees it. */
int32_t *topk_sort(const float *logits, int64_t length);

/* Fails the test unless the result is one that the problem allows. */
void topk_check(const struct topk_problem *problem, const struct topk_result *result);

/* Runs and checks the problem in all variants. */
void topk_assert_right(const struct topk_problem *problem);

/* Nearly normal with mean 0 and variance 1; the same for the same seed. */
void topk_fill_random(float *logits, int64_t count, uint64_t seed);

#endif
