/* Looking at DLPack tensors: every check says which argument, what it was and what is served. */
#ifndef RUNTIME_TENSOR_H
#define RUNTIME_TENSOR_H

#include "base/error.h"
#include "dsajit/dsajit.h"

/* A tensor with its argument's name, for the messages. */
struct named_tensor {
    const char *name;
    const DLTensor *tensor;
};

/* What a caller's tensor must be, before its shape is looked at. */
struct tensor_rule {
    int ranks_min, ranks_max;
    uint8_t code;                   /* DLDataTypeCode, or ANY_TYPE_CODE */
    uint8_t bits, bits_alternative; /* the second 0: none */
    uint32_t alignment;             /* bytes, of the first element */
};
enum { ANY_TYPE_CODE = 0xff };

/* Present, not negative in any extent, of the rule's rank and type, aligned, with data if it has
   elements, and on ROCm device `device`. */
dsajit_status tensor_check(struct named_tensor named, const struct tensor_rule *rule, int device,
                           dsajit_error *error);

/* The stride of a dimension in elements; row-major where the tensor gives none. */
int64_t tensor_stride(const DLTensor *tensor, int dimension);

bool tensor_is_empty(const DLTensor *tensor);

/* Address of the first element. */
static inline void *tensor_data(const DLTensor *tensor)
{
    return tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
}

#endif
