/* The open cache, shared by the files of this folder. */
#ifndef CACHE_LAYERS_H
#define CACHE_LAYERS_H

#include "cache/cache.h"

#include <pthread.h>
#include <sys/types.h>

enum { REPORTED_MAX = 64 };

struct cache {
    char *directory;      /* NULL: none */
    struct bytes problem; /* why there is none; empty when none was wanted */
    mode_t directory_mode;
    char **prebuilt;
    struct logger log;

    /* Bad files that have had their warning, where they can't be moved aside. A ring. */
    pthread_mutex_t mutex;
    uint64_t reported[REPORTED_MAX];
    size_t reported_count;
};

/* Files are as readable as their directory, and written by their owner only. */
static inline mode_t cache_file_mode(const struct cache *cache)
{
    return cache->directory_mode & 0644;
}

/* Makes a bucket, a directory with the layer's own permissions. 0 or an errno value. */
int cache_make_bucket(const struct cache *cache, const char *bucket);

#endif
