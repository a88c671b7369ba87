/* Publishing entries. */
#include "base/file.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "cache/layers.h"

#include <errno.h>
#include <stdlib.h>

dsajit_status cache_publish(struct cache *cache, const struct cache_key *key,
                            const struct cache_section *sections, size_t section_count,
                            dsajit_error *error)
{
    if (!cache->directory)
        return error_set(error, DSAJIT_ERROR_CACHE_UNUSABLE, "there is no cache directory%s%s",
                         cache->problem.size ? ": " : "", bytes_text(&cache->problem));
    struct bytes file = {0};
    dsajit_status status = entry_build(key, sections, section_count, &file, error);
    if (!status) {
        struct key_name name;
        key_name(key, &name);
        char *bucket = key_bucket_path(cache->directory, &name);
        char *path = key_path(cache->directory, &name, ENTRY_SUFFIX);
        int result = bucket && path ? cache_make_bucket(cache, bucket) : ENOMEM;
        if (!result)
            result = file_replace(path, file.data, file.size, cache_file_mode(cache));
        if (result)
            status = error_set_errno(error, DSAJIT_ERROR_IO, result, "writing cache entry %s",
                                     path ? path : "");
        free(bucket);
        free(path);
    }
    bytes_free(&file);
    return status;
}
