#include "indexer_execution.h"

#include "failure.h"
#include "placed_tensor.h"
#include "raw_file.h"
#include "stopwatch.h"

#include <dsajit/indexer_score.h>
#include <dsajit/topk.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE };

void indexer_execution_free(struct indexer_execution *execution)
{
    for (int i = 0; i < INDEXER_STEPS; i++)
        dsajit_text_free(&execution->steps[i].variant);
    free(execution->q_bytes);
    free(execution->q_scales);
    free(execution->weights);
    free(execution->cache);
    free(execution->logits);
    free(execution->topk_ids);
    memset(execution, 0, sizeof *execution);
}

/* The case's tensors on the device. */
struct operands {
    struct placed_tensor index_q, index_v, index_k, slot_mapping, cache, block_table, row_request,
        row_len, q_bytes, q_scales, weights, logits, topk;
};

static dsajit_status place_operands(const struct device *device, const struct indexer_case *c,
                                    struct operands *o, dsajit_error *error)
{
    const int64_t D = DSAJIT_INDEX_HEAD_DIM, row_bytes = indexer_case_row_bytes(c);
    const struct {
        struct placed_tensor *tensor;
        DLDataTypeCode code;
        int bits, rank;
        int64_t shape[3];
        const void *data;
    } tensors[] = {
        {&o->index_q, kDLBfloat, 16, 3, {c->rows, c->heads, D}, c->index_q},
        {&o->index_v, kDLBfloat, 16, 2, {c->rows, c->heads}, c->index_v},
        {&o->index_k, kDLBfloat, 16, 2, {c->keys, D}, c->index_k},
        {&o->slot_mapping, kDLInt, 64, 1, {c->keys}, c->slot_mapping},
        {&o->cache, kDLUInt, 8, 2, {c->pages, c->page_stride}, c->cache_before},
        {&o->block_table, kDLInt, 32, 2, {c->requests, c->blocks}, c->block_table},
        {&o->row_request, kDLInt, 32, 1, {c->rows}, c->row_request},
        {&o->row_len, kDLInt, 32, 1, {c->rows}, c->row_len},
        {&o->q_bytes, kDLUInt, 8, 3, {c->rows, c->heads, row_bytes}, NULL},
        {&o->q_scales, kDLUInt, 8, 3, {c->rows, c->heads, GROUPS}, NULL},
        {&o->weights, kDLFloat, 32, 2, {c->rows, c->heads}, NULL},
        {&o->logits, kDLFloat, 32, 2, {c->rows, c->max_context}, NULL},
        {&o->topk, kDLInt, 32, 2, {c->rows, c->topk}, NULL},
    };
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < sizeof tensors / sizeof *tensors; i++)
        status = placed_tensor_create(tensors[i].tensor, device, tensors[i].code, tensors[i].bits,
                                      tensors[i].rank, tensors[i].shape, tensors[i].data, error);
    return status;
}

static void free_operands(const struct device *device, struct operands *o)
{
    struct placed_tensor *const tensors[] = {
        &o->index_q,     &o->index_v,     &o->index_k, &o->slot_mapping, &o->cache,
        &o->block_table, &o->row_request, &o->row_len, &o->q_bytes,      &o->q_scales,
        &o->weights,     &o->logits,      &o->topk,
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        placed_tensor_free(tensors[i], device);
}

/* The cache as [pages, page tokens, bytes of a token], pages page_stride apart. */
static void view_pages(const struct indexer_case *c, const struct placed_tensor *cache,
                       struct tensor *pages)
{
    const int64_t token_bytes = indexer_case_row_bytes(c) + GROUPS;
    tensor_set(pages, cache->memory, kDLUInt, 8, 3,
               (const int64_t[]){c->pages, c->page_tokens, token_bytes});
    pages->strides[0] = c->page_stride;
}

/* Declares run_NAME(), which runs the kernel of dsajit_NAME and fills a step with its account. */
#define STEP(name)                                                                                 \
    static dsajit_status run_##name(dsajit_context *context, const struct device *device,          \
                                    const dsajit_##name##_arguments *arguments,                    \
                                    struct indexer_step *step, dsajit_error *error)                \
    {                                                                                              \
        dsajit_status status = dsajit_##name##_variant(context, arguments, &step->variant, error); \
        if (!status)                                                                               \
            status = dsajit_prepare(context, step->variant.data, &step->kernel, error);            \
        const double start = stopwatch_ms();                                                       \
        if (!status)                                                                               \
            status = dsajit_##name(context, arguments, NULL, error);                               \
        if (!status)                                                                               \
            status = device_synchronize(device, error);                                            \
        step->run_ms = stopwatch_ms() - start;                                                     \
        return status;                                                                             \
    }
STEP(indexer_key)
STEP(indexer_query)
STEP(indexer_score)
STEP(topk)
#undef STEP

static dsajit_status run_steps(dsajit_context *context, const struct device *device,
                               const struct indexer_case *c, struct operands *o,
                               struct indexer_step *steps, dsajit_error *error)
{
    const dsajit_indexer_format format = (dsajit_indexer_format)c->format;
    const DLTensor *q_scales = format == DSAJIT_INDEXER_FP8 ? NULL : &o->q_scales.tensor.view;
    struct tensor pages;
    view_pages(c, &o->cache, &pages);
    const dsajit_indexer_key_arguments key = {
        .struct_size = sizeof key,
        .index_k = &o->index_k.tensor.view,
        .slot_mapping = &o->slot_mapping.tensor.view,
        .cache = &pages.view,
        .format = format,
    };
    const dsajit_indexer_query_arguments query = {
        .struct_size = sizeof query,
        .index_q = &o->index_q.tensor.view,
        .index_v = &o->index_v.tensor.view,
        .q_bytes = &o->q_bytes.tensor.view,
        .q_scales = q_scales,
        .weights = &o->weights.tensor.view,
        .format = format,
    };
    const dsajit_indexer_score_arguments score = {
        .struct_size = sizeof score,
        .q = &o->q_bytes.tensor.view,
        .q_scales = q_scales,
        .weights = &o->weights.tensor.view,
        .weight_scale = 1,
        .logits = &o->logits.tensor.view,
        .cache = &pages.view,
        .block_table = &o->block_table.tensor.view,
        .ends = &o->row_len.tensor.view,
        .row_requests = &o->row_request.tensor.view,
        .format = format,
        .clean_logits = true,
    };
    const dsajit_topk_arguments topk = {
        .struct_size = sizeof topk,
        .logits = &o->logits.tensor.view,
        .ends = &o->row_len.tensor.view,
        .ids = &o->topk.tensor.view,
    };
    dsajit_status status = run_indexer_key(context, device, &key, &steps[0], error);
    if (!status)
        status = run_indexer_query(context, device, &query, &steps[1], error);
    if (!status)
        status = run_indexer_score(context, device, &score, &steps[2], error);
    return status ? status : run_topk(context, device, &topk, &steps[3], error);
}

static dsajit_status fetch_results(const struct device *device, const struct indexer_case *c,
                                   const struct operands *o, struct indexer_execution *execution,
                                   dsajit_error *error)
{
    const bool fp8 = c->format == DSAJIT_INDEXER_FP8;
    void *data[6] = {0};
    const struct placed_tensor *const results[] = {
        &o->q_bytes, &o->weights, &o->cache, &o->logits, &o->topk, fp8 ? NULL : &o->q_scales};
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < sizeof results / sizeof *results; i++)
        if (results[i])
            status = placed_tensor_fetch(results[i], device, &data[i], error);
    execution->q_bytes = data[0];
    execution->weights = data[1];
    execution->cache = data[2];
    execution->logits = data[3];
    execution->topk_ids = data[4];
    execution->q_scales = data[5];
    return status;
}

dsajit_status indexer_execution_run(dsajit_context *context, const struct indexer_case *problem,
                                    struct indexer_execution *execution, dsajit_error *error)
{
    struct device device;
    struct operands operands;
    memset(execution, 0, sizeof *execution);
    memset(&operands, 0, sizeof operands);
    dsajit_status status = device_open(context, &device, error);
    if (status)
        return status;
    status = place_operands(&device, problem, &operands, error);
    if (!status)
        status = run_steps(context, &device, problem, &operands, execution->steps, error);
    if (!status)
        status = fetch_results(&device, problem, &operands, execution, error);
    free_operands(&device, &operands);
    if (status)
        indexer_execution_free(execution);
    return status;
}

dsajit_status indexer_execution_write(const char *directory, const struct indexer_case *c,
                                      const struct indexer_execution *execution,
                                      dsajit_error *error)
{
    const size_t rows = (size_t)c->rows, queries = (size_t)(c->rows * c->heads);
    const bool fp8 = c->format == DSAJIT_INDEXER_FP8;
    const struct {
        const char *name;
        const void *data;
        size_t size;
        bool wanted;
    } files[] = {
        {"q_bytes.u8.bin", execution->q_bytes, queries * (size_t)indexer_case_row_bytes(c), true},
        {"q_scales.u8.bin", execution->q_scales, queries * GROUPS, !fp8},
        {"weights.f32.bin", execution->weights, queries * sizeof(float), fp8},
        {"cache.u8.bin", execution->cache, (size_t)(c->pages * c->page_stride), true},
        {"logits.f32.bin", execution->logits, rows * (size_t)c->max_context * sizeof(float), true},
        {"topk.i32.bin", execution->topk_ids, rows * (size_t)c->topk * sizeof(int32_t), true},
    };
    dsajit_status status = raw_file_make_folder(directory, error);
    for (size_t i = 0; !status && i < sizeof files / sizeof *files; i++)
        if (files[i].wanted)
            status = raw_file_write(directory, files[i].name, files[i].data, files[i].size, error);
    return status;
}
