/* What the writers of paged caches have in common: rows of tokens that go to slots. */
#ifndef RUNTIME_INSERTION_H
#define RUNTIME_INSERTION_H

#include "runtime/tensor.h"

/* slot_mapping: [M] i64, contiguous. */
dsajit_status insertion_check_slots(const DLTensor *slot_mapping, int device, dsajit_error *error);

/* [M or more, width] bf16, read in pairs. */
dsajit_status insertion_check_rows(struct named_tensor rows, int64_t tokens, int64_t width,
                                   int device, dsajit_error *error);

/* cache: [pages, page tokens, token_bytes] of a 1-byte type; base and pages aligned. */
dsajit_status insertion_check_cache(const DLTensor *cache, int64_t token_bytes, uint32_t alignment,
                                    int device, dsajit_error *error);

#endif
