/* The on-disk cache: one file an entry, as docs/cache-format.md defines. Pure files: knows no GPU and no compiler. */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry's key: lines of "name=value", in the order cache_key_* functions append them, all of it compared on load.
   `base` is the key without the toolchain, `toolchain` its identity text: together they name the file
   (digest of base, then a short digest of toolchain), so that the entries of one variant under several
   toolchains lie side by side and a host without a compiler can find them. */
struct cache_key {
    struct bytes base;
    struct bytes toolchain; /* empty: unknown; any toolchain's entry will do */
};
/* Appends "name=value" to key->base; a value with a newline, or no memory, marks the key as failed (bytes_failed(&key->base)). */
void cache_key_append(struct cache_key *key, const char *name, const char *value);
void cache_key_free(struct cache_key *key);

/* What an entry holds, apart from its key: named sections. Known names: "code", "symbol", "resources", "log", "listing", "metadata". */
struct cache_section {
    const char *name;
    const void *data;
    size_t size;
};

/* A verified entry in memory. */
struct cache_entry {
    struct bytes file;       /* the whole file */
    const char *path;        /* where it was found (owned) */
    bool prebuilt;           /* found in a read-only layer */
    const char *key_base, *key_toolchain; /* NUL-terminated, inside `file` or owned */
    struct cache_section sections[8];
    size_t section_count;
};
/* NULL when absent. */
const struct cache_section *cache_entry_section(const struct cache_entry *entry, const char *name);
void cache_entry_free(struct cache_entry *entry);

struct cache_options {
    const char *directory;                  /* writable layer; NULL: DSAJIT_CACHE_DIR, else XDG rules; "" : none */
    const char *const *prebuilt;            /* NULL-terminated read-only layers; NULL: DSAJIT_PREBUILT_PATH */
    struct logger log;
};
struct cache;

/* Never fails for the state of a disk: a directory that can't be used is left out, said once through the log, and kept as
   the reason (cache_directory_problem). */
dsajit_status cache_open(const struct cache_options *options, struct cache **cache, dsajit_error *error);
void cache_close(struct cache *cache);
const char *cache_directory(const struct cache *cache);         /* NULL: running without disk */
const char *cache_directory_problem(const struct cache *cache); /* NULL: none */

/* Looks a key up in every layer. DSAJIT_OK, or DSAJIT_ERROR_NOT_FOUND. Takes no lock, writes nothing. A bad entry counts as
   absent; it costs one warning and is moved aside (in the writable layer) so that it is not read again. */
dsajit_status cache_get(struct cache *cache, const struct cache_key *key, struct cache_entry *entry,
                        dsajit_error *error);

/* Publishes an entry in the writable layer by rename. Best effort: a failure is a status for the log, and costs the caller
   nothing since it has the bytes. */
dsajit_status cache_publish(struct cache *cache, const struct cache_key *key, const struct cache_section *sections,
                            size_t section_count, dsajit_error *error);

/* A kernel-released lock for a key, only to save work: correct without it. `*lock` is -1 when none could be had. Waits
   at most timeout_ms, logging whom it waits for after 1 s. */
void cache_lock(struct cache *cache, const struct cache_key *key, int timeout_ms, int *lock);
void cache_unlock(int lock);

/* Parses and verifies an entry file's bytes (taken over from `file`). DSAJIT_ERROR_CORRUPT says what is wrong. Fuzzed. */
dsajit_status cache_entry_parse(struct bytes *file, struct cache_entry *entry, dsajit_error *error);

/* Walks every entry file of a layer directory; used by tools. */
typedef bool (*cache_visit_function)(void *user, const char *path);
dsajit_status cache_walk(const char *directory, cache_visit_function visit, void *user, dsajit_error *error);

#endif
