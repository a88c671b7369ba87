/* The one argument of an indexer_score kernel: written by the runtime, read by the kernel.
 *
 * Plain C without includes, because both sides use this file. Every field has one size and one
 * offset on host and device; there is no padding.
 */
#ifndef DSAJIT_INDEXER_SCORE_ARGUMENTS_H
#define DSAJIT_INDEXER_SCORE_ARGUMENTS_H

typedef struct indexer_score_arguments {
    const void *q; /* [rows, heads] vectors of 128 e4m3 or 64 bytes of e2m1, 16-byte aligned */
    const void *q_scales; /* mxfp4: [rows, heads, 4] E8M0 */
    const void *weights;  /* [rows, heads] f32 or bf16, see weights_are_bf16 */

    /* gathered: [keys] vectors. Otherwise the pages, of values first and then scales. 4-byte
     * aligned. */
    const void *keys;
    const void *key_scales;  /* gathered: [keys] f32 or [keys, 4] E8M0, 4-byte aligned */
    const int *block_table;  /* paged: [requests, >= 1] page ids */
    const int *row_requests; /* paged: [rows]; NULL: `rows_per_request` each */

    /* The window of a row is [start, end), cut to [0, limit). */
    const int *starts; /* [rows]; NULL: 0 */
    const int *ends;   /* [rows]; or [requests], see ends_are_lengths */
    float *logits;     /* [rows, columns] */

    long long q_row_stride;        /* bytes, a multiple of 16 */
    long long q_scales_row_stride; /* bytes */
    long long weights_row_stride;  /* elements */
    long long key_stride;          /* bytes, a multiple of 4: between keys, or between pages */
    long long block_table_stride;  /* elements, between requests */
    long long logits_row_stride;   /* elements */

    float weight_scale; /* each weight is multiplied by it, in f32 */
    int weights_are_bf16;
    int heads; /* at most the variant's */
    int columns;
    int limit; /* at most `columns`: as many as there are keys, or places in a block table's row */
    int requests;           /* paged: rows whose request isn't below it are empty */
    int rows_per_request;   /* all rows where one request's keys are shared by all, or row_requests
                               are given */
    int groups_per_request; /* ceil(rows_per_request / INDEXER_SCORE_ROWS) */
    int splits_log2; /* workgroups that share a group of rows, each with its part of the keys */
    int page_tokens; /* paged: 1 or a multiple of 16 */
    unsigned page_reciprocal; /* tile / (page_tokens / 16) = tile * page_reciprocal >> page_shift */
    int page_shift;
    int ends_are_lengths; /* row i of its request ends at length - rows_per_request + i + 1 */
    int reserved;         /* 0 */
} indexer_score_arguments;

/* Launch shape: groups of rows times 2^splits_log2 workgroups, in one dimension. LDS is static. */
enum {
    INDEXER_SCORE_WORKGROUP_SIZE = 256,
    INDEXER_SCORE_ROWS = 8,   /* of a workgroup: they share the keys it loads */
    INDEXER_SCORE_KEYS = 512, /* of a workgroup, at a time */
};

#endif
