/* From config.json to head counts, scales and formats. */
#include "dsajit/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A Kimi-K3.1-style file, in parts so that a test can put something else in a part's place. */
static const char kimi_top[] =
    "\"hidden_size\": 7168, \"num_attention_heads\": 96, \"q_lora_rank\": 1536, "
    "\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "
    "\"v_head_dim\": 128, \"rms_norm_eps\": 1e-5, \"architectures\": [\"ignored\"]";
static const char kimi_nope[] = "\"mla_use_nope\": true, \"mla_use_output_gate\": true";
static const char kimi_dsa[] =
    "\"dsa_config\": {\"index_num_heads\": 32, \"index_head_dim\": 128, \"index_topk\": 2048, "
    "\"index_rope_dim\": 0, \"index_k_norm_type\": \"layernorm\"}";

/* DeepSeek V3.2's published fields. */
static const char deepseek[] =
    "{\"hidden_size\": 7168, \"num_attention_heads\": 128, \"q_lora_rank\": 1536, "
    "\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "
    "\"v_head_dim\": 128, \"rms_norm_eps\": 1e-6, \"index_n_heads\": 64, \"index_head_dim\": 128, "
    "\"index_topk\": 2048, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, "
    "\"mscale\": 1.0, \"mscale_all_dim\": 1.0}}";

static dsajit_status read_parts(const char *top, const char *nope, const char *dsa,
                                dsajit_parallel_layout layout, dsajit_indexer_format format,
                                dsajit_model *model, dsajit_error *error)
{
    char *json;
    assert_true(
        asprintf(&json, "{%s%s%s%s%s}", top, *nope ? ", " : "", nope, *dsa ? ", " : "", dsa) > 0);
    dsajit_status status = dsajit_model_read(json, strlen(json), &layout, format, model, error);
    free(json);
    return status;
}

static const dsajit_parallel_layout single = DSAJIT_PARALLEL_LAYOUT_DEFAULT;
static const dsajit_parallel_layout tensor_8 = {8, 1, 1, 1};

static void kimi_is_derived_as_its_attention_class_does(void **state)
{
    (void)state;
    dsajit_model model;
    assert_int_equal(
        read_parts(kimi_top, kimi_nope, kimi_dsa, tensor_8, DSAJIT_INDEXER_FP8, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.style, DSAJIT_MODEL_KIMI_K3);
    assert_int_equal(model.padded_heads, 96);
    assert_int_equal(model.local_heads, 12);
    assert_int_equal(model.attended_heads, 12);
    assert_true(model.softmax_scale == pow(192, -0.5));
    assert_true(model.yarn_mscale == 1);
    assert_true(model.index_head_scale == pow(32, -0.5));
    assert_true(model.index_softmax_scale == pow(128, -0.5));
    assert_int_equal(model.index_cache_bytes, 132);
    assert_int_equal(model.attention_cache_bytes, 656);
    assert_int_equal(model.key_norm, DSAJIT_KEY_NORM_LAYERNORM);
    assert_true(model.output_gate);
    assert_true(model.rms_norm_eps == 1e-5);
    assert_int_equal(
        read_parts(kimi_top, kimi_nope, kimi_dsa, tensor_8, DSAJIT_INDEXER_MXFP4, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.index_cache_bytes, 68);
}

static void deepseek_v32_is_read_too(void **state)
{
    (void)state;
    dsajit_model model;
    assert_int_equal(
        dsajit_model_read(deepseek, strlen(deepseek), &tensor_8, DSAJIT_INDEXER_FP8, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.style, DSAJIT_MODEL_DEEPSEEK_V32);
    assert_int_equal(model.local_heads, 16);
    assert_int_equal(model.index_heads, 64);
    assert_int_equal(model.key_norm, DSAJIT_KEY_NORM_NONE);
    /* 0.1 ln 40 + 1 = 1.36888794541139...; 192^-0.5 times its square. */
    assert_true(fabs(model.yarn_mscale - 1.3688879454113936) < 1e-15);
    assert_true(fabs(model.softmax_scale - 0.13523377886) < 1e-10);
}

static void a_nested_text_config_is_found(void **state)
{
    (void)state;
    dsajit_model model;
    char *json;
    assert_true(asprintf(&json, "{\"text_config\": {%s, %s, %s}, \"vision_config\": {}}", kimi_top,
                         kimi_nope, kimi_dsa) > 0);
    assert_int_equal(
        dsajit_model_read(json, strlen(json), &tensor_8, DSAJIT_INDEXER_FP8, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.local_heads, 12);
    free(json);
}

static void heads_are_padded_to_the_tensor_parallel_size(void **state)
{
    (void)state;
    dsajit_model model;
    const dsajit_parallel_layout tensor_7 = {7, 1, 1, 1};
    assert_int_equal(
        read_parts(kimi_top, kimi_nope, kimi_dsa, tensor_7, DSAJIT_INDEXER_FP8, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.local_heads, 14); /* ceil(96 / 7) */
    assert_int_equal(model.padded_heads, 98);
}

static void decode_context_ranks_attend_with_their_group_s_heads(void **state)
{
    (void)state;
    dsajit_model model;
    dsajit_error error = {0};
    const dsajit_parallel_layout fits = {16, 2, 1, 64}, too_many = {8, 2, 1, 64};
    assert_int_equal(
        read_parts(kimi_top, kimi_nope, kimi_dsa, fits, DSAJIT_INDEXER_FP8, &model, NULL),
        DSAJIT_OK);
    assert_int_equal(model.local_heads, 6);
    assert_int_equal(model.attended_heads, 12);
    assert_int_equal(
        read_parts(kimi_top, kimi_nope, kimi_dsa, too_many, DSAJIT_INDEXER_FP8, &model, &error),
        DSAJIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "24"));
}

static void yarn_counts_only_above_factor_one_and_for_types_other_than_default(void **state)
{
    (void)state;
    static const struct {
        const char *rope;
        double mscale;
    } cases[] = {
        {"\"rope_parameters\": null", 1},
        {"\"rope_parameters\": {}", 1},
        {"\"rope_parameters\": {\"rope_type\": null}", 1},
        {"\"rope_parameters\": {\"rope_type\": \"default\"}", 1},
        {"\"rope_parameters\": {\"rope_type\": \"default\", \"factor\": 8, \"mscale_all_dim\": 1}",
         1},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 1, \"mscale_all_dim\": 1}", 1},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 8}", 1},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 8, \"mscale_all_dim\": false}",
         1},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 8, \"mscale_all_dim\": true}",
         1.2079441541679836},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 8, \"mscale_all_dim\": 0.5}",
         1.1039720770839918},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *nope;
        dsajit_model model;
        assert_true(asprintf(&nope, "%s, %s", kimi_nope, cases[i].rope) > 0);
        assert_int_equal(
            read_parts(kimi_top, nope, kimi_dsa, tensor_8, DSAJIT_INDEXER_FP8, &model, NULL),
            DSAJIT_OK);
        assert_true(fabs(model.yarn_mscale - cases[i].mscale) < 1e-15);
        free(nope);
    }
}

struct refusal {
    const char *nope, *dsa;
    dsajit_parallel_layout layout;
    dsajit_indexer_format format;
    dsajit_status status;
    const char *named;
};

/* Each with everything wrong that comes later in the order of KimiK3DSAAttention's checks, so that
   the order itself is tested. */
static void checks_come_in_the_attention_class_s_order(void **state)
{
    (void)state;
    static const char bad_dsa[] =
        "\"dsa_config\": {\"index_num_heads\": 24, \"index_head_dim\": 128, \"index_topk\": 2048, "
        "\"index_rope_dim\": 64, \"index_topk_freq\": 4, \"index_k_norm_type\": \"batchnorm\"}";
    static const char bad_freq[] =
        "\"dsa_config\": {\"index_num_heads\": 24, \"index_head_dim\": 128, \"index_topk\": 2048, "
        "\"index_topk_freq\": 4, \"index_k_norm_type\": \"batchnorm\"}";
    static const char bad_heads[] =
        "\"dsa_config\": {\"index_num_heads\": 24, \"index_head_dim\": 128, \"index_topk\": 2048, "
        "\"index_topk_freq\": 1, \"index_k_norm_type\": \"batchnorm\"}";
    static const char bad_norm[] =
        "\"dsa_config\": {\"index_num_heads\": 32, \"index_head_dim\": 128, \"index_topk\": 2048, "
        "\"index_topk_freq\": null, \"index_k_norm_type\": \"batchnorm\"}";
    static const char yarn[] = "\"mla_use_nope\": true, \"rope_parameters\": {\"rope_type\": "
                               "\"yarn\"}";
    const struct refusal refusals[] = {
        {"\"mla_use_nope\": false",
         "",
         {8, 1, 2, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "dsa_config is missing"},
        {"\"mla_use_nope\": false",
         "\"dsa_config\": null",
         {8, 1, 2, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "dsa_config is missing"},
        {"\"mla_use_nope\": false",
         bad_dsa,
         {8, 1, 2, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_UNSUPPORTED,
         "prefill context"},
        {"\"mla_use_nope\": false",
         bad_dsa,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_UNSUPPORTED,
         "mla_use_nope"},
        {"", bad_dsa, {8, 1, 1, 1}, DSAJIT_INDEXER_MXFP4, DSAJIT_ERROR_UNSUPPORTED, "mla_use_nope"},
        {yarn,
         bad_dsa,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "rope_parameters.factor is missing"},
        {kimi_nope,
         bad_dsa,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_UNSUPPORTED,
         "index_rope_dim"},
        {kimi_nope,
         bad_freq,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_UNSUPPORTED,
         "index_topk_freq"},
        {kimi_nope,
         bad_heads,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_UNSUPPORTED,
         "MXFP4"},
        {kimi_nope,
         bad_norm,
         {8, 1, 1, 1},
         DSAJIT_INDEXER_MXFP4,
         DSAJIT_ERROR_INVALID_ARGUMENT,
         "index_k_norm_type"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        dsajit_model model;
        dsajit_error error = {0};
        assert_int_equal(read_parts(kimi_top, refusals[i].nope, refusals[i].dsa, refusals[i].layout,
                                    refusals[i].format, &model, &error),
                         refusals[i].status);
        if (!strstr(error.message, refusals[i].named))
            fail_msg("'%s' does not say '%s'", error.message, refusals[i].named);
    }
}

static void malformed_fields_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *find, *put, *named;
    } cases[] = {
        {"\"num_attention_heads\": 96, ", "", "num_attention_heads is missing"},
        {"96", "\"96\"", "num_attention_heads is not an integer"},
        {"96", "96.5", "num_attention_heads is not an integer"},
        {"96", "0", "num_attention_heads is 0"},
        {"96", "-8", "num_attention_heads is -8"},
        {"96", "9223372036854775807", "num_attention_heads"},
        {"96", "1e400", ""},
        {"\"kv_lora_rank\": 512", "\"kv_lora_rank\": null", "kv_lora_rank is missing"},
        {"\"kv_lora_rank\": 512", "\"kv_lora_rank\": 256", "kv_lora_rank is 256"},
        {"\"qk_rope_head_dim\": 64", "\"qk_rope_head_dim\": 32", "qk_rope_head_dim is 32"},
        {"1e-5", "\"small\"", "rms_norm_eps is not a number"},
        {"\"index_topk\": 2048", "\"index_topk\": 4096", "index_topk is 4096"},
        {"\"index_topk\": 2048, ", "", "dsa_config.index_topk is missing"},
        {"\"index_num_heads\": 32", "\"index_num_heads\": 30", "index heads is 30"},
        {"\"mla_use_nope\": true", "\"mla_use_nope\": 1", "mla_use_nope is not true or false"},
        {"\"layernorm\"", "3", "index_k_norm_type is not a string"},
        {"\"dsa_config\": {", "\"dsa_config\": [{", ""},
        {"\"hidden_size\": 7168", "\"hidden_size\": 7168, \"hidden_size\": 7168", "duplicate"},
    };
    char *whole;
    assert_true(asprintf(&whole, "{%s, %s, %s}", kimi_top, kimi_nope, kimi_dsa) > 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(whole, cases[i].find);
        assert_non_null(at);
        char *json;
        assert_true(asprintf(&json, "%.*s%s%s", (int)(at - whole), whole, cases[i].put,
                             at + strlen(cases[i].find)) > 0);
        dsajit_model model;
        dsajit_error error = {0};
        dsajit_status status =
            dsajit_model_read(json, strlen(json), &tensor_8, DSAJIT_INDEXER_FP8, &model, &error);
        assert_true(status == DSAJIT_ERROR_INVALID_ARGUMENT || status == DSAJIT_ERROR_UNSUPPORTED);
        if (!strstr(error.message, cases[i].named))
            fail_msg("'%s' does not say '%s'", error.message, cases[i].named);
        free(json);
    }
    free(whole);
}

static void no_bytes_crash_the_reader(void **state)
{
    (void)state;
    char *whole;
    dsajit_model model;
    assert_true(asprintf(&whole, "{%s, %s, %s}", kimi_top, kimi_nope, kimi_dsa) > 0);
    size_t size = strlen(whole);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(dsajit_model_read(whole, cut, &single, DSAJIT_INDEXER_FP8, &model, NULL),
                         DSAJIT_ERROR_INVALID_ARGUMENT);
    srand(4);
    for (int round = 0; round < 20000; round++) {
        char *json = strdup(whole);
        for (int change = 0; change <= round % 4; change++)
            json[(size_t)rand() % size] = (char)rand();
        (void)dsajit_model_read(json, size, &single, DSAJIT_INDEXER_FP8, &model, NULL);
        free(json);
    }
    free(whole);
}

static void arguments_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    dsajit_model model;
    dsajit_error error = {0};
    const dsajit_parallel_layout none = {0, 1, 1, 1}, uneven = {8, 3, 1, 1};
    assert_int_equal(dsajit_model_read(NULL, 0, NULL, DSAJIT_INDEXER_FP8, &model, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_model_read("{}", 2, NULL, DSAJIT_INDEXER_FP8, NULL, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_model_read("{}", 2, NULL, (dsajit_indexer_format)7, &model, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dsajit_model_read("{}", 2, &none, DSAJIT_INDEXER_FP8, &model, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "layout.tensor"));
    assert_int_equal(dsajit_model_read("{}", 2, &uneven, DSAJIT_INDEXER_FP8, &model, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "layout.decode_context"));
    assert_int_equal(dsajit_model_read("[]", 2, NULL, DSAJIT_INDEXER_FP8, &model, &error),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(
        dsajit_model_read("{", (size_t)-1 >> 1, NULL, DSAJIT_INDEXER_FP8, &model, &error),
        DSAJIT_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kimi_is_derived_as_its_attention_class_does),
        cmocka_unit_test(deepseek_v32_is_read_too),
        cmocka_unit_test(a_nested_text_config_is_found),
        cmocka_unit_test(heads_are_padded_to_the_tensor_parallel_size),
        cmocka_unit_test(decode_context_ranks_attend_with_their_group_s_heads),
        cmocka_unit_test(yarn_counts_only_above_factor_one_and_for_types_other_than_default),
        cmocka_unit_test(checks_come_in_the_attention_class_s_order),
        cmocka_unit_test(malformed_fields_are_named),
        cmocka_unit_test(no_bytes_crash_the_reader),
        cmocka_unit_test(arguments_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
