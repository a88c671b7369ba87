#include "execution.h"

#include "device.h"
#include "failure.h"
#include "record.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void execution_free(struct execution *execution)
{
    dsajit_text_free(&execution->variant);
    free(execution->out);
    free(execution->lse);
    *execution = (struct execution){0};
}

/* A problem's tensors on the device. */
struct operands {
    struct tensor q, kv, indptr, indices, out, lse;
    void *memory[6]; /* one allocation a tensor, in the order above */
};

/* Allocates a row-major tensor; `data` (may be NULL) is what goes in. */
static dsajit_status place(const struct device *device, struct tensor *tensor, void **memory,
                           DLDataTypeCode code, int bits, int rank, const int64_t *shape,
                           const void *data, dsajit_error *error)
{
    size_t size = (size_t)bits / 8;
    for (int i = 0; i < rank; i++)
        size *= (size_t)shape[i];
    dsajit_status status = device_allocate(device, size, memory, error);
    if (!status && data)
        status = device_upload(device, *memory, data, size, error);
    tensor_set(tensor, *memory, code, bits, rank, shape);
    return status;
}

/* As place, for integers that are narrowed where 32 bits are asked for. */
static dsajit_status place_integers(const struct device *device, struct tensor *tensor,
                                    void **memory, int bits, int64_t count, const int64_t *values,
                                    dsajit_error *error)
{
    if (bits == 64)
        return place(device, tensor, memory, kDLInt, 64, 1, &count, values, error);
    int32_t *narrow = malloc((size_t)(count + 1) * sizeof *narrow);
    if (!narrow)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the indices");
    for (int64_t i = 0; i < count; i++)
        narrow[i] = (int32_t)values[i];
    dsajit_status status = place(device, tensor, memory, kDLInt, 32, 1, &count, narrow, error);
    free(narrow);
    return status;
}

static dsajit_status place_operands(const struct device *device, const struct problem *problem,
                                    const struct execution_options *options,
                                    struct operands *operands, dsajit_error *error)
{
    const int64_t T = problem->tokens, H = problem->heads;
    dsajit_status status = place(device, &operands->q, &operands->memory[0], kDLBfloat, 16, 3,
                                 (int64_t[]){T, H, RECORD_KEY_SIZE}, problem->q, error);
    if (!status)
        status = place(device, &operands->kv, &operands->memory[1], kDLUInt, 8, 2,
                       (int64_t[]){problem->slots, DSAJIT_RECORD_BYTES}, problem->kv, error);
    if (!status)
        status = place_integers(device, &operands->indptr, &operands->memory[2],
                                options->index_bits, T + 1, problem->indptr, error);
    if (!status)
        status = place_integers(device, &operands->indices, &operands->memory[3],
                                options->index_bits, problem->index_count, problem->indices, error);
    if (!status)
        status = place(device, &operands->out, &operands->memory[4], kDLBfloat, 16, 3,
                       (int64_t[]){T, H, DSAJIT_KV_LORA_RANK}, NULL, error);
    if (!status && options->return_lse)
        status = place(device, &operands->lse, &operands->memory[5], kDLFloat, 32, 2,
                       (int64_t[]){T, H}, NULL, error);
    return status;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* One launch, from the call until the device is idle. */
static dsajit_status launch(dsajit_context *context, const struct device *device,
                            const dsajit_sparse_mla_arguments *arguments, double *milliseconds,
                            dsajit_error *error)
{
    const double start = now_ms();
    dsajit_status status = dsajit_sparse_mla_forward(context, arguments, NULL, error);
    if (!status)
        status = device_synchronize(device, error);
    *milliseconds = now_ms() - start;
    return status;
}

/* The same call for the first token alone and without an index: costs nothing but loading the
   kernel, and what it writes is overwritten. */
static dsajit_status load(dsajit_context *context, const struct device *device,
                          const dsajit_sparse_mla_arguments *arguments, double *milliseconds,
                          dsajit_error *error)
{
    int64_t one = 1, two = 2, none = 0, all_the_same = 0;
    int64_t q_shape[] = {1, arguments->q->shape[1], arguments->q->shape[2]};
    int64_t out_shape[] = {1, arguments->out->shape[1], arguments->out->shape[2]};
    int64_t lse_shape[] = {one, q_shape[1]};
    DLTensor q = *arguments->q, indptr = *arguments->kv_indptr, indices = *arguments->kv_indices,
             out = *arguments->out, lse;
    q.shape = q_shape;
    indptr.shape = &two;
    indptr.strides = &all_the_same;
    indices.shape = &none;
    out.shape = out_shape;
    dsajit_sparse_mla_arguments empty = *arguments;
    empty.q = &q;
    empty.kv_indptr = &indptr;
    empty.kv_indices = &indices;
    empty.out = &out;
    if (arguments->lse) {
        lse = *arguments->lse;
        lse.shape = lse_shape;
        empty.lse = &lse;
    }
    return launch(context, device, &empty, milliseconds, error);
}

static dsajit_status run(dsajit_context *context, const struct device *device,
                         const dsajit_sparse_mla_arguments *arguments, int repeat,
                         struct execution *execution, dsajit_error *error)
{
    dsajit_status status =
        dsajit_sparse_mla_variant(context, arguments, &execution->variant, error);
    if (!status)
        status = dsajit_prepare(context, execution->variant.data, &execution->kernel, error);
    if (!status && arguments->q->shape[0] > 0)
        status = load(context, device, arguments, &execution->load_ms, error);
    for (int i = 0; !status && i < repeat; i++) {
        double milliseconds;
        status = launch(context, device, arguments, &milliseconds, error);
        if (i == 0 || milliseconds < execution->run_ms)
            execution->run_ms = milliseconds;
    }
    return status;
}

static dsajit_status fetch(const struct device *device, const struct operands *operands,
                           size_t rows, bool with_lse, struct execution *execution,
                           dsajit_error *error)
{
    const size_t out_size = rows * DSAJIT_KV_LORA_RANK * sizeof *execution->out;
    const size_t lse_size = rows * sizeof *execution->lse;
    execution->out = malloc(out_size + 1);
    execution->lse = with_lse ? malloc(lse_size + 1) : NULL;
    if (!execution->out || (with_lse && !execution->lse))
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the result");
    dsajit_status status =
        device_download(device, execution->out, operands->out.view.data, out_size, error);
    if (!status && with_lse)
        status = device_download(device, execution->lse, operands->lse.view.data, lse_size, error);
    return status;
}

dsajit_status execution_run(dsajit_context *context, const struct problem *problem,
                            const struct execution_options *options, struct execution *execution,
                            dsajit_error *error)
{
    *execution = (struct execution){0};
    struct device device;
    struct operands operands = {0};
    dsajit_status status = device_open(context, &device, error);
    if (status)
        return status;
    status = place_operands(&device, problem, options, &operands, error);
    if (!status) {
        const dsajit_sparse_mla_arguments arguments = {
            .struct_size = sizeof arguments,
            .q = &operands.q.view,
            .kv = &operands.kv.view,
            .kv_indptr = &operands.indptr.view,
            .kv_indices = &operands.indices.view,
            .out = &operands.out.view,
            .lse = options->return_lse ? &operands.lse.view : NULL,
            .softmax_scale = problem->softmax_scale,
            .has_invalid = problem->has_invalid,
            .scale = options->scale,
        };
        status = run(context, &device, &arguments, options->repeat, execution, error);
    }
    if (!status)
        status = fetch(&device, &operands, (size_t)(problem->tokens * problem->heads),
                       options->return_lse, execution, error);
    for (size_t i = 0; i < sizeof operands.memory / sizeof *operands.memory; i++)
        device_free(&device, operands.memory[i]);
    if (status)
        execution_free(execution);
    return status;
}
