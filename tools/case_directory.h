/* A problem kept as a folder: case.json with the sizes, and one raw little-endian, row-major file a
   tensor, its element type in its name:

       q.bf16.bin [T, H, 576]    kv.u8.bin [N, 656]    kv_indptr.i32.bin [T + 1]
       kv_indices.i32.bin [nnz]  out.bf16.bin [T, H, 512]    lse.f32.bin [T, H]

   The index tensors may be .i64.bin instead. out and lse are another implementation's results and
   may be absent. */
#ifndef TOOLS_CASE_DIRECTORY_H
#define TOOLS_CASE_DIRECTORY_H

#include "problem.h"

/* Every size is checked against the length of its file before memory is taken, every index entry
   against the sizes. CORRUPT or IO name the file, what it is and what it should be. */
dsajit_status case_directory_read(const char *directory, struct problem *problem,
                                  dsajit_error *error);

/* Writes out.bf16.bin and, unless `lse` is NULL, lse.f32.bin; makes the folder if need be. */
dsajit_status case_directory_write_results(const char *directory, const struct problem *problem,
                                           const uint16_t *out, const float *lse,
                                           dsajit_error *error);

#endif
