/* A variant is compiled once; whatever happens to its entry or to the compiler costs one warning or
   one clear error. */
#include "process.h"

#include <fcntl.h>
#include <ftw.h>
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

static const char job[] = "run sparse-mla --json --device emulator --tokens 1 --heads 3 --topk 70";

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static int clear_cache(void **state)
{
    (void)state;
    nftw(state_path("cache"), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* Runs the job, which must be right, with its code from `origin` and that many warnings. */
static void expect_run(const char *const *environment, const char *origin, size_t warnings)
{
    struct process process;
    process_run(&process, environment, "%s", job);
    if (process.exit_code)
        fail_msg("exit code %d: %s%s", process.exit_code, process.out, process.err);
    json_t *object = process_json(&process, "run sparse-mla");
    assert_true(json_is_true(json_at(object, "within_tolerance")));
    if (strcmp(json_string_value(json_at(object, "kernel.origin")), origin) != 0)
        fail_msg("the code is from %s, not %s: %s",
                 json_string_value(json_at(object, "kernel.origin")), origin, process.err);
    assert_int_equal(json_is_true(json_at(object, "kernel.cache_hit")),
                     strcmp(origin, "compiled") != 0);
    if (count_of(process.err, "dsajit: warning: ") != warnings ||
        count_of(process.err, "\n") != warnings)
        fail_msg("not %zu warnings: %s", warnings, process.err);
    json_decref(object);
    process_free(&process);
}

/* A helper that can't be started, or can't do anything, is never needed on a hit. */
static void the_second_run_is_a_hit_that_starts_no_helper(void **state)
{
    (void)state;
    expect_run(NULL, "compiled", 0);
    expect_run(NULL, "cache", 0);
    const char *const no_helper[] = {"DSAJIT_COMPILER=/no/such/helper", NULL};
    const char *const no_rocm[] = {"DSAJIT_ROCM_PATH=/no/such/rocm", NULL};
    expect_run(no_helper, "cache", 0);
    expect_run(no_rocm, "cache", 0);
}

static void a_prebuilt_layer_serves_where_there_is_no_cache(void **state)
{
    (void)state;
    char layer[4200];
    expect_run(NULL, "compiled", 0);
    snprintf(layer, sizeof layer, "DSAJIT_PREBUILT_PATH=%s", state_path("cache/dsajit"));
    char fresh[4200];
    snprintf(fresh, sizeof fresh, "DSAJIT_CACHE_DIR=%s", state_path("cache/empty"));
    const char *const environment[] = {layer, fresh, "DSAJIT_COMPILER=/no/such/helper", NULL};
    expect_run(environment, "prebuilt", 0);
}

/* The job's entry: the one whose key names the variant. */
static char entry_path[4096];

static int find_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)place;
    const char *dot = strrchr(path, '.');
    if (kind != FTW_F || !dot || strcmp(dot, ".dsajit") != 0)
        return 0;
    static char bytes[1 << 20];
    static const char name[] = "sparse_mla/gfx950/heads=3,";
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (memmem(bytes, size, name, sizeof name - 1))
        snprintf(entry_path, sizeof entry_path, "%s", path);
    return 0;
}

static size_t locate_entry(void)
{
    struct stat about;
    entry_path[0] = '\0';
    assert_int_equal(nftw(state_path("cache"), find_entry, 16, FTW_PHYS), 0);
    assert_true(entry_path[0] != '\0');
    assert_int_equal(stat(entry_path, &about), 0);
    return (size_t)about.st_size;
}

static void flip_byte(size_t offset, uint8_t mask)
{
    uint8_t byte;
    int file = open(entry_path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, (off_t)offset), 1);
    byte ^= mask;
    assert_int_equal(pwrite(file, &byte, 1, (off_t)offset), 1);
    close(file);
}

/* Every part of the file: the first bytes, then evenly spread ones, the last. The cache's unit
   tests do every byte. */
static void a_flipped_byte_costs_one_warning_and_one_compile(void **state)
{
    (void)state;
    enum { SPREAD = 10 };
    expect_run(NULL, "compiled", 0);
    for (size_t i = 0; i <= SPREAD; i++) {
        const size_t size = locate_entry();
        const size_t offset = i * (size - 1) / SPREAD;
        flip_byte(offset, (uint8_t)(1U << i % 8));
        expect_run(NULL, "compiled", 1);
        expect_run(NULL, "cache", 0);
    }
}

static void a_truncated_entry_costs_one_warning_and_one_compile(void **state)
{
    (void)state;
    expect_run(NULL, "compiled", 0);
    for (int i = 0; i < 3; i++) {
        const size_t size = locate_entry();
        assert_int_equal(truncate(entry_path, (off_t)((size_t)i * (size - 1) / 2)), 0);
        expect_run(NULL, "compiled", 1);
    }
    expect_run(NULL, "cache", 0);
}

static void without_a_cache_directory_it_still_runs(void **state)
{
    (void)state;
    const char *const environment[] = {"DSAJIT_CACHE_DIR=/proc/no-cache", NULL};
    expect_run(environment, "compiled", 1);
}

static void copy_helper(const char *behaviour)
{
    static char bytes[1 << 20];
    FILE *from = fopen(BROKEN_HELPER, "rb");
    assert_non_null(from);
    const size_t size = fread(bytes, 1, sizeof bytes, from);
    assert_true(feof(from));
    fclose(from);
    FILE *to = fopen(state_path(behaviour), "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, size, to), size);
    fclose(to);
    assert_int_equal(chmod(state_path(behaviour), 0700), 0);
}

/* Runs the job with an empty cache and a helper that behaves as its name says. */
static void expect_failure(const char *behaviour, int exit_code, const char *status,
                           const char *word)
{
    char helper[4200];
    struct process process;
    copy_helper(behaviour);
    snprintf(helper, sizeof helper, "DSAJIT_COMPILER=%s", state_path(behaviour));
    const char *const environment[] = {helper, "DSAJIT_COMPILE_TIMEOUT_MS=2000", NULL};
    process_run(&process, environment, "%s", job);
    if (process.exit_code != exit_code)
        fail_msg("%s: exit code %d: %s%s", behaviour, process.exit_code, process.out, process.err);
    json_t *object = process_json(&process, "run sparse-mla");
    assert_string_equal(json_string_value(json_at(object, "error.status")), status);
    assert_contains(json_string_value(json_at(object, "error.message")), word);
    json_decref(object);
    process_free(&process);
}

static void a_helper_that_fails_is_a_clear_error(void **state)
{
    (void)state;
    expect_failure("killed", 3, "COMPILER_CRASHED", "signal 9");
    expect_failure("crash", 3, "COMPILER_CRASHED", "signal 11");
    expect_failure("garbage", 3, "COMPILER_CRASHED", "");
    expect_failure("hang", 7, "TIMEOUT", "time limit");
}

static void a_missing_helper_is_a_clear_error(void **state)
{
    (void)state;
    struct process process;
    const char *const environment[] = {"DSAJIT_COMPILER=/no/such/helper", NULL};
    process_run(&process, environment, "%s", job);
    assert_int_equal(process.exit_code, 6);
    assert_contains(process.err, "/no/such/helper");
    process_free(&process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_second_run_is_a_hit_that_starts_no_helper, clear_cache),
        cmocka_unit_test_setup(a_prebuilt_layer_serves_where_there_is_no_cache, clear_cache),
        cmocka_unit_test_setup(a_flipped_byte_costs_one_warning_and_one_compile, clear_cache),
        cmocka_unit_test_setup(a_truncated_entry_costs_one_warning_and_one_compile, clear_cache),
        cmocka_unit_test_setup(without_a_cache_directory_it_still_runs, clear_cache),
        cmocka_unit_test_setup(a_helper_that_fails_is_a_clear_error, clear_cache),
        cmocka_unit_test_setup(a_missing_helper_is_a_clear_error, clear_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
