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
        &o->index_q,     &o->index_v, &o->index_k, &o->slot_mapping, &o->cache,   &o->block_table,
        &o->row_request, &o->row_len, &o->q_bytes, &o->q_scales,     &o->weights, &o->logits,
        &o->topk,        NULL,
    };
    for (struct placed_tensor *const *tensor = tensors; *tensor; tensor++)
        placed_tensor_free(*tensor, device);
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

/* What the steps of a run share. */
struct run {
    dsajit_context *context;
    struct device device;
    dsajit_indexer_format format;
    struct operands operands;
    struct tensor pages; /* the cache */
};

static const DLTensor *query_scales(const struct run *run)
{
    return run->format == DSAJIT_INDEXER_FP8 ? NULL : &run->operands.q_scales.tensor.view;
}

/* With the step's variant known; its time begins. */
static dsajit_status begin_step(const struct run *run, struct indexer_step *step,
                                dsajit_error *error)
{
    dsajit_status status = dsajit_prepare(run->context, step->variant.data, &step->kernel, error);
    step->run_ms = -stopwatch_ms();
    return status;
}

/* With the step's kernel enqueued. */
static dsajit_status end_step(const struct run *run, struct indexer_step *step, dsajit_error *error)
{
    dsajit_status status = device_synchronize(&run->device, error);
    step->run_ms += stopwatch_ms();
    return status;
}

static dsajit_status insert_keys(const struct run *run, struct indexer_step *step,
                                 dsajit_error *error)
{
    const dsajit_indexer_key_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_k = &run->operands.index_k.tensor.view,
        .slot_mapping = &run->operands.slot_mapping.tensor.view,
        .cache = &run->pages.view,
        .format = run->format,
    };
    dsajit_status status;
    if ((status = dsajit_indexer_key_variant(run->context, &arguments, &step->variant, error)) ||
        (status = begin_step(run, step, error)) ||
        (status = dsajit_indexer_key(run->context, &arguments, NULL, error)))
        return status;
    return end_step(run, step, error);
}

static dsajit_status quantise_queries(const struct run *run, struct indexer_step *step,
                                      dsajit_error *error)
{
    const dsajit_indexer_query_arguments arguments = {
        .struct_size = sizeof arguments,
        .index_q = &run->operands.index_q.tensor.view,
        .index_v = &run->operands.index_v.tensor.view,
        .q_bytes = &run->operands.q_bytes.tensor.view,
        .q_scales = query_scales(run),
        .weights = &run->operands.weights.tensor.view,
        .format = run->format,
    };
    dsajit_status status;
    if ((status = dsajit_indexer_query_variant(run->context, &arguments, &step->variant, error)) ||
        (status = begin_step(run, step, error)) ||
        (status = dsajit_indexer_query(run->context, &arguments, NULL, error)))
        return status;
    return end_step(run, step, error);
}

static dsajit_status score_keys(const struct run *run, struct indexer_step *step,
                                dsajit_error *error)
{
    const dsajit_indexer_score_arguments arguments = {
        .struct_size = sizeof arguments,
        .q = &run->operands.q_bytes.tensor.view,
        .q_scales = query_scales(run),
        .weights = &run->operands.weights.tensor.view,
        .weight_scale = 1,
        .logits = &run->operands.logits.tensor.view,
        .cache = &run->pages.view,
        .block_table = &run->operands.block_table.tensor.view,
        .ends = &run->operands.row_len.tensor.view,
        .row_requests = &run->operands.row_request.tensor.view,
        .format = run->format,
        .clean_logits = true,
    };
    dsajit_status status;
    if ((status = dsajit_indexer_score_variant(run->context, &arguments, &step->variant, error)) ||
        (status = begin_step(run, step, error)) ||
        (status = dsajit_indexer_score(run->context, &arguments, NULL, error)))
        return status;
    return end_step(run, step, error);
}

static dsajit_status select_keys(const struct run *run, struct indexer_step *step,
                                 dsajit_error *error)
{
    const dsajit_topk_arguments arguments = {
        .struct_size = sizeof arguments,
        .logits = &run->operands.logits.tensor.view,
        .ends = &run->operands.row_len.tensor.view,
        .ids = &run->operands.topk.tensor.view,
    };
    dsajit_status status;
    if ((status = dsajit_topk_variant(run->context, &arguments, &step->variant, error)) ||
        (status = begin_step(run, step, error)) ||
        (status = dsajit_topk(run->context, &arguments, NULL, error)))
        return status;
    return end_step(run, step, error);
}

static dsajit_status run_steps(const struct run *run, struct indexer_step steps[INDEXER_STEPS],
                               dsajit_error *error)
{
    dsajit_status (*const functions[INDEXER_STEPS])(
        const struct run *, struct indexer_step *, dsajit_error *) = {insert_keys, quantise_queries,
                                                                      score_keys, select_keys};
    dsajit_status status = DSAJIT_OK;
    for (int i = 0; !status && i < INDEXER_STEPS; i++)
        status = functions[i](run, &steps[i], error);
    return status;
}

static dsajit_status fetch_results(const struct run *run, struct indexer_execution *execution,
                                   dsajit_error *error)
{
    const bool fp8 = run->format == DSAJIT_INDEXER_FP8;
    const struct operands *o = &run->operands;
    void *data[6] = {0};
    const struct placed_tensor *const results[] = {
        &o->q_bytes, &o->weights, &o->cache, &o->logits, &o->topk, fp8 ? NULL : &o->q_scales, NULL};
    dsajit_status status = DSAJIT_OK;
    for (int i = 0; !status && results[i]; i++)
        status = placed_tensor_fetch(results[i], &run->device, &data[i], error);
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
    struct run run;
    memset(execution, 0, sizeof *execution);
    memset(&run, 0, sizeof run);
    run.context = context;
    run.format = (dsajit_indexer_format)problem->format;
    dsajit_status status = device_open(context, &run.device, error);
    if (status)
        return status;
    status = place_operands(&run.device, problem, &run.operands, error);
    view_pages(problem, &run.operands.cache, &run.pages);
    if (!status)
        status = run_steps(&run, execution->steps, error);
    if (!status)
        status = fetch_results(&run, execution, error);
    free_operands(&run.device, &run.operands);
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
