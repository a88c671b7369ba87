#include "runtime/kernel_calls.h"
#include "runtime/reciprocal.h"

#include "dsajit/indexer_score.h"

#include "indexer_score_arguments.h"

#include <math.h>

/* So that sums of a few columns fit in 32 bits. */
static const int64_t columns_max = 1 << 30;
/* The kernel multiplies it with numbers up to 127 in 32 bits. */
static const int64_t key_stride_max = (1 << 24) - 1;

/* A call of the scorer, and what was found out about it. */
struct score {
    const dsajit_indexer_score_arguments *given;
    int device;
    int64_t rows, heads, columns;
    int64_t vector_bytes; /* of a query's head, or of a key, without its scales */
    int64_t limit;        /* where windows end at the latest */
    int64_t requests;
    int64_t
        rows_per_request; /* that share keys and lie together; all of them where that's unknown */
    int splits_log2;      /* workgroups that share a group of rows, as a power of 2 */
    bool paged;
    bool empty; /* nothing to do */
};

static dsajit_status refuse_argument(const char *name, const char *with, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is given; with %s it must be NULL",
                     name, with);
}

static dsajit_status check_settings(const struct score *score, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *a = score->given;
    if (a->format != DSAJIT_INDEXER_FP8 && a->format != DSAJIT_INDEXER_MXFP4)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "format is %d; DSAJIT_INDEXER_FP8 and DSAJIT_INDEXER_MXFP4 are allowed",
                         (int)a->format);
    if (!isfinite((float)a->weight_scale) || (float)a->weight_scale == 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "weight_scale is %g; a number that f32 holds, and not 0, is allowed",
                         a->weight_scale);
    return DSAJIT_OK;
}

static dsajit_status check_heads(const struct score *score, struct named_tensor q,
                                 dsajit_error *error)
{
    if (score->given->format == DSAJIT_INDEXER_MXFP4)
        return score->heads == 16 || score->heads == 32 || score->heads == 64
                   ? DSAJIT_OK
                   : tensor_refuse_shape(q, 1, "16, 32 or 64", error);
    return score->heads >= 4 && score->heads <= DSAJIT_INDEX_HEADS_MAX && score->heads % 4 == 0
               ? DSAJIT_OK
               : tensor_refuse_shape(q, 1, "a multiple of 4 from 4 to 64", error);
}

/* [rows, heads, width] with the heads of a row side by side. */
static dsajit_status check_vectors(struct named_tensor named, const struct score *score,
                                   int64_t width, uint32_t granule, dsajit_error *error)
{
    const struct tensor_rule rule = {3, 3, ANY_TYPE_CODE, 8, 0, granule};
    dsajit_status status;
    if ((status = tensor_check(named, &rule, score->device, error)) ||
        (status =
             tensor_check_shape(named, (int64_t[]){score->rows, score->heads, width}, error)) ||
        (status = tensor_check_rows(named, granule, error)))
        return status;
    return tensor_stride(named.tensor, 1) == width
               ? DSAJIT_OK
               : tensor_refuse_stride(named, 1, "shape[2]", error);
}

static dsajit_status check_query(struct score *score, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *a = score->given;
    const struct named_tensor q = {"q", a->q}, q_scales = {"q_scales", a->q_scales};
    static const struct tensor_rule rule = {3, 3, ANY_TYPE_CODE, 8, 0, 16};
    dsajit_status status = tensor_check(q, &rule, score->device, error);
    if (status)
        return status;
    score->rows = a->q->shape[0];
    score->heads = a->q->shape[1];
    if (score->rows > INT32_MAX)
        return tensor_refuse_shape(q, 0, "at most 2^31 - 1", error);
    score->vector_bytes =
        a->format == DSAJIT_INDEXER_FP8 ? DSAJIT_INDEX_HEAD_DIM : DSAJIT_INDEX_HEAD_DIM / 2;
    if ((status = check_vectors(q, score, score->vector_bytes, 16, error)) ||
        (status = check_heads(score, q, error)))
        return status;
    if (a->format == DSAJIT_INDEXER_MXFP4)
        return check_vectors(q_scales, score, 4, 1, error);
    return a->q_scales ? refuse_argument("q_scales", "FP8 queries", error) : DSAJIT_OK;
}

static dsajit_status check_weights(const struct score *score, dsajit_error *error)
{
    static const struct tensor_rule f32 = {2, 2, kDLFloat, 32, 0, 4};
    static const struct tensor_rule bf16 = {2, 2, kDLBfloat, 16, 0, 2};
    const struct named_tensor weights = {"weights", score->given->weights};
    const bool is_bf16 = weights.tensor && weights.tensor->dtype.code == kDLBfloat;
    dsajit_status status;
    if ((status = tensor_check(weights, is_bf16 ? &bf16 : &f32, score->device, error)) ||
        (status = tensor_check_shape(weights, (int64_t[]){score->rows, score->heads}, error)))
        return status;
    return tensor_check_rows(weights, 1, error);
}

static dsajit_status check_logits(struct score *score, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, kDLFloat, 32, 0, 4};
    const struct named_tensor logits = {"logits", score->given->logits};
    dsajit_status status;
    if ((status = tensor_check(logits, &rule, score->device, error)) ||
        (status = tensor_check_shape(logits, (int64_t[]){score->rows, ANY_EXTENT}, error)) ||
        (status = tensor_check_rows(logits, 1, error)))
        return status;
    score->columns = logits.tensor->shape[1];
    if (score->columns > columns_max)
        return tensor_refuse_shape(logits, 1, "at most 2^30", error);
    if (score->rows > 1 && tensor_stride(logits.tensor, 0) < score->columns)
        return tensor_refuse_stride(logits, 0, "shape[1] or more", error);
    return DSAJIT_OK;
}

static dsajit_status check_gathered(struct score *score, dsajit_error *error)
{
    static const struct tensor_rule rule = {2, 2, ANY_TYPE_CODE, 8, 0, 4};
    static const struct tensor_rule scale_rules[] = {
        [DSAJIT_INDEXER_FP8] = {1, 1, kDLFloat, 32, 0, 4},
        [DSAJIT_INDEXER_MXFP4] = {2, 2, ANY_TYPE_CODE, 8, 0, 1},
    };
    const dsajit_indexer_score_arguments *a = score->given;
    const struct named_tensor keys = {"keys", a->keys}, scales = {"key_scales", a->key_scales};
    dsajit_status status;
    if ((status = tensor_check(keys, &rule, score->device, error)) ||
        (status = tensor_check_shape(keys, (int64_t[]){ANY_EXTENT, score->vector_bytes}, error)) ||
        (status = tensor_check_rows(keys, 4, error)) ||
        (status = tensor_check(scales, &scale_rules[a->format], score->device, error)) ||
        (status = tensor_check_shape(scales, (int64_t[]){keys.tensor->shape[0], 4}, error)) ||
        (status = tensor_check_contiguous(scales, error)))
        return status;
    const int64_t stride = tensor_stride(keys.tensor, 0);
    if (keys.tensor->shape[0] > 1 && (stride < score->vector_bytes || stride > key_stride_max))
        return tensor_refuse_stride(keys, 0, "shape[1] to 2^24 - 1", error);
    score->limit = keys.tensor->shape[0];
    return DSAJIT_OK;
}

static dsajit_status check_paged(struct score *score, dsajit_error *error)
{
    static const struct tensor_rule cache_rule = {3, 3, ANY_TYPE_CODE, 8, 0, 4};
    static const struct tensor_rule table_rule = {2, 2, kDLInt, 32, 0, 4};
    const dsajit_indexer_score_arguments *a = score->given;
    const struct named_tensor cache = {"cache", a->cache}, table = {"block_table", a->block_table};
    const int64_t key_bytes = score->vector_bytes + 4;
    dsajit_status status;
    if ((status = tensor_check(cache, &cache_rule, score->device, error)) ||
        (status =
             tensor_check_shape(cache, (int64_t[]){ANY_EXTENT, ANY_EXTENT, key_bytes}, error)) ||
        (status = tensor_check(table, &table_rule, score->device, error)) ||
        (status = tensor_check_rows(table, 1, error)))
        return status;
    const int64_t tokens = cache.tensor->shape[1];
    if (tokens != 1 && (tokens < 16 || tokens > DSAJIT_INDEX_PAGE_TOKENS_MAX || tokens % 16))
        return tensor_refuse_shape(cache, 1, "1 or a multiple of 16 up to 256", error);
    if ((status = tensor_check_pages(cache, 4, error)))
        return status;
    const int64_t entries = table.tensor->shape[1];
    score->limit = entries > columns_max / tokens ? columns_max : entries * tokens;
    score->empty = cache.tensor->shape[0] == 0;
    return DSAJIT_OK;
}

/* The two ways of having keys, of which the first of `given` decides. */
static dsajit_status check_keys(struct score *score, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *a = score->given;
    score->paged = a->cache != NULL;
    const struct {
        const char *name;
        const DLTensor *tensor;
        bool paged;
    } others[] = {
        {"keys", a->keys, false},
        {"key_scales", a->key_scales, false},
        {"block_table", a->block_table, true},
        {"row_requests", a->row_requests, true},
        {"context_lens", a->context_lens, true},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].tensor && others[i].paged != score->paged)
            return refuse_argument(others[i].name, score->paged ? "a cache" : "no cache", error);
    return score->paged ? check_paged(score, error) : check_gathered(score, error);
}

/* An optional tensor of one i32 a row. */
static dsajit_status check_row_integers(struct named_tensor named, const struct score *score,
                                        dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 1, kDLInt, 32, 0, 4};
    if (!named.tensor)
        return DSAJIT_OK;
    dsajit_status status;
    if ((status = tensor_check(named, &rule, score->device, error)) ||
        (status = tensor_check_shape(named, (int64_t[]){score->rows}, error)))
        return status;
    return tensor_check_contiguous(named, error);
}

static dsajit_status check_context_lens(struct score *score, dsajit_error *error)
{
    static const struct tensor_rule rule = {1, 2, kDLInt, 32, 0, 4};
    const struct named_tensor lens = {"context_lens", score->given->context_lens};
    dsajit_status status;
    if ((status = tensor_check(lens, &rule, score->device, error)) ||
        (status = tensor_check_contiguous(lens, error)))
        return status;
    score->requests = lens.tensor->shape[0];
    if (score->requests ? score->rows % score->requests != 0 : score->rows > 0)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "q has %lld rows; the %lld requests of context_lens cannot have equally "
                         "many",
                         (long long)score->rows, (long long)score->requests);
    score->rows_per_request = score->requests ? score->rows / score->requests : 0;
    return tensor_check_shape(lens, (int64_t[]){score->requests, score->rows_per_request}, error);
}

static dsajit_status check_windows(struct score *score, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *a = score->given;
    const struct named_tensor by_row[] = {
        {"starts", a->starts}, {"ends", a->ends}, {"row_requests", a->row_requests}};
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; i < 3 && !status; i++)
        status = check_row_integers(by_row[i], score, error);
    if (status)
        return status;
    if (!a->ends == !a->context_lens)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%s of ends and context_lens are given; one of them is needed",
                         a->ends ? "both" : "none");
    score->rows_per_request = score->rows;
    score->requests = score->paged ? a->block_table->shape[0] : 1;
    if (score->requests > INT32_MAX)
        return tensor_refuse_shape((struct named_tensor){"block_table", a->block_table}, 0,
                                   "at most 2^31 - 1", error);
    if (a->ends)
        return DSAJIT_OK;
    if (a->row_requests)
        return refuse_argument("row_requests", "context_lens", error);
    if ((status = check_context_lens(score, error)))
        return status;
    const struct named_tensor table = {"block_table", a->block_table};
    return table.tensor->shape[0] >= score->requests
               ? DSAJIT_OK
               : tensor_refuse_shape(table, 0, "context_lens.shape[0] or more", error);
}

static dsajit_status check(struct score *score, const dsajit_context *context, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *a = score->given;
    dsajit_status status;
    if ((status = call_check_struct(context, a, sizeof *a, error)) ||
        (status =
             call_find_device(context, (struct named_tensor){"q", a->q}, &score->device, error)) ||
        (status = check_settings(score, error)) || (status = check_query(score, error)) ||
        (status = check_weights(score, error)) || (status = check_logits(score, error)) ||
        (status = check_keys(score, error)) || (status = check_windows(score, error)))
        return status;
    score->limit = score->limit < score->columns ? score->limit : score->columns;
    score->empty |= score->rows == 0 || score->columns == 0;
    return DSAJIT_OK;
}

static void choose_variant(struct variant *variant, const struct score *score)
{
    const dsajit_indexer_score_arguments *a = score->given;
    variant_set(variant, INDEXER_SCORE_FORMAT, (int)a->format);
    variant_set(variant, INDEXER_SCORE_HEADS, (int)(score->heads + 15) / 16 * 16);
    variant_set(variant, INDEXER_SCORE_ADDRESSING,
                !score->paged             ? INDEXER_SCORE_GATHERED
                : a->cache->shape[1] == 1 ? INDEXER_SCORE_TOKENS
                                          : INDEXER_SCORE_PAGES);
    variant_set(variant, INDEXER_SCORE_CLEAN, a->clean_logits);
}

static int64_t groups_of(int64_t rows)
{
    return rows / INDEXER_SCORE_ROWS + (rows % INDEXER_SCORE_ROWS != 0);
}

/* How many workgroups, as a power of 2, share a group of rows. Eight at least, where there are keys
   for that many: workgroups go round the 8 dies, each with an L2 of its own, that then has one
   eighth of the keys. More where groups are few: the 256 CUs hold two workgroups each, and twice
   that number evens out windows of different lengths. */
static int choose_splits_log2(int64_t groups, int64_t columns)
{
    const int64_t dies = 8, workgroups = 4 * 256;
    const int64_t wanted = groups > workgroups / dies ? dies : workgroups / groups;
    int log2 = 0;
    while (2 << log2 <= wanted && (int64_t)INDEXER_SCORE_KEYS << log2 < columns)
        log2++;
    return log2;
}

static void set_pages(indexer_score_arguments *arguments, const dsajit_indexer_score_arguments *a)
{
    const uint32_t page_tokens = (uint32_t)a->cache->shape[1], tile = 16;
    arguments->block_table = tensor_data(a->block_table);
    arguments->block_table_stride = tensor_stride(a->block_table, 0);
    arguments->page_tokens = (int)page_tokens;
    if (page_tokens >= tile) {
        const struct reciprocal tiles = reciprocal_of(page_tokens / tile);
        arguments->page_reciprocal = tiles.multiplier;
        arguments->page_shift = tiles.shift;
    }
    if (a->row_requests)
        arguments->row_requests = tensor_data(a->row_requests);
}

static indexer_score_arguments kernel_arguments(const struct score *score)
{
    const dsajit_indexer_score_arguments *a = score->given;
    const DLTensor *ends = a->ends ? a->ends : a->context_lens;
    const DLTensor *keys = score->paged ? a->cache : a->keys;
    indexer_score_arguments arguments = {
        .q = tensor_data(a->q),
        .weights = tensor_data(a->weights),
        .keys = tensor_data(keys),
        .starts = a->starts ? tensor_data(a->starts) : NULL,
        .ends = tensor_data(ends),
        .logits = tensor_data(a->logits),
        .q_row_stride = tensor_stride(a->q, 0),
        .weights_row_stride = tensor_stride(a->weights, 0),
        .key_stride = tensor_stride(keys, 0),
        .logits_row_stride = tensor_stride(a->logits, 0),
        .weight_scale = (float)a->weight_scale,
        .weights_are_bf16 = a->weights->dtype.code == kDLBfloat,
        .heads = (int)score->heads,
        .columns = (int)score->columns,
        .limit = (int)score->limit,
        .requests = (int)score->requests,
        .rows_per_request = (int)score->rows_per_request,
        .groups_per_request = (int)groups_of(score->rows_per_request),
        .splits_log2 = score->splits_log2,
        .ends_are_lengths = ends == a->context_lens && ends->ndim == 1,
    };
    if (a->q_scales) {
        arguments.q_scales = tensor_data(a->q_scales);
        arguments.q_scales_row_stride = tensor_stride(a->q_scales, 0);
    }
    if (score->paged)
        set_pages(&arguments, a);
    else
        arguments.key_scales = tensor_data(a->key_scales);
    return arguments;
}

dsajit_status indexer_score_prepare(const dsajit_context *context, const void *arguments,
                                    struct call *call, dsajit_error *error)
{
    const dsajit_indexer_score_arguments *given = arguments;
    struct score score = {.given = given};
    dsajit_status status = check(&score, context, error);
    if (status)
        return status;
    call_begin(call, context, FAMILY_INDEXER_SCORE, score.device);
    choose_variant(&call->variant, &score);
    if (score.empty)
        return DSAJIT_OK;
    const int64_t groups = score.rows / score.rows_per_request * groups_of(score.rows_per_request);
    score.splits_log2 =
        choose_splits_log2(groups, given->clean_logits ? score.columns : score.limit);
    const indexer_score_arguments kernarg = kernel_arguments(&score);
    call_set_arguments(call, &kernarg, sizeof kernarg);
    return call_set_grid(call, groups << score.splits_log2, 1, INDEXER_SCORE_WORKGROUP_SIZE,
                         "workgroups for the rows of q", error);
}

dsajit_status dsajit_indexer_score_supported(const dsajit_context *context,
                                             const dsajit_indexer_score_arguments *arguments,
                                             dsajit_error *error)
{
    return call_supported(context, indexer_score_prepare, arguments, error);
}

dsajit_status dsajit_indexer_score_variant(const dsajit_context *context,
                                           const dsajit_indexer_score_arguments *arguments,
                                           dsajit_text *variant, dsajit_error *error)
{
    return call_variant(context, indexer_score_prepare, arguments, variant, error);
}

dsajit_status dsajit_indexer_score(dsajit_context *context,
                                   const dsajit_indexer_score_arguments *arguments, void *stream,
                                   dsajit_error *error)
{
    return call_enqueue(context, indexer_score_prepare, arguments, stream, error);
}
