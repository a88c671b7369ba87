/* Publishing entries. */
#include "base/file.h"
#include "cache/entry.h"
#include "cache/evict.h"
#include "cache/history.h"
#include "cache/key.h"
#include "cache/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where an entry goes. */
struct place {
    char *bucket, *path, *lock;
};

static int write_file(const struct cache *cache, const struct place *place,
                      const struct bytes *file)
{
    int result = cache_make_bucket(cache, place->bucket);
    return result ? result
                  : file_replace(place->path, file->data, file->size, cache_file_mode(cache));
}

/* The caller has the bytes, so that a failure costs only the next process's time; it is the same
   for every entry (a full disk, most likely), so that one warning will do. */
static dsajit_status report_failure(struct cache *cache, const struct place *place, int result,
                                    dsajit_error *error)
{
    dsajit_error reason;
    error_set_errno(&reason, DSAJIT_ERROR_IO, result, "writing cache entry %s", place->path);
    history_append_to(place->lock, HISTORY_NOT_KEPT, strerrordesc_np(result));
    atomic_fetch_add(&cache->counters.publish_failures, 1);
    bool repeated = atomic_exchange(&cache->publish_failure_reported, true);
    log_message(&cache->log, repeated ? DSAJIT_LOG_INFO : DSAJIT_LOG_WARNING,
                "a compiled kernel is not kept, the next process will compile it again: %s",
                reason.message);
    return error_set(error, reason.status, "%s", reason.message);
}

static dsajit_status publish(struct cache *cache, const struct cache_key *key,
                             const struct bytes *file, dsajit_error *error)
{
    struct key_name name;
    key_name(key, &name);
    const struct place place = {
        .bucket = key_bucket_path(cache->directory, &name),
        .path = key_path(cache->directory, &name, ENTRY_SUFFIX),
        .lock = key_path(cache->directory, &name, LOCK_SUFFIX),
    };
    dsajit_status status = DSAJIT_OK;
    if (!place.bucket || !place.path || !place.lock) {
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to keep an entry");
    } else {
        int result = write_file(cache, &place, file);
        if (result == ENOENT) /* somebody has just cleared the cache */
            result = write_file(cache, &place, file);
        if (result) {
            status = report_failure(cache, &place, result, error);
        } else {
            history_append_to(place.lock, HISTORY_PUBLISHED, NULL);
            if (!atomic_fetch_add(&cache->counters.published, 1))
                log_message(&cache->log, DSAJIT_LOG_INFO, "kernels are kept in %s",
                            cache->directory);
            evict_after_publish(cache, place.bucket, file->size);
        }
    }
    free(place.bucket);
    free(place.path);
    free(place.lock);
    return status;
}

dsajit_status cache_publish(struct cache *cache, const struct cache_key *key,
                            const struct cache_section *sections, size_t section_count,
                            dsajit_error *error)
{
    dsajit_status status = cache_require_directory(cache, error);
    struct bytes file = {0};
    if (!status)
        status = entry_build(key, sections, section_count, &file, error);
    if (!status)
        status = publish(cache, key, &file, error);
    bytes_free(&file);
    return status;
}

dsajit_status cache_publish_entry(struct cache *cache, const struct cache_entry *entry,
                                  dsajit_error *error)
{
    const struct cache_key key = key_of_entry(entry);
    dsajit_status status = cache_require_directory(cache, error);
    return status ? status : publish(cache, &key, &entry->file, error);
}
