/* A chain's tensors on the device, as arguments of the public calls. */
#ifndef TESTS_KERNELS_CHAIN_CALL_H
#define TESTS_KERNELS_CHAIN_CALL_H

#include "chain_problem.h"
#include "operand.h"

#include <dsajit/attention.h>

enum chain_rows {
    CHAIN_ROWS_BY_LENGTH, /* context_lens [requests] */
    CHAIN_ROWS_BY_END     /* ends and row_requests */
};

struct chain_call {
    struct operand index_k, slot_mapping, norm_weight, norm_bias, index_q, index_v, index_cache,
        block_table, context_lens, ends, row_requests, ids, scores, indptr, indices, workspace;
    struct operand kv_c, k_pe, q, kv, out, lse;
    dsajit_mla_cache_write_arguments cache_write;
    dsajit_indexer_arguments indexer;
    dsajit_sparse_mla_arguments attention;
    dsajit_sparse_attention_arguments whole;
};

/* Everything is given, caches are full of NaN, and results of fillers. The tests change what they
   want otherwise. */
void chain_call_create(struct chain_call *call, const struct chain_problem *problem,
                       enum chain_rows rows);
void chain_call_free(struct chain_call *call);

/* The size that the indexer's arguments ask for. */
size_t chain_call_workspace_size(const dsajit_indexer_arguments *arguments);

/* Another workspace of just the size that the indexer's arguments, changed, ask for. */
void chain_call_resize_workspace(struct chain_call *call);

/* Waits, and checks ids, lists and attention against the reference. */
void chain_call_check(const struct chain_call *call, const struct chain_problem *problem);

#endif
