/* The kernels' own calls, as steps of calls that are made of several: each takes the struct of the
   public function of its name. */
#ifndef RUNTIME_KERNEL_CALLS_H
#define RUNTIME_KERNEL_CALLS_H

#include "runtime/call.h"

call_prepare indexer_key_prepare;
call_prepare indexer_query_prepare;
call_prepare indexer_score_prepare;
call_prepare topk_prepare;
call_prepare index_lists_prepare_counting; /* nothing to do for few rows */
call_prepare index_lists_prepare_writing;
call_prepare mla_cache_write_prepare;
call_prepare sparse_mla_prepare;

#endif
