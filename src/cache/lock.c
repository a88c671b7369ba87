/* The lock of a key: flock, which the kernel releases whatever happens to its holder. Its file is
   removed only when nobody has taken it for a month; whoever takes it makes sure afterwards that
   the file still has its name, since others would not meet him on a removed one. */
#include "cache/history.h"
#include "cache/key.h"
#include "cache/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MIN_MS = 1, PAUSE_MAX_MS = 50, FIRST_REPORT_MS = 1000, TRIES_MAX = 8 };

/* One attempt to get a lock. */
struct attempt {
    struct cache *cache;
    const struct cache_key *key;
    char *path;
    int64_t start, next_report;
    int timeout_ms;
    bool waited;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_lock(const struct cache *cache, const struct key_name *name, const char *path)
{
    char *bucket = key_bucket_path(cache->directory, name);
    int fd = -1;
    mode_t mode = cache->directory_mode & 0666;
    if (bucket && !cache_make_bucket(cache, bucket))
        fd = TEMP_FAILURE_RETRY(
            open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
    if (fd >= 0)
        fchmod(fd, mode); /* against the umask, in a shared cache; only the file's owner can */
    free(bucket);
    return fd;
}

static void report_wait(const struct attempt *attempt, int64_t waited_ms)
{
    struct history_record record;
    bool known = history_last(attempt->path, false, &record);
    log_message(&attempt->cache->log, DSAJIT_LOG_INFO,
                "waited %.0f s for %s, which makes the entry of:\n%s", (double)waited_ms / 1000,
                known ? record.who : "another process", bytes_text(&attempt->key->base));
}

static void pause_ms(int64_t ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* True when the lock is held. */
static bool wait_for_lock(struct attempt *attempt, int fd)
{
    int64_t pause = PAUSE_MIN_MS;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return false;
        attempt->waited = true;
        int64_t waited = now_ms() - attempt->start;
        int64_t left = attempt->timeout_ms - waited;
        if (left <= 0)
            return false;
        if (waited >= attempt->next_report) {
            report_wait(attempt, waited);
            attempt->next_report *= 2;
        }
        pause_ms(pause < left ? pause : left);
        pause = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
    }
    return true;
}

/* Nobody has removed the open file, or replaced it, as far as can be seen. */
static bool is_current(int fd, const char *path)
{
    struct stat opened, named;
    if (fstat(fd, &opened) || stat(path, &named))
        return errno != ENOENT;
    return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* The locked file, or -1. */
static int take(struct attempt *attempt, const struct key_name *name)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        int fd = open_lock(attempt->cache, name, attempt->path);
        if (fd < 0)
            return -1;
        bool locked = wait_for_lock(attempt, fd);
        if (locked && is_current(fd, attempt->path))
            return fd;
        close(fd);
        if (!locked)
            return -1;
    }
    return -1;
}

void cache_lock(struct cache *cache, const struct cache_key *key, int timeout_ms, int *lock)
{
    *lock = -1;
    if (!cache->directory)
        return;
    struct key_name name;
    key_name(key, &name);
    struct attempt attempt = {
        .cache = cache,
        .key = key,
        .path = key_path(cache->directory, &name, LOCK_SUFFIX),
        .start = now_ms(),
        .next_report = FIRST_REPORT_MS,
        .timeout_ms = timeout_ms,
    };
    if (!attempt.path)
        return;
    *lock = take(&attempt, &name);
    if (*lock >= 0)
        history_append(*lock, HISTORY_BEGAN, NULL);
    if (attempt.waited) {
        atomic_fetch_add(&cache->counters.waits, 1);
        atomic_fetch_add(&cache->counters.wait_ms, (uint64_t)(now_ms() - attempt.start));
    }
    free(attempt.path);
}

void cache_unlock(int lock)
{
    if (lock < 0)
        return;
    /* Not by closing alone: a child forked meanwhile holds the same open description. */
    flock(lock, LOCK_UN);
    close(lock);
}
