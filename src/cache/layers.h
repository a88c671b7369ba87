/* The open cache, shared by the files of this folder. */
#ifndef CACHE_LAYERS_H
#define CACHE_LAYERS_H

#include "cache/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { REPORTED_MAX = 64 };

struct cache {
    char *directory;      /* NULL: none */
    struct bytes problem; /* why there is none; empty when none was wanted */
    mode_t directory_mode;
    char **prebuilt;
    struct logger log;
    uint64_t max_bytes; /* of the writable layer; 0: no limit */

    /* Bad files that have had their warning, where they can't be moved aside. A ring. */
    pthread_mutex_t mutex;
    uint64_t reported[REPORTED_MAX];
    size_t reported_count;

    struct {
        atomic_ullong waits, wait_ms, published, publish_failures, quarantines, evictions;
    } counters;
    atomic_bool publish_failure_reported, recompile_reported;
    atomic_bool sweep_considered; /* whether the layer is due for a sweep */
    atomic_llong room; /* bytes that may be published before the layer's size is looked at again */
};

/* Files are as readable as their directory, and written by their owner only. */
static inline mode_t cache_file_mode(const struct cache *cache)
{
    return cache->directory_mode & 0644;
}

/* CACHE_UNUSABLE when there is no writable layer. */
dsajit_status cache_require_directory(const struct cache *cache, dsajit_error *error);

/* Makes a bucket, a directory with the layer's own permissions. 0 or an errno value. */
int cache_make_bucket(const struct cache *cache, const char *bucket);

#endif
