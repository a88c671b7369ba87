#include "execution.h"

#include "failure.h"
#include "placed_tensor.h"
#include "record.h"
#include "stopwatch.h"

#include <stdlib.h>

void execution_free(struct execution *execution)
{
    dsajit_text_free(&execution->variant);
    free(execution->out);
    free(execution->lse);
    *execution = (struct execution){0};
}

/* A problem's tensors on the device. */
struct operands {
    struct placed_tensor q, kv, indptr, indices, out, lse;
};

/* Integers, narrowed where 32 bits are asked for. */
static dsajit_status place_integers(const struct device *device, struct placed_tensor *placed,
                                    int bits, int64_t count, const int64_t *values,
                                    dsajit_error *error)
{
    if (bits == 64)
        return placed_tensor_create(placed, device, kDLInt, 64, 1, &count, values, error);
    int32_t *narrow = malloc((size_t)(count + 1) * sizeof *narrow);
    if (!narrow)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the indices");
    for (int64_t i = 0; i < count; i++)
        narrow[i] = (int32_t)values[i];
    dsajit_status status =
        placed_tensor_create(placed, device, kDLInt, 32, 1, &count, narrow, error);
    free(narrow);
    return status;
}

static dsajit_status place_operands(const struct device *device, const struct problem *problem,
                                    const struct execution_options *options,
                                    struct operands *operands, dsajit_error *error)
{
    const int64_t T = problem->tokens, H = problem->heads;
    dsajit_status status;
    if ((status = placed_tensor_create(&operands->q, device, kDLBfloat, 16, 3,
                                       (int64_t[]){T, H, RECORD_KEY_SIZE}, problem->q, error)) ||
        (status = placed_tensor_create(&operands->kv, device, kDLUInt, 8, 2,
                                       (int64_t[]){problem->slots, DSAJIT_RECORD_BYTES},
                                       problem->kv, error)) ||
        (status = place_integers(device, &operands->indptr, options->index_bits, T + 1,
                                 problem->indptr, error)) ||
        (status = place_integers(device, &operands->indices, options->index_bits,
                                 problem->index_count, problem->indices, error)) ||
        (status = placed_tensor_create(&operands->out, device, kDLBfloat, 16, 3,
                                       (int64_t[]){T, H, DSAJIT_KV_LORA_RANK}, NULL, error)))
        return status;
    return options->return_lse ? placed_tensor_create(&operands->lse, device, kDLFloat, 32, 2,
                                                      (int64_t[]){T, H}, NULL, error)
                               : DSAJIT_OK;
}

/* One launch, from the call until the device is idle. */
static dsajit_status launch(dsajit_context *context, const struct device *device,
                            const dsajit_sparse_mla_arguments *arguments, double *milliseconds,
                            dsajit_error *error)
{
    const double start = stopwatch_ms();
    dsajit_status status = dsajit_sparse_mla_forward(context, arguments, NULL, error);
    if (!status)
        status = device_synchronize(device, error);
    *milliseconds = stopwatch_ms() - start;
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

static void free_operands(const struct device *device, struct operands *operands)
{
    struct placed_tensor *const tensors[] = {
        &operands->q,   &operands->kv, &operands->indptr, &operands->indices, &operands->out,
        &operands->lse, NULL};
    for (struct placed_tensor *const *tensor = tensors; *tensor; tensor++)
        placed_tensor_free(*tensor, device);
}

static dsajit_status fetch(const struct device *device, const struct operands *operands,
                           bool with_lse, struct execution *execution, dsajit_error *error)
{
    void *out = NULL, *lse = NULL;
    dsajit_status status = placed_tensor_fetch(&operands->out, device, &out, error);
    if (!status && with_lse)
        status = placed_tensor_fetch(&operands->lse, device, &lse, error);
    execution->out = out;
    execution->lse = lse;
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
            .q = &operands.q.tensor.view,
            .kv = &operands.kv.tensor.view,
            .kv_indptr = &operands.indptr.tensor.view,
            .kv_indices = &operands.indices.tensor.view,
            .out = &operands.out.tensor.view,
            .lse = options->return_lse ? &operands.lse.tensor.view : NULL,
            .softmax_scale = problem->softmax_scale,
            .has_invalid = problem->has_invalid,
            .scale = options->scale,
        };
        status = run(context, &device, &arguments, options->repeat, execution, error);
    }
    if (!status)
        status = fetch(&device, &operands, options->return_lse, execution, error);
    free_operands(&device, &operands);
    if (status)
        execution_free(execution);
    return status;
}
