#include "harness.h"

#include "record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { OUT_CANARY = 0xa5, QUERY_CANARY = 0xff /* NaN as bf16 */, INDEX_CANARY = 0x7f };

static dsajit_context *context;
static struct device device;

static void print_warning(void *user, dsajit_log_level level, const char *message)
{
    (void)user;
    if (level <= DSAJIT_LOG_WARNING)
        print_message("dsajit: %s\n", message);
}

int harness_open_with(const dsajit_options *options)
{
    dsajit_error error;
    if (dsajit_open(options, &context, &error) || device_open(context, &device, &error)) {
        print_error("%s\n", error.message);
        return -1;
    }
    return 0;
}

int harness_open(void **state)
{
    (void)state;
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    options.device = DSAJIT_DEVICE_EMULATOR;
    options.log = print_warning;
    return harness_open_with(&options);
}

int harness_close(void **state)
{
    (void)state;
    dsajit_close(context);
    context = NULL;
    return 0;
}

dsajit_context *harness_context(void)
{
    return context;
}

const struct device *harness_device(void)
{
    return &device;
}

void assert_ok(dsajit_status status, const dsajit_error *error)
{
    if (status)
        fail_msg("%s: %s", dsajit_status_name(status), error->message);
}

void result_free(struct result *result)
{
    free(result->out);
    free(result->lse);
    *result = (struct result){0};
}

static void *allocate(size_t size)
{
    void *memory = malloc(size + 1);
    assert_non_null(memory);
    return memory;
}

/* Uploads host bytes to an allocation of just their size. */
static void *upload(const void *bytes, size_t size)
{
    void *memory;
    dsajit_error error = {0};
    assert_ok(device_allocate(&device, size, &memory, &error), &error);
    assert_ok(device_upload(&device, memory, bytes, size, &error), &error);
    return memory;
}

static void set_offset(struct tensor *tensor, void *memory, size_t offset,
                       const struct layout *layout)
{
    tensor->view.data = layout->offset_in_tensor ? memory : (uint8_t *)memory + offset;
    tensor->view.byte_offset = layout->offset_in_tensor ? offset : 0;
}

/* Bytes from the allocation's start to the end of the last element. */
static size_t span(const struct tensor *tensor, size_t offset)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->view.ndim; i++) {
        if (tensor->shape[i] == 0)
            return offset;
        last += (tensor->shape[i] - 1) * tensor->strides[i];
    }
    return offset + (size_t)(last + 1) * tensor->view.dtype.bits / 8;
}

void call_list_tensors(struct call *call, struct tensor *tensors[CALL_TENSORS])
{
    tensors[0] = &call->q;
    tensors[1] = &call->kv;
    tensors[2] = &call->indptr;
    tensors[3] = &call->indices;
    tensors[4] = &call->out;
    tensors[5] = &call->lse;
}

static void prepare_query(struct call *call, const struct problem *problem,
                          const struct layout *layout)
{
    struct tensor *q = &call->q;
    tensor_set(q, NULL, kDLBfloat, 16, 3,
               (int64_t[]){problem->tokens, problem->heads, RECORD_KEY_SIZE});
    q->strides[1] = RECORD_KEY_SIZE + layout->q_head_gap;
    q->strides[0] = problem->heads * q->strides[1] + layout->q_token_gap;
    const size_t size = span(q, layout->q_offset);
    uint8_t *bytes = allocate(size);
    memset(bytes, QUERY_CANARY, size);
    for (int64_t t = 0; t < problem->tokens; t++)
        for (int64_t h = 0; h < problem->heads; h++)
            memcpy(bytes + layout->q_offset + 2 * (t * q->strides[0] + h * q->strides[1]),
                   problem->q + (t * problem->heads + h) * RECORD_KEY_SIZE,
                   RECORD_KEY_SIZE * sizeof *problem->q);
    call->memory[0] = upload(bytes, size);
    set_offset(q, call->memory[0], layout->q_offset, layout);
    free(bytes);
}

static void prepare_cache(struct call *call, const struct problem *problem,
                          const struct layout *layout)
{
    const int rank = layout->kv_rank ? layout->kv_rank : 2;
    const int64_t block = layout->kv_block ? layout->kv_block : 1;
    int64_t shape[4] = {problem->slots, 1, 1, 1};
    if (rank == 3) {
        shape[0] = problem->slots / block;
        shape[1] = block;
    }
    shape[rank - 1] = DSAJIT_RECORD_BYTES;
    call->memory[1] = upload(problem->kv, (size_t)problem->slots * DSAJIT_RECORD_BYTES);
    tensor_set(&call->kv, call->memory[1], kDLUInt, 8, rank, shape);
    if (layout->kv_type.bits)
        call->kv.view.dtype = layout->kv_type;
}

static void prepare_integers(struct tensor *tensor, void **memory, int64_t count,
                             const int64_t *values, int bits, int64_t stride, size_t offset,
                             const struct layout *layout)
{
    bits = bits ? bits : 32;
    tensor_set(tensor, NULL, kDLInt, bits, 1, &count);
    tensor->strides[0] = stride ? stride : 1;
    const size_t size = span(tensor, offset);
    uint8_t *bytes = allocate(size);
    memset(bytes, INDEX_CANARY, size);
    for (int64_t i = 0; i < count; i++) {
        const int32_t narrow = (int32_t)values[i];
        uint8_t *to = bytes + offset + i * tensor->strides[0] * bits / 8;
        memcpy(to, bits == 64 ? (const void *)&values[i] : (const void *)&narrow, (size_t)bits / 8);
    }
    *memory = upload(bytes, size);
    set_offset(tensor, *memory, offset, layout);
    free(bytes);
}

static void prepare_results(struct call *call, const struct problem *problem,
                            const struct layout *layout)
{
    struct tensor *out = &call->out;
    const int64_t width = layout->out_width ? layout->out_width : DSAJIT_KV_LORA_RANK;
    tensor_set(out, NULL, kDLBfloat, 16, 3, (int64_t[]){problem->tokens, problem->heads, width});
    out->strides[1] = width + layout->out_head_gap;
    out->strides[0] = problem->heads * out->strides[1] + layout->out_token_gap;
    call->out_size = span(out, layout->out_offset);
    uint8_t *bytes = allocate(call->out_size);
    memset(bytes, OUT_CANARY, call->out_size);
    call->memory[4] = upload(bytes, call->out_size);
    set_offset(out, call->memory[4], layout->out_offset, layout);
    free(bytes);
    if (!layout->return_lse)
        return;
    dsajit_error error = {0};
    assert_ok(device_allocate(&device, (size_t)(problem->tokens * problem->heads) * sizeof(float),
                              &call->memory[5], &error),
              &error);
    tensor_set(&call->lse, call->memory[5], kDLFloat, 32, 2,
               (int64_t[]){problem->tokens, problem->heads});
}

void call_prepare(struct call *call, const struct problem *problem, const struct layout *layout)
{
    *call = (struct call){0};
    prepare_query(call, problem, layout);
    prepare_cache(call, problem, layout);
    prepare_integers(&call->indptr, &call->memory[2], problem->tokens + 1, problem->indptr,
                     layout->indptr_bits, layout->indptr_stride, layout->indptr_offset, layout);
    prepare_integers(&call->indices, &call->memory[3], problem->index_count, problem->indices,
                     layout->indices_bits, layout->indices_stride, layout->indices_offset, layout);
    prepare_results(call, problem, layout);
    call->arguments = (dsajit_sparse_mla_arguments){
        .struct_size = sizeof call->arguments,
        .q = &call->q.view,
        .kv = &call->kv.view,
        .kv_indptr = &call->indptr.view,
        .kv_indices = &call->indices.view,
        .out = &call->out.view,
        .lse = layout->return_lse ? &call->lse.view : NULL,
        .softmax_scale = problem->softmax_scale,
        .has_invalid = problem->has_invalid,
        .scale = layout->scale,
    };
}

/* Takes the rows out of the padded buffer and puts the canary in their place: nothing else may be
   left then. */
static void gather_output(const struct call *call, const struct problem *problem,
                          const struct layout *layout, uint8_t *bytes, uint16_t *out)
{
    const size_t row_size = DSAJIT_KV_LORA_RANK * sizeof *out;
    for (int64_t t = 0; t < problem->tokens; t++) {
        for (int64_t h = 0; h < problem->heads; h++) {
            uint8_t *row = bytes + layout->out_offset +
                           2 * (t * call->out.strides[0] + h * call->out.strides[1]);
            memcpy(out + (t * problem->heads + h) * DSAJIT_KV_LORA_RANK, row, row_size);
            memset(row, OUT_CANARY, row_size);
        }
    }
    for (size_t i = 0; i < call->out_size; i++)
        if (bytes[i] != OUT_CANARY)
            fail_msg("byte %zu of out's memory lies in a gap and was written", i);
}

void call_run(struct call *call, const struct problem *problem, const struct layout *layout,
              struct result *result)
{
    const size_t rows = (size_t)(problem->tokens * problem->heads);
    dsajit_error error = {0};
    assert_ok(dsajit_sparse_mla_forward(context, &call->arguments, NULL, &error), &error);
    assert_ok(device_synchronize(&device, &error), &error);
    uint8_t *bytes = allocate(call->out_size);
    assert_ok(device_download(&device, bytes, call->memory[4], call->out_size, &error), &error);
    *result = (struct result){.out = allocate(rows * DSAJIT_KV_LORA_RANK * sizeof *result->out)};
    gather_output(call, problem, layout, bytes, result->out);
    free(bytes);
    if (layout->return_lse) {
        result->lse = allocate(rows * sizeof *result->lse);
        assert_ok(device_download(&device, result->lse, call->memory[5], rows * sizeof *result->lse,
                                  &error),
                  &error);
    }
}

void call_free(struct call *call)
{
    for (size_t i = 0; i < CALL_TENSORS; i++)
        device_free(&device, call->memory[i]);
}

void harness_run(const struct problem *problem, const struct layout *layout, struct result *result)
{
    struct call call;
    call_prepare(&call, problem, layout);
    call_run(&call, problem, layout, result);
    call_free(&call);
}

void harness_make_problem(struct problem *problem, int64_t heads, int64_t tokens,
                          const int64_t *lengths, int64_t slots, double invalid,
                          dsajit_scale_format scale)
{
    int64_t longest = 0;
    for (int64_t t = 0; t < tokens; t++)
        longest = lengths[t] > longest ? lengths[t] : longest;
    const struct problem_shape shape = {.tokens = tokens,
                                        .heads = heads,
                                        .topk = longest,
                                        .slots = slots,
                                        .seed = (uint64_t)(heads * 1000 + tokens),
                                        .invalid = invalid,
                                        .scale = scale};
    dsajit_error error = {0};
    assert_ok(problem_create_random(&shape, problem, &error), &error);
    /* Rows move together; what is left over stays behind the list's end. */
    for (int64_t t = 0; t < tokens; t++) {
        memmove(problem->indices + problem->indptr[t], problem->indices + t * longest,
                (size_t)lengths[t] * sizeof *problem->indices);
        problem->indptr[t + 1] = problem->indptr[t] + lengths[t];
    }
    problem->index_count = problem->indptr[tokens];
}

void assert_right(const struct problem *problem, const struct result *result)
{
    struct reference reference;
    dsajit_error error = {0};
    assert_ok(reference_compute(problem, &reference, &error), &error);
    const struct comparison errors = comparison_make(problem, &reference, result->out, result->lse);
    reference_free(&reference);
    if (!comparison_within(&errors))
        fail_msg("out error %.3e (at most %.3e in one element), lse error %.3e, relative %.3e, "
                 "%lld of %lld empty rows wrong",
                 errors.out_relative, errors.out_max, errors.lse_max, errors.lse_relative,
                 (long long)errors.empty_rows_wrong, (long long)errors.empty_rows);
}

void assert_runs_right(const struct problem *problem, const struct layout *layout)
{
    struct result result;
    harness_run(problem, layout, &result);
    assert_right(problem, &result);
    result_free(&result);
}
