/* What the benchmarks share. */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include "placed_tensor.h"

#include <dsajit/warmup.h>

/* Ends the program, with the message, unless the status is OK. */
void require(dsajit_status status, const dsajit_error *error);

/* A new folder for caches, removed with all in it when the program ends. */
const char *scratch_folder(void);
/* Empties it. */
void scratch_clear(void);

/* A context whose cache is the scratch folder. `hip_library` as in dsajit_options. */
dsajit_context *open_context(dsajit_device_kind device, const char *hip_library);

/* A plan of what a selection covers. */
dsajit_plan *make_plan(const char *selection);

/* Sparse MLA of one token over 64 keys, all zero. */
struct attention_call {
    struct device device;
    struct placed_tensor q, kv, indptr, indices, out;
    dsajit_sparse_mla_arguments arguments;
};
void attention_call_create(struct attention_call *call, dsajit_context *context, int heads);
void attention_call_free(struct attention_call *call);

/* Nanoseconds of a clock that nobody sets. */
double now_ns(void);

#endif
