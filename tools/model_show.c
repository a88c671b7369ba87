/* dsajit model show: what a model's sparse attention needs. */
#include "members.h"
#include "model_file.h"
#include "operands.h"

struct show_options {
    struct operands operands;
    struct model_layout layout;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_show(int key, char *argument, struct argp_state *state)
{
    struct show_options *options = state->input;
    if (key == ARGP_KEY_INIT)
        state->child_inputs[1] = &options->layout;
    return operands_parse(key, argument, state);
}

static const struct argp_child children[] = {
    {&common_argp, 0, "Output:", 2}, {&model_layout_argp, 0, "The layout:", 1}, {0}};

const struct argp model_show_argp = {
    .parser = parse_show,
    .args_doc = "CONFIG.JSON",
    .doc = "Read a model's config.json and print what its sparse attention needs on each device: "
           "heads, scales, formats, cache bytes. dsajit warmup --model makes the kernels for it.",
    .children = children,
};

static const char *const style_names[] = {
    [DSAJIT_MODEL_KIMI_K3] = "kimi-k3",
    [DSAJIT_MODEL_DEEPSEEK_V32] = "deepseek-v3.2",
};
static const char *const norm_names[] = {
    [DSAJIT_KEY_NORM_NONE] = "none",
    [DSAJIT_KEY_NORM_RMSNORM] = "rmsnorm",
    [DSAJIT_KEY_NORM_LAYERNORM] = "layernorm",
};

/* Text output shows the members of this object. */
static json_t *describe(const dsajit_model *model)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"tensor_parallel", model->layout.tensor},
        {"decode_context_parallel", model->layout.decode_context},
        {"interleave", model->layout.interleave},
        {"hidden_size", model->hidden_size},
        {"heads", model->heads},
        {"padded_heads", model->padded_heads},
        {"local_heads", model->local_heads},
        {"attended_heads", model->attended_heads},
        {"q_lora_rank", model->q_lora_rank},
        {"kv_lora_rank", model->kv_lora_rank},
        {"qk_nope_head_dim", model->qk_nope_head_dim},
        {"qk_rope_head_dim", model->qk_rope_head_dim},
        {"v_head_dim", model->v_head_dim},
        {"index_heads", model->index_heads},
        {"index_head_dim", model->index_head_dim},
        {"index_topk", model->index_topk},
        {"index_cache_bytes", model->index_cache_bytes},
        {"attention_cache_bytes", model->attention_cache_bytes},
    };
    const struct {
        const char *name;
        double value;
    } scales[] = {
        {"rms_norm_eps", model->rms_norm_eps},
        {"yarn_mscale", model->yarn_mscale},
        {"softmax_scale", model->softmax_scale},
        {"index_head_scale", model->index_head_scale},
        {"index_softmax_scale", model->index_softmax_scale},
    };
    json_t *object = json_pack("{s:s, s:s, s:s, s:b}", "style", style_names[model->style],
                               "indexer", model_indexer_name(model->indexer_format), "key_norm",
                               norm_names[model->key_norm], "output_gate", model->output_gate);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].name, json_integer(numbers[i].value));
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        json_object_set_new(object, scales[i].name, command_json_number(scales[i].value));
    return object;
}

int run_model_show(int argc, char **argv)
{
    enum { WIDTH = 26 };
    struct show_options options = {
        .operands = {.least = 1, .most = 1, .question = "which config.json?"},
        .layout = MODEL_LAYOUT_DEFAULT,
    };
    if (argp_parse(&model_show_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    dsajit_model model;
    dsajit_error error;
    if (model_file_read(options.operands.items[0], &options.layout, &model, &error))
        return command_fail(&options.operands.common, "model show", &error);
    json_t *description = describe(&model);
    if (options.operands.common.json) {
        json_t *object = command_json("model show");
        json_object_set(object, "model", description);
        command_print_json(object);
    } else {
        members_print(description, WIDTH);
    }
    json_decref(description);
    return EXIT_DONE;
}
