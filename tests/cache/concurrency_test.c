/* Many processes and threads in one cache, and the lock. */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void wait_for_success(pid_t child)
{
    int wait_status;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), 0);
}

/* ---- Publishing ---- */

enum { PROCESSES = 8, ROUNDS = 100, VARIANTS = 5 };

/* A code of a length and content that its variant decides. */
static void make_code(int variant, char code[4096])
{
    size_t size = 1000 + 700 * (size_t)variant;
    memset(code, 'a' + variant, size);
    code[size] = '\0';
}

static bool is_whole(struct cache *cache, const struct cache_key *key, const char *code)
{
    struct cache_entry entry;
    if (cache_get(cache, key, &entry, NULL))
        return false;
    const struct cache_section *section = cache_entry_section(&entry, "code");
    bool whole =
        section && section->size == strlen(code) && !memcmp(section->data, code, section->size);
    cache_entry_free(&entry);
    return whole;
}

/* Publishes and reads the same few variants as its siblings, and removes buckets under them now and
   then. Once published, an entry is whole or (after a removal) absent, and nothing ever warns. */
static int publish_and_read(const char *folder, unsigned seed)
{
    struct log_lines lines;
    struct cache *cache = open_layers(folder, NULL, &lines);
    const struct cache_section log = {"log", "", 0};
    int failures = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char name[16], code[4096];
        int variant = (int)((seed + (unsigned)round * 7) % VARIANTS);
        make_code(variant, code);
        snprintf(name, sizeof name, "v%d", variant);
        struct cache_key key = make_key(name, "one");
        const struct cache_section sections[] = {{"code", code, strlen(code)}, log};
        failures += cache_publish(cache, &key, sections, 2, NULL) != DSAJIT_OK;
        failures += !is_whole(cache, &key, code);
        cache_key_free(&key);
    }
    failures += lines.warnings;
    cache_close(cache);
    return failures;
}

static void stress(const char *folder)
{
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(publish_and_read(folder, i) != 0);
    }
    for (size_t i = 0; i < PROCESSES; i++)
        wait_for_success(children[i]);
    assert_int_equal(count_files(folder, "*.dsajit"), VARIANTS);
    assert_int_equal(count_files(folder, "*"), VARIANTS + 1); /* the marker of the last sweep */
}

static void processes_publish_and_read_at_the_same_time(void **state)
{
    (void)state;
    char folder[PATH_SIZE];
    fresh_folder("stress", folder);
    stress(folder);
}

static void so_they_do_on_a_memory_file_system(void **state)
{
    (void)state;
    char folder[] = "/dev/shm/dsajit-test-XXXXXX";
    if (!mkdtemp(folder))
        skip();
    stress(folder);
    shell("rm -rf '%s'", folder);
}

/* Damages a variant's entry again and again while others use it: it may be absent, never wrong. */
static void damage_repeatedly(const char *folder)
{
    for (int i = 0; i < 200; i++) {
        shell("for f in '%s'/*/*.dsajit; do [ -f \"$f\" ] && printf x | dd of=\"$f\" bs=1 seek=50 "
              "conv=notrunc status=none; done; true",
              folder);
    }
}

static void damage_under_way_gives_misses_only(void **state)
{
    (void)state;
    char folder[PATH_SIZE], code[4096];
    struct log_lines lines;
    fresh_folder("damage", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("v1", "one");
    make_code(1, code);
    publish_text(cache, &key, code);
    pid_t vandal = fork();
    assert_true(vandal >= 0);
    if (vandal == 0) {
        damage_repeatedly(folder);
        _exit(0);
    }
    for (double end = now_seconds() + 1; now_seconds() < end;) {
        struct cache_entry entry;
        if (cache_get(cache, &key, &entry, NULL)) {
            publish_text(cache, &key, code);
            continue;
        }
        const struct cache_section *section = cache_entry_section(&entry, "code");
        assert_int_equal(section->size, strlen(code));
        assert_memory_equal(section->data, code, section->size);
        cache_entry_free(&entry);
    }
    kill(vandal, SIGKILL);
    waitpid(vandal, NULL, 0);
    cache_close(cache);
    cache_key_free(&key);
}

/* R26: nothing is removed before its replacement is there. */
static void an_entry_that_is_being_replaced_is_never_absent(void **state)
{
    (void)state;
    char folder[PATH_SIZE], code[4096];
    struct log_lines lines;
    fresh_folder("replaced", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key("v1", "one");
    make_code(1, code);
    publish_text(cache, &key, code);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (;;)
            publish_text(cache, &key, code);
    }
    int hits = 0;
    for (double end = now_seconds() + 1; now_seconds() < end; hits++)
        assert_true(is_whole(cache, &key, code));
    assert_true(hits > 100);
    assert_int_equal(lines.warnings, 0);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    cache_close(cache);
    cache_key_free(&key);
}

struct thread_arguments {
    struct cache *cache;
    int variant;
    int failures;
};

static void *use_in_thread(void *user)
{
    struct thread_arguments *arguments = user;
    char name[16], code[4096];
    make_code(arguments->variant, code);
    snprintf(name, sizeof name, "v%d", arguments->variant);
    struct cache_key key = make_key(name, "one");
    const struct cache_section section = {"code", code, strlen(code)};
    for (int i = 0; i < 50; i++) {
        int lock;
        cache_lock(arguments->cache, &key, 10000, &lock);
        arguments->failures += lock < 0;
        arguments->failures +=
            cache_publish(arguments->cache, &key, &section, 1, NULL) != DSAJIT_OK;
        arguments->failures += !is_whole(arguments->cache, &key, code);
        cache_unlock(lock);
    }
    cache_key_free(&key);
    return NULL;
}

static void threads_share_an_open_cache(void **state)
{
    (void)state;
    enum { THREADS = 16 };
    char folder[PATH_SIZE];
    struct log_lines lines;
    pthread_t threads[THREADS];
    struct thread_arguments arguments[THREADS];
    fresh_folder("threads", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    for (int i = 0; i < THREADS; i++) {
        arguments[i] = (struct thread_arguments){cache, i % VARIANTS, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, &arguments[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(arguments[i].failures, 0);
    }
    cache_close(cache);
}

/* ---- The lock ---- */

/* A child that takes the key's lock, says so, and then does `hold`. */
static pid_t start_holder(const char *folder, const struct cache_key *key, void (*hold)(int lock))
{
    int channel[2];
    char byte;
    assert_int_equal(pipe(channel), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct log_lines lines;
        struct cache *cache = open_layers(folder, NULL, &lines);
        int lock;
        cache_lock(cache, key, 1000, &lock);
        if (lock < 0 || write(channel[1], "x", 1) != 1)
            _exit(1);
        hold(lock);
        _exit(0);
    }
    assert_int_equal(read(channel[0], &byte, 1), 1);
    close(channel[0]);
    close(channel[1]);
    return child;
}

static void hold_for_good(int lock)
{
    (void)lock;
    for (;;)
        pause();
}

static void hold_two_seconds(int lock)
{
    pause_ms(2300);
    cache_unlock(lock);
}

/* Unlocks while a child that it forked meanwhile lives on with a copy of the descriptor. */
static void hold_with_a_forked_child(int lock)
{
    pid_t child = fork();
    if (child == 0) {
        pause_ms(5000);
        _exit(0);
    }
    pause_ms(300);
    cache_unlock(lock);
    pause_ms(100);
}

struct waiting {
    struct cache *cache;
    struct log_lines lines;
    struct cache_key key;
    char folder[PATH_SIZE];
};

static void prepare(struct waiting *waiting, const char *name)
{
    fresh_folder(name, waiting->folder);
    waiting->cache = open_layers(waiting->folder, NULL, &waiting->lines);
    waiting->key = make_key("locked", "one");
}

static void finish(struct waiting *waiting)
{
    cache_close(waiting->cache);
    cache_key_free(&waiting->key);
}

static void a_killed_holder_releases_at_once(void **state)
{
    (void)state;
    struct waiting waiting;
    prepare(&waiting, "killed");
    pid_t holder = start_holder(waiting.folder, &waiting.key, hold_for_good);
    int lock;
    cache_lock(waiting.cache, &waiting.key, 100, &lock);
    assert_int_equal(lock, -1);
    kill(holder, SIGKILL);
    double start = now_seconds();
    cache_lock(waiting.cache, &waiting.key, 30000, &lock);
    assert_true(lock >= 0);
    assert_true(now_seconds() - start < 1);
    cache_unlock(lock);
    waitpid(holder, NULL, 0);
    finish(&waiting);
}

static void a_wait_is_bounded_and_names_the_holder(void **state)
{
    (void)state;
    struct waiting waiting;
    char holder_name[64];
    prepare(&waiting, "bounded");
    pid_t holder = start_holder(waiting.folder, &waiting.key, hold_for_good);
    double start = now_seconds();
    int lock;
    cache_lock(waiting.cache, &waiting.key, 3500, &lock);
    double waited = now_seconds() - start;
    assert_int_equal(lock, -1);
    assert_true(waited >= 3.4 && waited < 8);
    assert_int_equal(waiting.lines.waits, 2); /* after 1 and 2 s */
    snprintf(holder_name, sizeof holder_name, "process %ld on ", (long)holder);
    assert_contains(waiting.lines.last, holder_name);
    assert_contains(waiting.lines.last, "variant=locked");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    finish(&waiting);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void a_waiter_burns_no_time(void **state)
{
    (void)state;
    struct waiting waiting;
    prepare(&waiting, "idle");
    pid_t holder = start_holder(waiting.folder, &waiting.key, hold_two_seconds);
    double cpu = cpu_seconds(), start = now_seconds();
    int lock;
    cache_lock(waiting.cache, &waiting.key, 30000, &lock);
    double waited = now_seconds() - start;
    assert_true(lock >= 0);
    assert_true(waited > 1.5);
    assert_true(cpu_seconds() - cpu < 0.01 * waited);
    cache_unlock(lock);
    wait_for_success(holder);
    finish(&waiting);
}

static void a_fork_of_the_holder_does_not_keep_the_lock(void **state)
{
    (void)state;
    struct waiting waiting;
    prepare(&waiting, "forked");
    pid_t holder = start_holder(waiting.folder, &waiting.key, hold_with_a_forked_child);
    double start = now_seconds();
    int lock;
    cache_lock(waiting.cache, &waiting.key, 30000, &lock);
    assert_true(lock >= 0);
    assert_true(now_seconds() - start < 3);
    cache_unlock(lock);
    wait_for_success(holder);
    finish(&waiting);
}

static void locks_of_other_keys_do_not_meet(void **state)
{
    (void)state;
    struct waiting waiting;
    prepare(&waiting, "others");
    struct cache_key other = make_key("another", "one");
    int first, second;
    cache_lock(waiting.cache, &waiting.key, 1000, &first);
    cache_lock(waiting.cache, &other, 1000, &second);
    assert_true(first >= 0 && second >= 0);
    cache_unlock(first);
    cache_unlock(second);
    assert_int_equal(count_files(waiting.folder, "*.lock"), 2); /* never removed */
    cache_key_free(&other);
    finish(&waiting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_publish_and_read_at_the_same_time),
        cmocka_unit_test(so_they_do_on_a_memory_file_system),
        cmocka_unit_test(damage_under_way_gives_misses_only),
        cmocka_unit_test(an_entry_that_is_being_replaced_is_never_absent),
        cmocka_unit_test(threads_share_an_open_cache),
        cmocka_unit_test(a_killed_holder_releases_at_once),
        cmocka_unit_test(a_wait_is_bounded_and_names_the_holder),
        cmocka_unit_test(a_waiter_burns_no_time),
        cmocka_unit_test(a_fork_of_the_holder_does_not_keep_the_lock),
        cmocka_unit_test(locks_of_other_keys_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
