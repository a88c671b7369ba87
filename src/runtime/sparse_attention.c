#include "dsajit/attention.h"

#include "runtime/indexer_forward.h"
#include "runtime/kernel_calls.h"

#include <string.h>

/* The parts' structs are there and of this version. */
static dsajit_status check_structs(const dsajit_sparse_attention_arguments *a, dsajit_error *error)
{
    const struct {
        const char *name;
        const void *part; /* starts with its size */
        size_t size;
        bool optional;
    } parts[] = {
        {"cache_write", a->cache_write, sizeof *a->cache_write, true},
        {"indexer", a->indexer, sizeof *a->indexer, false},
        {"attention", a->attention, sizeof *a->attention, false},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].part && parts[i].optional)
            continue;
        if (!parts[i].part)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", parts[i].name);
        size_t size;
        memcpy(&size, parts[i].part, sizeof size);
        if (size != parts[i].size)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s.struct_size is %zu, not %zu",
                             parts[i].name, size, parts[i].size);
    }
    return DSAJIT_OK;
}

/* Looks at the caches before their kernels' calls check them: without pages in one, it is a dummy
   run. */
static dsajit_status check_caches(const dsajit_sparse_attention_arguments *a, int device,
                                  bool *is_dummy, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 4, ANY_TYPE_CODE, 8, 0, 4};
    const struct named_tensor caches[] = {
        {"attention.kv", a->attention->kv},
        {"indexer.cache", a->indexer->cache},
        {"cache_write.cache", a->cache_write ? a->cache_write->cache : NULL},
    };
    *is_dummy = false;
    for (int i = 0; i < (a->cache_write ? 3 : 2); i++) {
        dsajit_status status = tensor_check(caches[i], &rule, device, error);
        if (status)
            return status;
        *is_dummy |= tensor_is_empty(caches[i].tensor);
    }
    return DSAJIT_OK;
}

static dsajit_status check_lists(const dsajit_sparse_attention_arguments *a, dsajit_error *error)
{
    if (!a->indexer->kv_indptr)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "indexer.kv_indptr is NULL");
    if (a->attention->kv_indptr || a->attention->kv_indices)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "attention.%s is given; the indexer's lists are attended",
                         a->attention->kv_indptr ? "kv_indptr" : "kv_indices");
    return DSAJIT_OK;
}

/* The lists may name any slot of the pages; each must be a record. After all else passed, and,
   being part of the first pass too, before anything is enqueued. */
static dsajit_status check_slots(const dsajit_sparse_attention_arguments *a, dsajit_error *error)
{
    const dsajit_indexer_arguments *indexer = a->indexer;
    const DLTensor *kv = a->attention->kv;
    int64_t records = 1;
    for (int i = 0; i < kv->ndim - 1; i++)
        records *= kv->shape[i];
    const int64_t pitch =
        indexer->kv_rows_per_page ? indexer->kv_rows_per_page : indexer->kv_page_tokens;
    const int64_t slots =
        indexer->kv_pages ? (indexer->kv_pages - 1) * pitch + indexer->kv_page_tokens : 0;
    if (slots > records)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "attention.kv has %lld records; indexer.kv_pages, kv_page_tokens and "
                         "kv_rows_per_page tell of %lld slots",
                         (long long)records, (long long)slots);
    return DSAJIT_OK;
}

static dsajit_status make(struct sequence *sequence, const void *arguments, dsajit_error *error)
{
    const dsajit_sparse_attention_arguments *a = arguments;
    int device;
    dsajit_status status = call_check_struct(sequence->context, a, sizeof *a, error);
    if (status || (status = check_structs(a, error)))
        return status;
    const struct named_tensor kv = {"attention.kv", a->attention->kv};
    if ((status = call_find_device(sequence->context, kv, &device, error)) ||
        (status = check_caches(a, device, &sequence->is_dummy, error)) ||
        (status = check_lists(a, error)))
        return status;
    if (a->cache_write && (status = sequence_step(sequence, "mla_cache_write",
                                                  mla_cache_write_prepare, a->cache_write, error)))
        return status;
    if ((status = indexer_forward_make(sequence, a->indexer, error)))
        return status;
    dsajit_sparse_mla_arguments attention = *a->attention;
    attention.kv_indptr = a->indexer->kv_indptr;
    attention.kv_indices = a->indexer->kv_indices;
    if ((status = sequence_step(sequence, "sparse_mla", sparse_mla_prepare, &attention, error)))
        return status;
    return check_slots(a, error);
}

dsajit_status dsajit_sparse_attention_supported(const dsajit_context *context,
                                                const dsajit_sparse_attention_arguments *arguments,
                                                dsajit_error *error)
{
    return sequence_supported(context, make, arguments, error);
}

dsajit_status dsajit_plan_add_sparse_attention(dsajit_plan *plan, const dsajit_context *context,
                                               const dsajit_sparse_attention_arguments *arguments,
                                               dsajit_error *error)
{
    return sequence_plan(context, make, arguments, plan, error);
}

dsajit_status dsajit_sparse_attention(dsajit_context *context,
                                      const dsajit_sparse_attention_arguments *arguments,
                                      void *stream, dsajit_error *error)
{
    return sequence_enqueue(context, make, arguments, stream, error);
}
