/* dsajit check, explain, config and model show: what is said of a cache, a variant, the environment
   and a model. */
#include "process.h"
#include "small_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TWO "--heads 3 --has-invalid 0"

static void run(struct process *process, int exit_code, const char *arguments)
{
    process_run(process, NULL, "%s", arguments);
    if (process->exit_code != exit_code)
        fail_msg("%s: exit code %d: %s%s", arguments, process->exit_code, process->out,
                 process->err);
}

/* The caller releases it. */
static json_t *run_json(int exit_code, const char *command, const char *arguments)
{
    struct process process;
    run(&process, exit_code, arguments);
    json_t *object = process_json(&process, command);
    process_free(&process);
    return object;
}

static json_int_t number(const json_t *object, const char *path)
{
    return json_integer_value(json_at(object, path));
}

/* ---- check ---- */

static void expect_verdict(int exit_code, json_int_t missing, json_int_t bad)
{
    json_t *object = run_json(exit_code, "check", "check --json " TWO);
    assert_int_equal(json_is_true(json_at(object, "ok")), exit_code == 0);
    assert_int_equal(number(object, "total"), 2);
    assert_int_equal(number(object, "missing"), missing);
    assert_int_equal(number(object, "bad"), bad);
    const json_t *variants = json_at(object, "variants");
    assert_int_equal(json_array_size(variants), 2);
    json_int_t seen_missing = 0, seen_bad = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *variant = json_array_get(variants, i);
        const char *verdict = json_string_value(json_at(variant, "state"));
        seen_missing += strcmp(verdict, "missing") == 0;
        seen_bad += strcmp(verdict, "bad") == 0;
        assert_true(*json_string_value(json_at(variant, "reason")) != '\0');
        if (strcmp(verdict, "warm") == 0)
            assert_contains(json_string_value(json_at(variant, "path")),
                            getenv("DSAJIT_CACHE_DIR"));
    }
    assert_int_equal(seen_missing, missing);
    assert_int_equal(seen_bad, bad);
    json_decref(object);
}

static void check_tells_what_is_missing_and_what_is_bad(void **state)
{
    (void)state;
    struct process process;
    expect_verdict(4, 2, 0);
    assert_int_equal(small_cache_count(), 0); /* nothing was compiled */
    run(&process, 0, "warmup " TWO);
    process_free(&process);
    expect_verdict(0, 0, 0);
    small_cache_damage(small_cache_entry());
    expect_verdict(4, 0, 1);
    run(&process, 4, "check --heads 3 --has-invalid 0");
    assert_contains(process.out, "missing  sparse_mla/gfx950/heads=3");
    assert_contains(process.out, "1 of 2 variants are warm, 1 missing, 0 bad");
    process_free(&process);
}

/* R47: with a complete prebuilt layer neither a compiler nor a writable directory is needed. */
static void a_prebuilt_layer_is_enough_for_check(void **state)
{
    (void)state;
    struct process process;
    char layer[4200];
    run(&process, 0, "warmup " TWO);
    process_free(&process);
    snprintf(layer, sizeof layer, "DSAJIT_PREBUILT_PATH=%s", getenv("DSAJIT_CACHE_DIR"));
    const char *const environment[] = {layer, "DSAJIT_CACHE_DIR=/proc/no-cache",
                                       "DSAJIT_COMPILER=/no/such/helper", NULL};
    process_run(&process, environment, "check --json " TWO);
    assert_int_equal(process.exit_code, 0);
    process_free(&process);
}

/* ---- explain ---- */

static void explain_compares_with_the_most_similar_entry(void **state)
{
    (void)state;
    struct process process;
    char arguments[256];
    snprintf(arguments, sizeof arguments, "explain --json %s", small_variant(3));
    json_t *object = run_json(0, "explain", arguments);
    assert_false(json_is_true(json_at(object, "hit")));
    assert_true(json_is_null(json_at(object, "nearest")));
    json_decref(object);

    run(&process, 0, "warmup " TWO);
    process_free(&process);
    object = run_json(0, "explain", arguments);
    assert_true(json_is_true(json_at(object, "hit")));
    assert_contains(json_string_value(json_at(object, "key")), small_variant(3));
    json_decref(object);

    snprintf(arguments, sizeof arguments, "explain --json %s", small_variant(4));
    object = run_json(0, "explain", arguments);
    assert_false(json_is_true(json_at(object, "hit")));
    assert_int_equal(number(object, "nearest.differences"), 2);
    size_t i, different = 0;
    json_t *field;
    json_array_foreach(json_at(object, "fields"), i, field)
    {
        const char *name = json_string_value(json_at(field, "name"));
        const bool equal = json_is_true(json_at(field, "equal"));
        assert_int_equal(equal, strcmp(name, "variant") != 0 && strcmp(name, "source") != 0);
        different += !equal;
    }
    assert_int_equal(different, 2);
    json_decref(object);

    snprintf(arguments, sizeof arguments, "explain %s", small_variant(4));
    run(&process, 0, arguments);
    assert_contains(process.out, "miss     sparse_mla/gfx950/heads=4");
    assert_contains(process.out, "  - variant                sparse_mla/gfx950/heads=4");
    assert_contains(process.out, "  + variant                sparse_mla/gfx950/heads=3");
    process_free(&process);
    run(&process, 2, "explain sparse_mla/gfx950/heads=4");
    assert_contains(process.err, "has_invalid");
    process_free(&process);
}

/* ---- config ---- */

static const json_t *find_setting(const json_t *object, const char *variable)
{
    size_t i;
    json_t *setting;
    json_array_foreach(json_at(object, "settings"), i, setting)
    {
        if (strcmp(json_string_value(json_at(setting, "variable")), variable) == 0)
            return setting;
    }
    fail_msg("there is no setting %s", variable);
    return NULL;
}

static void config_says_where_each_value_comes_from(void **state)
{
    (void)state;
    struct process process;
    json_t *object = run_json(0, "config", "config --json");
    const json_t *setting = find_setting(object, "DSAJIT_CACHE_DIR");
    assert_string_equal(json_string_value(json_at(setting, "value")), getenv("DSAJIT_CACHE_DIR"));
    assert_string_equal(json_string_value(json_at(setting, "origin")), "DSAJIT_CACHE_DIR");
    setting = find_setting(object, "DSAJIT_DEVICE");
    assert_string_equal(json_string_value(json_at(setting, "value")), "auto");
    assert_string_equal(json_string_value(json_at(setting, "origin")), "default");
    assert_int_equal(json_array_size(json_at(object, "unknown")), 0);
    json_decref(object);
    run(&process, 0, "config");
    assert_contains(process.out, "DSAJIT_CACHE_DIR=");
    assert_contains(process.out, "(DSAJIT_CACHE_DIR)");
    assert_string_equal(process.err, "");
    process_free(&process);
}

static void config_warns_of_what_nothing_knows_and_refuses_what_is_wrong(void **state)
{
    (void)state;
    struct process process;
    const char *const unknown[] = {"DSAJIT_CACHE_DRI=/somewhere", NULL};
    process_run(&process, unknown, "config --json");
    assert_int_equal(process.exit_code, 0);
    assert_contains(process.err, "warning: the environment has DSAJIT_CACHE_DRI");
    json_t *object = process_json(&process, "config");
    assert_int_equal(json_array_size(json_at(object, "unknown")), 1);
    json_decref(object);
    process_free(&process);
    const char *const wrong[] = {"DSAJIT_STRICT=perhaps", NULL};
    process_run(&process, wrong, "config --json");
    assert_int_equal(process.exit_code, 2);
    object = process_json(&process, "config");
    assert_contains(json_string_value(json_at(object, "error.message")), "DSAJIT_STRICT");
    json_decref(object);
    process_free(&process);
}

/* ---- model show ---- */

/* DeepSeek V3.2's published fields. */
static const char deepseek[] =
    "{\"hidden_size\": 7168, \"num_attention_heads\": 128, \"q_lora_rank\": 1536, "
    "\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "
    "\"v_head_dim\": 128, \"rms_norm_eps\": 1e-6, \"index_n_heads\": 64, \"index_head_dim\": 128, "
    "\"index_topk\": 2048}";

static void write_config(const char *text)
{
    FILE *file = fopen(state_path("config.json"), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void model_show_derives_what_a_device_needs(void **state)
{
    (void)state;
    struct process process;
    char arguments[4200];
    write_config(deepseek);
    snprintf(arguments, sizeof arguments, "model show --json --tp 8 --indexer mxfp4 %s",
             state_path("config.json"));
    json_t *object = run_json(0, "model show", arguments);
    assert_string_equal(json_string_value(json_at(object, "model.style")), "deepseek-v3.2");
    assert_string_equal(json_string_value(json_at(object, "model.indexer")), "mxfp4");
    assert_int_equal(number(object, "model.local_heads"), 16);
    assert_int_equal(number(object, "model.index_cache_bytes"), 68);
    assert_int_equal(number(object, "model.attention_cache_bytes"), 656);
    json_decref(object);
    process_run(&process, NULL, "model show --tp 16 %s", state_path("config.json"));
    assert_int_equal(process.exit_code, 0);
    assert_contains(process.out, "local_heads               8\n");
    process_free(&process);
}

static void a_model_that_is_not_served_is_refused_by_name(void **state)
{
    (void)state;
    struct process process;
    write_config("{\"hidden_size\": 7168}");
    process_run(&process, NULL, "model show %s", state_path("config.json"));
    assert_int_equal(process.exit_code, 2);
    assert_contains(process.err, "config.json");
    process_free(&process);
    process_run(&process, NULL, "model show /no/such/config.json");
    assert_int_equal(process.exit_code, 1);
    process_free(&process);
    process_run(&process, NULL, "model show");
    assert_int_equal(process.exit_code, 2);
    assert_contains(process.err, "which config.json?");
    process_free(&process);
}

/* A plan for a model covers the attention of its rank. */
static void a_model_chooses_variants(void **state)
{
    (void)state;
    struct process process;
    write_config(deepseek);
    unsetenv("DSAJIT_TEMPLATE_DIR"); /* the small ones are of one family only */
    process_run(&process, NULL, "check --json --model %s --tp 8", state_path("config.json"));
    assert_int_equal(process.exit_code, 4);
    assert_contains(process.out, "sparse_mla/gfx950/heads=16,");
    assert_contains(process.out, "indexer_");
    assert_int_equal(count_of(process.out, "heads=15"), 0);
    process_free(&process);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, small_cache_set_up)
    const struct CMUnitTest tests[] = {
        TEST(check_tells_what_is_missing_and_what_is_bad),
        TEST(a_prebuilt_layer_is_enough_for_check),
        TEST(explain_compares_with_the_most_similar_entry),
        TEST(config_says_where_each_value_comes_from),
        TEST(config_warns_of_what_nothing_knows_and_refuses_what_is_wrong),
        TEST(model_show_derives_what_a_device_needs),
        TEST(a_model_that_is_not_served_is_refused_by_name),
        TEST(a_model_chooses_variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
