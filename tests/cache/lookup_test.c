/* Where entries are found, and what becomes of bad ones. */
#include "support.h"

#include "cache/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_published_entry_is_found_under_its_key_only(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("simple", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one"), other = make_key("b", "one");
    struct cache_key other_toolchain = make_key("a", "two");
    assert_absent(cache, &key);
    publish_text(cache, &key, "code of a");
    assert_holds(cache, &key, "code of a");
    assert_absent(cache, &other);
    assert_absent(cache, &other_toolchain);
    publish_text(cache, &other_toolchain, "code of a by two");
    assert_holds(cache, &key, "code of a");
    assert_holds(cache, &other_toolchain, "code of a by two");
    assert_int_equal(lines.warnings, 0);
    assert_int_equal(count_files(folder, "*.dsajit"), 2);
    assert_int_equal(count_files(folder, ".tmp-*"), 0);
    cache_close(cache);
    cache_key_free(&key);
    cache_key_free(&other);
    cache_key_free(&other_toolchain);
}

static void publishing_again_replaces(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("again", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "first");
    publish_text(cache, &key, "second");
    assert_holds(cache, &key, "second");
    assert_int_equal(count_files(folder, "*"), 2); /* and the marker of the last sweep */
    cache_close(cache);
    cache_key_free(&key);
}

static void an_unknown_toolchain_takes_any(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("unknown", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one"), unknown = make_key("a", NULL);
    struct cache_key other = make_key("b", NULL);
    publish_text(cache, &key, "code of a");
    assert_holds(cache, &unknown, "code of a");
    assert_absent(cache, &other);
    cache_close(cache);
    cache_key_free(&key);
    cache_key_free(&unknown);
    cache_key_free(&other);
}

/* Fills a layer with one entry. */
static void fill(const char *folder, const char *name, const char *toolchain, const char *code)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key(name, toolchain);
    publish_text(cache, &key, code);
    cache_close(cache);
    cache_key_free(&key);
}

static void layers_are_asked_in_order_and_exact_entries_first(void **state)
{
    (void)state;
    char own[PATH_SIZE], first[PATH_SIZE], second[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("own", own);
    fresh_folder("first", first);
    fresh_folder("second", second);
    const char *const prebuilt[] = {first, second, NULL};
    struct cache *cache = open_layers(own, prebuilt, &lines);
    struct cache_key key = make_key("a", "one");

    fill(first, "a", "other", "first's, other toolchain");
    assert_holds(cache, &key, "first's, other toolchain");
    fill(second, "a", "one", "second's");
    assert_holds(cache, &key, "second's");
    fill(first, "a", "one", "first's");
    assert_holds(cache, &key, "first's");

    struct cache_entry entry;
    assert_int_equal(cache_get(cache, &key, &entry, NULL), DSAJIT_OK);
    assert_true(entry.prebuilt);
    assert_int_equal(strncmp(entry.path, first, strlen(first)), 0);
    cache_entry_free(&entry);

    publish_text(cache, &key, "own");
    assert_int_equal(cache_get(cache, &key, &entry, NULL), DSAJIT_OK);
    assert_false(entry.prebuilt);
    cache_entry_free(&entry);
    assert_holds(cache, &key, "own");
    assert_int_equal(lines.warnings, 0);
    cache_close(cache);
    cache_key_free(&key);
}

/* The writable layer never gives another toolchain's entry: the right one can be made. */
static void another_toolchain_in_the_writable_layer_is_a_miss(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("miss", folder);
    fill(folder, "a", "other", "other's");
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    assert_absent(cache, &key);
    cache_close(cache);
    cache_key_free(&key);
}

static void a_copied_cache_hits(void **state)
{
    (void)state;
    char from[PATH_SIZE], to[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("from", from);
    fill(from, "a", "one", "moved");
    fresh_folder("to", to);
    shell("cp -r '%s'/. '%s'", from, to);
    struct cache *cache = open_layers(to, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    assert_holds(cache, &key, "moved");
    cache_close(cache);
    cache_key_free(&key);
}

/* ---- Bad entries ---- */

static void flip_byte(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void each_damaged_byte_costs_one_warning_and_one_miss(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat whole;
    fresh_folder("damaged", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    only_entry(folder, path);
    assert_int_equal(stat(path, &whole), 0);
    for (off_t at = 0; at < whole.st_size; at++) {
        flip_byte(path, at);
        lines.warnings = 0;
        assert_absent(cache, &key);
        assert_absent(cache, &key);
        assert_int_equal(lines.warnings, 1);
        assert_contains(lines.last, path);
        publish_text(cache, &key, "code");
        assert_holds(cache, &key, "code");
    }
    assert_int_equal(count_files(folder, "*.bad"), 1);
    cache_close(cache);
    cache_key_free(&key);
}

static void each_length_costs_one_warning_and_one_miss(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat whole;
    fresh_folder("cut", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    only_entry(folder, path);
    assert_int_equal(stat(path, &whole), 0);
    for (off_t size = 0; size < whole.st_size; size++) {
        assert_int_equal(truncate(path, size), 0);
        lines.warnings = 0;
        assert_absent(cache, &key);
        assert_int_equal(lines.warnings, 1);
        publish_text(cache, &key, "code");
        assert_holds(cache, &key, "code");
    }
    cache_close(cache);
    cache_key_free(&key);
}

/* A whole entry under the name of another: what a collision or a wrong copy would look like. */
static void an_entry_of_another_key_is_not_given_out(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE], other_folder[PATH_SIZE], other_path[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("named", folder);
    fresh_folder("other_named", other_folder);
    fill(folder, "a", "one", "a's");
    fill(other_folder, "b", "one", "b's");
    only_entry(folder, path);
    only_entry(other_folder, other_path);
    shell("cp '%s' '%s'", other_path, path);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    assert_absent(cache, &key);
    assert_int_equal(lines.warnings, 1);
    assert_contains(lines.last, "another key");
    cache_close(cache);
    cache_key_free(&key);
}

static void what_is_no_file_is_moved_aside(void **state)
{
    (void)state;
    static const char *const makers[] = {"mkdir '%s'", "ln -s /etc/passwd '%s'", "mkfifo '%s'",
                                         "truncate -s 1T '%s'", "ln -s loop '%s'"};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        char folder[PATH_SIZE], path[PATH_SIZE], line[2 * PATH_SIZE];
        struct log_lines lines;
        fresh_folder("strange", folder);
        struct cache *cache = open_layers(folder, NULL, &lines);
        struct cache_key key = make_key("a", "one");
        publish_text(cache, &key, "code");
        only_entry(folder, path);
        assert_int_equal(unlink(path), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(line, sizeof line, makers[i], path);
#pragma GCC diagnostic pop
        shell("%s", line);
        assert_absent(cache, &key);
        assert_int_equal(lines.warnings, 1);
        publish_text(cache, &key, "again");
        assert_holds(cache, &key, "again");
        cache_close(cache);
        cache_key_free(&key);
    }
}

static void a_bad_prebuilt_entry_warns_once_and_stays(void **state)
{
    (void)state;
    char own[PATH_SIZE], layer[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("own_of_bad", own);
    fresh_folder("bad_layer", layer);
    fill(layer, "a", "one", "code");
    only_entry(layer, path);
    flip_byte(path, 40);
    const char *const prebuilt[] = {layer, NULL};
    struct cache *cache = open_layers(own, prebuilt, &lines);
    struct cache_key key = make_key("a", "one");
    for (int i = 0; i < 5; i++)
        assert_absent(cache, &key);
    assert_int_equal(lines.warnings, 1);
    assert_int_equal(count_files(layer, "*.bad"), 0);
    publish_text(cache, &key, "recompiled");
    assert_holds(cache, &key, "recompiled");
    cache_close(cache);
    cache_key_free(&key);
}

/* ---- Layers in any state ---- */

static void prebuilt_layers_may_be_anything(void **state)
{
    (void)state;
    char own[PATH_SIZE], empty[PATH_SIZE], file[PATH_SIZE + 8], last[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("own_of_any", own);
    fresh_folder("empty_layer", empty);
    fresh_folder("last_layer", last);
    snprintf(file, sizeof file, "%s/file", empty);
    shell("echo x >'%s'", file);
    fill(last, "a", "one", "found");
    const char *const prebuilt[] = {"/nonexistent/layer", empty, file, last, NULL};
    struct cache *cache = open_layers(own, prebuilt, &lines);
    assert_true(lines.warnings >= 1); /* the missing one is named */
    struct cache_key key = make_key("a", "one"), other = make_key("b", "one");
    assert_holds(cache, &key, "found");
    assert_absent(cache, &other);
    cache_close(cache);
    cache_key_free(&key);
    cache_key_free(&other);
}

/* R43: whatever lies where an entry should be, the layer behind is asked. */
static void a_prebuilt_entry_may_be_anything(void **state)
{
    (void)state;
    static const char *const makers[] = {
        "mkdir '%s'",
        ": >'%s'",
        "truncate -s 40 '%s'",
        "ln -s /nonexistent '%s'",
        "ln -s /dev/zero '%s'",
        "mkfifo '%s'",
        "truncate -s 1T '%s'",
        "cp \"$GOOD\" '%1$s' && printf '\\002' | dd of='%1$s' bs=1 seek=8 conv=notrunc status=none",
        "rm -r \"$(dirname '%1$s')\" && touch \"$(dirname '%1$s')\"", /* a file for a bucket */
        "rm -r \"$(dirname '%1$s')\" && ln -s /nonexistent \"$(dirname '%1$s')\"",
    };
    char first[PATH_SIZE], second[PATH_SIZE], good[PATH_SIZE], path[PATH_SIZE], line[3 * PATH_SIZE];
    fresh_folder("good_layer", second);
    fill(second, "a", "one", "found");
    only_entry(second, good);
    setenv("GOOD", good, 1);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        struct log_lines lines;
        fresh_folder("odd_layer", first);
        fill(first, "a", "one", "bad");
        only_entry(first, path);
        assert_int_equal(unlink(path), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(line, sizeof line, makers[i], path);
#pragma GCC diagnostic pop
        shell("%s", line);
        const char *const prebuilt[] = {first, second, NULL};
        struct cache *cache = open_layers("", prebuilt, &lines);
        struct cache_key key = make_key("a", "one");
        assert_holds(cache, &key, "found");
        assert_holds(cache, &key, "found");
        if (lines.warnings > 1)
            fail_msg("case %zu: %d warnings", i, lines.warnings);
        cache_close(cache);
        cache_key_free(&key);
    }
}

/* Read-only for root as well: a bind mount where that is allowed, else permissions (which root
   ignores). */
static bool make_read_only(const char *folder)
{
    if (!mount(folder, folder, NULL, MS_BIND, NULL)) {
        if (!mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
            return true;
        umount2(folder, MNT_DETACH);
    }
    shell("chmod -R a-w '%s'", folder);
    return geteuid() != 0;
}

static void make_writable(const char *folder)
{
    umount2(folder, MNT_DETACH);
    shell("chmod -R u+w '%s'", folder);
}

static void a_read_only_directory_serves_hits(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("read_only", folder);
    fill(folder, "a", "one", "code");
    bool read_only = make_read_only(folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one"), other = make_key("b", "one");
    assert_holds(cache, &key, "code");
    assert_absent(cache, &other);
    assert_int_equal(lines.warnings, 0);
    if (read_only) {
        const struct cache_section section = {"code", "x", 1};
        dsajit_error error;
        int lock;
        assert_int_equal(cache_publish(cache, &other, &section, 1, &error), DSAJIT_ERROR_IO);
        assert_contains(error.message, folder);
        cache_lock(cache, &other, 1000, &lock);
        assert_int_equal(lock, -1);
        cache_unlock(lock);
    }
    cache_close(cache);
    make_writable(folder);
    cache_key_free(&key);
    cache_key_free(&other);
}

/* A user's `rm -rf` under a running server. */
static void a_cache_that_was_removed_is_made_again(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("removed", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    shell("rm -rf '%s'", folder);
    assert_absent(cache, &key);
    publish_text(cache, &key, "code");
    assert_holds(cache, &key, "code");
    cache_close(cache);
    cache_key_free(&key);
}

static bool count_visit(void *user, const struct layer_file *file)
{
    int *counts = user;
    counts[file->kind]++;
    return true;
}

static bool stop_at_the_second(void *user, const struct layer_file *file)
{
    (void)file;
    return ++*(int *)user < 2;
}

static void a_walk_tells_files_apart_and_can_stop(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    int counts[FILE_UNKNOWN + 1] = {0}, visits = 0;
    fresh_folder("walk", folder);
    fill(folder, "a", "one", "a");
    only_entry(folder, path);
    shell("cp '%s' '%s.bad' && touch \"$(echo '%s' | sed s/dsajit$/lock/)\"", path, path, path);
    fill(folder, "b", "one", "b");
    fill(folder, "c", "one", "c");
    shell("cd '%s' && mkdir -p zz 00 && touch toolchain-1 .tmp-def 00/.tmp-abc 00/x.lock "
          "00/y.dsajit 00/z.dsajit.bad zz/.tmp-ghi",
          folder);
    assert_int_equal(walk_layer(folder, count_visit, counts), 0);
    assert_int_equal(counts[FILE_ENTRY], 3);
    assert_int_equal(counts[FILE_LOCK], 1);
    assert_int_equal(counts[FILE_QUARANTINED], 1);
    assert_int_equal(counts[FILE_TEMPORARY], 2);
    assert_int_equal(counts[FILE_TOOLCHAIN], 1);
    assert_int_equal(counts[FILE_MARKER], 1);
    assert_int_equal(walk_layer(folder, stop_at_the_second, &visits), 0);
    assert_int_equal(visits, 2);
    shell("rm -r '%s'", folder);
    assert_int_equal(walk_layer(folder, count_visit, counts), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_published_entry_is_found_under_its_key_only),
        cmocka_unit_test(publishing_again_replaces),
        cmocka_unit_test(an_unknown_toolchain_takes_any),
        cmocka_unit_test(layers_are_asked_in_order_and_exact_entries_first),
        cmocka_unit_test(another_toolchain_in_the_writable_layer_is_a_miss),
        cmocka_unit_test(a_copied_cache_hits),
        cmocka_unit_test(each_damaged_byte_costs_one_warning_and_one_miss),
        cmocka_unit_test(each_length_costs_one_warning_and_one_miss),
        cmocka_unit_test(an_entry_of_another_key_is_not_given_out),
        cmocka_unit_test(what_is_no_file_is_moved_aside),
        cmocka_unit_test(a_bad_prebuilt_entry_warns_once_and_stays),
        cmocka_unit_test(prebuilt_layers_may_be_anything),
        cmocka_unit_test(a_prebuilt_entry_may_be_anything),
        cmocka_unit_test(a_read_only_directory_serves_hits),
        cmocka_unit_test(a_cache_that_was_removed_is_made_again),
        cmocka_unit_test(a_walk_tells_files_apart_and_can_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
