/* dsajit warmup: what it does, what it says, and its exit codes. */
#include "process.h"
#include "small_cache.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Two variants. */
#define TWO "--heads 3 --has-invalid 0"

static void expect_exit(const struct process *process, int code)
{
    if (process->exit_code != code)
        fail_msg("exit code %d: %s%s", process->exit_code, process->out, process->err);
}

static json_int_t number(const json_t *object, const char *path)
{
    return json_integer_value(json_at(object, path));
}

/* R11: what is warm is told in one line, and no helper is needed to find out. */
static void a_warm_run_says_so_in_one_line(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup " TWO);
    expect_exit(&process, 0);
    assert_contains(process.out, "2 of 2 variants are warm: 2 compiled");
    assert_int_equal(count_of(process.out, "\n"), 1);
    assert_int_equal(small_cache_count(), 2);
    process_free(&process);

    const char *const no_helper[] = {"DSAJIT_COMPILER=/no/such/helper", NULL};
    process_run(&process, no_helper, "warmup " TWO);
    expect_exit(&process, 0);
    assert_contains(process.out, "2 of 2 variants are warm: nothing had to be compiled and no "
                                 "helper was started");
    assert_int_equal(count_of(process.out, "\n"), 1);
    assert_string_equal(process.err, "");
    process_free(&process);
}

static void the_result_is_one_json_object(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --json --jobs 1 --progress off " TWO);
    expect_exit(&process, 0);
    assert_string_equal(process.err, "");
    json_t *object = process_json(&process, "warmup");
    assert_true(json_is_true(json_at(object, "ok")));
    assert_string_equal(json_string_value(json_at(object, "level")), "compiled");
    assert_int_equal(number(object, "total"), 2);
    assert_int_equal(number(object, "compiled"), 2);
    assert_int_equal(number(object, "failed"), 0);
    assert_int_equal(number(object, "jobs"), 1);
    assert_true(number(object, "helpers_started") > 0);
    assert_true(json_is_null(json_at(object, "signal")));
    const json_t *results = json_at(object, "results");
    assert_int_equal(json_array_size(results), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *result = json_array_get(results, i);
        assert_string_equal(json_string_value(json_at(result, "status")), "OK");
        assert_string_equal(json_string_value(json_at(result, "origin")), "compiled");
        assert_true(json_real_value(json_at(result, "compile_ms")) > 0);
        assert_contains(json_string_value(json_at(result, "variant")),
                        "sparse_mla/gfx950/heads=3,has_invalid=0,");
    }
    json_decref(object);
    process_free(&process);
}

static void resident_means_launched_on_the_device(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --json --level resident --device emulator " TWO);
    expect_exit(&process, 0);
    json_t *object = process_json(&process, "warmup");
    const json_t *result = json_array_get(json_at(object, "results"), 0);
    assert_true(json_real_value(json_at(result, "resident_ms")) > 0);
    json_decref(object);
    process_free(&process);
    process_run(&process, NULL, "warmup --level resident --device hip " TWO);
    expect_exit(&process, 8);
    process_free(&process);
}

/* A folder made with --into holds everything, whatever layers there are besides. */
static void into_fills_that_directory(void **state)
{
    (void)state;
    struct process process;
    char into[4096], layer[4200];
    process_run(&process, NULL, "warmup " TWO);
    process_free(&process);
    snprintf(layer, sizeof layer, "DSAJIT_PREBUILT_PATH=%s", getenv("DSAJIT_CACHE_DIR"));
    snprintf(into, sizeof into, "%s", state_path("templates-small/image/cache"));
    const char *const environment[] = {layer, NULL};
    process_run(&process, environment, "warmup --into %s " TWO, into);
    expect_exit(&process, 0);
    assert_contains(process.out, "2 compiled");
    process_free(&process);
    setenv("DSAJIT_CACHE_DIR", into, 1);
    assert_int_equal(small_cache_count(), 2);
}

static void strict_compiles_nothing(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --strict --json " TWO);
    expect_exit(&process, 4);
    json_t *object = process_json(&process, "warmup");
    assert_string_equal(json_string_value(json_at(object, "error.status")), "SEALED");
    assert_contains(json_string_value(json_at(object, "error.message")), "heads=3");
    assert_contains(json_string_value(json_at(object, "error.message")),
                    getenv("DSAJIT_CACHE_DIR"));
    json_decref(object);
    process_free(&process);
    assert_int_equal(small_cache_count(), 0);
}

static void a_variant_that_fails_stops_no_other(void **state)
{
    (void)state;
    struct process process;
    small_cache_write_template("static_assert(variant::heads != 3, \"three heads\");");
    process_run(&process, NULL, "warmup --heads 2,3,4 --has-invalid 0 --return-lse 0");
    expect_exit(&process, 3);
    assert_contains(process.out, "2 of 3 variants are warm");
    assert_contains(process.out, "1 are not");
    assert_contains(process.err, "FAILED: sparse_mla/gfx950/heads=3,");
    assert_contains(process.err, "three heads");
    process_free(&process);
    assert_int_equal(small_cache_count(), 2);
}

static void a_missing_compiler_is_code_6(void **state)
{
    (void)state;
    struct process process;
    const char *const no_helper[] = {"DSAJIT_COMPILER=/no/such/helper", NULL};
    process_run(&process, no_helper, "warmup " TWO);
    expect_exit(&process, 6);
    assert_contains(process.err, "/no/such/helper");
    process_free(&process);
}

static void a_compile_that_hangs_is_code_7(void **state)
{
    (void)state;
    struct process process;
    const char *const hanging[] = {"DSAJIT_COMPILER=" HANGING_HELPER, NULL};
    process_run(&process, hanging, "warmup --timeout 1 --heads 3 --has-invalid 0 --return-lse 0");
    expect_exit(&process, 7);
    assert_contains(process.err, "time limit");
    process_free(&process);
}

/* Compiling what can't be kept would be for nothing; a complete prebuilt layer is enough. */
static void without_a_usable_directory_only_prebuilt_layers_count(void **state)
{
    (void)state;
    struct process process;
    const char *const unusable[] = {"DSAJIT_CACHE_DIR=/proc/no-cache", NULL};
    process_run(&process, unusable, "warmup " TWO);
    expect_exit(&process, 5);
    assert_contains(process.err, "/proc/no-cache");
    process_free(&process);

    process_run(&process, NULL, "warmup " TWO);
    expect_exit(&process, 0);
    process_free(&process);
    char layer[4200];
    snprintf(layer, sizeof layer, "DSAJIT_PREBUILT_PATH=%s", getenv("DSAJIT_CACHE_DIR"));
    const char *const with_layer[] = {layer, "DSAJIT_CACHE_DIR=/proc/no-cache", NULL};
    process_run(&process, with_layer, "warmup " TWO);
    expect_exit(&process, 0);
    process_free(&process);
}

/* ---- Selections ---- */

/* How many variants a selection's dry run is about. */
static json_int_t count_selected(const char *options)
{
    struct process process;
    process_run(&process, NULL, "warmup --dry-run --json %s", options);
    expect_exit(&process, 0);
    json_t *object = process_json(&process, "warmup");
    const json_int_t total = number(object, "total");
    assert_int_equal(json_array_size(json_at(object, "variants")), total);
    json_decref(object);
    process_free(&process);
    return total;
}

static void options_choose_variants(void **state)
{
    (void)state;
    assert_int_equal(count_selected(""), 28);
    assert_int_equal(count_selected("--heads 8"), 4);
    assert_int_equal(count_selected("--heads 8,9 --has-invalid 1"), 4);
    assert_int_equal(count_selected("--heads 8 --index both --scale any"), 8);
    assert_int_equal(count_selected("--heads all --arch all"), 64);
    assert_int_equal(count_selected("--return-lse 1 --arch gfx950"), 14);
    assert_int_equal(count_selected("--select sparse_mla/gfx950/heads=8"), 16);
    assert_int_equal(count_selected("--select sparse_mla//heads=8 --heads 8,9 --math bf16"), 20);
}

/* Every field of the family can be chosen by an option of its name. */
static void every_field_has_an_option(void **state)
{
    (void)state;
    struct process variants, help;
    process_run(&variants, NULL, "variants %s", small_variant(1));
    process_run(&help, NULL, "help warmup");
    char *rest = NULL, *fields = strrchr(variants.out, '/') + 1;
    for (char *field = strtok_r(fields, ",", &rest); field; field = strtok_r(NULL, ",", &rest)) {
        char option[64];
        snprintf(option, sizeof option, "--%.*s=", (int)strcspn(field, "="), field);
        for (char *at = option; (at = strchr(at, '_'));)
            *at = '-';
        assert_contains(help.out, option);
    }
    process_free(&variants);
    process_free(&help);
}

static void expect_usage_error(const char *options, const char *word)
{
    struct process process;
    process_run(&process, NULL, "warmup %s", options);
    expect_exit(&process, 2);
    assert_contains(process.err, word);
    process_free(&process);
}

static void wrong_options_are_code_2(void **state)
{
    (void)state;
    expect_usage_error("--heads 17", "heads '17'");
    expect_usage_error("--heads 1,,2", "heads ''");
    expect_usage_error("--has-invalid 2", "has_invalid '2'");
    expect_usage_error("--arch gfx1", "gfx950");
    expect_usage_error("--select indexer_of_mine", "indexer_of_mine");
    expect_usage_error("--jobs 0", "--jobs");
    expect_usage_error("--nice 20", "--nice");
    expect_usage_error("--timeout 1.5", "--timeout");
    expect_usage_error("--level warm", "--level");
    expect_usage_error("--progress fast", "--progress");
    expect_usage_error("--device hip", "--level resident");
    expect_usage_error("--dry-run --trace /tmp/trace", "--trace");
    expect_usage_error("--tp 8", "--model");
    expect_usage_error("--into=", "--into");
    expect_usage_error("extra", "Too many arguments");
}

static void write_plan(const char *text)
{
    FILE *file = fopen(state_path("plan.json"), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_plan_file_lists_selections(void **state)
{
    (void)state;
    char option[4200];
    write_plan("{\"schema\": 1, \"variants\": [\"sparse_mla/gfx950/heads=5,scale=any\",\n"
               "\"sparse_mla/gfx950/heads=5\"]}");
    snprintf(option, sizeof option, "--plan %s", state_path("plan.json"));
    assert_int_equal(count_selected(option), 16);
    snprintf(option, sizeof option, "--heads 6 --plan %s", state_path("plan.json"));
    assert_int_equal(count_selected(option), 20);
}

static void a_wrong_plan_file_is_one_clear_error(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int exit_code;
        const char *word;
    } wrong[] = {
        {"", 1, "line 1"},
        {"{\"schema\": 1,\n\"variants\": [}", 1, "line 2"},
        {"[]", 1, "no JSON object"},
        {"{\"variants\": []}", 1, "\"schema\" is not 1"},
        {"{\"schema\": 2, \"variants\": []}", 1, "\"schema\" is not 1"},
        {"{\"schema\": 1, \"schema\": 1, \"variants\": []}", 1, "schema"},
        {"{\"schema\": 1}", 1, "\"variants\" is not a list"},
        {"{\"schema\": 1, \"variants\": {}}", 1, "\"variants\" is not a list"},
        {"{\"schema\": 1, \"variants\": [\"sparse_mla\", 7]}", 1, "variants[1]"},
        {"{\"schema\": 1, \"variants\": [], \"heads\": 8}", 1, "\"heads\""},
        {"{\"schema\": 1, \"variants\": [\"sparse_mla/gfx950/heads=99\"]}", 2, "variants[0]"},
        {"{\"schema\": 1, \"variants\": [\"sparse_mla\\u0000/x\"]}", 1, "plan.json"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct process process;
        write_plan(wrong[i].text);
        process_run(&process, NULL, "warmup --plan %s", state_path("plan.json"));
        expect_exit(&process, wrong[i].exit_code);
        assert_contains(process.err, wrong[i].word);
        assert_contains(process.err, "plan.json");
        assert_int_equal(count_of(process.err, "\n"), 1);
        process_free(&process);
    }
    struct process process;
    process_run(&process, NULL, "warmup --plan /no/such/plan");
    expect_exit(&process, 1);
    assert_contains(process.err, "/no/such/plan");
    process_free(&process);
    process_run(&process, NULL, "warmup --plan /dev/zero");
    expect_exit(&process, 1);
    assert_contains(process.err, "not a regular file");
    process_free(&process);
}

static void a_plan_file_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct process process;
    FILE *file = fopen(state_path("plan.json"), "we");
    assert_non_null(file);
    for (int i = 0; i <= 1 << 20; i++)
        fputc(' ', file);
    fclose(file);
    process_run(&process, NULL, "warmup --plan %s", state_path("plan.json"));
    expect_exit(&process, 1);
    assert_contains(process.err, "longer than 1048576 bytes");
    process_free(&process);
}

/* ---- Dry runs and traces ---- */

static void a_dry_run_writes_nothing(void **state)
{
    (void)state;
    struct process process;
    char missing[4200];
    snprintf(missing, sizeof missing, "DSAJIT_CACHE_DIR=%s", state_path("templates-small/none"));
    const char *const environment[] = {missing, NULL};
    process_run(&process, environment, "warmup --dry-run " TWO);
    expect_exit(&process, 0);
    assert_int_equal(count_of(process.out, "missing"), 2);
    assert_contains(process.out, "2 of 2 variants would be compiled");
    process_free(&process);
    assert_int_equal(small_cache_count_below("templates-small/none"), 0);

    process_run(&process, NULL, "warmup " TWO);
    process_free(&process);
    small_cache_damage(small_cache_entry());
    const size_t before = small_cache_count_below("cache-small");
    process_run(&process, NULL, "warmup --dry-run " TWO);
    expect_exit(&process, 0);
    assert_contains(process.out, "bad ");
    assert_contains(process.out, "1 of 2 variants would be compiled");
    process_free(&process);
    assert_int_equal(small_cache_count_below("cache-small"), before);
    assert_int_equal(small_cache_count(), 2);
}

static void a_trace_has_an_event_for_each_variant(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "warmup --heads 3 --jobs 2 --trace %s", state_path("trace.json"));
    expect_exit(&process, 0);
    process_free(&process);
    json_error_t wrong;
    json_t *trace = json_load_file(state_path("trace.json"), JSON_REJECT_DUPLICATES, &wrong);
    if (!trace)
        fail_msg("%s", wrong.text);
    size_t i, variants = 0, names = 0;
    json_t *event;
    json_array_foreach(json_at(trace, "traceEvents"), i, event)
    {
        const char *phase = json_string_value(json_at(event, "ph"));
        assert_true(json_is_integer(json_at(event, "pid")));
        assert_true(json_is_integer(json_at(event, "tid")));
        names += strcmp(phase, "M") == 0;
        if (strcmp(phase, "X") != 0)
            continue;
        assert_string_equal(json_string_value(json_at(event, "cat")), "variant");
        assert_true(json_real_value(json_at(event, "ts")) >= 0);
        assert_true(json_real_value(json_at(event, "dur")) > 0);
        assert_string_equal(json_string_value(json_at(event, "args.origin")), "compiled");
        variants++;
    }
    assert_int_equal(variants, 4);
    assert_true(names >= 2); /* the process and its tracks */
    json_decref(trace);
    process_run(&process, NULL, "warmup --heads 3 --trace /no/such/folder/trace");
    expect_exit(&process, 1);
    assert_contains(process.err, "/no/such/folder/trace");
    process_free(&process);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, small_cache_set_up)
    const struct CMUnitTest tests[] = {
        TEST(a_warm_run_says_so_in_one_line),
        TEST(the_result_is_one_json_object),
        TEST(resident_means_launched_on_the_device),
        TEST(into_fills_that_directory),
        TEST(strict_compiles_nothing),
        TEST(a_variant_that_fails_stops_no_other),
        TEST(a_missing_compiler_is_code_6),
        TEST(a_compile_that_hangs_is_code_7),
        TEST(without_a_usable_directory_only_prebuilt_layers_count),
        TEST(options_choose_variants),
        TEST(every_field_has_an_option),
        TEST(wrong_options_are_code_2),
        TEST(a_plan_file_lists_selections),
        TEST(a_wrong_plan_file_is_one_clear_error),
        TEST(a_plan_file_that_is_too_long_is_refused),
        TEST(a_dry_run_writes_nothing),
        TEST(a_trace_has_an_event_for_each_variant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
