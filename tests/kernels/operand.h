/* Tensors on the device in any layout, and what must not be written around them. */
#ifndef TESTS_KERNELS_OPERAND_H
#define TESTS_KERNELS_OPERAND_H

#include "harness.h"

struct operand {
    struct tensor tensor;
    void *memory;
    size_t size; /* bytes: up to the end of the last element, and no further */
};

/* What lies between elements, and in elements that have no value yet. */
enum { OPERAND_FILLER = 0xa5 };

struct operand_layout {
    DLDataTypeCode code;
    int bits, rank;
    int64_t shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX]; /* 0: as if row-major, up to the dimensions inside */
};

/* Takes elements in row-major order; NULL: fillers. */
void operand_create(struct operand *operand, const struct operand_layout *layout,
                    const void *elements);
/* Row-major. */
void operand_create_plain(struct operand *operand, DLDataTypeCode code, int bits, int rank,
                          const int64_t *shape, const void *elements);
void operand_free(struct operand *operand);

/* Bytes of all elements. */
size_t operand_elements_size(const struct operand *operand);

/* Gives the elements in row-major order; the test fails if a gap was written. */
void operand_read(const struct operand *operand, void *elements);

/* operand_read into new memory, which the caller frees. */
void *operand_take(const struct operand *operand);

/* Waits for what was enqueued; the test fails with the emulator's account of a fault. */
void operand_wait(void);

#endif
