#include "case_directory.h"

#include "failure.h"
#include "raw_file.h"
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So that no product of sizes leaves 64 bits. What a kernel serves is the library's to say. */
static const int64_t size_max = INT32_MAX;

static dsajit_status read_size(const json_t *root, const char *directory, const char *name,
                               int64_t least, int64_t most, int64_t *size, dsajit_error *error)
{
    const json_t *value = json_object_get(root, name);
    if (!json_is_integer(value))
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s/case.json has no whole number \"%s\"",
                           directory, name);
    *size = json_integer_value(value);
    if (*size < least || *size > most)
        return failure_set(error, DSAJIT_ERROR_CORRUPT,
                           "%s/case.json: \"%s\" is %" PRId64 "; from %" PRId64 " to %" PRId64
                           " is allowed",
                           directory, name, *size, least, most);
    return DSAJIT_OK;
}

static dsajit_status read_sizes(const json_t *root, const char *directory, struct problem *problem,
                                dsajit_error *error)
{
    const int64_t heads_max = 1 << 16;
    const struct {
        const char *name;
        int64_t least, most;
        int64_t *size;
    } sizes[] = {
        {"T", 0, size_max, &problem->tokens},
        {"H", 1, heads_max, &problem->heads},
        {"N", 0, size_max, &problem->slots},
        {"nnz", 0, size_max, &problem->index_count},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dsajit_status status = read_size(root, directory, sizes[i].name, sizes[i].least,
                                         sizes[i].most, sizes[i].size, error);
        if (status)
            return status;
    }
    return DSAJIT_OK;
}

static dsajit_status read_description(const char *directory, struct problem *problem,
                                      dsajit_error *error)
{
    char *path;
    if (asprintf(&path, "%s/case.json", directory) < 0)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
    json_error_t wrong;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    dsajit_status status;
    if (!root) {
        if (json_error_code(&wrong) == json_error_cannot_open_file)
            status = failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s", wrong.text);
        else
            status = failure_set(error, DSAJIT_ERROR_CORRUPT, "%s, line %d: %s", path, wrong.line,
                                 wrong.text);
        free(path);
        return status;
    }
    const char *kernel = json_string_value(json_object_get(root, "kernel"));
    const json_t *scale = json_object_get(root, "softmax_scale");
    const json_t *invalid = json_object_get(root, "has_invalid");
    const json_t *record = json_object_get(root, "record_bytes");
    problem->softmax_scale = json_number_value(scale);
    problem->has_invalid = json_is_true(invalid);
    if (!kernel || strcmp(kernel, "sparse_mla") != 0)
        status = failure_set(error, DSAJIT_ERROR_CORRUPT,
                             "%s: \"kernel\" is %s%s%s, not sparse_mla", path, kernel ? "\"" : "",
                             kernel ? kernel : "not a text", kernel ? "\"" : "");
    else if (!json_is_number(scale) || !isfinite(problem->softmax_scale))
        status =
            failure_set(error, DSAJIT_ERROR_CORRUPT, "%s has no number \"softmax_scale\"", path);
    else if (!json_is_boolean(invalid))
        status = failure_set(error, DSAJIT_ERROR_CORRUPT,
                             "%s: \"has_invalid\" is not true or false", path);
    else if (record && json_integer_value(record) != DSAJIT_RECORD_BYTES)
        status = failure_set(error, DSAJIT_ERROR_CORRUPT, "%s: \"record_bytes\" is not %d", path,
                             DSAJIT_RECORD_BYTES);
    else
        status = read_sizes(root, directory, problem, error);
    json_decref(root);
    free(path);
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
    struct {
        const char *name;
        size_t size;
        bool optional;
        void *data;
    } tensors[] = {
        {"q.bf16.bin", rows * RECORD_KEY_SIZE * sizeof *problem->q, false, NULL},
        {"kv.u8.bin", (size_t)problem->slots * DSAJIT_RECORD_BYTES, false, NULL},
        {"out.bf16.bin", rows * DSAJIT_KV_LORA_RANK * sizeof *problem->expected_out, true, NULL},
        {"lse.f32.bin", rows * sizeof *problem->expected_lse, true, NULL},
    };
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < sizeof tensors / sizeof *tensors; i++) {
        status =
            raw_file_read(directory, tensors[i].name, tensors[i].size, &tensors[i].data, error);
        if (tensors[i].optional && status == DSAJIT_ERROR_NOT_FOUND)
            status = DSAJIT_OK;
    }
    problem->q = tensors[0].data;
    problem->kv = tensors[1].data;
    problem->expected_out = tensors[2].data;
    problem->expected_lse = tensors[3].data;
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
    if (mkdir(directory, 0777) && errno != EEXIST)
        return failure_set_errno(error, DSAJIT_ERROR_IO, errno, "making the folder %s", directory);
    const size_t rows = (size_t)(problem->tokens * problem->heads);
    dsajit_status status = raw_file_write(directory, "out.bf16.bin", out,
                                          rows * DSAJIT_KV_LORA_RANK * sizeof *out, error);
    if (!status && lse)
        status = raw_file_write(directory, "lse.f32.bin", lse, rows * sizeof *lse, error);
    return status;
}
