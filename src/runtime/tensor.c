#include "runtime/tensor.h"

#include <stdio.h>

bool tensor_is_empty(const DLTensor *tensor)
{
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] == 0)
            return true;
    return false;
}

int64_t tensor_stride(const DLTensor *tensor, int dimension)
{
    if (tensor->strides)
        return tensor->strides[dimension];
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i > dimension; i--)
        if (__builtin_mul_overflow(stride, tensor->shape[i], &stride))
            return -1; /* no such tensor exists; every caller refuses it */
    return stride;
}

static void describe_type(DLDataType type, char text[32])
{
    static const char *const letters[] = {
        [kDLInt] = "i", [kDLUInt] = "u", [kDLFloat] = "f", [kDLBfloat] = "bf"};
    const char *letter = type.code < sizeof letters / sizeof *letters ? letters[type.code] : NULL;
    if (letter && type.lanes == 1)
        snprintf(text, 32, "%s%d", letter, type.bits);
    else
        snprintf(text, 32, "DLPack type (%d, %d, %d)", type.code, type.bits, type.lanes);
}

static dsajit_status check_type(struct named_tensor named, const struct tensor_rule *rule,
                                dsajit_error *error)
{
    DLDataType type = named.tensor->dtype;
    bool code = rule->code == ANY_TYPE_CODE || type.code == rule->code;
    bool bits =
        type.bits == rule->bits || (rule->bits_alternative && type.bits == rule->bits_alternative);
    if (code && bits && type.lanes == 1)
        return DSAJIT_OK;
    char had[32], wanted[32], alternative[32];
    describe_type(type, had);
    if (rule->code == ANY_TYPE_CODE)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s is %s; a type of %d bits is served",
                         named.name, had, rule->bits);
    describe_type((DLDataType){rule->code, rule->bits, 1}, wanted);
    describe_type((DLDataType){rule->code, rule->bits_alternative, 1}, alternative);
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s is %s; %s%s%s is served", named.name, had,
                     wanted, rule->bits_alternative ? " or " : "",
                     rule->bits_alternative ? alternative : "");
}

dsajit_status tensor_check(struct named_tensor named, const struct tensor_rule *rule, int device,
                           dsajit_error *error)
{
    const DLTensor *tensor = named.tensor;
    if (!tensor)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", named.name);
    if (tensor->device.device_type != kDLROCM || tensor->device.device_id != device)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "%s is on DLPack device (%d, %d); ROCm device (%d, %d) is served, which "
                         "the call's first tensor is on",
                         named.name, (int)tensor->device.device_type, tensor->device.device_id,
                         (int)kDLROCM, device);
    if (tensor->ndim < rule->ranks_min || tensor->ndim > rule->ranks_max)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "%s has %d dimensions; %d to %d are served", named.name, tensor->ndim,
                         rule->ranks_min, rule->ranks_max);
    if (!tensor->shape)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s.shape is NULL", named.name);
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] < 0)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s.shape[%d] is %lld",
                             named.name, i, (long long)tensor->shape[i]);
    dsajit_status status = check_type(named, rule, error);
    if (status)
        return status;
    if (!tensor->data && !tensor_is_empty(tensor))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s.data is NULL", named.name);
    if ((uintptr_t)tensor_data(tensor) % rule->alignment)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "%s starts at %p; an address that %u divides is served", named.name,
                         tensor_data(tensor), rule->alignment);
    return DSAJIT_OK;
}

dsajit_status tensor_refuse_shape(struct named_tensor named, int dimension, const char *served,
                                  dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s.shape[%d] is %lld; %s is served",
                     named.name, dimension, (long long)named.tensor->shape[dimension], served);
}

dsajit_status tensor_refuse_stride(struct named_tensor named, int dimension, const char *served,
                                   dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s.strides[%d] is %lld; %s is served",
                     named.name, dimension, (long long)tensor_stride(named.tensor, dimension),
                     served);
}

dsajit_status tensor_check_shape(struct named_tensor named, const int64_t *wanted,
                                 dsajit_error *error)
{
    for (int i = 0; i < named.tensor->ndim; i++) {
        if (wanted[i] == ANY_EXTENT || wanted[i] == named.tensor->shape[i])
            continue;
        char served[32];
        snprintf(served, sizeof served, "%lld", (long long)wanted[i]);
        return tensor_refuse_shape(named, i, served, error);
    }
    return DSAJIT_OK;
}

/* Any multiple of 1 will do; of more, the message says. */
static dsajit_status check_granule(struct named_tensor named, int dimension, int64_t granule,
                                   dsajit_error *error)
{
    if (tensor_stride(named.tensor, dimension) % granule == 0)
        return DSAJIT_OK;
    char served[32];
    snprintf(served, sizeof served, "a multiple of %lld", (long long)granule);
    return tensor_refuse_stride(named, dimension, served, error);
}

dsajit_status tensor_check_rows(struct named_tensor named, int64_t granule, dsajit_error *error)
{
    int last = named.tensor->ndim - 1;
    if (named.tensor->shape[last] > 1 && tensor_stride(named.tensor, last) != 1)
        return tensor_refuse_stride(named, last, "1", error);
    dsajit_status status = DSAJIT_OK;
    for (int i = 0; i < last && !status; i++)
        status = check_granule(named, i, granule, error);
    return status;
}

dsajit_status tensor_check_contiguous(struct named_tensor named, dsajit_error *error)
{
    const DLTensor *tensor = named.tensor;
    if (tensor_is_empty(tensor))
        return DSAJIT_OK;
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] > 1 && tensor_stride(tensor, i) != stride) {
            char served[64];
            snprintf(served, sizeof served, "%lld (no gaps)", (long long)stride);
            return tensor_refuse_stride(named, i, served, error);
        }
        if (__builtin_mul_overflow(stride, tensor->shape[i], &stride))
            return tensor_refuse_shape(named, i, "a tensor that fits in memory", error);
    }
    return DSAJIT_OK;
}

dsajit_status tensor_check_pages(struct named_tensor named, int64_t granule, dsajit_error *error)
{
    const DLTensor *tensor = named.tensor;
    int64_t page;
    if (__builtin_mul_overflow(tensor->shape[1], tensor->shape[2], &page))
        return tensor_refuse_shape(named, 1, "a tensor that fits in memory", error);
    if (tensor_stride(tensor, 2) != 1)
        return tensor_refuse_stride(named, 2, "1", error);
    if (tensor->shape[1] > 1 && tensor_stride(tensor, 1) != tensor->shape[2])
        return tensor_refuse_stride(named, 1, "shape[2]", error);
    if (tensor->shape[0] <= 1)
        return DSAJIT_OK;
    if (tensor_stride(tensor, 0) < page)
        return tensor_refuse_stride(named, 0, "shape[1] * shape[2] or more", error);
    return check_granule(named, 0, granule, error);
}

dsajit_status tensor_check_list(struct named_tensor named, int64_t length, int device,
                                dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, kDLInt, 32, 0, 4};
    dsajit_status status = tensor_check(named, &rule, device, error);
    if (!status)
        status = tensor_check_shape(named, &length, error);
    return status ? status : tensor_check_contiguous(named, error);
}

dsajit_status tensor_check_integers(struct named_tensor named, int device, dsajit_error *error)
{
    struct tensor_rule rule = {1, 1, kDLInt, 32, 64, 1};
    if (named.tensor)
        rule.alignment = named.tensor->dtype.bits == 64 ? 8 : 4;
    return tensor_check(named, &rule, device, error);
}
