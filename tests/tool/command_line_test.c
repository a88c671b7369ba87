/* The command's conventions: exit codes, where output goes, JSON, messages. Compiles nothing. */
#include "process.h"

#include <dsajit/dsajit.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Runs and expects an exit code; on the right stream a word, nothing on the other. */
static void expect(const char *arguments, int exit_code, const char *out, const char *err)
{
    struct process process;
    process_run(&process, NULL, "%s", arguments);
    if (process.exit_code != exit_code)
        fail_msg("%s: exit code %d: %s%s", arguments, process.exit_code, process.out, process.err);
    if (out)
        assert_contains(process.out, out);
    else
        assert_string_equal(process.out, "");
    if (err)
        assert_contains(process.err, err);
    else
        assert_string_equal(process.err, "");
    process_free(&process);
}

static void help_is_a_result(void **state)
{
    (void)state;
    expect("--help", 0, "run sparse-mla", NULL);
    expect("help", 0, "Exit codes:", NULL);
    expect("help run sparse-mla", 0, "--tokens", NULL);
    expect("help variants", 0, "[SELECTION]", NULL);
    expect("run sparse-mla --help", 0, "--case", NULL);
    expect("doctor --help", 0, "--json", NULL);
    expect("cache --help", 0, "cache verify", NULL);
}

static void the_version_is_the_librarys(void **state)
{
    (void)state;
    char version[64];
    snprintf(version, sizeof version, "dsajit %s\n", dsajit_version());
    expect("--version", 0, version, NULL);
    expect("-V", 0, version, NULL);
}

static void wrong_usage_is_code_2_and_says_what(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *word;
    } wrong[] = {
        {"", "which command?"},
        {"walk", "'walk'"},
        {"run", "'run'"},
        {"run everything", "'run everything'"},
        {"help walk", "'walk'"},
        {"--colour", "--colour"},
        {"run sparse-mla --colour", "--colour"},
        {"run sparse-mla extra", "arguments"},
        {"run sparse-mla --tokens", "--tokens"},
        {"run sparse-mla --tokens four", "'four'"},
        {"run sparse-mla --tokens -1", "'-1'"},
        {"run sparse-mla --tokens 4x", "'4x'"},
        {"run sparse-mla --tokens 99999999999999999999", "'99999999999999999999'"},
        {"run sparse-mla --heads 0", "'0'"},
        {"run sparse-mla --heads 17 --device emulator --topk 1 --tokens 1", "17 heads"},
        {"run sparse-mla --slots 0", "'0'"},
        {"run sparse-mla --slots 2000000000", "GB"},
        {"run sparse-mla --tokens 1000000 --topk 1000000", "2^29"},
        {"run sparse-mla --invalid 1.5", "'1.5'"},
        {"run sparse-mla --invalid nan", "'nan'"},
        {"run sparse-mla --scale pow3", "'pow3'"},
        {"run sparse-mla --index i16", "'i16'"},
        {"run sparse-mla --device gpu", "'gpu'"},
        {"run sparse-mla --repeat 0", "'0'"},
        {"run sparse-mla --case here --seed 3", "--seed"},
        {"source", "which variant?"},
        {"source a b", "arguments"},
        {"source nonsense", "nonsense"},
        {"isa sparse_mla/gfx950/heads=99", "99"},
        {"variants sparse_mla/gfx950/heads=99", "99"},
        {"doctor everything", "arguments"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(wrong[i].arguments, 2, NULL, wrong[i].word);
}

static void failures_are_json_objects_too(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "source --json nonsense");
    assert_int_equal(process.exit_code, 2);
    json_t *object = process_json(&process, "source");
    assert_string_equal(json_string_value(json_at(object, "error.status")), "INVALID_ARGUMENT");
    assert_contains(json_string_value(json_at(object, "error.message")), "nonsense");
    assert_contains(process.err, "nonsense");
    json_decref(object);
    process_free(&process);
}

static void variants_lists_what_a_selection_covers(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "variants sparse_mla/gfx950/heads=8,scale=any");
    assert_int_equal(process.exit_code, 0);
    assert_int_equal(count_of(process.out, "\n"), 8);
    assert_int_equal(count_of(process.out, "sparse_mla/gfx950/heads=8,"), 8);
    process_free(&process);
    process_run(&process, NULL, "variants --json sparse_mla/gfx950/heads=8,scale=any");
    json_t *object = process_json(&process, "variants");
    assert_int_equal(json_array_size(json_at(object, "variants")), 8);
    json_decref(object);
    process_free(&process);
}

static const char variant[] =
    "sparse_mla/gfx950/heads=5,has_invalid=1,return_lse=0,index=i64,scale=any,math=bf16";

static void source_is_the_same_text_every_time(void **state)
{
    (void)state;
    struct process first, second, in_json;
    process_run(&first, NULL, "source %s", variant);
    process_run(&second, NULL, "source %s", variant);
    process_run(&in_json, NULL, "source --json %s", variant);
    assert_int_equal(first.exit_code, 0);
    assert_contains(first.out, "heads = 5");
    assert_string_equal(first.out, second.out);
    json_t *object = process_json(&in_json, "source");
    assert_string_equal(json_string_value(json_at(object, "source")), first.out);
    json_decref(object);
    process_free(&first);
    process_free(&second);
    process_free(&in_json);
}

static void a_result_that_cannot_be_written_is_no_success(void **state)
{
    (void)state;
    char command[8192];
    snprintf(command, sizeof command, "'%s' variants >/dev/full 2>'%s'", getenv("DSAJIT_TEST_TOOL"),
             state_path("stderr"));
    const int status = system(command); /* NOLINT(cert-env33-c) */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

static const json_t *find_finding(const json_t *object, const char *part)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(json_at(object, "findings"), i, finding)
    {
        if (strcmp(json_string_value(json_at(finding, "part")), part) == 0)
            return finding;
    }
    fail_msg("doctor says nothing of %s", part);
    return NULL;
}

static void doctor_finds_everything_here(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "doctor --json --device emulator");
    if (process.exit_code)
        fail_msg("%s%s", process.out, process.err);
    json_t *object = process_json(&process, "doctor");
    assert_true(json_is_true(json_at(object, "ok")));
    assert_string_equal(json_string_value(json_at(object, "version")), dsajit_version());
    assert_string_equal(json_string_value(json_at(find_finding(object, "device"), "kind")),
                        "emulator");
    assert_contains(json_string_value(json_at(find_finding(object, "compiler"), "identity")),
                    "hiprtc");
    assert_string_equal(json_string_value(json_at(find_finding(object, "compiler"), "helper")),
                        getenv("DSAJIT_COMPILER"));
    const json_t *cache = find_finding(object, "cache");
    assert_string_equal(json_string_value(json_at(cache, "directory")), state_path("cache/dsajit"));
    assert_true(json_integer_value(json_at(cache, "free_bytes")) > 0);
    json_decref(object);
    process_free(&process);
    process_run(&process, NULL, "doctor --device emulator");
    assert_int_equal(process.exit_code, 0);
    assert_int_equal(count_of(process.out, "PROBLEM"), 0);
    process_free(&process);
}

static void an_empty_variable_names_nothing(void **state)
{
    (void)state;
    struct process process;
    const char *const environment[] = {"DSAJIT_EMULATOR=", NULL};
    process_run(&process, environment, "doctor --device emulator");
    if (count_of(process.out, "PROBLEM") || process.exit_code == 8)
        fail_msg("%s%s", process.out, process.err);
    process_free(&process);
}

/* Runs doctor with one thing missing. */
static void expect_doctor(const char *variable, const char *arguments, int exit_code,
                          const char *part, const char *word)
{
    struct process process;
    const char *const environment[] = {variable, NULL};
    process_run(&process, environment, "doctor --json %s", arguments);
    if (process.exit_code != exit_code)
        fail_msg("%s: exit code %d: %s%s", variable, process.exit_code, process.out, process.err);
    json_t *object = process_json(&process, "doctor");
    assert_false(json_is_true(json_at(object, "ok")));
    const json_t *finding = find_finding(object, part);
    assert_false(json_is_true(json_at(finding, "ok")));
    assert_contains(json_string_value(json_at(finding, "problem")), word);
    json_decref(object);
    process_free(&process);
}

static void doctor_names_what_is_missing(void **state)
{
    (void)state;
    expect_doctor("DSAJIT_COMPILER=/no/such/helper", "--device emulator", 6, "compiler",
                  "/no/such/helper");
    expect_doctor("DSAJIT_ROCM_PATH=/no/such/rocm", "--device emulator", 6, "compiler",
                  "/no/such/rocm");
    expect_doctor("DSAJIT_EMULATOR=/no/such/emulator.so", "--device emulator", 8, "device",
                  "/no/such/emulator.so");
    expect_doctor("DSAJIT_EMULATOR_THREADS=many", "--device emulator", 8, "device",
                  "DSAJIT_EMULATOR_THREADS is \"many\", not a number from 0 to 1024");
    expect_doctor("DSAJIT_HIP_LIBRARY=/no/such/hip.so", "--device hip", 8, "device",
                  "/no/such/hip.so");
    expect_doctor("DSAJIT_CACHE_DIR=/proc/dsajit", "--device emulator", 5, "cache", "/proc/dsajit");
    expect_doctor("DSAJIT_PREBUILT_PATH=/no/such/layer", "--device emulator", 5, "prebuilt layer",
                  "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_a_result),
        cmocka_unit_test(the_version_is_the_librarys),
        cmocka_unit_test(wrong_usage_is_code_2_and_says_what),
        cmocka_unit_test(failures_are_json_objects_too),
        cmocka_unit_test(variants_lists_what_a_selection_covers),
        cmocka_unit_test(source_is_the_same_text_every_time),
        cmocka_unit_test(a_result_that_cannot_be_written_is_no_success),
        cmocka_unit_test(doctor_finds_everything_here),
        cmocka_unit_test(an_empty_variable_names_nothing),
        cmocka_unit_test(doctor_names_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
