/* The lock of a key: flock on a file that is never removed while the cache is in use, since another
   process may hold or wait for the removed one. The kernel releases it whatever happens to its
   holder. */
#include "cache/key.h"
#include "cache/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MIN_MS = 1, PAUSE_MAX_MS = 50, FIRST_REPORT_MS = 1000, HOLDER_SIZE = 96 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_lock(const struct cache *cache, const struct cache_key *key)
{
    struct key_name name;
    key_name(key, &name);
    char *bucket = key_bucket_path(cache->directory, &name);
    char *path = key_path(cache->directory, &name, LOCK_SUFFIX);
    int fd = -1;
    mode_t mode = cache->directory_mode & 0666;
    if (bucket && path && !cache_make_bucket(cache, bucket))
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    if (fd >= 0)
        fchmod(fd, mode); /* against the umask, in a shared cache; only the file's owner can */
    free(bucket);
    free(path);
    return fd;
}

/* For those who wait, and for people; never read to decide anything. */
static void write_holder(int fd)
{
    char host[64] = "?", text[HOLDER_SIZE];
    gethostname(host, sizeof host - 1);
    int size = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
    if (!ftruncate(fd, 0) && pwrite(fd, text, (size_t)size, 0) != size)
        return; /* a full disk; the lock is what counts */
}

static void read_holder(int fd, char text[HOLDER_SIZE])
{
    ssize_t size = pread(fd, text, HOLDER_SIZE - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    for (char *c = text; *c; c++) {
        if (*c < ' ' || *c > '~')
            *c = '\0';
    }
    if (!*text)
        snprintf(text, HOLDER_SIZE, "another process");
}

static void report_wait(const struct cache *cache, int fd, const struct cache_key *key,
                        int64_t waited_ms)
{
    char holder[HOLDER_SIZE];
    read_holder(fd, holder);
    log_message(&cache->log, DSAJIT_LOG_INFO, "waited %.0f s for %s, which makes the entry of:\n%s",
                (double)waited_ms / 1000, holder, bytes_text(&key->base));
}

static void pause_ms(int64_t ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* True when the lock is held. */
static bool wait_for_lock(const struct cache *cache, int fd, const struct cache_key *key,
                          int timeout_ms)
{
    int64_t start = now_ms(), next_report = FIRST_REPORT_MS, pause = PAUSE_MIN_MS;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        int64_t waited = now_ms() - start;
        if (waited >= timeout_ms)
            return false;
        if (waited >= next_report) {
            report_wait(cache, fd, key, waited);
            next_report *= 2;
        }
        pause_ms(pause < timeout_ms - waited ? pause : timeout_ms - waited);
        pause = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
    }
    return true;
}

void cache_lock(struct cache *cache, const struct cache_key *key, int timeout_ms, int *lock)
{
    *lock = -1;
    if (!cache->directory)
        return;
    int fd = open_lock(cache, key);
    if (fd < 0)
        return;
    if (wait_for_lock(cache, fd, key, timeout_ms)) {
        write_holder(fd);
        *lock = fd;
    } else {
        close(fd);
    }
}

void cache_unlock(int lock)
{
    if (lock < 0)
        return;
    /* Not by closing alone: a child forked meanwhile holds the same open description. */
    flock(lock, LOCK_UN);
    close(lock);
}
