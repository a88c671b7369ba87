/* Problems of the indexer's scorer: random ones, their float64 reference, and a run through the
   public API in any layout it allows. */
#ifndef TESTS_KERNELS_SCORE_PROBLEM_H
#define TESTS_KERNELS_SCORE_PROBLEM_H

#include "index_reference.h"
#include "operand.h"

#include <dsajit/indexer_score.h>

/* Requests with as many keys each, and as many rows of queries that score them. */
struct score_sizes {
    dsajit_indexer_format format;
    int64_t heads, requests, rows_per_request, tokens;
};

struct score_problem {
    struct score_sizes sizes;
    int32_t *starts, *ends;    /* [rows]: tokens of the row's request */
    struct index_row *queries; /* [rows][heads]; FP8: their scales don't matter */
    float *weights;            /* [rows][heads], numbers that bf16 has */
    double weight_scale;
    struct index_row *keys; /* [requests][tokens] */
};

/* All random: values any of the format, scales from 2^-8 to 2^7, weights of either sign; windows
   are whole. */
void score_problem_create(struct score_problem *problem, const struct score_sizes *sizes);
void score_problem_free(struct score_problem *problem);

enum score_windows {
    WINDOWS_OF_ROWS,    /* starts, ends and, paged with several requests, row_requests */
    WINDOWS_OF_LENGTHS, /* context_lens [R]: the last of N rows sees all; starts don't count */
    WINDOWS_OF_ENDS     /* context_lens [R, N], starts don't count */
};

/* How a problem lies in memory. Zeroed: gathered keys, nothing between anything, f32 weights.
   Bytes of pages where there is no key are NaN. */
struct score_layout {
    int64_t page_tokens; /* 0: gathered */
    int64_t page_gap;    /* bytes between pages */
    int64_t first_page;  /* page ids start here; pages before it are in no memory */
    int64_t spare_pages; /* entries of the block table behind the needed ones; no pages' ids */
    enum score_windows windows;
    bool clean, bf16_weights;
    int64_t columns;                            /* 0: as many as the rows' windows can reach */
    int64_t q_gap, key_gap;                     /* bytes between rows, between gathered keys */
    int64_t weights_gap, table_gap, logits_gap; /* elements between rows */
};

/* Its tensors on the device. */
struct score_call {
    struct operand q, q_scales, weights, logits, keys, key_scales, cache, block_table;
    struct operand starts, ends, row_requests, context_lens;
    dsajit_indexer_score_arguments arguments;
    int64_t columns;
    int64_t limit; /* of windows */
};
void score_call_prepare(struct score_call *call, const struct score_problem *problem,
                        const struct score_layout *layout);
void score_call_free(struct score_call *call);
/* Runs it; gives [rows][columns] logits, which the caller frees. */
float *score_call_run(const struct score_call *call);

/* Prepares, runs and frees. Every logit must be right: the reference's to f32's precision where the
   row's window has it, elsewhere -infinity or what it was. */
void assert_scores_right(const struct score_problem *problem, const struct score_layout *layout);

#endif
