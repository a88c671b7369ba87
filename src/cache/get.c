/* Looking entries up. */
#include "base/file.h"
#include "cache/entry.h"
#include "cache/evict.h"
#include "cache/key.h"
#include "cache/layers.h"
#include "cache/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Bad files ---- */

/* True the first time for each path. */
static bool is_news(struct cache *cache, const char *path)
{
    uint8_t digest[DIGEST_SIZE];
    uint64_t mark;
    digest_compute(path, strlen(path), digest);
    memcpy(&mark, digest, sizeof mark);
    bool news = true;
    pthread_mutex_lock(&cache->mutex);
    for (size_t i = 0; news && i < cache->reported_count && i < REPORTED_MAX; i++)
        news = cache->reported[i] != mark;
    if (news)
        cache->reported[cache->reported_count++ % REPORTED_MAX] = mark;
    pthread_mutex_unlock(&cache->mutex);
    return news;
}

static void report_bad(struct cache *cache, bool writable, const char *path,
                       const struct stat *state, const char *reason)
{
    bool moved = writable && quarantine_entry(path, state, reason);
    bool news = is_news(cache, path);
    if (moved || news)
        atomic_fetch_add(&cache->counters.quarantines, 1);
    if (moved)
        log_message(&cache->log, DSAJIT_LOG_WARNING,
                    "bad cache entry %s: %s; moved aside, will be compiled again", path, reason);
    else if (news)
        log_message(&cache->log, DSAJIT_LOG_WARNING, "bad cache entry %s: %s; not used", path,
                    reason);
}

/* ---- Reading ---- */

/* What a file must hold to be the answer. `toolchain` NULL: any. */
struct wanted {
    const struct bytes *base;
    const struct bytes *toolchain;
};

static bool equals(const char *text, const struct bytes *bytes)
{
    return !strcmp(text, bytes_text(bytes));
}

static dsajit_status check_key(const struct cache_entry *entry, const struct wanted *wanted,
                               dsajit_error *error)
{
    if (!equals(entry->key_base, wanted->base) ||
        (wanted->toolchain && !equals(entry->key_toolchain, wanted->toolchain)))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "it holds another key's entry");
    return DSAJIT_OK;
}

static bool is_absence(int result)
{
    return result == ENOENT || result == ENOTDIR || result == ESTALE;
}

/* Reads, verifies and compares the file; takes `path` over when it is the answer. */
static bool read_entry(struct cache *cache, char *path, bool writable, const struct wanted *wanted,
                       struct cache_entry *entry)
{
    struct bytes file = {0};
    struct stat state;
    dsajit_error error;
    int result = file_read(path, ENTRY_SIZE_MAX, &file, &state);
    bool found = false;
    if (result == EINVAL || result == ELOOP || result == EFBIG || result == EIO) {
        report_bad(cache, writable, path, NULL,
                   result == EIO ? strerrordesc_np(EIO) : "no regular file of an entry's size");
    } else if (result == ENOMEM || (result && is_absence(result))) {
        found = false;
    } else if (result) {
        if (is_news(cache, path))
            log_message(&cache->log, DSAJIT_LOG_WARNING, "cache entry %s can't be read: %s", path,
                        strerrordesc_np(result));
    } else {
        found = !cache_entry_parse(&file, entry, &error) && !check_key(entry, wanted, &error);
        if (found) {
            entry->path = path;
            entry->prebuilt = !writable;
            if (writable)
                evict_touch(path, &state);
        } else {
            report_bad(cache, writable, path, &state, error.message);
            cache_entry_free(entry);
        }
    }
    bytes_free(&file);
    return found;
}

static bool get_exact(struct cache *cache, const char *directory, bool writable,
                      const struct key_name *name, const struct wanted *wanted,
                      struct cache_entry *entry)
{
    char *path = key_path(directory, name, ENTRY_SUFFIX);
    bool found = path && read_entry(cache, path, writable, wanted, entry);
    if (!found)
        free(path);
    return found;
}

/* The entries of a base key: files BASE-*.dsajit of its bucket, by name, so that every host takes
   the same one. */
static bool get_any(struct cache *cache, const char *directory, bool writable,
                    const struct key_name *name, const struct wanted *wanted,
                    struct cache_entry *entry)
{
    char *bucket = key_bucket_path(directory, name);
    struct dirent **files = NULL;
    int count = bucket ? scandir(bucket, &files, NULL, alphasort) : -1;
    bool found = false;
    for (int i = 0; i < count; i++) {
        const char *file = files[i]->d_name;
        char *path = NULL;
        if (!found && key_is_file_name(file, ENTRY_SUFFIX) &&
            !strncmp(file, name->base, strlen(name->base)) &&
            asprintf(&path, "%s/%s", bucket, file) >= 0) {
            found = read_entry(cache, path, writable, wanted, entry);
            if (!found)
                free(path);
        }
        free(files[i]);
    }
    free(files);
    free(bucket);
    return found;
}

dsajit_status cache_get(struct cache *cache, const struct cache_key *key, struct cache_entry *entry,
                        dsajit_error *error)
{
    *entry = (struct cache_entry){0};
    struct key_name name;
    key_name(key, &name);
    const struct wanted exact = {&key->base, &key->toolchain};
    const struct wanted any = {&key->base, NULL};
    bool found = !bytes_failed(&key->base) && !bytes_failed(&key->toolchain) && cache->directory &&
                 get_exact(cache, cache->directory, true, &name, &exact, entry);
    for (char **layer = cache->prebuilt; !found && *layer; layer++)
        found = get_exact(cache, *layer, false, &name, &exact, entry);
    if (!found && key->toolchain.size == 0 && cache->directory)
        found = get_any(cache, cache->directory, true, &name, &any, entry);
    for (char **layer = cache->prebuilt; !found && *layer; layer++)
        found = get_any(cache, *layer, false, &name, &any, entry);
    return found ? DSAJIT_OK
                 : error_set(error, DSAJIT_ERROR_NOT_FOUND, "no entry for the key in any layer");
}
