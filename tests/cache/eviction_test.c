/* The size limit, and what is cleaned up (R18, R52, R53). */
#include "support.h"

#include "cache/evict.h"
#include "cache/prune.h"
#include "cache/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOUR INT64_C(3600)
#define DAY  (24 * HOUR)

static struct cache *open_limited(const char *folder, const char *limit, struct log_lines *lines)
{
    if (limit)
        setenv("DSAJIT_CACHE_MAX_SIZE", limit, 1);
    struct cache *cache = open_layers(folder, NULL, lines);
    unsetenv("DSAJIT_CACHE_MAX_SIZE");
    return cache;
}

static bool add_entry_size(void *user, const struct layer_file *file)
{
    *(uint64_t *)user += file->kind == FILE_ENTRY ? (uint64_t)file->state.st_size : 0;
    return true;
}

static uint64_t entry_bytes(const char *folder)
{
    uint64_t size = 0;
    assert_int_equal(walk_layer(folder, add_entry_size, &size), 0);
    return size;
}

/* ---- The limit ---- */

static void the_limit_has_units_and_a_default(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
        int warnings;
    } cases[] = {
        {NULL, UINT64_C(1) << 30, 0},
        {"", UINT64_C(1) << 30, 0},
        {"0", 0, 0},
        {"12345", 12345, 0},
        {"3K", 3072, 0},
        {"5M", 5 << 20, 0},
        {"2G", UINT64_C(2) << 30, 0},
        {"1T", UINT64_C(1) << 40, 0},
        {"K", UINT64_C(1) << 30, 1},
        {"1k", UINT64_C(1) << 30, 1},
        {"-1", UINT64_C(1) << 30, 1},
        {"1GB", UINT64_C(1) << 30, 1},
        {"1 G", UINT64_C(1) << 30, 1},
        {"1.5G", UINT64_C(1) << 30, 1},
        {"99999999999999999999", UINT64_C(1) << 30, 1},
        {"18446744073709551615", UINT64_C(1) << 30, 1},
        {"16777217T", UINT64_C(1) << 30, 1},
    };
    char folder[PATH_SIZE];
    fresh_folder("limit", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct log_lines lines;
        struct cache *cache = open_limited(folder, cases[i].text, &lines);
        if (cache_max_bytes(cache) != cases[i].bytes || lines.warnings != cases[i].warnings)
            fail_msg("'%s': %llu bytes, %d warnings", cases[i].text ? cases[i].text : "unset",
                     (unsigned long long)cache_max_bytes(cache), lines.warnings);
        cache_close(cache);
    }
}

/* R52 */
static void the_least_recently_used_go_first(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("least", folder);
    struct cache *cache = open_limited(folder, "100K", &lines);
    publish_aged(cache, "third", 20000, 3 * HOUR);
    publish_aged(cache, "first", 20000, 5 * HOUR);
    publish_aged(cache, "fourth", 20000, 2 * HOUR);
    publish_aged(cache, "second", 20000, 4 * HOUR);
    publish_aged(cache, "fifth", 20000, HOUR);
    assert_int_equal(cache_counts(cache).evictions, 0); /* 101 of 102.4 thousand bytes */
    publish_aged(cache, "new", 20000, 0);
    /* To 90 % of the limit: four of six. */
    assert_false(holds(cache, "first"));
    assert_false(holds(cache, "second"));
    assert_true(holds(cache, "third"));
    assert_true(holds(cache, "fourth"));
    assert_true(holds(cache, "fifth"));
    assert_true(holds(cache, "new"));
    assert_int_equal(cache_counts(cache).evictions, 2);
    assert_int_equal(lines.warnings, 0);
    cache_close(cache);
}

static void no_limit_keeps_everything(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("endless", folder);
    struct cache *cache = open_limited(folder, "0", &lines);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        publish_aged(cache, name, 10000, 400 * DAY);
    }
    assert_int_equal(count_files(folder, "*.dsajit"), 20);
    cache_close(cache);
}

/* Whoever publishes whatever: the layer passes its limit by no more than what each publisher may
   add without looking, a 32nd, and the entry that makes it look. */
static void no_publish_leaves_more_than_the_limit(void **state)
{
    (void)state;
    enum { LIMIT = 100 << 10, ENTRIES = 300, MOST = LIMIT + 2 * (LIMIT / 32 + 2500) };
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("never_more", folder);
    struct cache *caches[2] = {open_limited(folder, "100K", &lines),
                               open_limited(folder, "100K", &lines)};
    unsigned seed = 1;
    for (int i = 0; i < ENTRIES; i++) {
        char name[16];
        seed = seed * 1103515245 + 12345;
        snprintf(name, sizeof name, "v%d", i);
        publish_aged(caches[i % 2], name, 100 + (seed >> 16) % 2000, HOUR + ENTRIES - i);
        uint64_t bytes = entry_bytes(folder);
        if (bytes > MOST)
            fail_msg("%llu bytes after %d entries", (unsigned long long)bytes, i + 1);
    }
    assert_true(entry_bytes(folder) > LIMIT / 2);
    cache_close(caches[0]);
    cache_close(caches[1]);
}

/* ---- Last use ---- */

static int64_t age_of_entry(struct cache *cache, const struct cache_key *key)
{
    struct stat file;
    char *path = cache_entry_path(cache, key);
    assert_int_equal(stat(path, &file), 0);
    free(path);
    return time(NULL) - file.st_mtime;
}

static void a_hit_renews_the_time_of_last_use_now_and_then(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("renewed", folder);
    struct cache *cache = open_limited(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    char *path = cache_entry_path(cache, &key);
    publish_text(cache, &key, "code");
    set_age(path, EVICT_TOUCH_SECONDS - 60);
    assert_holds(cache, &key, "code");
    assert_true(age_of_entry(cache, &key) >= EVICT_TOUCH_SECONDS - 60);
    set_age(path, EVICT_TOUCH_SECONDS + 60);
    assert_holds(cache, &key, "code");
    assert_true(age_of_entry(cache, &key) < 60);
    set_age(path, -10 * DAY); /* a wrong clock's */
    assert_holds(cache, &key, "code");
    assert_true(age_of_entry(cache, &key) > -60);
    free(path);
    cache_close(cache);
    cache_key_free(&key);
}

static void a_hit_leaves_prebuilt_layers_as_they_are(void **state)
{
    (void)state;
    char layer[PATH_SIZE], own[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat before, after;
    fresh_folder("old_layer", layer);
    fresh_folder("own_of_old", own);
    struct cache *maker = open_layers(layer, NULL, &lines);
    publish_aged(maker, "a", 100, 100 * DAY);
    cache_close(maker);
    only_entry(layer, path);
    assert_int_equal(stat(path, &before), 0);
    const char *const prebuilt[] = {layer, NULL};
    struct cache *cache = open_layers(own, prebuilt, &lines);
    struct cache_key key = make_key("a", "one");
    struct cache_entry entry;
    assert_int_equal(cache_get(cache, &key, &entry, NULL), DSAJIT_OK);
    cache_entry_free(&entry);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mtime, before.st_mtime);
    assert_int_equal(after.st_ctime, before.st_ctime);
    cache_close(cache);
    cache_key_free(&key);
}

/* An entry that a running process has just been given was used a moment ago. */
static void what_was_just_used_stays(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("just_used", folder);
    struct cache *cache = open_limited(folder, "50K", &lines);
    publish_aged(cache, "old", 20000, HOUR);
    struct cache_key key = make_key("used", "one");
    publish_aged(cache, "used", 20000, 2 * HOUR);
    struct cache_entry entry;
    assert_int_equal(cache_get(cache, &key, &entry, NULL), DSAJIT_OK);
    publish_aged(cache, "a", 20000, EVICT_SPARE_SECONDS - 60);
    publish_aged(cache, "b", 20000, EVICT_SPARE_SECONDS - 60);
    assert_false(holds(cache, "old"));
    assert_true(holds(cache, "used"));
    assert_true(holds(cache, "a"));
    assert_true(holds(cache, "b"));
    cache_entry_free(&entry);
    cache_close(cache);
    cache_key_free(&key);
}

/* ---- Others at work ---- */

struct rival {
    struct cache *cache;
    const char *victim;
};

static void remove_behind_its_back(void *user, const char *path, uint64_t bytes)
{
    struct rival *rival = user;
    (void)path;
    (void)bytes;
    if (!rival->victim)
        return;
    struct cache_key key = make_key(rival->victim, "one");
    char *victim = cache_entry_path(rival->cache, &key);
    assert_int_equal(unlink(victim), 0);
    free(victim);
    cache_key_free(&key);
    rival->victim = NULL;
}

/* R53: a vanished entry's room is there, so that nothing else has to go for it. */
static void an_entry_that_another_process_removed_counts_as_removed(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("rival", folder);
    struct cache *cache = open_limited(folder, "0", &lines);
    for (int i = 0; i < 6; i++)
        publish_aged(cache, names[i], 20000, (10 - i) * HOUR);
    struct rival rival = {cache, "b"};
    const struct prune_request request = {
        .max_bytes = entry_bytes(folder) / 2,
        .target_bytes = entry_bytes(folder) / 2,
        .unused_seconds = -1,
        .event = HISTORY_REMOVED,
        .removed = remove_behind_its_back,
        .user = &rival,
    };
    struct prune_result result;
    assert_int_equal(prune_layer(cache, &request, &result, NULL), DSAJIT_OK);
    assert_int_equal(result.removed, 3); /* a, b (by the rival) and c */
    assert_int_equal(result.kept, 3);
    assert_int_equal(result.kept_bytes, entry_bytes(folder));
    assert_true(holds(cache, "d") && holds(cache, "e") && holds(cache, "f"));
    cache_close(cache);
}

/* R53 with real concurrency: what all of them together leave is within the limit, and not much
   less, for they agree on which entries are the oldest. */
static void several_processes_evict_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4, ENTRIES = 60, SIZE = 10000 };
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("evictors", folder);
    struct cache *cache = open_limited(folder, "0", &lines);
    for (int i = 0; i < ENTRIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        publish_aged(cache, name, SIZE, HOUR + i);
    }
    const uint64_t limit = entry_bytes(folder) / 3;
    const struct prune_request request = {
        .max_bytes = limit, .target_bytes = limit, .unused_seconds = -1};
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct prune_result result;
            _exit(prune_layer(cache, &request, &result, NULL) != DSAJIT_OK ||
                  result.kept_bytes > limit);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(folder, "*.dsajit"), ENTRIES / 3);
    assert_true(holds(cache, "v0") && !holds(cache, "v59"));
    cache_close(cache);
}

/* ---- Leftovers ---- */

/* Makes an aged file in a bucket of the layer, or beside the buckets. */
static void leave(const char *folder, const char *name, int64_t age)
{
    char path[2 * PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    shell("mkdir -p \"$(dirname '%s')\" && echo x >'%s'", path, path);
    set_age(path, age);
}

#define NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd-0123456789abcdef"

static void leftovers_are_removed_once_they_are_stale(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t age;
        bool stays;
    } files[] = {
        {"00/.tmp-abcdef", 2 * HOUR, false},
        {"00/.tmp-young1", HOUR / 2, true},
        {".tmp-ghijkl", 2 * HOUR, false},
        {"01/" NAME ".dsajit.bad", 8 * DAY, false},
        {"02/" NAME ".dsajit.bad", 6 * DAY, true},
        {"03/" NAME ".lock", 31 * DAY, false},
        {"04/" NAME ".lock", 29 * DAY, true},
        {"05/" NAME ".dsajit", 400 * DAY, true}, /* an entry, if a bad one */
        {"toolchain-0123", 400 * DAY, true},
        {"06/something else", 400 * DAY, true},
        {"README", 400 * DAY, true},
    };
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    struct log_lines lines;
    fresh_folder("leftovers", folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        leave(folder, files[i].name, files[i].age);
    struct cache *cache = open_limited(folder, NULL, &lines);
    publish_aged(cache, "a", 100, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        if (!access(path, F_OK) != files[i].stays)
            fail_msg("%s %s", files[i].name, files[i].stays ? "is gone" : "is still there");
    }
    cache_close(cache);
}

static void they_are_looked_for_once_a_day(void **state)
{
    (void)state;
    char folder[PATH_SIZE], marker[2 * PATH_SIZE];
    struct log_lines lines;
    fresh_folder("daily", folder);
    for (int day = 0; day < 2; day++) {
        struct cache *cache = open_limited(folder, NULL, &lines);
        publish_aged(cache, "a", 100, 0);
        cache_close(cache);
        leave(folder, "00/.tmp-abcdef", 2 * HOUR);
        cache = open_limited(folder, NULL, &lines);
        publish_aged(cache, "b", 100, 0);
        cache_close(cache);
        assert_int_equal(count_files(folder, ".tmp-*"), 1);
        snprintf(marker, sizeof marker, "%s/" SWEPT_MARKER, folder);
        set_age(marker, 25 * HOUR);
        cache = open_limited(folder, NULL, &lines);
        publish_aged(cache, "c", 100, 0);
        cache_close(cache);
        assert_int_equal(count_files(folder, ".tmp-*"), 0);
    }
}

/* ---- Locks ---- */

/* R18: as long as anybody holds it. */
static void a_lock_that_is_held_is_never_removed(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    struct log_lines lines;
    struct prune_result result;
    fresh_folder("held", folder);
    leave(folder, "03/" NAME ".lock", 400 * DAY);
    snprintf(path, sizeof path, "%s/03/" NAME ".lock", folder);
    struct cache *cache = open_limited(folder, NULL, &lines);
    const struct prune_request clear = {
        .max_bytes = UINT64_MAX, .unused_seconds = 0, .everything = true};
    int holder = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    assert_int_equal(prune_layer(cache, &clear, &result, NULL), DSAJIT_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(flock(holder, LOCK_UN), 0);
    assert_int_equal(prune_layer(cache, &clear, &result, NULL), DSAJIT_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    close(holder);
    cache_close(cache);
}

/* The story of a removed lock: H holds it, W waits for it, R removes the file and H lets go. W now
   holds a file that nobody else will find, so W has to take the new one. */
static void whoever_waited_for_a_removed_lock_takes_the_new_one(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("removed_lock", folder);
    struct cache *cache = open_limited(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    int channel[2], lock, other;
    char byte;
    assert_int_equal(pipe(channel), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        const struct timespec pause = {0, 300000000};
        int held;
        cache_lock(cache, &key, 1000, &held);
        if (held < 0 || write(channel[1], "x", 1) != 1)
            _exit(1);
        nanosleep(&pause, NULL);
        shell("rm '%s'/*/*.lock", folder);
        cache_unlock(held);
        _exit(0);
    }
    assert_int_equal(read(channel[0], &byte, 1), 1);
    cache_lock(cache, &key, 10000, &lock);
    assert_true(lock >= 0);
    assert_int_equal(cache_counts(cache).waits, 1);
    assert_true(cache_counts(cache).wait_ms >= 100);
    assert_int_equal(count_files(folder, "*.lock"), 1);
    cache_lock(cache, &key, 100, &other);
    assert_int_equal(other, -1);
    cache_unlock(lock);
    int status;
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0);
    close(channel[0]);
    close(channel[1]);
    cache_close(cache);
    cache_key_free(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_has_units_and_a_default),
        cmocka_unit_test(the_least_recently_used_go_first),
        cmocka_unit_test(no_limit_keeps_everything),
        cmocka_unit_test(no_publish_leaves_more_than_the_limit),
        cmocka_unit_test(a_hit_renews_the_time_of_last_use_now_and_then),
        cmocka_unit_test(a_hit_leaves_prebuilt_layers_as_they_are),
        cmocka_unit_test(what_was_just_used_stays),
        cmocka_unit_test(an_entry_that_another_process_removed_counts_as_removed),
        cmocka_unit_test(several_processes_evict_at_once),
        cmocka_unit_test(leftovers_are_removed_once_they_are_stale),
        cmocka_unit_test(they_are_looked_for_once_a_day),
        cmocka_unit_test(a_lock_that_is_held_is_never_removed),
        cmocka_unit_test(whoever_waited_for_a_removed_lock_takes_the_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
