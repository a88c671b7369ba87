#include "cache/directory.h"
#include "cache/evict.h"
#include "cache/key.h"
#include "cache/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static dsajit_status no_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to open the cache");
}

/* False only when memory ran out. */
static bool open_directory(struct cache *cache, const char *option)
{
    if (option && !*option)
        return true;
    cache->directory = directory_choose(option, NULL);
    if (!cache->directory)
        return false;
    if (!directory_prepare(cache->directory, &cache->directory_mode, &cache->problem)) {
        free(cache->directory);
        cache->directory = NULL;
        log_message(&cache->log, DSAJIT_LOG_WARNING,
                    "running without a disk cache: %s; DSAJIT_CACHE_DIR can name another directory",
                    bytes_text(&cache->problem));
    }
    return !bytes_failed(&cache->problem);
}

static void check_prebuilt(const struct cache *cache)
{
    for (char **directory = cache->prebuilt; *directory; directory++) {
        if (access(*directory, R_OK | X_OK))
            log_message(&cache->log, DSAJIT_LOG_WARNING, "prebuilt layer %s: %s", *directory,
                        strerrordesc_np(errno));
    }
}

dsajit_status cache_open(const struct cache_options *options, struct cache **cache,
                         dsajit_error *error)
{
    struct cache *opened = calloc(1, sizeof *opened);
    if (!opened)
        return no_memory(error);
    pthread_mutex_init(&opened->mutex, NULL);
    opened->log = options->log;
    opened->max_bytes = evict_read_limit(&opened->log);
    opened->prebuilt = directory_choose_prebuilt(options->prebuilt);
    if (!opened->prebuilt || !open_directory(opened, options->directory)) {
        cache_close(opened);
        return no_memory(error);
    }
    check_prebuilt(opened);
    *cache = opened;
    return DSAJIT_OK;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    free(cache->directory);
    bytes_free(&cache->problem);
    directory_free_list(cache->prebuilt);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

const char *cache_directory(const struct cache *cache)
{
    return cache->directory;
}

const char *cache_directory_problem(const struct cache *cache)
{
    return cache->problem.size ? bytes_text(&cache->problem) : NULL;
}

uint64_t cache_max_bytes(const struct cache *cache)
{
    return cache->max_bytes;
}

struct cache_counts cache_counts(const struct cache *cache)
{
    return (struct cache_counts){
        .waits = cache->counters.waits,
        .wait_ms = cache->counters.wait_ms,
        .published = cache->counters.published,
        .publish_failures = cache->counters.publish_failures,
        .quarantines = cache->counters.quarantines,
        .evictions = cache->counters.evictions,
    };
}

const char *const *cache_prebuilt(const struct cache *cache)
{
    return (const char *const *)cache->prebuilt;
}

char *cache_entry_path(const struct cache *cache, const struct cache_key *key)
{
    struct key_name name;
    key_name(key, &name);
    return cache->directory ? key_path(cache->directory, &name, ENTRY_SUFFIX) : NULL;
}

char *cache_published_path(const struct cache *cache, const struct cache_entry *entry)
{
    const struct cache_key key = key_of_entry(entry);
    return cache_entry_path(cache, &key);
}

dsajit_status cache_require_directory(const struct cache *cache, dsajit_error *error)
{
    if (cache->directory)
        return DSAJIT_OK;
    return error_set(error, DSAJIT_ERROR_CACHE_UNUSABLE, "there is no cache directory%s%s",
                     cache->problem.size ? ": " : "", bytes_text(&cache->problem));
}

int cache_make_bucket(const struct cache *cache, const char *bucket)
{
    if (mkdir(bucket, cache->directory_mode)) {
        if (errno == EEXIST)
            return 0;
        if (errno != ENOENT)
            return errno;
        /* The whole cache was removed under a running process. */
        int result = directory_make(cache->directory, cache->directory_mode);
        if (result)
            return result;
        if (mkdir(bucket, cache->directory_mode))
            return errno == EEXIST ? 0 : errno;
    }
    /* In a shared cache the umask must not keep the others out. */
    return chmod(bucket, cache->directory_mode) ? errno : 0;
}
