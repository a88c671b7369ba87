/* A tensor in device memory of its own. */
#ifndef TOOLS_PLACED_TENSOR_H
#define TOOLS_PLACED_TENSOR_H

#include "device.h"
#include "tensor.h"

struct placed_tensor {
    struct tensor tensor;
    void *memory;
    size_t size; /* bytes */
};

/* Row-major; `data` (NULL: left as it is) is what goes in. A zeroed struct may be freed. */
dsajit_status placed_tensor_create(struct placed_tensor *placed, const struct device *device,
                                   DLDataTypeCode code, int bits, int rank, const int64_t *shape,
                                   const void *data, dsajit_error *error);

/* Its content in new memory, which the caller frees. */
dsajit_status placed_tensor_fetch(const struct placed_tensor *placed, const struct device *device,
                                  void **data, dsajit_error *error);

void placed_tensor_free(struct placed_tensor *placed, const struct device *device);

#endif
