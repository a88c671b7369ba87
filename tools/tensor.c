#include "tensor.h"

void tensor_set(struct tensor *tensor, void *data, DLDataTypeCode code, int bits, int rank,
                const int64_t *shape)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        tensor->shape[i] = shape[i];
        tensor->strides[i] = stride;
        stride *= shape[i];
    }
    tensor->view = (DLTensor){
        .data = data,
        .device = {kDLROCM, 0},
        .ndim = rank,
        .dtype = {(uint8_t)code, (uint8_t)bits, 1},
        .shape = tensor->shape,
        .strides = tensor->strides,
    };
}
