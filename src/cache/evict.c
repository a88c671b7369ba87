#include "cache/evict.h"

#include "base/variable.h"
#include "cache/layers.h"
#include "cache/prune.h"
#include "cache/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BUCKETS = 256,
    SWEEP_SECONDS = 24 * 3600, /* leftovers are looked for once a day */
    HEADROOM = 10,             /* an eviction frees a 10th of the limit, so that the next is far */
    ROOM_SHARE = 4,            /* other processes publish too: each counts on a 4th of the room */
    ROOM_MAX_SHARE = 32        /* and on no more than a 32nd of the limit */
};
static const uint64_t default_limit = UINT64_C(1) << 30;

/* ---- The limit ---- */

static bool parse_size(const char *text, uint64_t *size)
{
    static const char units[] = "KMGT";
    uint64_t number = 0;
    const char *end = text;
    for (; *end >= '0' && *end <= '9'; end++) {
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*end - '0');
    }
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end == text || (*end && (!unit || end[1])) || number > UINT64_MAX >> shift)
        return false;
    *size = number << shift;
    return true;
}

uint64_t evict_read_limit(const struct logger *log)
{
    const char *text = variable_get("DSAJIT_CACHE_MAX_SIZE");
    uint64_t limit = default_limit;
    if (text && !parse_size(text, &limit))
        log_message(log, DSAJIT_LOG_WARNING,
                    "DSAJIT_CACHE_MAX_SIZE is '%.64s'; a number of bytes is allowed, with K, M, G "
                    "or T after it, and 0 for no limit; 1G is used",
                    text);
    return limit;
}

/* ---- Last use ---- */

void evict_touch(const char *path, const struct stat *state)
{
    static const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    int64_t age = (int64_t)time(NULL) - state->st_mtime;
    if (age > EVICT_TOUCH_SECONDS || age < -EVICT_TOUCH_SECONDS)
        utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/* ---- Evicting ---- */

static bool add_size(void *user, const struct layer_file *file)
{
    *(uint64_t *)user += file->kind == FILE_ENTRY ? (uint64_t)file->state.st_size : 0;
    return true;
}

/* False when the bucket shows that the layer is within its limit. */
static bool may_be_full(const struct cache *cache, const char *bucket)
{
    uint64_t size = 0;
    if (!cache->max_bytes || cache->room > 0 || walk_bucket(bucket, add_size, &size))
        return false;
    return size > cache->max_bytes / BUCKETS;
}

/* True once a day and layer, as far as the marker can be renewed. */
static bool is_due(struct cache *cache)
{
    if (atomic_exchange(&cache->sweep_considered, true))
        return false;
    char *path = NULL;
    if (asprintf(&path, "%s/" SWEPT_MARKER, cache->directory) < 0)
        return false;
    struct stat state;
    bool fresh = !lstat(path, &state) && time(NULL) - state.st_mtime < SWEEP_SECONDS;
    if (!fresh) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                      cache_file_mode(cache));
        if (fd >= 0) {
            futimens(fd, NULL);
            close(fd);
        }
    }
    free(path);
    return !fresh;
}

void evict_after_publish(struct cache *cache, const char *bucket, uint64_t size)
{
    atomic_fetch_sub(&cache->room, (long long)size);
    bool due = is_due(cache);
    if (!may_be_full(cache, bucket) && !due)
        return;
    const struct prune_request request = {
        .max_bytes = cache->max_bytes ? cache->max_bytes : UINT64_MAX,
        .target_bytes = cache->max_bytes - cache->max_bytes / HEADROOM,
        .unused_seconds = -1,
        .spare_seconds = EVICT_SPARE_SECONDS,
        .event = HISTORY_EVICTED,
    };
    struct prune_result result;
    if (prune_layer(cache, &request, &result, NULL))
        return;
    atomic_fetch_add(&cache->counters.evictions, result.removed);
    if (cache->max_bytes > result.kept_bytes)
        atomic_store(&cache->room,
                     (long long)((cache->max_bytes - result.kept_bytes) / ROOM_SHARE));
}
