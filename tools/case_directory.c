#include "case_directory.h"

#include "case_json.h"
#include "failure.h"
#include "raw_file.h"
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* So that no product of sizes leaves 64 bits. What a kernel serves is the library's to say. */
static const int64_t size_max = INT32_MAX;

static dsajit_status read_members(const struct case_json *json, struct problem *problem,
                                  dsajit_error *error)
{
    const int64_t heads_max = 1 << 16;
    int64_t record_bytes;
    const struct case_size record = {"record_bytes", DSAJIT_RECORD_BYTES, DSAJIT_RECORD_BYTES,
                                     &record_bytes};
    const struct case_size sizes[] = {
        {"T", 0, size_max, &problem->tokens},
        {"H", 1, heads_max, &problem->heads},
        {"N", 0, size_max, &problem->slots},
        {"nnz", 0, size_max, &problem->index_count},
    };
    dsajit_status status = case_json_number(json, "softmax_scale", &problem->softmax_scale, error);
    if (!status)
        status = case_json_flag(json, "has_invalid", &problem->has_invalid, error);
    if (!status && json_object_get(json->root, record.name))
        status = case_json_sizes(json, &record, 1, error);
    return status ? status : case_json_sizes(json, sizes, sizeof sizes / sizeof *sizes, error);
}

static dsajit_status read_description(const char *directory, struct problem *problem,
                                      dsajit_error *error)
{
    struct case_json json;
    dsajit_status status = case_json_open(directory, "sparse_mla", &json, error);
    if (status)
        return status;
    status = read_members(&json, problem, error);
    case_json_close(&json);
    return status;
}

/* BASE.i32.bin or BASE.i64.bin, widened. */
static dsajit_status read_integers(const char *directory, const char *base, int64_t count,
                                   int64_t **integers, dsajit_error *error)
{
    char name[64];
    void *data;
    snprintf(name, sizeof name, "%s.i64.bin", base);
    dsajit_status status =
        raw_file_read(directory, name, (size_t)count * sizeof(int64_t), &data, error);
    if (!status)
        *integers = data;
    if (status != DSAJIT_ERROR_NOT_FOUND)
        return status;
    snprintf(name, sizeof name, "%s.i32.bin", base);
    status = raw_file_read(directory, name, (size_t)count * sizeof(int32_t), &data, error);
    if (status)
        return status;
    const int32_t *narrow = data;
    *integers = malloc((size_t)(count + 1) * sizeof **integers);
    if (!*integers) {
        free(data);
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for %s", name);
    }
    for (int64_t i = 0; i < count; i++)
        (*integers)[i] = narrow[i];
    free(data);
    return DSAJIT_OK;
}

static dsajit_status check_indices(const char *directory, const struct problem *problem,
                                   dsajit_error *error)
{
    for (int64_t t = 0; t <= problem->tokens; t++) {
        const int64_t least = t ? problem->indptr[t - 1] : 0;
        if (problem->indptr[t] < least || problem->indptr[t] > problem->index_count)
            return failure_set(error, DSAJIT_ERROR_CORRUPT,
                               "%s/kv_indptr: entry %" PRId64 " is %" PRId64 "; from %" PRId64
                               " to nnz = %" PRId64 " is allowed",
                               directory, t, problem->indptr[t], least, problem->index_count);
    }
    for (int64_t i = 0; i < problem->index_count; i++) {
        const int64_t slot = problem->indices[i];
        if (slot >= problem->slots || (slot < 0 && !problem->has_invalid))
            return failure_set(error, DSAJIT_ERROR_CORRUPT,
                               "%s/kv_indices: entry %" PRId64 " is %" PRId64
                               "; the slots are 0 to "
                               "%" PRId64 "%s",
                               directory, i, slot, problem->slots - 1,
                               problem->has_invalid ? "" : ", and has_invalid is false");
    }
    return DSAJIT_OK;
}

static dsajit_status read_tensors(const char *directory, struct problem *problem,
                                  dsajit_error *error)
{
    const size_t rows = (size_t)(problem->tokens * problem->heads);
    const size_t out_size = rows * DSAJIT_KV_LORA_RANK * sizeof *problem->expected_out;
    void *q = NULL, *kv = NULL, *out = NULL, *lse = NULL;
    const struct raw_file files[] = {
        {"q.bf16.bin", rows * RECORD_KEY_SIZE * sizeof *problem->q, &q, false},
        {"kv.u8.bin", (size_t)problem->slots * DSAJIT_RECORD_BYTES, &kv, false},
        {"out.bf16.bin", out_size, &out, true},
        {"lse.f32.bin", rows * sizeof *problem->expected_lse, &lse, true},
    };
    dsajit_status status = raw_files_read(directory, files, sizeof files / sizeof *files, error);
    problem->q = q;
    problem->kv = kv;
    problem->expected_out = out;
    problem->expected_lse = lse;
    if (!status)
        status =
            read_integers(directory, "kv_indptr", problem->tokens + 1, &problem->indptr, error);
    if (!status)
        status =
            read_integers(directory, "kv_indices", problem->index_count, &problem->indices, error);
    return status ? status : check_indices(directory, problem, error);
}

dsajit_status case_directory_read(const char *directory, struct problem *problem,
                                  dsajit_error *error)
{
    *problem = (struct problem){0};
    dsajit_status status = read_description(directory, problem, error);
    if (!status)
        status = read_tensors(directory, problem, error);
    if (status)
        problem_free(problem);
    return status;
}

dsajit_status case_directory_write_results(const char *directory, const struct problem *problem,
                                           const uint16_t *out, const float *lse,
                                           dsajit_error *error)
{
    const size_t rows = (size_t)(problem->tokens * problem->heads);
    dsajit_status status = raw_file_make_folder(directory, error);
    if (!status)
        status = raw_file_write(directory, "out.bf16.bin", out,
                                rows * DSAJIT_KV_LORA_RANK * sizeof *out, error);
    if (!status && lse)
        status = raw_file_write(directory, "lse.f32.bin", lse, rows * sizeof *lse, error);
    return status;
}
