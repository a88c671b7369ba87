/* The public API of the cache's insides: showing, counting, keeping in order. */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY INT64_C(86400)

/* ---- Showing ---- */

static void flip(const char *path)
{
    shell("printf x | dd of='%s' bs=1 seek=100 conv=notrunc status=none", path);
}

static void a_visit_shows_each_entry(void **state)
{
    (void)state;
    struct fixture fixture;
    struct seen seen = {0};
    open_fixture(&fixture, "visit", 3);
    assert_int_equal(dsajit_cache_visit(fixture.context, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.states[DSAJIT_ENTRY_OK], 3);
    assert_string_equal(seen.kind, "kernel");
    assert_int_equal(strncmp(seen.variant, "sparse_mla/gfx950/heads=", 24), 0);
    assert_string_equal(seen.problem, "");
    assert_int_equal(seen.last.layer_kind, DSAJIT_LAYER_WRITABLE);
    assert_true(seen.last.has_info);
    assert_int_equal(seen.last.info.origin, DSAJIT_ORIGIN_CACHE);
    assert_int_equal(seen.last.info.code_bytes, 4096);
    assert_int_equal(seen.code_size, 4096);
    assert_true(seen.last.info.compile_ms == 30);
    assert_true(time(NULL) - seen.last.used < 60);
    seen = (struct seen){.stop_after = 2};
    assert_int_equal(dsajit_cache_visit(fixture.context, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.count, 2);
    assert_int_equal(dsajit_cache_visit(fixture.context, NULL, NULL, NULL),
                     DSAJIT_ERROR_INVALID_ARGUMENT);
    close_fixture(&fixture);
}

static void bad_and_foreign_entries_are_told_apart(void **state)
{
    (void)state;
    struct fixture fixture;
    struct seen seen = {0};
    char path[2 * PATH_SIZE];
    open_fixture(&fixture, "states", 1);
    assert_int_equal(dsajit_cache_visit(fixture.context, see, &seen, NULL), DSAJIT_OK);

    /* The same entry under another key's name. */
    snprintf(path, sizeof path, "%s/00/%062d-%016d.dsajit", fixture.cache, 0, 0);
    shell("mkdir -p '%s/00' && cp '%s' '%s'", fixture.cache, seen.path, path);
    seen = (struct seen){0};
    assert_int_equal(dsajit_cache_visit(fixture.context, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.states[DSAJIT_ENTRY_FOREIGN], 1);
    seen = (struct seen){0};
    assert_int_equal(dsajit_cache_inspect(path, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.last.state, DSAJIT_ENTRY_OK); /* named by its path, its name is its own */
    assert_int_equal(seen.last.layer_kind, DSAJIT_LAYER_NONE);
    assert_null(seen.last.layer);

    /* Another format version. */
    shell("printf '\\002' | dd of='%s' bs=1 seek=8 conv=notrunc status=none", path);
    seen = (struct seen){0};
    assert_int_equal(dsajit_cache_inspect(path, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.last.state, DSAJIT_ENTRY_FOREIGN);
    assert_contains(seen.problem, "version 2");
    assert_string_equal(seen.kind, "");

    /* No entry at all. */
    shell("echo text >'%s'", path);
    seen = (struct seen){0};
    assert_int_equal(dsajit_cache_inspect(path, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.last.state, DSAJIT_ENTRY_CORRUPT);
    assert_int_equal(seen.last.section_count, 0);
    shell("rm '%s' && mkdir '%s'", path, path);
    seen = (struct seen){0};
    assert_int_equal(dsajit_cache_inspect(path, see, &seen, NULL), DSAJIT_OK);
    assert_int_equal(seen.last.state, DSAJIT_ENTRY_CORRUPT);
    assert_int_equal(dsajit_cache_inspect("/nonexistent/x", see, &seen, NULL),
                     DSAJIT_ERROR_NOT_FOUND);
    close_fixture(&fixture);
}

/* ---- Statistics ---- */

static void statistics_count_files_and_events(void **state)
{
    (void)state;
    struct fixture fixture;
    dsajit_cache_statistics statistics;
    dsajit_kernel_info info;
    char variant[128];
    open_fixture(&fixture, "statistics", 3);
    fake_toolchain_variant(0, variant);
    for (int i = 0; i < 5; i++)
        assert_int_equal(dsajit_prepare(fixture.context, variant, &info, NULL), DSAJIT_OK);
    assert_int_equal(dsajit_cache_get_statistics(fixture.context, &statistics, NULL), DSAJIT_OK);
    assert_int_equal(statistics.layer_count, 1);
    assert_string_equal(statistics.layers[0].directory, fixture.cache);
    assert_int_equal(statistics.layers[0].entries, 3);
    assert_true(statistics.layers[0].entry_bytes > 12288);
    assert_int_equal(statistics.layers[0].locks, 3);
    assert_int_equal(statistics.layers[0].leftovers, 0);
    assert_int_equal(statistics.max_bytes, 1 << 30);
    assert_int_equal(statistics.hits, 5);
    assert_int_equal(statistics.misses, 3);
    assert_int_equal(statistics.compiles, 3);
    assert_int_equal(statistics.published, 3);
    assert_int_equal(statistics.publish_failures, 0);
    assert_int_equal(statistics.quarantines, 0);
    dsajit_cache_statistics_free(&statistics);
    close_fixture(&fixture);
}

/* ---- Keeping in order ---- */

static void verifying_repairs_when_asked_to(void **state)
{
    (void)state;
    struct fixture fixture;
    struct seen seen = {0};
    dsajit_cache_verification result;
    dsajit_error error;
    char leftover[2 * PATH_SIZE];
    open_fixture(&fixture, "verify", 3);
    assert_int_equal(dsajit_cache_verify(fixture.context, false, NULL, NULL, &result, NULL),
                     DSAJIT_OK);
    assert_int_equal(result.good, 3);
    assert_int_equal(dsajit_cache_visit(fixture.context, see, &seen, NULL), DSAJIT_OK);
    flip(seen.path);
    snprintf(leftover, sizeof leftover, "%s/00/.tmp-abcdef", fixture.cache);
    shell("mkdir -p '%s/00' && touch '%s'", fixture.cache, leftover);
    set_age(leftover, DAY);

    assert_int_equal(dsajit_cache_verify(fixture.context, false, NULL, NULL, &result, &error),
                     DSAJIT_ERROR_CORRUPT);
    assert_contains(error.message, seen.path);
    assert_int_equal(result.good, 2);
    assert_int_equal(result.corrupt, 1);
    assert_int_equal(result.repaired, 0);
    assert_int_equal(result.leftovers, 1);
    assert_int_equal(access(leftover, F_OK), 0);

    assert_int_equal(dsajit_cache_verify(fixture.context, true, NULL, NULL, &result, NULL),
                     DSAJIT_OK);
    assert_int_equal(result.repaired, 1);
    assert_int_not_equal(access(leftover, F_OK), 0);
    assert_int_equal(count_files(fixture.cache, "*.bad"), 1);
    assert_int_equal(dsajit_cache_verify(fixture.context, false, NULL, NULL, &result, NULL),
                     DSAJIT_OK);
    assert_int_equal(result.good, 2);
    assert_int_equal(result.leftovers, 0);
    close_fixture(&fixture);
}

static void count_removed(void *user, const char *path, uint64_t bytes)
{
    (void)path;
    *(uint64_t *)user += bytes;
}

static void age_entries(const char *cache, int64_t age)
{
    shell("find '%s' -name '*.dsajit' -exec touch -d '%lld seconds ago' {} +", cache,
          (long long)age);
}

static void pruning_removes_what_the_conditions_cover(void **state)
{
    (void)state;
    struct fixture fixture;
    dsajit_cache_prune_options options = DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT;
    dsajit_cache_pruning pruning;
    dsajit_kernel_info info;
    uint64_t told = 0;
    char variant[128];
    open_fixture(&fixture, "prune", 4);
    assert_int_equal(dsajit_cache_prune(fixture.context, NULL, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.removed, 0);
    assert_int_equal(pruning.kept, 4);
    const uint64_t all = pruning.kept_bytes;

    age_entries(fixture.cache, 10 * DAY);
    fake_toolchain_variant(2, variant);
    assert_int_equal(dsajit_prepare(fixture.context, variant, &info, NULL), DSAJIT_OK);
    options.unused_seconds = 5 * DAY;
    options.dry_run = true;
    options.removed = count_removed;
    options.removed_user = &told;
    assert_int_equal(dsajit_cache_prune(fixture.context, &options, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.removed, 3); /* all but the one just used */
    assert_int_equal(pruning.removed_bytes, told);
    assert_int_equal(count_files(fixture.cache, "*.dsajit"), 4);
    options.dry_run = false;
    options.unused_seconds = -1;
    options.max_bytes = all / 2;
    assert_int_equal(dsajit_cache_prune(fixture.context, &options, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.kept, 2);
    assert_true(pruning.kept_bytes <= all / 2);
    assert_int_equal(dsajit_prepare(fixture.context, variant, &info, NULL), DSAJIT_OK);
    assert_int_equal(info.origin, DSAJIT_ORIGIN_CACHE);
    options.max_bytes = 0;
    assert_int_equal(dsajit_cache_prune(fixture.context, &options, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.kept, 0);
    close_fixture(&fixture);
}

static void pruning_what_is_stale_keeps_the_present_toolchains(void **state)
{
    (void)state;
    struct fixture fixture;
    struct log_lines lines;
    dsajit_cache_prune_options options = DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT;
    dsajit_cache_pruning pruning;
    open_fixture(&fixture, "stale", 2);
    struct cache *cache = open_layers(fixture.cache, NULL, &lines);
    struct cache_key other = make_key("old", "another toolchain");
    struct cache_key none = make_key("inspection", NULL); /* of no toolchain */
    publish_text(cache, &other, "code");
    publish_text(cache, &none, "text");
    options.stale = true;
    assert_int_equal(dsajit_cache_prune(fixture.context, &options, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.removed, 1);
    assert_int_equal(pruning.kept, 3);
    assert_absent(cache, &other);
    assert_holds(cache, &none, "text");
    cache_close(cache);
    cache_key_free(&other);
    cache_key_free(&none);
    close_fixture(&fixture);
}

static void clearing_leaves_what_is_not_its_own(void **state)
{
    (void)state;
    struct fixture fixture;
    dsajit_cache_pruning pruning;
    open_fixture(&fixture, "clear", 3);
    shell("cd '%s' && touch README toolchain-0 && mkdir -p 00 && touch 00/notes 00/.tmp-abcdef",
          fixture.cache);
    assert_int_equal(dsajit_cache_clear(fixture.context, &pruning, NULL), DSAJIT_OK);
    assert_int_equal(pruning.removed, 3);
    assert_int_equal(pruning.leftovers, 4); /* 3 locks and a temporary file */
    assert_int_equal(count_files(fixture.cache, "*"), 2);
    assert_int_equal(count_files(fixture.cache, "README") + count_files(fixture.cache, "notes"), 2);
    close_fixture(&fixture);
    fixture.context = fake_toolchain_open(&toolchain, "", &fixture.lines);
    assert_int_equal(dsajit_cache_clear(fixture.context, &pruning, NULL),
                     DSAJIT_ERROR_CACHE_UNUSABLE);
    assert_int_equal(dsajit_cache_prune(fixture.context, NULL, &pruning, NULL),
                     DSAJIT_ERROR_CACHE_UNUSABLE);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_visit_shows_each_entry),
        cmocka_unit_test(bad_and_foreign_entries_are_told_apart),
        cmocka_unit_test(statistics_count_files_and_events),
        cmocka_unit_test(verifying_repairs_when_asked_to),
        cmocka_unit_test(pruning_removes_what_the_conditions_cover),
        cmocka_unit_test(pruning_what_is_stale_keeps_the_present_toolchains),
        cmocka_unit_test(clearing_leaves_what_is_not_its_own),
    };
    return cmocka_run_group_tests(tests, make_toolchain, NULL);
}
