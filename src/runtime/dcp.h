/* A caller's place among the ranks of decode context parallelism. */
#ifndef RUNTIME_DCP_H
#define RUNTIME_DCP_H

#include "base/error.h"
#include "dsajit/indexer.h"

#include "dcp_arguments.h"

dsajit_status dcp_check_place(const dsajit_dcp_place *place, dsajit_error *error);

/* Of a place that passed. */
dcp_place dcp_kernel_place(const dsajit_dcp_place *place);

/* Of the dcp_topk variant for `candidates` of all ranks together: the smallest that holds them; the
   largest there is when none does. */
int dcp_topk_capacity(unsigned candidates);

#endif
