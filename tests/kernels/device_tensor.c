#include "device_tensor.h"

#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *allocate_host(size_t size)
{
    void *memory = malloc(size + 1);
    assert_non_null(memory);
    return memory;
}

static size_t element_size(const struct device_tensor *t)
{
    return (size_t)t->tensor.view.dtype.bits / 8;
}

static void upload(struct device_tensor *t, const void *bytes, size_t size)
{
    dsajit_error error = {0};
    t->size = size;
    assert_ok(device_allocate(harness_device(), size, &t->memory, &error), &error);
    assert_ok(device_upload(harness_device(), t->memory, bytes, size, &error), &error);
    t->tensor.view.data = t->memory;
}

void device_tensor_put(struct device_tensor *t, const void *data, DLDataTypeCode code, int bits,
                       int rank, const int64_t *shape)
{
    tensor_set(&t->tensor, NULL, code, bits, rank, shape);
    size_t size = element_size(t);
    for (int i = 0; i < rank; i++)
        size *= (size_t)shape[i];
    upload(t, data, size);
}

void device_tensor_fill(struct device_tensor *t, int filling, DLDataTypeCode code, int bits,
                        int rank, const int64_t *shape)
{
    size_t size = (size_t)bits / 8;
    for (int i = 0; i < rank; i++)
        size *= (size_t)shape[i];
    void *bytes = allocate_host(size);
    memset(bytes, filling, size);
    device_tensor_put(t, bytes, code, bits, rank, shape);
    free(bytes);
}

/* No gap after the last row. */
static size_t span_of_rows(const struct device_tensor *t)
{
    const int64_t rows = t->tensor.shape[0], columns = t->tensor.shape[1];
    return rows == 0 ? 0 : (size_t)((rows - 1) * t->tensor.strides[0] + columns) * element_size(t);
}

void device_tensor_put_rows(struct device_tensor *t, const void *data, int filling,
                            DLDataTypeCode code, int bits, int64_t rows, int64_t columns,
                            int64_t gap)
{
    tensor_set(&t->tensor, NULL, code, bits, 2, (int64_t[]){rows, columns});
    t->tensor.strides[0] = columns + gap;
    const size_t size = span_of_rows(t), row_size = (size_t)columns * element_size(t);
    uint8_t *bytes = allocate_host(size);
    memset(bytes, filling, size);
    for (int64_t r = 0; data && r < rows; r++)
        memcpy(bytes + (size_t)(r * t->tensor.strides[0]) * element_size(t),
               (const uint8_t *)data + (size_t)r * row_size, row_size);
    upload(t, bytes, size);
    free(bytes);
}

void *device_tensor_get(const struct device_tensor *t)
{
    dsajit_error error = {0};
    void *bytes = allocate_host(t->size);
    assert_ok(device_synchronize(harness_device(), &error), &error);
    assert_ok(device_download(harness_device(), bytes, t->memory, t->size, &error), &error);
    return bytes;
}

void *device_tensor_get_rows(const struct device_tensor *t, int filling)
{
    const size_t row_size = (size_t)t->tensor.shape[1] * element_size(t);
    uint8_t *bytes = device_tensor_get(t);
    uint8_t *rows = allocate_host((size_t)t->tensor.shape[0] * row_size);
    for (int64_t r = 0; r < t->tensor.shape[0]; r++) {
        uint8_t *row = bytes + (size_t)(r * t->tensor.strides[0]) * element_size(t);
        memcpy(rows + (size_t)r * row_size, row, row_size);
        memset(row, filling, row_size);
    }
    for (size_t i = 0; i < t->size; i++)
        if (bytes[i] != (uint8_t)filling)
            fail_msg("byte %zu lies in a gap and was written", i);
    free(bytes);
    return rows;
}

void device_tensor_free(struct device_tensor *t)
{
    device_free(harness_device(), t->memory);
    *t = (struct device_tensor){0};
}
