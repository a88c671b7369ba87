/* R42: a cache that doesn't do its work says so, once, and why. */
#include "support.h"

#include "cache/history.h"
#include "cache/prune.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process's life with one key: look, lock, look again, compile, publish. True for a hit. */
static bool use(struct cache *cache, const char *name, const char *toolchain)
{
    struct cache_key key = make_key(name, toolchain);
    struct cache_entry entry;
    static const char content[1000];
    const struct cache_section code = {"code", content, sizeof content};
    int lock;
    bool hit = !cache_get(cache, &key, &entry, NULL);
    if (!hit) {
        cache_lock(cache, &key, 1000, &lock);
        hit = !cache_get(cache, &key, &entry, NULL);
        if (!hit) {
            cache_report_recompile(cache, &key);
            cache_publish(cache, &key, &code, 1, NULL);
        }
        cache_unlock(lock);
    }
    cache_entry_free(&entry);
    cache_key_free(&key);
    return hit;
}

static void first_run(const char *folder, const char *name)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_false(use(cache, name, "one"));
    assert_int_equal(lines.warnings + lines.information, 0);
    cache_close(cache);
}

/* Another process misses the same key; its only line has this level and holds these words. */
static void expect_line(const char *folder, const char *name, const char *toolchain,
                        bool is_warning, const char *words)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_false(use(cache, name, toolchain));
    assert_int_equal(lines.warnings, is_warning);
    assert_int_equal(lines.information, !is_warning);
    assert_contains(lines.last, "compiling again");
    assert_contains(lines.last, words);
    assert_contains(lines.last, name);
    cache_close(cache);
}

static void a_first_compile_needs_no_words(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("first", folder);
    first_run(folder, "a");
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_true(use(cache, "a", "one"));
    assert_int_equal(lines.warnings + lines.information, 0);
    cache_close(cache);
}

static void an_entry_that_vanished_is_told(void **state)
{
    (void)state;
    char folder[PATH_SIZE], who[64];
    fresh_folder("vanished", folder);
    first_run(folder, "a");
    shell("rm '%s'/*/*.dsajit", folder);
    snprintf(who, sizeof who, "process %ld on ", (long)getpid());
    expect_line(folder, "a", "one", true, "has vanished");
    shell("rm '%s'/*/*.dsajit", folder);
    expect_line(folder, "a", "one", true, who);
}

static void one_warning_does_for_all_keys(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("many", folder);
    first_run(folder, "a");
    first_run(folder, "b");
    first_run(folder, "c");
    shell("rm '%s'/*/*.dsajit", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_false(use(cache, "a", "one"));
    assert_false(use(cache, "b", "one"));
    assert_false(use(cache, "c", "one"));
    assert_int_equal(lines.warnings, 1);
    assert_int_equal(lines.information, 2);
    cache_close(cache);
}

static void an_evicted_entry_names_the_limit(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("evicted", folder);
    first_run(folder, "a");
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    char *path = cache_entry_path(cache, &key);
    set_age(path, 7200);
    setenv("DSAJIT_CACHE_MAX_SIZE", "2K", 1);
    struct cache *small = open_layers(folder, NULL, &lines);
    unsetenv("DSAJIT_CACHE_MAX_SIZE");
    publish_aged(small, "large", 3000, 0);
    assert_false(holds(small, "a"));
    expect_line(folder, "a", "one", true, "DSAJIT_CACHE_MAX_SIZE");
    cache_close(small);
    cache_close(cache);
    free(path);
    cache_key_free(&key);
}

/* As on a full disk: no file can grow beyond a size that an entry has and a history hasn't. */
static void an_entry_that_could_not_be_kept_says_why(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    struct rlimit before;
    fresh_folder("not_kept", folder);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit tight = {500, before.rlim_max};
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_false(use(cache, "a", "one"));
    assert_int_equal(lines.warnings, 1); /* the failure itself … */
    assert_contains(lines.last, "File too large");
    assert_contains(lines.last, folder);
    assert_false(use(cache, "b", "one"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(lines.warnings, 1); /* … once */
    assert_int_equal(cache_counts(cache).publish_failures, 2);
    assert_int_equal(count_files(folder, ".tmp-*"), 0);
    cache_close(cache);
    expect_line(folder, "a", "one", true, "could not keep it: File too large");
    expect_line(folder, "b", "one", true, "could not keep it: File too large");
}

static void what_somebody_asked_for_is_no_warning(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    struct prune_result result;
    const struct prune_request all = {
        .max_bytes = UINT64_MAX, .unused_seconds = 0, .event = HISTORY_REMOVED};
    fresh_folder("asked", folder);
    first_run(folder, "a");
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(prune_layer(cache, &all, &result, NULL), DSAJIT_OK);
    assert_int_equal(result.removed, 1);
    cache_close(cache);
    expect_line(folder, "a", "one", false, "removed it when asked to");
}

/* legacy-rocm-build#6369: after an upgrade every run was slow, and nothing said why. */
static void another_toolchain_is_told_but_no_warning(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    fresh_folder("upgraded", folder);
    first_run(folder, "a");
    expect_line(folder, "a", "two", false, "the toolchain has changed");
}

static void an_interrupted_compile_is_told_but_no_warning(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("interrupted", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    int lock;
    cache_lock(cache, &key, 1000, &lock);
    cache_unlock(lock);
    /* As if another process had taken the lock: this one's own would count as the present try. */
    shell("sed -i 's/process [0-9]*/process 1/' '%s'/*/*.lock", folder);
    expect_line(folder, "a", "one", false, "has not finished");
    cache_close(cache);
    cache_key_free(&key);
}

static void the_story_ends_when_it_is_found_again(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    struct bytes text = {0};
    fresh_folder("found", folder);
    first_run(folder, "a");
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one"), other = make_key("b", "one");
    cache_describe_miss(cache, &key, &text);
    assert_contains(bytes_text(&text), "published it");
    text.size = 0;
    cache_describe_miss(cache, &other, &text);
    assert_int_equal(text.size, 0);
    assert_int_equal(lines.warnings + lines.information, 0);
    bytes_free(&text);
    cache_close(cache);
    cache_key_free(&key);
    cache_key_free(&other);
}

/* ---- The file ---- */

static void a_history_stays_small(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    struct history_record record;
    fresh_folder("history", folder);
    snprintf(path, sizeof path, "%s/file.lock", folder);
    history_append_to(path, HISTORY_PUBLISHED, NULL);
    assert_int_not_equal(access(path, F_OK), 0); /* it is never made */
    shell("touch '%s'", path);
    for (int i = 0; i < 2000; i++) {
        struct stat file;
        history_append_to(path, HISTORY_NOT_KEPT, "a long reason that fills the file soon enough");
        assert_int_equal(stat(path, &file), 0);
        assert_true(file.st_size < 8192);
        assert_true(history_last(path, false, &record));
        assert_int_equal(record.event, HISTORY_NOT_KEPT);
    }
}

static void a_history_of_garbage_is_none(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "",
        "\n\n\n",
        "garbage",
        "published",
        "published ",
        "published  ",
        "published 2026-01-01T00:00:00Z",
        "unknown 2026-01-01T00:00:00Z process 1 on host",
        "published a-time-that-is-far-too-long-to-be-one process 1 on host",
        "publishe 2026-01-01T00:00:00Z process 1 on host",
    };
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    struct history_record record;
    fresh_folder("garbage", folder);
    snprintf(path, sizeof path, "%s/file.lock", folder);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        shell("printf '%%s' '%s' >'%s'", contents[i], path);
        if (history_last(path, false, &record))
            fail_msg("'%s' was understood", contents[i]);
    }
    shell("head -c 5000 /dev/urandom >'%s'; printf '\\nevicted T x\\001y: z\\033z\\n' >>'%s'", path,
          path);
    assert_true(history_last(path, false, &record));
    assert_int_equal(record.event, HISTORY_EVICTED);
    assert_string_equal(record.who, "x?y"); /* nothing that a terminal would obey */
    assert_string_equal(record.detail, "z?z");
    shell("head -c 100000 /dev/zero >'%s'", path);
    assert_false(history_last(path, false, &record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_compile_needs_no_words),
        cmocka_unit_test(an_entry_that_vanished_is_told),
        cmocka_unit_test(one_warning_does_for_all_keys),
        cmocka_unit_test(an_evicted_entry_names_the_limit),
        cmocka_unit_test(an_entry_that_could_not_be_kept_says_why),
        cmocka_unit_test(what_somebody_asked_for_is_no_warning),
        cmocka_unit_test(another_toolchain_is_told_but_no_warning),
        cmocka_unit_test(an_interrupted_compile_is_told_but_no_warning),
        cmocka_unit_test(the_story_ends_when_it_is_found_again),
        cmocka_unit_test(a_history_stays_small),
        cmocka_unit_test(a_history_of_garbage_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
