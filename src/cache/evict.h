/* Keeping the writable layer below its size, and clear of what killed processes left.

   An entry's time of last use is its file's mtime: a hit renews it when it is older than
   EVICT_TOUCH_SECONDS, best effort. (Not atime, which many mounts don't keep and every backup
   renews.) What was used within EVICT_SPARE_SECONDS is not evicted: a process that has just been
   given an entry left a time younger than that. It wouldn't mind, having the entry in memory; the
   next one to start would. */
#ifndef CACHE_EVICT_H
#define CACHE_EVICT_H

#include "cache/cache.h"

#include <sys/stat.h>

enum { EVICT_TOUCH_SECONDS = 300, EVICT_SPARE_SECONDS = 2 * EVICT_TOUCH_SECONDS };

/* DSAJIT_CACHE_MAX_SIZE in bytes: digits and perhaps K, M, G or T (powers of 1024); unset: 1 GiB;
   0: no limit. Anything else costs a warning and means 1 GiB. */
uint64_t evict_read_limit(const struct logger *log);

/* After a hit in the writable layer on a file in this state. */
void evict_touch(const char *path, const struct stat *state);

/* After `size` bytes were published in a bucket: evicts when the layer may have passed its limit.

   Finding the size takes a look at every file, so it is estimated first. Entries are spread over
   the buckets by a digest, so a bucket holds about a 256th of them: only when this one holds more
   than a 256th of the limit are all looked at. No bucket can pass its share unnoticed, whichever
   processes publish, and so the layer can't pass its limit; but for a 32nd of it that each process
   may publish without another look, once it has found the layer small. */
void evict_after_publish(struct cache *cache, const char *bucket, uint64_t size);

#endif
