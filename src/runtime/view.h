/* Tensors that a call makes for its kernels: a part of a workspace or of a caller's tensor. */
#ifndef RUNTIME_VIEW_H
#define RUNTIME_VIEW_H

#include <dlpack/dlpack.h>

enum { VIEW_RANK_MAX = 3 };

struct view {
    int64_t shape[VIEW_RANK_MAX];
    int64_t strides[VIEW_RANK_MAX];
    DLTensor tensor; /* points into this struct: don't copy it */
};

/* Row-major on ROCm device `device`. */
void view_set(struct view *view, int device, void *data, DLDataType type, int rank,
              const int64_t *shape);

/* `count` of the first dimension, from `first` on, of a tensor of at most VIEW_RANK_MAX
   dimensions. */
void view_slice(struct view *view, const DLTensor *tensor, int64_t first, int64_t count);

#endif
