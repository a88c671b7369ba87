#include "runtime/view.h"

#include "runtime/tensor.h"

void view_set(struct view *view, int device, void *data, DLDataType type, int rank,
              const int64_t *shape)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        view->shape[i] = shape[i];
        view->strides[i] = stride;
        stride *= shape[i];
    }
    view->tensor = (DLTensor){
        .data = data,
        .device = {kDLROCM, device},
        .ndim = rank,
        .dtype = type,
        .shape = view->shape,
        .strides = view->strides,
    };
}

void view_slice(struct view *view, const DLTensor *tensor, int64_t first, int64_t count)
{
    for (int i = 0; i < tensor->ndim; i++) {
        view->shape[i] = tensor->shape[i];
        view->strides[i] = tensor_stride(tensor, i);
    }
    view->shape[0] = count;
    view->tensor = *tensor;
    view->tensor.shape = view->shape;
    view->tensor.strides = view->strides;
    if (tensor->data)
        view->tensor.data =
            (char *)tensor->data + first * view->strides[0] * (tensor->dtype.bits / 8);
}
