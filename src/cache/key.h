/* A key's file name. */
#ifndef CACHE_KEY_H
#define CACHE_KEY_H

#include "base/digest.h"
#include "cache/cache.h"

#define ENTRY_SUFFIX       ".dsajit"
#define LOCK_SUFFIX        ".lock"
#define QUARANTINED_SUFFIX ENTRY_SUFFIX ".bad"

enum { BUCKET_DIGITS = 2, TOOLCHAIN_DIGITS = 16 };

/* BUCKET/BASE-TOOLCHAIN without a suffix: the digests of the key's two parts. */
struct key_name {
    char bucket[BUCKET_DIGITS + 1];
    char base[DIGEST_HEX_SIZE - BUCKET_DIGITS]; /* the digits after the bucket's */
    char toolchain[TOOLCHAIN_DIGITS + 1];
};

void key_name(const struct cache_key *key, struct key_name *name);

/* DIRECTORY/BUCKET/BASE-TOOLCHAIN SUFFIX; NULL when memory ran out. */
char *key_path(const char *directory, const struct key_name *name, const char *suffix);

/* The path of an entry with another suffix; NULL when memory ran out. */
char *key_sibling_path(const char *entry_path, const char *suffix);

/* DIRECTORY/BUCKET; NULL when memory ran out. */
char *key_bucket_path(const char *directory, const struct key_name *name);

/* The file name is BASE-TOOLCHAIN SUFFIX of some key; with the entries' suffix, an entry's. */
bool key_is_file_name(const char *file_name, const char *suffix);

/* A key that borrows the texts of an entry's; not to be freed. */
struct cache_key key_of_entry(const struct cache_entry *entry);

#endif
