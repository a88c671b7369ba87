#include "placed_tensor.h"

#include "failure.h"

#include <stdlib.h>

dsajit_status placed_tensor_create(struct placed_tensor *placed, const struct device *device,
                                   DLDataTypeCode code, int bits, int rank, const int64_t *shape,
                                   const void *data, dsajit_error *error)
{
    placed->memory = NULL;
    placed->size = (size_t)bits / 8;
    for (int i = 0; i < rank; i++)
        placed->size *= (size_t)shape[i];
    dsajit_status status = device_allocate(device, placed->size, &placed->memory, error);
    if (!status && data)
        status = device_upload(device, placed->memory, data, placed->size, error);
    tensor_set(&placed->tensor, placed->memory, code, bits, rank, shape);
    return status;
}

dsajit_status placed_tensor_fetch(const struct placed_tensor *placed, const struct device *device,
                                  void **data, dsajit_error *error)
{
    *data = malloc(placed->size + 1);
    if (!*data)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes of a result",
                           placed->size);
    return device_download(device, *data, placed->memory, placed->size, error);
}

void placed_tensor_free(struct placed_tensor *placed, const struct device *device)
{
    device_free(device, placed->memory);
    placed->memory = NULL;
}
