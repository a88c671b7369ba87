/* Every system call of the cache fails once, in every way that a file system knows; and the process
   is killed before each of them. The caller goes on with the bytes it has, nobody ever sees a torn
   entry, and what was left behind is cleaned up later. */
#include "faults.h"
#include "support.h"

#include "cache/walk.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct fault_error {
    int number;
    const char *name;
} errors[] = {
    {ENOSPC, "ENOSPC"}, {EDQUOT, "EDQUOT"}, {EROFS, "EROFS"},   {EACCES, "EACCES"},
    {EPERM, "EPERM"},   {EIO, "EIO"},       {ESTALE, "ESTALE"}, {EINTR, "EINTR"},
    {EBUSY, "EBUSY"},   {ENOENT, "ENOENT"}, {EMFILE, "EMFILE"}, {ENOLCK, "ENOLCK"},
};
enum { ERROR_COUNT = sizeof errors / sizeof *errors };

static const char code_text[] = "the code of a kernel, long enough to be written in several pieces";

static char *test_folder(const char *name)
{
    static char folder[PATH_SIZE];
    fresh_folder(name, folder);
    return folder;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* ---- What a process does with a key ---- */

/* Looks, locks, looks again, "compiles", publishes. */
static dsajit_status miss_and_publish(struct cache *cache, dsajit_error *error)
{
    struct cache_key key = make_key("a", "one");
    struct cache_entry entry;
    const struct cache_section section = {"code", code_text, sizeof code_text - 1};
    int lock;
    dsajit_status status = DSAJIT_OK;
    if (cache_get(cache, &key, &entry, NULL)) {
        cache_lock(cache, &key, 1000, &lock);
        if (cache_get(cache, &key, &entry, NULL)) {
            cache_report_recompile(cache, &key);
            status = cache_publish(cache, &key, &section, 1, error);
        }
        cache_unlock(lock);
    }
    cache_entry_free(&entry);
    cache_key_free(&key);
    return status;
}

/* True for a hit, which must be the right one. */
static bool look(struct cache *cache)
{
    struct cache_key key = make_key("a", "one");
    struct cache_entry entry;
    bool hit = !cache_get(cache, &key, &entry, NULL);
    if (hit) {
        const struct cache_section *section = cache_entry_section(&entry, "code");
        assert_non_null(section);
        assert_int_equal(section->size, sizeof code_text - 1);
        assert_memory_equal(section->data, code_text, section->size);
    }
    cache_entry_free(&entry);
    cache_key_free(&key);
    return hit;
}

/* A later process, on a disk that works: it finds the entry or makes it, and warns at most about
   what the earlier one left. */
static void expect_recovery(const char *folder, const char *what)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    dsajit_error error = {0};
    if (!look(cache) && miss_and_publish(cache, &error))
        fail_msg("after %s: %s", what, error.message);
    if (!look(cache))
        fail_msg("after %s: the entry is not found once it is published", what);
    if (lines.warnings > 1)
        fail_msg("after %s: %d warnings, the last: %s", what, lines.warnings, lines.last);
    cache_close(cache);
}

/* ---- The write path ---- */

static int count_calls_of_writing(void)
{
    struct log_lines lines;
    char *folder = test_folder("count");
    faults_arm(folder, (struct fault){.kind = FAULT_ERROR, .at = -1});
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(miss_and_publish(cache, NULL), DSAJIT_OK);
    cache_close(cache);
    faults_disarm();
    return faults_count();
}

static void write_with_fault(struct fault fault, const char *error_name)
{
    struct log_lines lines;
    char what[128];
    char *folder = test_folder("write");
    dsajit_error error = {0};
    int descriptors = open_descriptors();
    faults_arm(folder, fault);
    struct cache *cache = open_layers(folder, NULL, &lines);
    dsajit_status status = miss_and_publish(cache, &error);
    cache_close(cache);
    faults_disarm();
    snprintf(what, sizeof what, "%s in %s, call %d", error_name,
             faults_struck() ? faults_struck() : "nothing", fault.at);
    if (status && (status != error.status || !*error.message || lines.warnings != 1))
        fail_msg("%s: status %d, %d warnings, message '%s'", what, status, lines.warnings,
                 error.message);
    if (!status && lines.warnings > 1)
        fail_msg("%s: %d warnings, the last: %s", what, lines.warnings, lines.last);
    if (open_descriptors() != descriptors)
        fail_msg("%s: a file is still open", what);
    /* Only the clean-up itself can fail to clean up. */
    if (count_files(folder, ".tmp-*") > (status && !strcmp(faults_struck(), "unlink")))
        fail_msg("%s: a temporary file is left", what);
    expect_recovery(folder, what);
}

static void a_failing_call_costs_the_entry_at_most(void **state)
{
    (void)state;
    int calls = count_calls_of_writing();
    assert_true(calls > 20);
    for (int i = 0; i < ERROR_COUNT; i++) {
        for (int at = 1; at <= calls; at++)
            write_with_fault((struct fault){FAULT_ERROR, errors[i].number, at, NULL},
                             errors[i].name);
    }
}

/* As a disk that is full, read-only or gone does: the call fails whenever it is tried. */
static void so_does_one_that_always_fails(void **state)
{
    (void)state;
    static const char *const names[] = {"open",  "mkostemp", "mkdir",  "chmod",    "stat",
                                        "lstat", "rename",   "unlink", "fstat",    "fsync",
                                        "write", "fchmod",   "flock",  "futimens", "scandir",
                                        "close", "utimensat"};
    for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
        for (int i = 0; i < ERROR_COUNT; i++) {
            /* Interrupted for ever is no failure that anything has: it would be tried for ever. */
            if (errors[i].number != EINTR)
                write_with_fault((struct fault){FAULT_ERROR, errors[i].number, 0, names[name]},
                                 errors[i].name);
        }
    }
}

static void short_writes_are_continued(void **state)
{
    (void)state;
    struct log_lines lines;
    char *folder = test_folder("short_write");
    faults_arm(folder, (struct fault){.kind = FAULT_SHORT});
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(miss_and_publish(cache, NULL), DSAJIT_OK);
    assert_true(look(cache)); /* with short reads */
    faults_disarm();
    assert_true(look(cache));
    assert_int_equal(lines.warnings, 0);
    cache_close(cache);
}

/* A signal in the middle costs nothing where the call can be repeated. */
static void interrupted_calls_are_repeated(void **state)
{
    (void)state;
    static const char *const names[] = {"open", "write", "fsync", "flock", "close", "read"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int at = 1; at <= 4; at++) {
            struct log_lines lines;
            char *folder = test_folder("interrupted");
            dsajit_error error = {0};
            faults_arm(folder, (struct fault){FAULT_ERROR, EINTR, at, names[i]});
            struct cache *cache = open_layers(folder, NULL, &lines);
            if (miss_and_publish(cache, &error))
                fail_msg("%s, %d: %s", names[i], at, error.message);
            assert_true(look(cache));
            faults_disarm();
            assert_int_equal(lines.warnings, 0);
            cache_close(cache);
        }
    }
}

/* ---- The read path ---- */

static void read_with_fault(struct fault fault, const char *error_name)
{
    struct log_lines lines;
    char what[128];
    char *folder = test_folder("read");
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(miss_and_publish(cache, NULL), DSAJIT_OK);
    cache_close(cache);
    char entry[PATH_SIZE];
    only_entry(folder, entry);
    set_age(entry, 7200); /* so that the hit renews it */
    int descriptors = open_descriptors();
    faults_arm(folder, fault);
    cache = open_layers(folder, NULL, &lines);
    bool hit = look(cache);
    cache_close(cache);
    faults_disarm();
    snprintf(what, sizeof what, "%s in %s, call %d", error_name,
             faults_struck() ? faults_struck() : "nothing", fault.at);
    if (lines.warnings > 1 || (hit && lines.warnings))
        fail_msg("%s: %d warnings, the last: %s", what, lines.warnings, lines.last);
    if (open_descriptors() != descriptors)
        fail_msg("%s: a file is still open", what);
    expect_recovery(folder, what);
}

static void a_failing_read_is_a_hit_or_a_miss(void **state)
{
    (void)state;
    enum { CALLS = 16 }; /* more than there are */
    for (int i = 0; i < ERROR_COUNT; i++) {
        for (int at = 1; at <= CALLS; at++)
            read_with_fault((struct fault){FAULT_ERROR, errors[i].number, at, NULL},
                            errors[i].name);
    }
    assert_null(faults_struck());
    for (int at = 1; at <= 3; at++)
        read_with_fault((struct fault){FAULT_EMPTY, 0, at, "read"}, "end of file");
}

/* What a network file system answers when another host has replaced the file: silence. */
static void a_stale_handle_is_a_silent_miss(void **state)
{
    (void)state;
    struct log_lines lines;
    char *folder = test_folder("stale");
    struct cache *cache = open_layers(folder, NULL, &lines);
    assert_int_equal(miss_and_publish(cache, NULL), DSAJIT_OK);
    static const char *const names[] = {"open", "fstat", "read"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        faults_arm(folder, (struct fault){FAULT_ERROR, ESTALE, 1, names[i]});
        assert_false(look(cache));
        faults_disarm();
        assert_true(look(cache));
    }
    assert_int_equal(lines.warnings, 0);
    assert_int_equal(cache_counts(cache).quarantines, 0);
    cache_close(cache);
}

/* ---- Being killed ---- */

static bool killed_at(const char *folder, int at)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct log_lines lines;
        faults_arm(folder, (struct fault){FAULT_KILL, 0, at, NULL});
        struct cache *cache = open_layers(folder, NULL, &lines);
        _exit(miss_and_publish(cache, NULL) != DSAJIT_OK);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return true;
    assert_int_equal(status, 0);
    return false;
}

static bool all_old(void *user, const struct layer_file *file)
{
    (void)user;
    set_age(file->path, 259200); /* three days */
    return true;
}

/* A day later, whoever publishes anything cleans up. */
static void expect_clean_up(const char *folder)
{
    struct log_lines lines;
    assert_int_equal(walk_layer(folder, all_old, NULL), 0);
    struct cache *cache = open_layers(folder, NULL, &lines);
    publish_aged(cache, "another", 100, 0);
    cache_close(cache);
    assert_int_equal(count_files(folder, ".tmp-*"), 0);
    assert_int_equal(count_files(folder, "*.dsajit"), 2);
}

static void a_process_killed_at_any_step_leaves_nothing_torn(void **state)
{
    (void)state;
    bool killed = true, left_something = false;
    int at = 1;
    for (; killed; at++) {
        char what[64];
        char *folder = test_folder("killed");
        killed = killed_at(folder, at);
        left_something = left_something || count_files(folder, ".tmp-*") > 0;
        snprintf(what, sizeof what, "SIGKILL before call %d", at);
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        expect_recovery(folder, what);
        clock_gettime(CLOCK_MONOTONIC, &after);
        assert_true(after.tv_sec - before.tv_sec < 2); /* the lock died with its holder (R17) */
        expect_clean_up(folder);
    }
    assert_true(at > 20);
    assert_true(left_something); /* else the clean-up was not tested */
}

/* ---- Locks that do nothing (R19) ---- */

enum { PROCESSES = 8, ROUNDS = 20 };

/* Each round a new key, missed by all processes at once. */
static int race(const char *folder)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    int failures = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", round);
        struct cache_key key = make_key(name, "one");
        struct cache_entry entry;
        const struct cache_section section = {"code", name, strlen(name)};
        int lock;
        cache_lock(cache, &key, 1000, &lock);
        if (cache_get(cache, &key, &entry, NULL))
            failures += cache_publish(cache, &key, &section, 1, NULL) != DSAJIT_OK;
        cache_entry_free(&entry);
        cache_unlock(lock);
        failures += cache_get(cache, &key, &entry, NULL) != DSAJIT_OK;
        const struct cache_section *found = cache_entry_section(&entry, "code");
        failures +=
            !found || found->size != strlen(name) || memcmp(found->data, name, found->size) != 0;
        cache_entry_free(&entry);
        cache_key_free(&key);
    }
    failures += lines.warnings;
    cache_close(cache);
    return failures;
}

static void race_with_lock(struct fault fault)
{
    char *folder = test_folder("lockless");
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            faults_arm(folder, fault);
            _exit(race(folder) != 0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(folder, "*.dsajit"), ROUNDS);
    assert_int_equal(count_files(folder, "*.bad"), 0);
    assert_int_equal(count_files(folder, ".tmp-*"), 0);
}

static void results_are_right_where_locks_do_nothing(void **state)
{
    (void)state;
    race_with_lock((struct fault){.kind = FAULT_STUB, .only = "flock"});
}

static void and_where_there_are_none(void **state)
{
    (void)state;
    race_with_lock((struct fault){.kind = FAULT_ERROR, .error = ENOLCK, .only = "flock"});
    race_with_lock((struct fault){.kind = FAULT_ERROR, .error = ENOSYS, .only = "flock"});
}

/* Thousands of syncs would take a disk minutes; the faults are the same on any file system. */
static char memory_folder[] = "/dev/shm/dsajit-test-XXXXXX";

static int move_to_memory(void **state)
{
    (void)state;
    if (mkdtemp(memory_folder))
        setenv("DSAJIT_TEST_STATE", memory_folder, 1);
    else
        *memory_folder = '\0';
    return 0;
}

static int leave_memory(void **state)
{
    (void)state;
    if (*memory_folder)
        shell("rm -rf '%s'", memory_folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_call_costs_the_entry_at_most),
        cmocka_unit_test(so_does_one_that_always_fails),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(interrupted_calls_are_repeated),
        cmocka_unit_test(a_failing_read_is_a_hit_or_a_miss),
        cmocka_unit_test(a_stale_handle_is_a_silent_miss),
        cmocka_unit_test(a_process_killed_at_any_step_leaves_nothing_torn),
        cmocka_unit_test(results_are_right_where_locks_do_nothing),
        cmocka_unit_test(and_where_there_are_none),
    };
    return cmocka_run_group_tests(tests, move_to_memory, leave_memory);
}
