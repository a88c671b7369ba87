/* Why an entry that isn't there has to be made again. */
#include "cache/history.h"
#include "cache/key.h"
#include "cache/layers.h"
#include "cache/walk.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a miss: the last thing that happened to the entry, or an entry beside it. */
struct miss {
    bool has_record, other_toolchain;
    struct history_record record;
};

/* The events after which a cache that does its work would have had the entry. */
static bool is_failure(const struct miss *miss)
{
    return miss->has_record &&
           (miss->record.event == HISTORY_PUBLISHED || miss->record.event == HISTORY_NOT_KEPT ||
            miss->record.event == HISTORY_EVICTED);
}

struct sibling_search {
    const char *base;
    bool found;
};

static bool look_for_sibling(void *user, const struct layer_file *file)
{
    struct sibling_search *search = user;
    search->found =
        file->kind == FILE_ENTRY && !strncmp(file->name, search->base, strlen(search->base));
    return !search->found;
}

static void examine(const struct cache *cache, const struct cache_key *key, struct miss *miss)
{
    *miss = (struct miss){0};
    if (!cache->directory)
        return;
    struct key_name name;
    key_name(key, &name);
    char *lock = key_path(cache->directory, &name, LOCK_SUFFIX);
    char *bucket = key_bucket_path(cache->directory, &name);
    miss->has_record = lock && history_last(lock, true, &miss->record);
    if (!miss->has_record && bucket) {
        struct sibling_search search = {.base = name.base};
        walk_bucket(bucket, look_for_sibling, &search);
        miss->other_toolchain = search.found;
    }
    free(lock);
    free(bucket);
}

static void describe(const struct miss *miss, struct bytes *text)
{
    if (miss->has_record)
        history_describe(&miss->record, text);
    else if (miss->other_toolchain)
        bytes_append_text(text, "the toolchain has changed: there is an entry of another one");
}

void cache_describe_miss(const struct cache *cache, const struct cache_key *key, struct bytes *text)
{
    struct miss miss;
    examine(cache, key, &miss);
    describe(&miss, text);
}

void cache_report_recompile(struct cache *cache, const struct cache_key *key)
{
    struct miss miss;
    struct bytes text = {0};
    examine(cache, key, &miss);
    describe(&miss, &text);
    if (text.size) {
        bool warn = is_failure(&miss) && !atomic_exchange(&cache->recompile_reported, true);
        log_message(&cache->log, warn ? DSAJIT_LOG_WARNING : DSAJIT_LOG_INFO,
                    "compiling again: %s; key:\n%s", bytes_text(&text), bytes_text(&key->base));
    }
    bytes_free(&text);
}
