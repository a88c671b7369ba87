#include "indexer_case.h"

#include "case_json.h"
#include "failure.h"
#include "raw_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So that no product of sizes leaves 64 bits. What a kernel serves is the library's to say. */
static const int64_t count_max = INT32_MAX, width_max = 1 << 24;

enum { GROUPS = DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE };

int64_t indexer_case_row_bytes(const struct indexer_case *c)
{
    return c->format == DSAJIT_INDEXER_FP8 ? DSAJIT_INDEX_HEAD_DIM : DSAJIT_INDEX_HEAD_DIM / 2;
}

/* ---- case.json ---- */

static dsajit_status read_members(const struct case_json *json, struct indexer_case *c,
                                  dsajit_error *error)
{
    static const char *const formats[] = {"fp8", "mxfp4"};
    static const char *const norms[] = {"none", "rmsnorm", "layernorm"};
    int64_t head_dim;
    const struct case_size sizes[] = {
        {"heads", 1, 1 << 16, &c->heads},
        {"head_dim", DSAJIT_INDEX_HEAD_DIM, DSAJIT_INDEX_HEAD_DIM, &head_dim},
        {"page_tokens", 1, width_max, &c->page_tokens},
        {"page_stride_bytes", 1, count_max, &c->page_stride},
        {"num_pages", 0, count_max, &c->pages},
        {"requests", 1, count_max, &c->requests},
        {"rows", 0, count_max, &c->rows},
        {"keys", 0, count_max, &c->keys},
        {"max_context", 1, width_max, &c->max_context},
        {"topk", 1, width_max, &c->topk},
    };
    dsajit_status status;
    if ((status = case_json_choice(json, "format", formats, 2, &c->format, error)) ||
        (status = case_json_choice(json, "norm", norms, 3, &c->norm, error)) ||
        (status = case_json_number(json, "norm_eps", &c->norm_eps, error)) ||
        (status = case_json_sizes(json, sizes, sizeof sizes / sizeof *sizes, error)))
        return status;
    c->blocks = (c->max_context + c->page_tokens - 1) / c->page_tokens;
    const int64_t page = c->page_tokens * (indexer_case_row_bytes(c) + GROUPS);
    if (c->page_stride < page)
        return failure_set(error, DSAJIT_ERROR_CORRUPT,
                           "%s/case.json: \"page_stride_bytes\" is %" PRId64 "; a page of %" PRId64
                           " tokens takes %" PRId64,
                           json->directory, c->page_stride, c->page_tokens, page);
    return DSAJIT_OK;
}

static dsajit_status read_description(const char *directory, struct indexer_case *c,
                                      dsajit_error *error)
{
    struct case_json json;
    dsajit_status status = case_json_open(directory, "indexer", &json, error);
    if (status)
        return status;
    status = read_members(&json, c, error);
    case_json_close(&json);
    return status;
}

/* ---- Tensors ---- */

static dsajit_status read_tensors(const char *directory, struct indexer_case *c,
                                  dsajit_error *error)
{
    const size_t rows = (size_t)c->rows, queries = (size_t)(c->rows * c->heads);
    const size_t keys = (size_t)c->keys, vector = DSAJIT_INDEX_HEAD_DIM * sizeof(uint16_t);
    const size_t table = (size_t)(c->requests * c->blocks) * sizeof(int32_t);
    const size_t cache = (size_t)(c->pages * c->page_stride);
    const size_t parameters = DSAJIT_INDEX_HEAD_DIM * sizeof(float);
    const bool fp8 = c->format == DSAJIT_INDEXER_FP8;
    void *data[18] = {0};
    const struct raw_file files[] = {
        {"index_q.bf16.bin", queries * vector, &data[0], false},
        {"index_v.bf16.bin", queries * sizeof(uint16_t), &data[1], false},
        {"index_k_raw.bf16.bin", keys * vector, &data[2], false},
        {"index_k.bf16.bin", keys * vector, &data[3], false},
        {"norm_weight.f32.bin", parameters, &data[4], false},
        {"norm_bias.f32.bin", parameters, &data[5], false},
        {"slot_mapping.i64.bin", keys * sizeof(int64_t), &data[6], false},
        {"cache_before.u8.bin", cache, &data[7], false},
        {"block_table.i32.bin", table, &data[8], false},
        {"context_lens.i32.bin", (size_t)c->requests * sizeof(int32_t), &data[17], false},
        {"row_request.i32.bin", rows * sizeof(int32_t), &data[9], false},
        {"row_len.i32.bin", rows * sizeof(int32_t), &data[10], false},
        {"q_bytes.u8.bin", queries * (size_t)indexer_case_row_bytes(c), &data[11], false},
        {"cache.u8.bin", cache, &data[12], false},
        {"logits.f64.bin", rows * (size_t)c->max_context * sizeof(double), &data[13], false},
        {"topk.i32.bin", rows * (size_t)c->topk * sizeof(int32_t), &data[14], false},
        fp8 ? (struct raw_file){"weights.f32.bin", queries * sizeof(float), &data[15], false}
            : (struct raw_file){"q_scales.u8.bin", queries * GROUPS, &data[16], false},
    };
    dsajit_status status = raw_files_read(directory, files, sizeof files / sizeof *files, error);
    c->index_q = data[0];
    c->index_v = data[1];
    c->index_k_raw = data[2];
    c->index_k = data[3];
    c->norm_weight = data[4];
    c->norm_bias = data[5];
    c->slot_mapping = data[6];
    c->cache_before = data[7];
    c->block_table = data[8];
    c->row_request = data[9];
    c->row_len = data[10];
    c->q_bytes = data[11];
    c->cache = data[12];
    c->logits = data[13];
    c->topk_ids = data[14];
    c->weights = data[15];
    c->q_scales = data[16];
    c->context_lens = data[17];
    return status;
}

/* ---- Values that the kernels follow ---- */

/* Entry `index` of FILE must be from `least` to `most`. */
static dsajit_status check_entry(const char *directory, const char *file, int64_t index,
                                 int64_t value, int64_t least, int64_t most, dsajit_error *error)
{
    if (value >= least && value <= most)
        return DSAJIT_OK;
    return failure_set(error, DSAJIT_ERROR_CORRUPT,
                       "%s/%s: entry %" PRId64 " is %" PRId64 "; from %" PRId64 " to %" PRId64
                       " is allowed",
                       directory, file, index, value, least, most);
}

static dsajit_status check_row(const char *directory, const struct indexer_case *c, int64_t row,
                               dsajit_error *error)
{
    const int64_t request = c->row_request[row], length = c->row_len[row];
    dsajit_status status;
    if ((status = check_entry(directory, "row_request.i32.bin", row, request, 0, c->requests - 1,
                              error)) ||
        (status = check_entry(directory, "row_len.i32.bin", row, length, 0, c->max_context, error)))
        return status;
    const int64_t pages = (length + c->page_tokens - 1) / c->page_tokens;
    for (int64_t i = 0; !status && i < pages; i++) {
        const int64_t entry = request * c->blocks + i;
        status = check_entry(directory, "block_table.i32.bin", entry, c->block_table[entry], 0,
                             c->pages - 1, error);
    }
    for (int64_t i = 0; !status && i < c->topk; i++) {
        const int64_t entry = row * c->topk + i;
        status = check_entry(directory, "topk.i32.bin", entry, c->topk_ids[entry], -1, length - 1,
                             error);
    }
    return status;
}

static dsajit_status check_values(const char *directory, const struct indexer_case *c,
                                  dsajit_error *error)
{
    const int64_t slots = c->pages * c->page_tokens;
    dsajit_status status = DSAJIT_OK;
    for (int64_t i = 0; !status && i < c->requests; i++)
        status = check_entry(directory, "context_lens.i32.bin", i, c->context_lens[i], 0,
                             c->max_context, error);
    for (int64_t i = 0; !status && i < c->keys; i++)
        status = check_entry(directory, "slot_mapping.i64.bin", i, c->slot_mapping[i], INT64_MIN,
                             slots - 1, error);
    for (int64_t row = 0; !status && row < c->rows; row++)
        status = check_row(directory, c, row, error);
    return status;
}

dsajit_status indexer_case_read(const char *directory, struct indexer_case *c, dsajit_error *error)
{
    memset(c, 0, sizeof *c);
    dsajit_status status = read_description(directory, c, error);
    if (!status)
        status = read_tensors(directory, c, error);
    if (!status)
        status = check_values(directory, c, error);
    if (status)
        indexer_case_free(c);
    return status;
}

void indexer_case_free(struct indexer_case *c)
{
    void *const tensors[] = {
        c->index_q,   c->index_v,      c->index_k_raw,  c->index_k,     c->norm_weight,
        c->norm_bias, c->slot_mapping, c->cache_before, c->block_table, c->row_request,
        c->row_len,   c->q_bytes,      c->q_scales,     c->weights,     c->cache,
        c->logits,    c->topk_ids,     c->context_lens,
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        free(tensors[i]);
    memset(c, 0, sizeof *c);
}
