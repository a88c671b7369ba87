/* What a process that wants a kernel gets when its cache misbehaves: the kernel, or one clear
   error. With a compiler that only counts (R13, R14, R24, R30, R32). */
#include "fake_toolchain.h"
#include "faults.h"

#include "dsajit/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fake_toolchain toolchain;

static int make_toolchain(void **state)
{
    (void)state;
    fake_toolchain_make("serving_toolchain", &toolchain);
    return 0;
}

/* A process's life: opens, asks for variant 0, closes. */
static dsajit_status prepare(const char *cache, struct log_lines *lines, dsajit_kernel_info *info,
                             dsajit_error *error)
{
    char variant[128];
    fake_toolchain_variant(0, variant);
    dsajit_context *context = fake_toolchain_open(&toolchain, cache, lines);
    dsajit_status status = dsajit_prepare(context, variant, info, error);
    dsajit_close(context);
    return status;
}

/* Fails the test unless the kernel comes from `origin`, with so many warnings. */
static void expect(const char *cache, dsajit_origin origin, int warnings)
{
    struct log_lines lines;
    dsajit_kernel_info info;
    dsajit_error error;
    if (prepare(cache, &lines, &info, &error))
        fail_msg("%s", error.message);
    assert_int_equal(info.origin, origin);
    assert_int_equal(info.code_bytes, 4096);
    if (lines.warnings != warnings)
        fail_msg("%d warnings, the last: %s", lines.warnings, lines.last);
}

/* ---- Failing calls ---- */

static int count_calls(void)
{
    char cache[PATH_SIZE];
    fresh_folder("serving_count", cache);
    faults_arm(cache, (struct fault){.kind = FAULT_ERROR, .at = -1});
    expect(cache, DSAJIT_ORIGIN_COMPILED, 0);
    faults_disarm();
    return faults_count();
}

/* R13, R14: whatever fails in the cache, its caller has compiled and uses what it has. */
static void a_failing_cache_costs_a_warning_at_most(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EIO, ESTALE, EACCES};
    const int calls = count_calls();
    assert_true(calls > 30);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        for (int at = 1; at <= calls; at++) {
            char cache[PATH_SIZE];
            struct log_lines lines;
            dsajit_kernel_info info;
            dsajit_error error;
            fresh_folder("serving_fault", cache);
            const int before = fake_toolchain_compiles(&toolchain);
            faults_arm(cache, (struct fault){FAULT_ERROR, errors[i], at, NULL});
            dsajit_status status = prepare(cache, &lines, &info, &error);
            faults_disarm();
            if (status)
                fail_msg("error %d in call %d, %s: %s", errors[i], at, faults_struck(),
                         error.message);
            assert_int_equal(info.origin, DSAJIT_ORIGIN_COMPILED);
            assert_int_equal(fake_toolchain_compiles(&toolchain), before + 1);
            if (lines.warnings > 1)
                fail_msg("error %d in call %d, %s: %d warnings, the last: %s", errors[i], at,
                         faults_struck(), lines.warnings, lines.last);
        }
    }
}

/* R13: the loser of a race, on a file system that still hides the winner's file. */
static void what_was_published_is_never_read_back(void **state)
{
    (void)state;
    char cache[PATH_SIZE];
    struct log_lines lines;
    dsajit_kernel_info info;
    dsajit_error error;
    fresh_folder("serving_race", cache);
    faults_arm(cache, (struct fault){FAULT_ERROR, ENOENT, 0, "open"});
    assert_int_equal(prepare(cache, &lines, &info, &error), DSAJIT_OK);
    faults_disarm();
    assert_int_equal(info.origin, DSAJIT_ORIGIN_COMPILED);
    assert_int_equal(info.code_bytes, 4096);
    expect(cache, DSAJIT_ORIGIN_CACHE, 0);
}

/* ---- Damage ---- */

static void flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* R30, R32: one warning, one compile, and the damaged file to look at. */
static void a_damaged_entry_costs_one_compile_and_one_warning(void **state)
{
    (void)state;
    char cache[PATH_SIZE], path[PATH_SIZE], aside[PATH_SIZE + 8];
    struct stat file;
    fresh_folder("serving_damage", cache);
    expect(cache, DSAJIT_ORIGIN_COMPILED, 0);
    only_entry(cache, path);
    assert_int_equal(stat(path, &file), 0);
    snprintf(aside, sizeof aside, "%s.bad", path);
    int compiles = fake_toolchain_compiles(&toolchain);
    for (off_t at = 0; at < file.st_size; at += file.st_size / 24) {
        flip(path, at);
        expect(cache, DSAJIT_ORIGIN_COMPILED, 1);
        assert_int_equal(access(aside, F_OK), 0);
        expect(cache, DSAJIT_ORIGIN_CACHE, 0);
        assert_int_equal(fake_toolchain_compiles(&toolchain), ++compiles);
    }
    for (off_t size = 0; size < file.st_size; size += file.st_size / 24) {
        assert_int_equal(truncate(path, size), 0);
        expect(cache, DSAJIT_ORIGIN_COMPILED, 1);
        expect(cache, DSAJIT_ORIGIN_CACHE, 0);
        assert_int_equal(fake_toolchain_compiles(&toolchain), ++compiles);
    }
    assert_int_equal(count_files(cache, "*.dsajit"), 1);
    assert_int_equal(count_files(cache, "*.bad"), 1);
}

/* R42: the second process that compiles what an earlier one had compiled says why. */
static void a_vanishing_entry_is_told_once(void **state)
{
    (void)state;
    char cache[PATH_SIZE];
    fresh_folder("serving_vanish", cache);
    expect(cache, DSAJIT_ORIGIN_COMPILED, 0);
    shell("rm '%s'/*/*.dsajit", cache);
    expect(cache, DSAJIT_ORIGIN_COMPILED, 1);
    expect(cache, DSAJIT_ORIGIN_CACHE, 0);
}

/* R54: without any option, what one process compiled the next one finds. */
static void a_cache_is_kept_by_default(void **state)
{
    (void)state;
    char home[PATH_SIZE], cache[PATH_SIZE + 16];
    fresh_folder("serving_home", home);
    snprintf(cache, sizeof cache, "%s/.cache/dsajit", home);
    unsetenv("DSAJIT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    expect(NULL, DSAJIT_ORIGIN_COMPILED, 0);
    expect(NULL, DSAJIT_ORIGIN_CACHE, 0);
    assert_int_equal(count_files(cache, "*.dsajit"), 1);
}

/* R54: where files appear is told, by the process that makes the first of them and by no other. */
static void where_it_writes_is_told_once(void **state)
{
    (void)state;
    char cache[PATH_SIZE], variant[128];
    struct log_lines lines;
    dsajit_kernel_info info;
    fresh_folder("serving_told", cache);
    dsajit_context *context = fake_toolchain_open(&toolchain, cache, &lines);
    for (int i = 0; i < 3; i++) {
        fake_toolchain_variant(i, variant);
        assert_int_equal(dsajit_prepare(context, variant, &info, NULL), DSAJIT_OK);
    }
    assert_int_equal(lines.places, 1);
    dsajit_close(context);
    context = fake_toolchain_open(&toolchain, cache, &lines);
    assert_int_equal(dsajit_prepare(context, variant, &info, NULL), DSAJIT_OK);
    assert_int_equal(lines.places, 0);
    dsajit_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_cache_costs_a_warning_at_most),
        cmocka_unit_test(what_was_published_is_never_read_back),
        cmocka_unit_test(a_damaged_entry_costs_one_compile_and_one_warning),
        cmocka_unit_test(a_vanishing_entry_is_told_once),
        cmocka_unit_test(a_cache_is_kept_by_default),
        cmocka_unit_test(where_it_writes_is_told_once),
    };
    return cmocka_run_group_tests(tests, make_toolchain, NULL);
}
