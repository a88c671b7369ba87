#include "runtime/insertion.h"

dsajit_status insertion_check_slots(const DLTensor *slot_mapping, int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, kDLInt, 64, 0, 8};
    const struct named_tensor named = {"slot_mapping", slot_mapping};
    dsajit_status status = tensor_check(named, &rule, device, error);
    return status ? status : tensor_check_contiguous(named, error);
}

dsajit_status insertion_check_rows(struct named_tensor rows, int64_t tokens, int64_t width,
                                   int device, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, kDLBfloat, 16, 0, 4};
    dsajit_status status = tensor_check(rows, &rule, device, error);
    if (status ||
        (status = tensor_check_shape(rows, (const int64_t[]){ANY_EXTENT, width}, error)) ||
        (status = tensor_check_rows(rows, 2, error)))
        return status;
    if (rows.tensor->shape[0] < tokens)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s has %lld rows; slot_mapping has %lld tokens", rows.name,
                         (long long)rows.tensor->shape[0], (long long)tokens);
    return DSAJIT_OK;
}

dsajit_status insertion_check_cache(const DLTensor *cache, int64_t token_bytes, uint32_t alignment,
                                    int device, dsajit_error *error)
{
    const struct tensor_rule rule = {3, 3, ANY_TYPE_CODE, 8, 0, alignment};
    const struct named_tensor named = {"cache", cache};
    dsajit_status status = tensor_check(named, &rule, device, error);
    if (status || (status = tensor_check_shape(
                       named, (const int64_t[]){ANY_EXTENT, ANY_EXTENT, token_bytes}, error)))
        return status;
    return tensor_check_pages(named, alignment, error);
}
