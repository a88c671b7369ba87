/* DLPack tensors on the ROCm device 0, with their shape beside them. */
#ifndef TOOLS_TENSOR_H
#define TOOLS_TENSOR_H

#include <dlpack/dlpack.h>
#include <stdint.h>

enum { TENSOR_RANK_MAX = 4 };

struct tensor {
    int64_t shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX]; /* in elements */
    DLTensor view;                    /* points into this struct: don't copy it */
};

/* Row-major; `shape` has `rank` extents. Change tensor->strides afterwards for another layout. */
void tensor_set(struct tensor *tensor, void *data, DLDataTypeCode code, int bits, int rank,
                const int64_t *shape);

#endif
