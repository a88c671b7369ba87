#include "dsajit/model.h"

#include "base/bytes.h"
#include "base/error.h"
#include "runtime/dcp.h"

#include <stdarg.h>
#include <stdio.h>

/* Adds a selection, written like printf does. */
__attribute__((format(printf, 3, 4))) static dsajit_status
add(dsajit_plan *plan, dsajit_error *error, const char *format, ...)
{
    char selection[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(selection, sizeof selection, format, arguments);
    va_end(arguments);
    return dsajit_plan_add(plan, selection, error);
}

static dsajit_status add_attention(dsajit_plan *plan, const dsajit_model *model,
                                   dsajit_error *error)
{
    const bool shared = model->layout.decode_context > 1;
    dsajit_status status = add(plan, error, "mla_cache_write//scale=pow2");
    return status ? status
                  : add(plan, error, "sparse_mla//heads=%d,index=i32,scale=pow2,math=bf16%s",
                        model->attended_heads, shared ? "" : ",has_invalid=0");
}

static dsajit_status add_indexer(dsajit_plan *plan, const dsajit_model *model, dsajit_error *error)
{
    static const char *const norms[] = {
        [DSAJIT_KEY_NORM_NONE] = "none",
        [DSAJIT_KEY_NORM_RMSNORM] = "rmsnorm",
        [DSAJIT_KEY_NORM_LAYERNORM] = "layernorm",
    };
    enum { HEADS_STEP = 16 }; /* of the scorer's variants */
    const char *format = model->indexer_format == DSAJIT_INDEXER_MXFP4 ? "mxfp4" : "fp8";
    const int heads = (model->index_heads + HEADS_STEP - 1) / HEADS_STEP * HEADS_STEP;
    dsajit_status status;
    if ((status = add(plan, error, "indexer_key//norm=%s,format=%s,page_tokens=%d",
                      norms[model->key_norm], format, DSAJIT_MODEL_PAGE_TOKENS)) ||
        (status =
             add(plan, error, "indexer_query//format=%s,heads=%d", format, model->index_heads)) ||
        (status = add(plan, error, "indexer_score//format=%s,heads=%d,addressing=pages,clean=0",
                      format, heads)))
        return status;
    if ((status = add(plan, error, "topk//%s", model->layout.decode_context > 1 ? "" : "scores=0")))
        return status;
    return add(plan, error, "index_lists//index=i32");
}

static dsajit_status add_merging(dsajit_plan *plan, const dsajit_model *model, dsajit_error *error)
{
    static const char *const whole[] = {"dcp_ids", "dcp_pack", "dcp_attention"};
    const unsigned candidates =
        (unsigned)model->index_topk * (unsigned)model->layout.decode_context;
    dsajit_status status = add(plan, error, "dcp_topk//capacity=%d", dcp_topk_capacity(candidates));
    for (size_t i = 0; !status && i < sizeof whole / sizeof *whole; i++)
        status = dsajit_plan_add(plan, whole[i], error);
    return status;
}

/* What the selections' texts are made of; the rest is checked as they are parsed. */
static dsajit_status check_model(const dsajit_model *model, dsajit_error *error)
{
    if (!model)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "model is NULL");
    const struct {
        const char *name;
        int value, least, most;
    } limits[] = {
        {"key_norm", (int)model->key_norm, DSAJIT_KEY_NORM_NONE, DSAJIT_KEY_NORM_LAYERNORM},
        {"index_heads", model->index_heads, 1, DSAJIT_INDEX_HEADS_MAX},
        {"index_topk", model->index_topk, 1, DSAJIT_INDEX_TOPK_MAX},
        {"layout.decode_context", model->layout.decode_context, 1, DSAJIT_DCP_RANKS_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value < limits[i].least || limits[i].value > limits[i].most)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "model.%s is %d; %d to %d are allowed", limits[i].name,
                             limits[i].value, limits[i].least, limits[i].most);
    return DSAJIT_OK;
}

dsajit_status dsajit_plan_add_model(dsajit_plan *plan, const dsajit_model *model,
                                    dsajit_error *error)
{
    dsajit_status status = check_model(model, error);
    if (!status)
        status = add_attention(plan, model, error);
    if (!status)
        status = add_indexer(plan, model, error);
    if (!status && model->layout.decode_context > 1)
        status = add_merging(plan, model, error);
    return status;
}
