/* The indexer's kernels, as a sequence and as a part of one. */
#ifndef RUNTIME_INDEXER_FORWARD_H
#define RUNTIME_INDEXER_FORWARD_H

#include "dsajit/attention.h"
#include "runtime/sequence.h"

/* Takes a dsajit_indexer_arguments. */
sequence_make indexer_forward_make;

#endif
