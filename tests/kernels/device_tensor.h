/* A tensor in device memory of its own, of just its size: reading or writing beyond it faults. */
#ifndef TESTS_KERNELS_DEVICE_TENSOR_H
#define TESTS_KERNELS_DEVICE_TENSOR_H

#include "tensor.h"

#include <stddef.h>

struct device_tensor {
    struct tensor tensor;
    void *memory;
    size_t size; /* bytes of `memory` */
};

/* Row-major on the device, with `data` (of a host) in it. */
void device_tensor_put(struct device_tensor *t, const void *data, DLDataTypeCode code, int bits,
                       int rank, const int64_t *shape);
/* The same, every byte `filling`. */
void device_tensor_fill(struct device_tensor *t, int filling, DLDataTypeCode code, int bits,
                        int rank, const int64_t *shape);
/* Rows of a matrix with `gap` elements between them, of which every byte is `filling`. `data` is
   row-major without the gaps, or NULL: the rows are filled too. */
void device_tensor_put_rows(struct device_tensor *t, const void *data, int filling,
                            DLDataTypeCode code, int bits, int64_t rows, int64_t columns,
                            int64_t gap);

/* Waits, and copies the memory to the host; the caller frees it. */
void *device_tensor_get(const struct device_tensor *t);
/* The same for a matrix with gaps, row-major without them. Fails the test if a byte of a gap isn't
   `filling` any more. */
void *device_tensor_get_rows(const struct device_tensor *t, int filling);

/* Nothing to free is allowed. */
void device_tensor_free(struct device_tensor *t);

#endif
