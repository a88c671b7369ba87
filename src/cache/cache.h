/* The on-disk cache: one file an entry, as docs/cache-format.md defines. Pure files: knows no GPU
   and no compiler. */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Keys ---- */
/* A key is text, lines of "name=value", all of it stored in the entry and compared on load. `base`
   is the key without the toolchain, `toolchain` its identity text: together they name the file, so
   that the entries of one variant under several toolchains lie side by side and a host without a
   compiler can find them. A zeroed struct is an empty key. */
struct cache_key {
    struct bytes base;      /* its first line is the cache format's version */
    struct bytes toolchain; /* empty: unknown, any toolchain's entry will do */
};

/* Appends a line to the base, after the format's version when it is the first. A name that isn't
   made of letters, digits, '-' and '_', or a value with a newline, makes bytes_failed(&key->base)
   true. */
void cache_key_append(struct cache_key *key, const char *name, const char *value);
void cache_key_free(struct cache_key *key);

/* ---- Entries ---- */
/* What an entry holds, apart from its key: named sections. Known names: "code", "symbol",
   "resources", "log", "listing", "metadata". */
struct cache_section {
    const char *name; /* 1…23 of a-z, 0-9, '-' and '_' */
    const void *data; /* in a parsed entry: 16-byte aligned in its file, a NUL behind it */
    size_t size;
};

enum { CACHE_SECTIONS_MAX = 16 };

/* A verified entry in memory. */
struct cache_entry {
    struct bytes file; /* the whole file; the rest points into it */
    const char *path;  /* where it was found (owned); NULL for one that was parsed from bytes */
    bool prebuilt;     /* found in a read-only layer */
    const char *key_base, *key_toolchain; /* NUL-terminated */
    struct cache_section sections[CACHE_SECTIONS_MAX];
    size_t section_count;
};
/* NULL when absent. */
const struct cache_section *cache_entry_section(const struct cache_entry *entry, const char *name);
void cache_entry_free(struct cache_entry *entry);

/* Parses and verifies an entry file's bytes, which it takes over from `file` when it succeeds.
   CORRUPT says what is wrong. The bytes are hostile. */
dsajit_status cache_entry_parse(struct bytes *file, struct cache_entry *entry, dsajit_error *error);

/* ---- The cache ---- */
struct cache_options {
    const char *directory; /* writable layer; NULL: DSAJIT_CACHE_DIR, else XDG rules; "": none */
    const char *const *prebuilt; /* NULL-terminated read-only layers; NULL: DSAJIT_PREBUILT_PATH */
    struct logger log;
};
struct cache;

/* Never fails for the state of a disk: a directory that can't be used is left out, said once
   through the log, and kept as the reason (cache_directory_problem). OUT_OF_MEMORY. */
dsajit_status cache_open(const struct cache_options *options, struct cache **cache,
                         dsajit_error *error);
void cache_close(struct cache *cache);
const char *cache_directory(const struct cache *cache);         /* NULL: running without disk */
const char *cache_directory_problem(const struct cache *cache); /* NULL: none */
uint64_t cache_max_bytes(const struct cache *cache);            /* 0: no limit */

/* The read-only layers, in order; NULL-terminated. */
const char *const *cache_prebuilt(const struct cache *cache);

/* Looks a key up in every layer: the exact entry in the writable layer, then in the prebuilt ones;
   then, in the prebuilt ones and where the key's toolchain is unknown in all, the entry of any
   toolchain, the first by file name. OK, or NOT_FOUND. Takes no lock and starts nothing. A bad
   entry counts as absent; it costs one warning and is moved aside (in the writable layer) so that
   it is not read again. Thread-safe. */
dsajit_status cache_get(struct cache *cache, const struct cache_key *key, struct cache_entry *entry,
                        dsajit_error *error);

/* Publishes an entry in the writable layer by rename. Best effort: a failure costs the caller
   nothing since it has the bytes; the first one is logged as a warning, later ones as information.
   CACHE_UNUSABLE, IO, OUT_OF_MEMORY, INVALID_ARGUMENT (no key, bad section names, over 256 MiB).
   Once published, entries that have not been used for long may be removed. Thread-safe. */
dsajit_status cache_publish(struct cache *cache, const struct cache_key *key,
                            const struct cache_section *sections, size_t section_count,
                            dsajit_error *error);
/* The same for an entry that exists already. */
dsajit_status cache_publish_entry(struct cache *cache, const struct cache_entry *entry,
                                  dsajit_error *error);

/* Where the writable layer keeps a key's entry; NULL without such a layer or memory. The caller
   frees it. */
char *cache_entry_path(const struct cache *cache, const struct cache_key *key);
char *cache_published_path(const struct cache *cache, const struct cache_entry *entry);

/* A kernel-released lock for a key, only to save work: everything is correct without it. `*lock` is
   -1 when none could be had. Waits at most timeout_ms, and logs whom it waits for after 1 s, then
   at growing intervals. The lock is its process's and its threads' alike, and dies with the
   process. */
void cache_lock(struct cache *cache, const struct cache_key *key, int timeout_ms, int *lock);
void cache_unlock(int lock);

/* Says in the log why an entry is about to be made that was made before, or that another toolchain
   made, as far as that is known: a warning the first time that the cache fails to do its work,
   information otherwise. To be called between a miss and its compile. */
void cache_report_recompile(struct cache *cache, const struct cache_key *key);
/* The same as text, without logging; empty when nothing is known. */
void cache_describe_miss(const struct cache *cache, const struct cache_key *key,
                         struct bytes *text);

/* What this process has done with it so far. */
struct cache_counts {
    uint64_t waits, wait_ms; /* for locks */
    uint64_t published, publish_failures;
    uint64_t quarantines, evictions;
};
struct cache_counts cache_counts(const struct cache *cache);

#endif
