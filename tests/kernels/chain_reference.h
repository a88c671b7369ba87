/* The chain in float64, from the formulas: norm, quantisation, scores, selection, attention. Shares
   nothing with the kernels; it never looks at a cache. */
#ifndef TESTS_KERNELS_CHAIN_REFERENCE_H
#define TESTS_KERNELS_CHAIN_REFERENCE_H

#include "chain_problem.h"
#include "reference.h"

/* [rows][context]: the logits of a row's keys. The caller frees it. */
double *chain_reference_score(const struct chain_problem *problem);

/* Fails the test unless `ids` [rows][k] are, of each row, the best, each once, in any order, then
   -1. Keys whose logits differ by less than the kernels' roundings may stand for each other. */
void chain_reference_check_ids(const struct chain_problem *problem, const double *logits,
                               const int32_t *ids);

/* Fails the test unless `out` [rows][heads][512] bf16 and `lse` [rows][heads] are, within
   `roundings` roundings to bf16, what attending the keys `ids` gives. */
void chain_reference_check_attention(const struct chain_problem *problem, const int32_t *ids,
                                     const uint16_t *out, const float *lse, int roundings);

#endif
