#include "dsajit/model.h"

#include "base/error.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* No model's config.json is near this. */
enum { CONFIG_BYTES_MAX = 16 << 20 };

/* ---- Fields ---- */

/* An integer field of config.json. Bounds are generous: they catch nonsense before it is
 * multiplied. */
struct integer_field {
    const char *name;
    size_t offset; /* of an int in dsajit_model */
    int least, most;
    bool optional; /* absent or null leaves 0 */
};

static const struct integer_field model_fields[] = {
    {"hidden_size", offsetof(dsajit_model, hidden_size), 1, 1 << 20, false},
    {"num_attention_heads", offsetof(dsajit_model, heads), 1, 1 << 14, false},
    {"q_lora_rank", offsetof(dsajit_model, q_lora_rank), 1, 1 << 20, true},
    {"kv_lora_rank", offsetof(dsajit_model, kv_lora_rank), 1, 1 << 20, false},
    {"qk_nope_head_dim", offsetof(dsajit_model, qk_nope_head_dim), 1, 1 << 16, false},
    {"qk_rope_head_dim", offsetof(dsajit_model, qk_rope_head_dim), 0, 1 << 16, false},
    {"v_head_dim", offsetof(dsajit_model, v_head_dim), 1, 1 << 16, false},
};

static const struct integer_field kimi_index_fields[] = {
    {"index_num_heads", offsetof(dsajit_model, index_heads), 1, 1 << 14, false},
    {"index_head_dim", offsetof(dsajit_model, index_head_dim), 1, 1 << 16, false},
    {"index_topk", offsetof(dsajit_model, index_topk), 1, 1 << 24, false},
};

static const struct integer_field deepseek_index_fields[] = {
    {"index_n_heads", offsetof(dsajit_model, index_heads), 1, 1 << 14, false},
    {"index_head_dim", offsetof(dsajit_model, index_head_dim), 1, 1 << 16, false},
    {"index_topk", offsetof(dsajit_model, index_topk), 1, 1 << 24, false},
};

/* An object of config.json and the name it goes by in messages: "", "dsa_config.", … */
struct section {
    const char *prefix;
    const json_t *object;
};

/* A member, with null the same as absent. */
static const json_t *find(struct section section, const char *name)
{
    const json_t *value = json_object_get(section.object, name);
    return json_is_null(value) ? NULL : value;
}

static dsajit_status wrong_type(struct section section, const char *name, const char *wanted,
                                dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s%s is not %s", section.prefix, name,
                     wanted);
}

static dsajit_status missing(struct section section, const char *name, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s%s is missing", section.prefix, name);
}

static dsajit_status read_integers(struct section section, const struct integer_field *fields,
                                   size_t count, dsajit_model *model, dsajit_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct integer_field *field = &fields[i];
        const json_t *value = find(section, field->name);
        if (!value && field->optional)
            continue;
        if (!value)
            return missing(section, field->name, error);
        if (!json_is_integer(value))
            return wrong_type(section, field->name, "an integer", error);
        json_int_t number = json_integer_value(value);
        if (number < field->least || number > field->most)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "%s%s is %lld; %d to %d is allowed", section.prefix, field->name,
                             (long long)number, field->least, field->most);
        int narrow = (int)number;
        memcpy((char *)model + field->offset, &narrow, sizeof narrow);
    }
    return DSAJIT_OK;
}

/* A number, or a boolean as Python would take one (true is 1). `*number` keeps its value when there
 * is none. */
static dsajit_status read_number(struct section section, const char *name, double *number,
                                 dsajit_error *error)
{
    const json_t *value = find(section, name);
    if (!value)
        return DSAJIT_OK;
    if (json_is_boolean(value))
        *number = json_is_true(value);
    else if (json_is_number(value))
        *number = json_number_value(value);
    else
        return wrong_type(section, name, "a number", error);
    return isfinite(*number) ? DSAJIT_OK : wrong_type(section, name, "a finite number", error);
}

static dsajit_status read_flag(struct section section, const char *name, bool *flag,
                               dsajit_error *error)
{
    const json_t *value = find(section, name);
    *flag = json_is_true(value);
    return !value || json_is_boolean(value) ? DSAJIT_OK
                                            : wrong_type(section, name, "true or false", error);
}

/* ---- Checks and derivations, in KimiK3DSAAttention's order ---- */

static void derive_heads(dsajit_model *model)
{
    int tensor = model->layout.tensor;
    model->local_heads = (model->heads + tensor - 1) / tensor;
    model->padded_heads = model->local_heads * tensor;
    model->attended_heads = model->local_heads * model->layout.decode_context;
}

/* Rotary parameters: rope_parameters, or rope_scaling as older files call it. YaRN's mscale
   rescales the softmax whether or not anything is rotated. */
static dsajit_status derive_scale(struct section config, dsajit_model *model, dsajit_error *error)
{
    struct section rope = {"rope_parameters.", find(config, "rope_parameters")};
    if (!rope.object)
        rope = (struct section){"rope_scaling.", find(config, "rope_scaling")};
    model->yarn_mscale = 1;
    if (rope.object && !json_is_object(rope.object))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "rope_parameters is not an object");
    const json_t *type = rope.object ? find(rope, "rope_type") : NULL;
    if (!type && rope.object)
        type = find(rope, "type");
    if (type && !json_is_string(type))
        return wrong_type(rope, "rope_type", "a string", error);
    if (type && strcmp(json_string_value(type), "default") != 0) {
        double factor = 0, mscale_all_dim = 0;
        if (!find(rope, "factor"))
            return missing(rope, "factor", error);
        dsajit_status status = read_number(rope, "factor", &factor, error);
        if (!status)
            status = read_number(rope, "mscale_all_dim", &mscale_all_dim, error);
        if (status)
            return status;
        if (factor > 1)
            model->yarn_mscale = 0.1 * mscale_all_dim * log(factor) + 1;
    }
    /* pow and not sqrt, and in this order, so that the bits are those of the Python expression. */
    model->softmax_scale = pow(model->qk_nope_head_dim + model->qk_rope_head_dim, -0.5) *
                           model->yarn_mscale * model->yarn_mscale;
    if (!isfinite((float)model->softmax_scale))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%sfactor and mscale_all_dim make a softmax scale of %g", rope.prefix,
                         model->softmax_scale);
    return DSAJIT_OK;
}

/* A member that must be absent, null or one number. */
static dsajit_status check_only(struct section section, const char *name, json_int_t served,
                                dsajit_error *error)
{
    const json_t *value = find(section, name);
    if (value && !json_is_integer(value))
        return wrong_type(section, name, "an integer", error);
    if (value && json_integer_value(value) != served)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "%s%s is %lld; only %lld is served",
                         section.prefix, name, (long long)json_integer_value(value),
                         (long long)served);
    return DSAJIT_OK;
}

static dsajit_status check_mxfp4(const dsajit_model *model, dsajit_error *error)
{
    int heads = model->index_heads;
    bool served = model->index_head_dim == 128 && (heads == 16 || heads == 32 || heads == 64);
    if (model->indexer_format != DSAJIT_INDEXER_MXFP4 || served)
        return DSAJIT_OK;
    return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                     "MXFP4 requires index_head_dim 128 and 16, 32 or 64 index heads; this model "
                     "has %d and %d",
                     model->index_head_dim, heads);
}

static dsajit_status read_key_norm(struct section dsa, dsajit_model *model, dsajit_error *error)
{
    const json_t *type = find(dsa, "index_k_norm_type");
    const char *name = type ? json_string_value(type) : "rmsnorm";
    if (!name)
        return wrong_type(dsa, "index_k_norm_type", "a string", error);
    if (strcmp(name, "rmsnorm") == 0)
        model->key_norm = DSAJIT_KEY_NORM_RMSNORM;
    else if (strcmp(name, "layernorm") == 0)
        model->key_norm = DSAJIT_KEY_NORM_LAYERNORM;
    else
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "dsa_config.index_k_norm_type is '%.64s'; 'rmsnorm' and 'layernorm' are "
                         "allowed",
                         name);
    return DSAJIT_OK;
}

static dsajit_status read_kimi(struct section config, struct section dsa, dsajit_model *model,
                               dsajit_error *error)
{
    dsajit_status status;
    bool nope;
    derive_heads(model);
    if ((status = read_flag(config, "mla_use_nope", &nope, error)))
        return status;
    if (!nope)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "mla_use_nope is not true; Kimi-K3.1 DSA is served without rotation only");
    if ((status = derive_scale(config, model, error)) ||
        (status = read_flag(config, "mla_use_output_gate", &model->output_gate, error)) ||
        (status =
             read_integers(dsa, kimi_index_fields,
                           sizeof kimi_index_fields / sizeof *kimi_index_fields, model, error)) ||
        (status = check_only(dsa, "index_rope_dim", 0, error)) ||
        (status = check_only(dsa, "index_topk_freq", 1, error)) ||
        (status = check_mxfp4(model, error)))
        return status;
    return read_key_norm(dsa, model, error);
}

static dsajit_status read_deepseek(struct section config, dsajit_model *model, dsajit_error *error)
{
    dsajit_status status;
    derive_heads(model);
    if ((status = derive_scale(config, model, error)) ||
        (status = read_integers(config, deepseek_index_fields,
                                sizeof deepseek_index_fields / sizeof *deepseek_index_fields, model,
                                error)))
        return status;
    model->key_norm = DSAJIT_KEY_NORM_NONE;
    return check_mxfp4(model, error);
}

/* What the kernels of this library are made for. */
static dsajit_status check_limits(const dsajit_model *model, dsajit_error *error)
{
    const struct {
        const char *name;
        int value, least, most, multiple;
    } limits[] = {
        {"kv_lora_rank", model->kv_lora_rank, DSAJIT_KV_LORA_RANK, DSAJIT_KV_LORA_RANK, 1},
        {"qk_rope_head_dim", model->qk_rope_head_dim, DSAJIT_QK_ROPE_HEAD_DIM,
         DSAJIT_QK_ROPE_HEAD_DIM, 1},
        {"index_head_dim", model->index_head_dim, 128, 128, 1},
        {"the number of index heads", model->index_heads, 4, 64, 4},
        {"index_topk", model->index_topk, 1, 2048, 1},
        {"the number of heads in one call (heads / tensor * decode context)", model->attended_heads,
         1, DSAJIT_HEADS_MAX, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int value = limits[i].value;
        if (value < limits[i].least || value > limits[i].most || value % limits[i].multiple)
            return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                             "%s is %d; %d to %d in steps of %d is served", limits[i].name, value,
                             limits[i].least, limits[i].most, limits[i].multiple);
    }
    return DSAJIT_OK;
}

static dsajit_status read_config(struct section config, dsajit_model *model, dsajit_error *error)
{
    struct section dsa = {"dsa_config.", find(config, "dsa_config")};
    bool deepseek = !dsa.object && find(config, "index_n_heads");
    if (!dsa.object && !deepseek)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "dsa_config is missing (and so is index_n_heads): not a model with "
                         "DeepSeek Sparse Attention");
    if (dsa.object && !json_is_object(dsa.object))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "dsa_config is not an object");
    if (model->layout.prefill_context > 1)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "prefill context parallelism of %d; only 1 is served",
                         model->layout.prefill_context);
    model->style = deepseek ? DSAJIT_MODEL_DEEPSEEK_V32 : DSAJIT_MODEL_KIMI_K3;
    dsajit_status status = read_integers(config, model_fields,
                                         sizeof model_fields / sizeof *model_fields, model, error);
    if (status)
        return status;
    model->rms_norm_eps = 1e-6;
    if ((status = read_number(config, "rms_norm_eps", &model->rms_norm_eps, error)))
        return status;
    status = deepseek ? read_deepseek(config, model, error) : read_kimi(config, dsa, model, error);
    if (status)
        return status;
    model->index_head_scale = pow(model->index_heads, -0.5);
    model->index_softmax_scale = pow(model->index_head_dim, -0.5);
    model->index_cache_bytes = model->indexer_format == DSAJIT_INDEXER_MXFP4
                                   ? model->index_head_dim / 2 + 4
                                   : model->index_head_dim + 4;
    model->attention_cache_bytes = DSAJIT_RECORD_BYTES;
    return check_limits(model, error);
}

static dsajit_status check_layout(const dsajit_parallel_layout *layout, dsajit_error *error)
{
    const struct {
        const char *name;
        int value;
    } sizes[] = {
        {"tensor", layout->tensor},
        {"decode_context", layout->decode_context},
        {"prefill_context", layout->prefill_context},
        {"interleave", layout->interleave},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > 1 << 14)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "layout.%s is %d; 1 to %d is allowed", sizes[i].name, sizes[i].value,
                             1 << 14);
    if (layout->tensor % layout->decode_context)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "layout.decode_context is %d; a divisor of the tensor parallel size %d is "
                         "allowed",
                         layout->decode_context, layout->tensor);
    return DSAJIT_OK;
}

dsajit_status dsajit_model_read(const char *json, size_t size, const dsajit_parallel_layout *layout,
                                dsajit_indexer_format indexer_format, dsajit_model *model,
                                dsajit_error *error)
{
    static const dsajit_parallel_layout single = DSAJIT_PARALLEL_LAYOUT_DEFAULT;
    if (!json || !model)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL",
                         json ? "model" : "json");
    if (indexer_format != DSAJIT_INDEXER_FP8 && indexer_format != DSAJIT_INDEXER_MXFP4)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "indexer_format is %d; DSAJIT_INDEXER_FP8 and DSAJIT_INDEXER_MXFP4 are "
                         "allowed",
                         (int)indexer_format);
    if (size > CONFIG_BYTES_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "a config.json of %zu bytes; up to %d are read", size, CONFIG_BYTES_MAX);
    *model = (dsajit_model){.layout = layout ? *layout : single, .indexer_format = indexer_format};
    dsajit_status status = check_layout(&model->layout, error);
    if (status)
        return status;
    json_error_t where;
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "line %d, column %d: %s", where.line,
                         where.column, where.text);
    struct section config = {"", root};
    const json_t *text_config = json_object_get(root, "text_config");
    if (json_is_object(text_config))
        config = (struct section){"text_config.", text_config};
    status = json_is_object(root)
                 ? read_config(config, model, error)
                 : error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "not a JSON object");
    json_decref(root);
    return status;
}
