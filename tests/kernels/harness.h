/* Runs problems through the public API on the emulator, in any layout the API allows. A failing
   call that should work fails the running test. */
#ifndef TESTS_KERNELS_HARNESS_H
#define TESTS_KERNELS_HARNESS_H

#include "comparison.h"
#include "device.h"
#include "problem.h"
#include "tensor.h"

/* One context on the emulator for all tests of a program: cmocka group fixtures. */
int harness_open(void **state);
/* With options of the test's own; NULL members of `options` stay the defaults. */
int harness_open_with(const dsajit_options *options);
int harness_close(void **state);
dsajit_context *harness_context(void);
const struct device *harness_device(void);

/* How a problem lies in memory and which variant it becomes. Zeroed: row-major, 32-bit indices,
   power-of-two scales, no LSE. Gaps are filled so that a read of one shows: NaN in q, an impossible
   slot between indices; what is written into a gap of out fails the test. */
struct layout {
    bool return_lse;
    dsajit_scale_format scale;
    int indptr_bits, indices_bits;         /* 0: 32 */
    int64_t indptr_stride, indices_stride; /* 0: 1 */
    int64_t q_token_gap, q_head_gap;       /* elements between tokens and between heads */
    int64_t out_token_gap, out_head_gap;
    int64_t out_width;                                          /* 0: 512 */
    size_t q_offset, out_offset, indptr_offset, indices_offset; /* bytes before the tensor */
    bool offset_in_tensor; /* offsets are the DLTensor's byte_offset, else part of its pointer */
    int kv_rank;           /* 0: 2 */
    int64_t kv_block;      /* records of a page; 0: 1. With kv_rank 3 */
    DLDataType kv_type;    /* zero: u8 */
};

struct result {
    uint16_t *out; /* [tokens][heads][512] */
    float *lse;    /* [tokens][heads]; NULL without return_lse */
};
void result_free(struct result *result);

/* A problem's tensors on the device, in a layout. */
struct call {
    struct tensor q, kv, indptr, indices, out, lse;
    dsajit_sparse_mla_arguments arguments;
    void *memory[6]; /* q, kv, indptr, indices, out, lse */
    size_t out_size; /* bytes of out's allocation */
};
enum { CALL_TENSORS = 6 };
/* In the order of `memory`. */
void call_list_tensors(struct call *call, struct tensor *tensors[CALL_TENSORS]);
void call_prepare(struct call *call, const struct problem *problem, const struct layout *layout);
/* Forward and synchronise; gathers the result and checks out's gaps. */
void call_run(struct call *call, const struct problem *problem, const struct layout *layout,
              struct result *result);
void call_free(struct call *call);

/* All of it: prepare, run, free. */
void harness_run(const struct problem *problem, const struct layout *layout, struct result *result);

/* Rows of given lengths with random slots; `invalid` as in struct problem_shape. */
void harness_make_problem(struct problem *problem, int64_t heads, int64_t tokens,
                          const int64_t *lengths, int64_t slots, double invalid,
                          dsajit_scale_format scale);

/* Fails the test, with the figures, unless the result is within the tolerance. */
void assert_right(const struct problem *problem, const struct result *result);
/* Runs and asserts. */
void assert_runs_right(const struct problem *problem, const struct layout *layout);

/* Fails the test unless `status` is OK, with the error's message. */
void assert_ok(dsajit_status status, const dsajit_error *error);

#endif
