#include "operand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static size_t count_elements(const struct operand *operand)
{
    size_t count = 1;
    for (int i = 0; i < operand->tensor.view.ndim; i++)
        count *= (size_t)operand->tensor.shape[i];
    return count;
}

static size_t element_size(const struct operand *operand)
{
    return operand->tensor.view.dtype.bits / 8u;
}

size_t operand_elements_size(const struct operand *operand)
{
    return count_elements(operand) * element_size(operand);
}

/* Byte offset of an element by its number in row-major order. */
static size_t find_element(const struct operand *operand, size_t number)
{
    int64_t offset = 0;
    for (int i = operand->tensor.view.ndim - 1; i >= 0; i--) {
        const size_t extent = (size_t)operand->tensor.shape[i];
        offset += (int64_t)(number % extent) * operand->tensor.strides[i];
        number /= extent;
    }
    return (size_t)offset * element_size(operand);
}

static void set_strides(struct tensor *tensor, const struct operand_layout *layout)
{
    int64_t stride = 1;
    for (int i = layout->rank - 1; i >= 0; i--) {
        tensor->strides[i] = layout->strides[i] ? layout->strides[i] : stride;
        stride = tensor->strides[i] * layout->shape[i];
    }
}

static void *allocate_host(size_t size)
{
    void *memory = malloc(size + 1);
    assert_non_null(memory);
    return memory;
}

void operand_create(struct operand *operand, const struct operand_layout *layout,
                    const void *elements)
{
    tensor_set(&operand->tensor, NULL, layout->code, layout->bits, layout->rank, layout->shape);
    set_strides(&operand->tensor, layout);
    const size_t count = count_elements(operand), bytes = element_size(operand);
    operand->size = count ? find_element(operand, count - 1) + bytes : 0;
    uint8_t *host = allocate_host(operand->size);
    memset(host, OPERAND_FILLER, operand->size);
    for (size_t i = 0; elements && i < count; i++)
        memcpy(host + find_element(operand, i), (const uint8_t *)elements + i * bytes, bytes);
    dsajit_error error = {0};
    assert_ok(device_allocate(harness_device(), operand->size, &operand->memory, &error), &error);
    assert_ok(device_upload(harness_device(), operand->memory, host, operand->size, &error),
              &error);
    operand->tensor.view.data = operand->memory;
    free(host);
}

void operand_create_plain(struct operand *operand, DLDataTypeCode code, int bits, int rank,
                          const int64_t *shape, const void *elements)
{
    struct operand_layout layout = {.code = code, .bits = bits, .rank = rank};
    memcpy(layout.shape, shape, (size_t)rank * sizeof *shape);
    operand_create(operand, &layout, elements);
}

void operand_free(struct operand *operand)
{
    device_free(harness_device(), operand->memory);
}

void operand_read(const struct operand *operand, void *elements)
{
    const size_t count = count_elements(operand), bytes = element_size(operand);
    uint8_t *host = allocate_host(operand->size);
    dsajit_error error = {0};
    assert_ok(device_download(harness_device(), host, operand->memory, operand->size, &error),
              &error);
    for (size_t i = 0; i < count; i++) {
        uint8_t *element = host + find_element(operand, i);
        memcpy((uint8_t *)elements + i * bytes, element, bytes);
        memset(element, OPERAND_FILLER, bytes);
    }
    for (size_t i = 0; i < operand->size; i++)
        if (host[i] != OPERAND_FILLER)
            fail_msg("byte %zu lies in a gap and was written", i);
    free(host);
}

void *operand_take(const struct operand *operand)
{
    void *elements = allocate_host(operand_elements_size(operand));
    operand_read(operand, elements);
    return elements;
}

void operand_wait(void)
{
    dsajit_error error = {0};
    assert_ok(device_synchronize(harness_device(), &error), &error);
}
