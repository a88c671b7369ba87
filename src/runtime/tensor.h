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

/* tensor_check and more: a list of i32, of `length` unless that is ANY_EXTENT, without gaps. */
dsajit_status tensor_check_list(struct named_tensor named, int64_t length, int device,
                                dsajit_error *error);
enum { ANY_EXTENT = -1 };

/* The same for a list of i32 or i64, of any length and stride. */
dsajit_status tensor_check_integers(struct named_tensor named, int device, dsajit_error *error);

/* The checks below are for tensors that passed tensor_check. */

/* The extents are `wanted`'s; ANY_EXTENT is not looked at. */
dsajit_status tensor_check_shape(struct named_tensor named, const int64_t *wanted,
                                 dsajit_error *error);

/* Elements of the last dimension lie side by side, and the other strides are multiples of
   `granule` elements. */
dsajit_status tensor_check_rows(struct named_tensor named, int64_t granule, dsajit_error *error);

/* Row-major without gaps; where an extent is 1 any stride will do. */
dsajit_status tensor_check_contiguous(struct named_tensor named, dsajit_error *error);

/* A paged cache [pages, tokens, bytes]: no gap inside a page; pages may have any between them, but
   do not overlap and start at multiples of `granule` bytes. */
dsajit_status tensor_check_pages(struct named_tensor named, int64_t granule, dsajit_error *error);

/* UNSUPPORTED: what an extent or a stride is, and what is served. */
dsajit_status tensor_refuse_shape(struct named_tensor named, int dimension, const char *served,
                                  dsajit_error *error);
dsajit_status tensor_refuse_stride(struct named_tensor named, int dimension, const char *served,
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
