#include "support.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void require(dsajit_status status, const dsajit_error *error)
{
    if (status == DSAJIT_OK)
        return;
    fprintf(stderr, "%s: %s\n", dsajit_status_name(status), error->message);
    exit(EXIT_FAILURE);
}

/* ---- Scratch ---- */

static char folder[] = "/tmp/dsajit-bench-XXXXXX";

/* The folder itself stays. */
static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind;
    return place->level > 0 ? remove(path) : 0;
}

void scratch_clear(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    scratch_clear();
    rmdir(folder);
}

const char *scratch_folder(void)
{
    static bool made;
    if (!made && !mkdtemp(folder)) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        exit(EXIT_FAILURE);
    }
    if (!made)
        atexit(remove_folder);
    made = true;
    return folder;
}

/* ---- Contexts and plans ---- */

static void print_warning(void *user, dsajit_log_level level, const char *message)
{
    (void)user;
    if (level <= DSAJIT_LOG_WARNING)
        fprintf(stderr, "%s\n", message);
}

dsajit_context *open_context(dsajit_device_kind device, const char *hip_library)
{
    static const char *const no_layers[] = {NULL};
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    dsajit_context *context;
    dsajit_error error;
    options.device = device;
    options.hip_library = hip_library;
    options.cache_directory = scratch_folder();
    options.prebuilt = no_layers;
    options.log = print_warning;
    require(dsajit_open(&options, &context, &error), &error);
    return context;
}

dsajit_plan *make_plan(const char *selection)
{
    dsajit_plan *plan;
    dsajit_error error;
    require(dsajit_plan_create(&plan, &error), &error);
    require(dsajit_plan_add(plan, selection, &error), &error);
    return plan;
}

/* ---- A call ---- */

static void place(struct attention_call *call, struct placed_tensor *tensor, DLDataTypeCode code,
                  int bits, int rank, const int64_t *shape, const void *data)
{
    dsajit_error error;
    require(placed_tensor_create(tensor, &call->device, code, bits, rank, shape, data, &error),
            &error);
}

void attention_call_create(struct attention_call *call, dsajit_context *context, int heads)
{
    enum { KEYS = 64, WIDTH = DSAJIT_KV_LORA_RANK + DSAJIT_QK_ROPE_HEAD_DIM };
    static const uint8_t zeros[KEYS * DSAJIT_RECORD_BYTES];
    static const int32_t rows[] = {0, KEYS};
    dsajit_error error;
    *call = (struct attention_call){0};
    require(device_open(context, &call->device, &error), &error);
    place(call, &call->q, kDLBfloat, 16, 3, (int64_t[]){1, heads, WIDTH}, zeros);
    place(call, &call->kv, kDLUInt, 8, 2, (int64_t[]){KEYS, DSAJIT_RECORD_BYTES}, zeros);
    place(call, &call->indptr, kDLInt, 32, 1, (int64_t[]){2}, rows);
    place(call, &call->indices, kDLInt, 32, 1, (int64_t[]){KEYS}, zeros);
    place(call, &call->out, kDLBfloat, 16, 3, (int64_t[]){1, heads, DSAJIT_KV_LORA_RANK}, zeros);
    call->arguments = (dsajit_sparse_mla_arguments){
        .struct_size = sizeof call->arguments,
        .q = &call->q.tensor.view,
        .kv = &call->kv.tensor.view,
        .kv_indptr = &call->indptr.tensor.view,
        .kv_indices = &call->indices.tensor.view,
        .out = &call->out.tensor.view,
        .softmax_scale = 1,
    };
}

void attention_call_free(struct attention_call *call)
{
    struct placed_tensor *const tensors[] = {&call->q, &call->kv, &call->indptr, &call->indices,
                                             &call->out};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        placed_tensor_free(tensors[i], &call->device);
}

double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
