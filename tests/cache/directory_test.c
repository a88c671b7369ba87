/* Which directory is the cache, and which are refused. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The directory that a cache opened by the environment alone uses; "" for none. */
static void chosen(char path[PATH_SIZE], struct log_lines *lines)
{
    const struct cache_options options = {.log = counting_logger(lines)};
    struct cache *cache;
    assert_int_equal(cache_open(&options, &cache, NULL), DSAJIT_OK);
    snprintf(path, PATH_SIZE, "%s", cache_directory(cache) ? cache_directory(cache) : "");
    cache_close(cache);
}

static void assert_chosen(const char *root, const char *rest)
{
    char expected[2 * PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat state;
    snprintf(expected, sizeof expected, "%s%s", root, rest);
    chosen(path, &lines);
    assert_string_equal(path, expected);
    assert_int_equal(stat(path, &state), 0);
    assert_int_equal(state.st_mode & 07777, 0700);
}

static void the_environment_chooses_in_the_documented_order(void **state)
{
    (void)state;
    char root[PATH_SIZE], named[PATH_SIZE + 16], caches[PATH_SIZE + 16];
    fresh_folder("choose", root);
    snprintf(named, sizeof named, "%s/named/deep", root);
    snprintf(caches, sizeof caches, "%s/xdg", root);
    setenv("HOME", root, 1);
    setenv("XDG_CACHE_HOME", caches, 1);
    setenv("DSAJIT_CACHE_DIR", named, 1);
    assert_chosen(named, "");
    setenv("DSAJIT_CACHE_DIR", "", 1); /* empty is unset */
    assert_chosen(caches, "/dsajit");
    setenv("XDG_CACHE_HOME", "relative", 1); /* ignored, as the XDG specification wants */
    assert_chosen(root, "/.cache/dsajit");
    unsetenv("XDG_CACHE_HOME");
    assert_chosen(root, "/.cache/dsajit");
    unsetenv("DSAJIT_CACHE_DIR");
}

/* R50: a user without a home gets a directory of his own, which nobody else's name leads to. */
static void the_last_resort_is_named_for_its_user(void **state)
{
    (void)state;
    enum { NOBODY_IN_PARTICULAR = 54321 };
    char expected[64];
    if (geteuid() != 0)
        skip();
    snprintf(expected, sizeof expected, "/tmp/dsajit-%d", NOBODY_IN_PARTICULAR);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char path[PATH_SIZE];
        struct log_lines lines;
        unsetenv("HOME");
        unsetenv("XDG_CACHE_HOME");
        if (setuid(NOBODY_IN_PARTICULAR))
            _exit(2);
        chosen(path, &lines);
        _exit(strcmp(path, expected) != 0 || lines.warnings || rmdir(expected));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_relative_directory_stays_where_it_was(void **state)
{
    (void)state;
    char root[PATH_SIZE], before[PATH_SIZE];
    struct log_lines lines;
    fresh_folder("relative", root);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(root), 0);
    struct cache *cache = open_layers("here", NULL, &lines);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(strncmp(cache_directory(cache), root, strlen(root)), 0);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    assert_holds(cache, &key, "code");
    assert_int_equal(chdir(before), 0);
    cache_close(cache);
    cache_key_free(&key);
}

static void prebuilt_layers_come_from_the_environment(void **state)
{
    (void)state;
    char root[PATH_SIZE], list[4 * PATH_SIZE], first[PATH_SIZE + 8], second[PATH_SIZE + 8];
    struct log_lines lines;
    fresh_folder("prebuilt", root);
    shell("cd '%s' && mkdir one two", root);
    snprintf(first, sizeof first, "%s/one", root);
    snprintf(second, sizeof second, "%s/two", root);
    snprintf(list, sizeof list, ":%s::%s:", first, second);
    setenv("DSAJIT_PREBUILT_PATH", list, 1);
    const struct cache_options options = {.directory = "", .log = counting_logger(&lines)};
    struct cache *cache;
    assert_int_equal(cache_open(&options, &cache, NULL), DSAJIT_OK);
    assert_string_equal(cache_prebuilt(cache)[0], first);
    assert_string_equal(cache_prebuilt(cache)[1], second);
    assert_null(cache_prebuilt(cache)[2]);
    assert_null(cache_directory(cache));
    assert_null(cache_directory_problem(cache));
    assert_int_equal(lines.warnings, 0);
    cache_close(cache);
    unsetenv("DSAJIT_PREBUILT_PATH");
}

/* ---- Unusable directories ---- */

/* Opens a cache in `folder`, which has to be refused with one warning, and to serve anyway. */
static void assert_refused(const char *folder, const char *reason)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_null(cache_directory(cache));
    assert_non_null(cache_directory_problem(cache));
    assert_contains(cache_directory_problem(cache), folder);
    assert_contains(cache_directory_problem(cache), reason);
    assert_int_equal(lines.warnings, 1);
    assert_contains(lines.last, reason);

    struct cache_key key = make_key("a", "one");
    const struct cache_section section = {"code", "x", 1};
    dsajit_error error;
    int lock;
    assert_absent(cache, &key);
    assert_int_equal(cache_publish(cache, &key, &section, 1, &error), DSAJIT_ERROR_CACHE_UNUSABLE);
    assert_contains(error.message, reason);
    cache_lock(cache, &key, 1000, &lock);
    assert_int_equal(lock, -1);
    cache_unlock(lock);
    assert_int_equal(lines.warnings, 1);
    cache_close(cache);
    cache_key_free(&key);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0770, 0707, 01777, 0722};
    char folder[PATH_SIZE];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        fresh_folder("open", folder);
        assert_int_equal(chmod(folder, modes[i]), 0);
        assert_refused(folder, "write");
    }
}

static void a_symbolic_link_is_refused(void **state)
{
    (void)state;
    char folder[PATH_SIZE], link[PATH_SIZE + 8];
    fresh_folder("target", folder);
    snprintf(link, sizeof link, "%s.link", folder);
    unlink(link);
    assert_int_equal(symlink(folder, link), 0);
    assert_refused(link, "symbolic link");
}

static void anothers_directory_is_refused(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    fresh_folder("foreign", folder);
    if (chown(folder, 12345, (gid_t)-1))
        skip(); /* only root can give files away */
    assert_refused(folder, "another user");
}

static void what_can_not_be_made_is_refused(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE + 16];
    fresh_folder("file", folder);
    shell("touch '%s/file'", folder);
    snprintf(path, sizeof path, "%s/file", folder);
    assert_refused(path, "Not a directory");
    snprintf(path, sizeof path, "%s/file/below", folder);
    assert_refused(path, "Not a directory");
    assert_refused("/proc/dsajit", "No such file");
}

static void a_directory_without_permission_is_refused(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE + 16];
    fresh_folder("closed", folder);
    assert_int_equal(chmod(folder, 0500), 0);
    snprintf(path, sizeof path, "%s/below", folder);
    /* As a user whom permissions bind; nobody's where this runs as root. */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && seteuid(65534))
            _exit(2);
        struct log_lines lines;
        struct cache *cache = open_layers(path, NULL, &lines);
        _exit(cache_directory(cache) || lines.warnings != 1 ||
              !strstr(lines.last, "Permission denied"));
    }
    int wait_status;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), 0);
}

/* ---- Shared on purpose ---- */

static void a_shared_directory_works_when_it_is_named_one(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat entry;
    fresh_folder("shared", folder);
    assert_int_equal(chmod(folder, 02770), 0);
    setenv("DSAJIT_CACHE_SHARED", "1", 1);
    mode_t before = umask(077);
    struct cache *cache = open_layers(folder, NULL, &lines);
    unsetenv("DSAJIT_CACHE_SHARED");
    assert_non_null(cache_directory(cache));
    assert_int_equal(lines.warnings, 0);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    assert_holds(cache, &key, "code");
    umask(before);
    /* The group reads entries and adds to the buckets, whatever the umask. */
    only_entry(folder, path);
    assert_int_equal(stat(path, &entry), 0);
    assert_int_equal(entry.st_mode & 07777, 0640);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &entry), 0);
    assert_int_equal(entry.st_mode & 07777, 02770);
    cache_close(cache);
    cache_key_free(&key);
}

static void a_private_cache_is_private(void **state)
{
    (void)state;
    char folder[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct stat entry;
    fresh_folder("private", folder);
    mode_t before = umask(0);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("a", "one");
    publish_text(cache, &key, "code");
    umask(before);
    only_entry(folder, path);
    assert_int_equal(stat(path, &entry), 0);
    assert_int_equal(entry.st_mode & 07777, 0600);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &entry), 0);
    assert_int_equal(entry.st_mode & 07777, 0700);
    cache_close(cache);
    cache_key_free(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_chooses_in_the_documented_order),
        cmocka_unit_test(the_last_resort_is_named_for_its_user),
        cmocka_unit_test(a_relative_directory_stays_where_it_was),
        cmocka_unit_test(prebuilt_layers_come_from_the_environment),
        cmocka_unit_test(a_directory_that_others_may_write_is_refused),
        cmocka_unit_test(a_symbolic_link_is_refused),
        cmocka_unit_test(anothers_directory_is_refused),
        cmocka_unit_test(what_can_not_be_made_is_refused),
        cmocka_unit_test(a_directory_without_permission_is_refused),
        cmocka_unit_test(a_shared_directory_works_when_it_is_named_one),
        cmocka_unit_test(a_private_cache_is_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
