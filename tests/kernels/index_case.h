/* The indexer_* cases of tests/vectors. */
#ifndef TESTS_KERNELS_INDEX_CASE_H
#define TESTS_KERNELS_INDEX_CASE_H

#include "indexer_case.h"

/* Reads the case NAME; what fails fails the running test. */
void index_case_read(const char *name, struct indexer_case *index_case);

/* One test a case, named for it: rows of a CMUnitTest table. The function finds the case's name in
 * *state. */
#define INDEX_CASE_TEST(function, name)                                                            \
    {                                                                                              \
        name, function, NULL, NULL, (void *)(uintptr_t)name                                        \
    }
#define INDEX_CASE_TESTS(function)                                                                 \
    INDEX_CASE_TEST(function, "indexer_fp8_decode"),                                               \
        INDEX_CASE_TEST(function, "indexer_fp8_prefill"),                                          \
        INDEX_CASE_TEST(function, "indexer_fp8_spec"),                                             \
        INDEX_CASE_TEST(function, "indexer_mxfp4_decode"),                                         \
        INDEX_CASE_TEST(function, "indexer_mxfp4_prefill"),                                        \
        INDEX_CASE_TEST(function, "indexer_mxfp4_spec")

#endif
