#include "runtime/indexer_workspace.h"

/* Parts, and rows of logits, start at multiples of a cache line. */
enum { LINE = 256, LINE_FLOATS = LINE / sizeof(float) };

static int64_t round_up(int64_t value, int64_t granule)
{
    return (value + granule - 1) / granule * granule;
}

/* No product of these leaves 64 bits. */
static dsajit_status check_shape(const dsajit_indexer_shape *shape, dsajit_error *error)
{
    if (!shape)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "shape is NULL");
    const struct {
        const char *name;
        int64_t value, least, most;
    } limits[] = {
        {"format", shape->format, DSAJIT_INDEXER_FP8, DSAJIT_INDEXER_MXFP4},
        {"rows", shape->rows, 0, INT32_MAX},
        {"rows_per_request", shape->rows_per_request, 1, INT32_MAX},
        {"heads", shape->heads, 1, DSAJIT_INDEX_HEADS_MAX},
        {"max_context", shape->max_context, 1, DSAJIT_TOPK_COLUMNS_MAX},
        {"logits_bytes_max", shape->logits_bytes_max, 0, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value < limits[i].least || limits[i].value > limits[i].most)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "%s is %lld; %lld to %lld are allowed", limits[i].name,
                             (long long)limits[i].value, (long long)limits[i].least,
                             (long long)limits[i].most);
    return DSAJIT_OK;
}

static int64_t smaller_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bytes of logits: of all rows, or what the limit allows, which is one request's rows at least. */
static int64_t count_logits_bytes(const dsajit_indexer_shape *shape, int64_t row_bytes)
{
    const int64_t request = shape->rows_per_request * row_bytes;
    const int64_t limit =
        shape->logits_bytes_max ? shape->logits_bytes_max : DSAJIT_LOGITS_BYTES_DEFAULT;
    return smaller_of(shape->rows * row_bytes, limit > request ? limit : request);
}

/* Takes `size` bytes more; says where they are. */
static int64_t take(struct indexer_workspace *workspace, int64_t size)
{
    const int64_t offset = workspace->size;
    workspace->size += round_up(size, LINE);
    return offset;
}

dsajit_status indexer_workspace_divide(const dsajit_indexer_shape *shape,
                                       struct indexer_workspace *workspace, dsajit_error *error)
{
    dsajit_status status = check_shape(shape, error);
    if (status)
        return status;
    const int64_t vectors = shape->rows * shape->heads;
    const bool fp8 = shape->format == DSAJIT_INDEXER_FP8;
    const int64_t stride = round_up(shape->max_context, LINE_FLOATS);
    const int64_t row_bytes = stride * (int64_t)sizeof(float);
    const int64_t logits_bytes = count_logits_bytes(shape, row_bytes);
    const int64_t requests = logits_bytes / row_bytes / shape->rows_per_request;
    *workspace = (struct indexer_workspace){
        .part_rows = smaller_of((requests ? requests : 1) * shape->rows_per_request, shape->rows),
        .logits_stride = stride,
    };
    workspace->q_bytes =
        take(workspace, vectors * (fp8 ? DSAJIT_INDEX_HEAD_DIM : DSAJIT_INDEX_HEAD_DIM / 2));
    workspace->q_scales =
        take(workspace, fp8 ? 0 : vectors * (DSAJIT_INDEX_HEAD_DIM / DSAJIT_INDEX_GROUP_SIZE));
    workspace->weights = take(workspace, vectors * (int64_t)sizeof(float));
    workspace->lists = take(workspace, (int64_t)dsajit_index_lists_workspace_size(shape->rows));
    workspace->logits = take(workspace, logits_bytes);
    return DSAJIT_OK;
}

dsajit_status dsajit_indexer_workspace_size(const dsajit_indexer_shape *shape, size_t *size,
                                            dsajit_error *error)
{
    struct indexer_workspace workspace;
    if (!size)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "size is NULL");
    dsajit_status status = indexer_workspace_divide(shape, &workspace, error);
    if (!status)
        *size = (size_t)workspace.size;
    return status;
}
