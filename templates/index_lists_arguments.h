/* The one argument of an index list kernel: written by the runtime, read by the kernel.
 *
 * Plain C without includes, because both sides use this file. Every field has one size and one
 * offset on host and device; there is no padding. Strides count elements, never bytes.
 */
#ifndef DSAJIT_INDEX_LISTS_ARGUMENTS_H
#define DSAJIT_INDEX_LISTS_ARGUMENTS_H

typedef struct index_lists_arguments {
    const int *ids;          /* [rows, k], last stride 1; negative: no entry */
    const int *row_requests; /* [rows]; outside [0, requests): an empty row */
    const int *block_table;  /* [requests, blocks], last stride 1 */
    int *indptr;             /* [rows + 1] */
    void *indices;           /* [rows * k] i32 or i64, as the variant's `index` says */
    int *totals;             /* [workgroups]: entries of each one's rows; NULL if there is one */

    long long ids_stride;
    long long block_table_stride;

    int rows;
    int k; /* 1 … INDEX_LISTS_K_MAX */
    int requests;
    int blocks;
    int pages; /* of the cache: an entry of the table outside [0, pages) is dropped */
    int rows_per_page;
    int page_tokens;
    int page_shift; /* id / page_tokens = id * page_reciprocal >> page_shift */
    unsigned page_reciprocal;
    int stage; /* INDEX_LISTS_COUNT or INDEX_LISTS_WRITE */
} index_lists_arguments;

/* With more than one workgroup, a first launch counts and a second one writes. */
enum { INDEX_LISTS_COUNT, INDEX_LISTS_WRITE };

/* Launch shape: one workgroup for each INDEX_LISTS_ROWS rows, and at least one, in one dimension.
   LDS is static. */
enum { INDEX_LISTS_WORKGROUP_SIZE = 1024, INDEX_LISTS_ROWS = 4, INDEX_LISTS_K_MAX = 2048 };

#endif
