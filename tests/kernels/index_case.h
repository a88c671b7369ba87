/* The indexer_* cases of tests/vectors. */
#ifndef TESTS_KERNELS_INDEX_CASE_H
#define TESTS_KERNELS_INDEX_CASE_H

#include "indexer_case.h"

/* Reads the case NAME; what fails fails the running test. */
void index_case_read(const char *name, struct indexer_case *index_case);

#endif
