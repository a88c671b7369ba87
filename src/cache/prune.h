/* Removing entries and leftovers from the writable layer. Safe at any time: who was given an entry
   has it in memory. */
#ifndef CACHE_PRUNE_H
#define CACHE_PRUNE_H

#include "cache/cache.h"
#include "cache/history.h"

struct prune_request {
    uint64_t max_bytes;    /* when there is more, entries are removed, least recently used first, */
    uint64_t target_bytes; /* until there is no more than this */
    int64_t unused_seconds; /* removes what wasn't used for that long; negative: whatever its age */
    int64_t spare_seconds;  /* never removes what was used within them */
    const char *toolchain;  /* removes what another one made; NULL: whoever made it */
    bool everything;        /* leftovers of any age too, and what is remembered of toolchains */
    bool dry_run;
    enum history_event event; /* what the removed entries' histories say */
    void (*removed)(void *user, const char *path, uint64_t bytes); /* NULL: nobody is told */
    void *user;
};

struct prune_result {
    uint64_t removed, removed_bytes; /* entries, those that another process removed first included:
                                        the room is there, whoever made it */
    uint64_t kept, kept_bytes;
    uint64_t leftovers; /* removed (in a dry run: to be removed): stale temporary files, files moved
                           aside, locks */
};

/* CACHE_UNUSABLE without a writable layer, IO, OUT_OF_MEMORY. */
dsajit_status prune_layer(struct cache *cache, const struct prune_request *request,
                          struct prune_result *result, dsajit_error *error);

#endif
