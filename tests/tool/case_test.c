/* dsajit run sparse-mla --case: a wrong folder is one clear error, a right one runs. */
#include "case_copy.h"
#include "process.h"

#include <fcntl.h>
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

static const char *const files[] = {"case.json",         "q.bf16.bin",   "kv.u8.bin",
                                    "kv_indptr.i32.bin", "out.bf16.bin", "lse.f32.bin",
                                    "kv_indices.i32.bin"};
enum { FILE_COUNT = sizeof files / sizeof *files };

/* A fresh copy of FlashMLA's smallest case. */
static int copy_case(void **state)
{
    (void)state;
    case_copy = (struct case_copy){"run sparse-mla", "mla_h1_k64"};
    case_copy_make();
    return 0;
}

static void a_missing_file_is_named(void **state)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        copy_case(state);
        case_copy_remove(files[i]);
        if (strncmp(files[i], "out", 3) == 0 || strncmp(files[i], "lse", 3) == 0)
            continue; /* another implementation's results may be absent */
        case_copy_expect_error(files[i], "No such file");
    }
}

static void a_folder_that_is_none_is_named(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "run sparse-mla --case /no/such/folder");
    assert_int_equal(process.exit_code, 1);
    assert_contains(process.err, "/no/such/folder/case.json");
    process_free(&process);
}

/* One byte short or long: both sizes are told. */
static void a_file_of_another_length_is_named_with_both_sizes(void **state)
{
    for (int i = 1; i < FILE_COUNT; i++) {
        for (int change = -1; change <= 1; change += 2) {
            char path[4096], had[32], wanted[32];
            struct stat about;
            copy_case(state);
            case_copy_path(path, files[i]);
            assert_int_equal(stat(path, &about), 0);
            assert_int_equal(truncate(path, about.st_size + change), 0);
            snprintf(had, sizeof had, "has %lld bytes", (long long)about.st_size + change);
            snprintf(wanted, sizeof wanted, " %lld by", (long long)about.st_size);
            case_copy_expect_error(files[i], had);
            case_copy_expect_error(files[i], wanted);
        }
    }
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    char path[4096];
    case_copy_path(path, "q.bf16.bin");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    case_copy_expect_error("q.bf16.bin", "not a regular file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    case_copy_expect_error("q.bf16.bin", "not a regular file");
}

static void a_wrong_description_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word, *other_word;
    } wrong[] = {
        {"", "case.json", "line 1"},
        {"{", "case.json", "line 1"},
        {"[]", "kernel", "sparse_mla"},
        {"{\"kernel\": \"indexer\"}", "kernel", "indexer"},
        {"{\"kernel\": \"sparse_mla\", \"T\": 1, \"T\": 2}", "case.json", "T"},
        {"{\"kernel\": \"sparse_mla\"}", "softmax_scale", "number"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1}", "has_invalid", "true or false"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true}", "\"T\"",
         "whole number"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, "
         "\"record_bytes\": 576}",
         "record_bytes", "656"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, \"T\": -1}",
         "\"T\"", "-1"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, \"T\": 5.5}",
         "\"T\"", "whole number"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, \"T\": 5, "
         "\"H\": 0}",
         "\"H\"", "0"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, \"T\": 5, "
         "\"H\": 1, \"N\": 9223372036854775807}",
         "\"N\"", "9223372036854775807"},
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, \"T\": 5, "
         "\"H\": 1, \"N\": 128, \"nnz\": 99999999999999999999}",
         "case.json", "line 1"},
        /* Sizes that no memory holds: the files' lengths are looked at first. */
        {"{\"kernel\": \"sparse_mla\", \"softmax_scale\": 1, \"has_invalid\": true, "
         "\"T\": 2147483647, \"H\": 65536, \"N\": 2147483647, \"nnz\": 2147483647}",
         "q.bf16.bin", "162129586509840384"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        case_copy_write("case.json", wrong[i].text, strlen(wrong[i].text));
        case_copy_expect_error(wrong[i].word, wrong[i].other_word);
    }
}

static void set_entry(const char *name, int entry, int32_t value)
{
    case_copy_set(name, entry, &value, sizeof value);
}

static void inconsistent_indices_are_refused(void **state)
{
    set_entry("kv_indptr.i32.bin", 2, 1000);
    case_copy_expect_error("kv_indptr", "entry 2 is 1000");
    copy_case(state);
    set_entry("kv_indptr.i32.bin", 3, 1);
    case_copy_expect_error("kv_indptr", "entry 3 is 1;");
    copy_case(state);
    set_entry("kv_indptr.i32.bin", 0, -1);
    case_copy_expect_error("kv_indptr", "entry 0 is -1");
    copy_case(state);
    set_entry("kv_indices.i32.bin", 319, 128);
    case_copy_expect_error("kv_indices", "entry 319 is 128");
}

static void masked_entries_need_has_invalid(void **state)
{
    (void)state;
    static const char description[] =
        "{\"kernel\": \"sparse_mla\", \"T\": 5, \"H\": 1, \"N\": 128, \"nnz\": 320, "
        "\"softmax_scale\": 0.04, \"has_invalid\": false}";
    case_copy_write("case.json", description, strlen(description));
    set_entry("kv_indices.i32.bin", 7, -1);
    case_copy_expect_error("kv_indices", "has_invalid");
}

static void a_right_case_runs_and_is_compared_with_its_results(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "run sparse-mla --json --device emulator --case %s",
                state_path("case"));
    if (process.exit_code)
        fail_msg("%s%s", process.out, process.err);
    json_t *object = process_json(&process, "run sparse-mla");
    assert_string_equal(
        json_string_value(json_at(object, "variant")),
        "sparse_mla/gfx950/heads=1,has_invalid=1,return_lse=1,index=i32,scale=pow2,math=bf16");
    assert_true(json_is_true(json_at(object, "within_tolerance")));
    assert_true(json_real_value(json_at(object, "errors.out_relative")) <= 1.1 * 1.71e-3);
    assert_true(json_real_value(json_at(object, "errors.lse_relative")) <= 1e-5);
    assert_true(json_number_value(json_at(object, "distance_from_case.out")) < 3e-3);
    assert_int_equal(json_integer_value(json_at(object, "problem.entries")), 320);
    json_decref(object);
    process_free(&process);
}

/* What --out writes can stand in a case: the distance from it is 0 then. */
static void written_results_have_the_layout_of_a_case(void **state)
{
    (void)state;
    struct process process;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", state_path("results"));
    process_run(&process, NULL, "run sparse-mla --device emulator --case %s --out %s",
                state_path("case"), folder);
    if (process.exit_code)
        fail_msg("%s%s", process.out, process.err);
    process_free(&process);
    enum { OUT_SIZE = 5 * 512 * 2, LSE_SIZE = 5 * 4 };
    char *out = case_copy_read("results", "out.bf16.bin", OUT_SIZE);
    char *lse = case_copy_read("results", "lse.f32.bin", LSE_SIZE);
    case_copy_write("out.bf16.bin", out, OUT_SIZE);
    case_copy_write("lse.f32.bin", lse, LSE_SIZE);
    free(out);
    free(lse);
    process_run(&process, NULL, "run sparse-mla --json --device emulator --case %s",
                state_path("case"));
    json_t *object = process_json(&process, "run sparse-mla");
    assert_true(json_number_value(json_at(object, "distance_from_case.out")) == 0);
    assert_true(json_number_value(json_at(object, "distance_from_case.lse")) == 0);
    json_decref(object);
    process_free(&process);
    process_run(&process, NULL, "run sparse-mla --device emulator --case %s --out /proc/nowhere",
                state_path("case"));
    assert_int_equal(process.exit_code, 1);
    assert_contains(process.err, "/proc/nowhere");
    process_free(&process);
}

static void index_files_may_hold_64_bits(void **state)
{
    (void)state;
    int64_t wide[320];
    char *narrow = case_copy_read("case", "kv_indices.i32.bin", sizeof(int32_t) * 320);
    for (size_t i = 0; i < 320; i++) {
        int32_t value;
        memcpy(&value, narrow + sizeof value * i, sizeof value);
        wide[i] = value;
    }
    free(narrow);
    case_copy_remove("kv_indices.i32.bin");
    case_copy_write("kv_indices.i64.bin", wide, sizeof wide);
    struct process process;
    process_run(&process, NULL, "run sparse-mla --json --device emulator --index i64 --case %s",
                state_path("case"));
    if (process.exit_code)
        fail_msg("%s%s", process.out, process.err);
    json_t *object = process_json(&process, "run sparse-mla");
    assert_contains(json_string_value(json_at(object, "variant")), "index=i64");
    json_decref(object);
    process_free(&process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_missing_file_is_named, copy_case),
        cmocka_unit_test(a_folder_that_is_none_is_named),
        cmocka_unit_test_setup(a_file_of_another_length_is_named_with_both_sizes, copy_case),
        cmocka_unit_test_setup(what_is_no_regular_file_is_refused, copy_case),
        cmocka_unit_test_setup(a_wrong_description_is_refused, copy_case),
        cmocka_unit_test_setup(inconsistent_indices_are_refused, copy_case),
        cmocka_unit_test_setup(masked_entries_need_has_invalid, copy_case),
        cmocka_unit_test_setup(a_right_case_runs_and_is_compared_with_its_results, copy_case),
        cmocka_unit_test_setup(written_results_have_the_layout_of_a_case, copy_case),
        cmocka_unit_test_setup(index_files_may_hold_64_bits, copy_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
