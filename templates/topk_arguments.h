/* The one argument of a top-k kernel: written by the runtime, read by the kernel.
 *
 * Plain C without includes, because both sides use this file. Every field has one size and one
 * offset on host and device; there is no padding. Strides count elements, never bytes.
 */
#ifndef DSAJIT_TOPK_ARGUMENTS_H
#define DSAJIT_TOPK_ARGUMENTS_H

typedef struct topk_arguments {
    const float *logits; /* [rows, columns], last stride 1 */
    const int *starts;   /* [rows]: a row's first column; NULL: 0 */
    const int *ends;     /* [rows / rows_per_end], see rows_per_end */
    int *ids;            /* [rows, k], last stride 1 */
    float *scores;       /* [rows, k], last stride 1; not read where `scores` is 0 */

    long long logits_stride;
    long long ids_stride;
    long long scores_stride;

    int rows;    /* also the number of workgroups */
    int columns; /* at most TOPK_COLUMNS_MAX; row bounds are clamped to it */
    int k;       /* 1 … TOPK_K_MAX */
    /* Row n r + i, for i < n = rows_per_end, ends before column ends[r] - n + 1 + i: n = 1 is an
       end for each row, n > 1 the last n tokens of a sequence of length ends[r]. */
    int rows_per_end;
} topk_arguments;

/* Launch shape: one workgroup per row, in one dimension. LDS is static. */
enum { TOPK_WORKGROUP_SIZE = 1024, TOPK_K_MAX = 2048, TOPK_COLUMNS_MAX = 1 << 22 };

#endif
