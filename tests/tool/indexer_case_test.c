/* dsajit run indexer --case: the numpy program's cases come out right, a wrong result is told, and
   a wrong folder is one clear error. */
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

enum { ROWS = 6, HEADS = 64, CONTEXT = 129, TOPK = 128, KEYS = 194, CACHE_SIZE = 9 * 8448 };

static int copy_case(void **state)
{
    (void)state;
    case_copy = (struct case_copy){"run indexer", "indexer_fp8_spec"};
    case_copy_make();
    return 0;
}

static json_t *run_case(const char *path, int exit_code)
{
    struct process process;
    process_run(&process, NULL, "run indexer --json --device emulator --case %s", path);
    if (process.exit_code != exit_code)
        fail_msg("exit code %d: %s%s", process.exit_code, process.out, process.err);
    json_t *object = process_json(&process, "run indexer");
    process_free(&process);
    return object;
}

static void every_case_comes_out_right(void **state)
{
    (void)state;
    static const char *const formats[] = {"fp8", "mxfp4"};
    static const char *const kinds[] = {"decode", "prefill", "spec"};
    for (int i = 0; i < 6; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/vectors/indexer_%s_%s", getenv("DSAJIT_TEST_SOURCE"),
                 formats[i / 3], kinds[i % 3]);
        json_t *object = run_case(path, 0);
        assert_true(json_is_true(json_at(object, "right")));
        assert_true(json_number_value(json_at(object, "differences.logits")) < 5e-6);
        assert_int_equal(json_array_size(json_at(object, "kernels")), 4);
        json_decref(object);
    }
}

/* ---- Wrong results ---- */

/* The case says something else than the kernels. */
static void expect_difference(const char *member, int64_t least)
{
    json_t *object = run_case(state_path("case"), 1);
    assert_true(json_is_false(json_at(object, "right")));
    assert_true(json_number_value(json_at(object, member)) >= (double)least);
    json_decref(object);
    copy_case(NULL);
}

static void each_kind_of_difference_is_told(void **state)
{
    (void)state;
    const double infinity = 1. / 0., number = 3;
    const int32_t id = 0;
    const uint8_t byte = 0x55;
    case_copy_set("q_bytes.u8.bin", 5, &byte, sizeof byte);
    expect_difference("differences.q_bytes", 1);
    case_copy_set("cache.u8.bin", CACHE_SIZE - 1, &byte, sizeof byte);
    expect_difference("differences.cache", 1);
    case_copy_set("weights.f32.bin", 0, &id, sizeof id);
    expect_difference("differences.weights", 1);
    case_copy_set("logits.f64.bin", 3, &infinity, sizeof infinity);
    json_t *object = run_case(state_path("case"), 1);
    assert_true(json_is_null(json_at(object, "differences.logits")));
    json_decref(object);
    copy_case(state);
    /* Row 0 has 126 keys, so that all are selected; row 3 has 129 and leaves one out. */
    double logits[CONTEXT];
    for (int n = 0; n < CONTEXT; n++)
        logits[n] = number + n;
    for (int n = 0; n < CONTEXT; n++)
        case_copy_set("logits.f64.bin", 3 * CONTEXT + n, &logits[n], sizeof logits[n]);
    for (int i = 0; i < TOPK; i++) {
        const int32_t best = i + 1;
        case_copy_set("topk.i32.bin", 3 * TOPK + i, &best, sizeof best);
    }
    expect_difference("differences.topk_rows", 1);
}

/* A case without keys in a row wants -1 alone. */
static void what_the_row_does_not_have_is_outside(void **state)
{
    (void)state;
    const int32_t length = 125, none = -1;
    case_copy_set("row_len.i32.bin", 0, &length, sizeof length);
    case_copy_set("topk.i32.bin", 125, &none, sizeof none);
    json_t *object = run_case(state_path("case"), 0);
    json_decref(object);
}

/* ---- Wrong folders ---- */

static const char *const files[] = {
    "case.json",        "index_q.bf16.bin",     "index_v.bf16.bin",    "index_k_raw.bf16.bin",
    "index_k.bf16.bin", "norm_weight.f32.bin",  "norm_bias.f32.bin",   "slot_mapping.i64.bin",
    "topk.i32.bin",     "cache_before.u8.bin",  "block_table.i32.bin", "row_request.i32.bin",
    "row_len.i32.bin",  "q_bytes.u8.bin",       "weights.f32.bin",     "cache.u8.bin",
    "logits.f64.bin",   "context_lens.i32.bin",
};

static void a_missing_file_is_named(void **state)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        case_copy_remove(files[i]);
        case_copy_expect_error(files[i], "No such file");
        copy_case(state);
    }
}

static void a_file_of_another_length_is_named(void **state)
{
    for (size_t i = 1; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        struct stat about;
        case_copy_path(path, files[i]);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(truncate(path, about.st_size + (i % 2 ? 1 : -1)), 0);
        case_copy_expect_error(files[i], "bytes; its tensor has");
        copy_case(state);
    }
}

/* case.json with one member's text replaced. */
static void replace_member(const char *member, const char *replacement)
{
    char path[4096], text[4096], changed[4096];
    case_copy_path(path, "case.json");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *found = strstr(text, member);
    assert_non_null(found);
    const int size = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(found - text), text,
                              replacement, found + strlen(member));
    case_copy_write("case.json", changed, (size_t)size);
}

static void a_wrong_description_is_refused(void **state)
{
    static const struct {
        const char *member, *replacement, *word, *other_word;
    } wrong[] = {
        {"\"indexer\"", "\"sparse_mla\"", "kernel", "not indexer"},
        {"\"fp8\"", "\"fp4\"", "format", "\"fp8\" or \"mxfp4\""},
        {"\"layernorm\"", "7", "norm", "\"none\" or \"rmsnorm\" or \"layernorm\""},
        {"1e-05", "\"small\"", "norm_eps", "number"},
        {"\"heads\": 64", "\"heads\": 0", "heads", "from 1"},
        {"\"heads\": 64", "\"heads\": 65536", "index_q.bf16.bin", "100663296"},
        {"\"head_dim\": 128", "\"head_dim\": 64", "head_dim", "from 128 to 128"},
        {"\"page_tokens\": 64", "\"page_tokens\": 1.5", "page_tokens", "whole number"},
        {"\"page_stride_bytes\": 8448", "\"page_stride_bytes\": 8447", "page_stride_bytes",
         "takes 8448"},
        {"\"num_pages\": 9", "\"num_pages\": 99999999999", "num_pages", "from 0 to"},
        {"\"rows\": 6,", "", "rows", "whole number"},
        {"\"max_context\": 129", "\"max_context\": 16777217", "max_context", "from 1 to"},
        {"\"max_context\": 129", "\"max_context\": 130", "logits.f64.bin", "6240"},
        {"\"topk\": 128", "\"topk\": -1", "topk", "from 1"},
        {"{", "", "case.json", "line 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        replace_member(wrong[i].member, wrong[i].replacement);
        case_copy_expect_error(wrong[i].word, wrong[i].other_word);
        copy_case(state);
    }
}

/* What a kernel would follow out of the tensors. */
static void entries_out_of_range_are_named(void **state)
{
    const int64_t slot = 576;
    case_copy_set("slot_mapping.i64.bin", KEYS - 1, &slot, sizeof slot);
    case_copy_expect_error("slot_mapping.i64.bin: entry 193 is 576", "to 575");
    copy_case(state);
    static const struct {
        const char *file;
        long entry;
        int32_t value;
        const char *words;
    } wrong[] = {
        {"row_request.i32.bin", 5, 2, "entry 5 is 2; from 0 to 1"},
        {"row_request.i32.bin", 0, -1, "entry 0 is -1; from 0 to 1"},
        {"row_len.i32.bin", 1, 130, "entry 1 is 130; from 0 to 129"},
        {"row_len.i32.bin", 2, -1, "entry 2 is -1; from 0 to 129"},
        {"context_lens.i32.bin", 1, 130, "entry 1 is 130; from 0 to 129"},
        {"block_table.i32.bin", 1, 9, "entry 1 is 9; from 0 to 8"},
        {"block_table.i32.bin", 0, -1, "entry 0 is -1; from 0 to 8"},
        {"topk.i32.bin", 2, 126, "entry 2 is 126; from -1 to 125"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        case_copy_set(wrong[i].file, wrong[i].entry, &wrong[i].value, sizeof wrong[i].value);
        case_copy_expect_error(wrong[i].file, wrong[i].words);
        copy_case(state);
    }
}

/* ---- Results ---- */

static void written_results_have_the_names_of_a_case(void **state)
{
    (void)state;
    struct process process;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", state_path("results"));
    process_run(&process, NULL, "run indexer --device emulator --case %s --out %s",
                state_path("case"), folder);
    if (process.exit_code)
        fail_msg("%s%s", process.out, process.err);
    assert_contains(process.out, "result       right");
    process_free(&process);
    const size_t queries = (size_t)ROWS * HEADS;
    const struct {
        const char *name;
        size_t size;
    } results[] = {
        {"q_bytes.u8.bin", queries * 128},
        {"weights.f32.bin", queries * 4},
        {"cache.u8.bin", CACHE_SIZE},
        {"logits.f32.bin", (size_t)ROWS * CONTEXT * 4},
        {"topk.i32.bin", (size_t)ROWS * TOPK * 4},
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        free(case_copy_read("results", results[i].name, results[i].size));
    uint8_t *cache = case_copy_read("results", "cache.u8.bin", CACHE_SIZE);
    uint8_t *expected = case_copy_read("case", "cache.u8.bin", CACHE_SIZE);
    assert_memory_equal(cache, expected, CACHE_SIZE);
    free(cache);
    free(expected);
}

static void a_case_is_needed(void **state)
{
    (void)state;
    struct process process;
    process_run(&process, NULL, "run indexer");
    assert_int_equal(process.exit_code, 2);
    assert_contains(process.err, "--case");
    process_free(&process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_comes_out_right),
        cmocka_unit_test_setup(each_kind_of_difference_is_told, copy_case),
        cmocka_unit_test_setup(what_the_row_does_not_have_is_outside, copy_case),
        cmocka_unit_test_setup(a_missing_file_is_named, copy_case),
        cmocka_unit_test_setup(a_file_of_another_length_is_named, copy_case),
        cmocka_unit_test_setup(a_wrong_description_is_refused, copy_case),
        cmocka_unit_test_setup(entries_out_of_range_are_named, copy_case),
        cmocka_unit_test_setup(written_results_have_the_names_of_a_case, copy_case),
        cmocka_unit_test(a_case_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
