/* The lightning indexer's scores of keys, in the conventions of dsajit/indexer.h:

       logits[row, n] = sum over heads h of w[row, h] * max(0, q[row, h] . k[n]),  start <= n < end

   where w = weights * weight_scale, rounded to f32, and q and k are meant with their scales (FP8
   queries have theirs in the weights). */
#ifndef DSAJIT_INDEXER_SCORE_H
#define DSAJIT_INDEXER_SCORE_H

#include "dsajit/indexer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys come either gathered, all rows scoring the same array, or in the cache's pages, each row
   scoring those of its request:

       gathered   keys, key_scales;      column n of the logits is key n
       paged      cache, block_table;    column n is token n of the row's request: of page
                                         block_table[request, n / B], place n % B

   The table's entries from the smallest start to the largest end of a request's rows must be pages
   of the cache; no others are read. Bytes of keys outside a row's window never enter its logits.

   Windows are cut to the columns, and to the keys or to the places that a table's row has; a row
   with end <= start is empty. They are given as

       ends, starts     for each row; of one request or, paged, of that in row_requests. No
                        starts: 0. A request that the table lacks makes a row empty
       context_lens     paged: R requests of N = rows / R neighbouring rows each, [R, N] ends of the
                        rows, or [R] lengths after the newest token: row i ends at
                        length - N + i + 1 */
typedef struct dsajit_indexer_score_arguments {
    size_t struct_size; /* sizeof(dsajit_indexer_score_arguments) */
    const DLTensor *q;  /* [rows, H, 128 or 64] of a 1-byte type, as dsajit_indexer_query makes
                           it: a row without gaps, rows any multiple of 16 apart, 16-byte
                           aligned */
    const DLTensor *q_scales; /* MXFP4: [rows, H, 4] of a 1-byte type, a row without gaps;
                                 FP8: NULL */
    const DLTensor *weights;  /* [rows, H] f32 or bf16, last stride 1 */
    double weight_scale;      /* 1 for what dsajit_indexer_query makes; not 0 */
    const DLTensor *logits;   /* [rows, <= 2^30] f32, last stride 1 */

    const DLTensor *keys;       /* [keys, 128 or 64] of a 1-byte type, a key without gaps, keys any
                                   multiple of 4 apart, 4-byte aligned */
    const DLTensor *key_scales; /* FP8: [keys] f32; MXFP4: [keys, 4] of a 1-byte type; contiguous */

    const DLTensor *cache;       /* [pages, B, 132 or 68] of a 1-byte type, 4-byte aligned. No pages
                                    (a dummy run): nothing is done */
    const DLTensor *block_table; /* [>= requests, pages of a request] i32, last stride 1 */

    const DLTensor *starts, *ends; /* [rows] i32, contiguous */
    const DLTensor *row_requests;  /* [rows] i32, contiguous */
    const DLTensor *context_lens;  /* [R] or [R, N] i32, contiguous */

    dsajit_indexer_format format; /* FP8: H a multiple of 4 up to 64; MXFP4: H 16, 32 or 64 */
    bool clean_logits; /* columns outside a row's window become -inf; else they stay as they are */
} dsajit_indexer_score_arguments;

DSAJIT_API dsajit_status dsajit_indexer_score_supported(
    const dsajit_context *context, const dsajit_indexer_score_arguments *arguments,
    dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_score_variant(
    const dsajit_context *context, const dsajit_indexer_score_arguments *arguments,
    dsajit_text *variant, dsajit_error *error);
DSAJIT_API dsajit_status dsajit_indexer_score(dsajit_context *context,
                                              const dsajit_indexer_score_arguments *arguments,
                                              void *stream, dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
