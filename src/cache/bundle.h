/* Bundles: entries in one archive, with digests and perhaps a signature in front. The format is
   docs/bundle-format.md's. */
#ifndef CACHE_BUNDLE_H
#define CACHE_BUNDLE_H

#include "cache/cache.h"
#include "cache/signing_key.h"

enum {
    BUNDLE_MEMBERS_MAX = 1 << 16,
    BUNDLE_NAME_SIZE = 100,
    BUNDLE_MANIFEST_MAX = BUNDLE_MEMBERS_MAX * 192
};
#define BUNDLE_SIZE_MAX (UINT64_C(4) << 30)

/* ---- Writing ---- */
/* Entries that wait to be written. A zeroed struct has none. */
struct bundle_contents {
    struct bundle_item *items;
    size_t count, capacity;
    uint64_t bytes; /* of the entries' files, once they are written */
};

/* Takes the entry over when it succeeds. */
dsajit_status bundle_add(struct bundle_contents *contents, struct cache_entry *entry,
                         dsajit_error *error);
/* Sorts the entries, of several with one key keeping the one that was added first, and appends the
   archive. `key` NULL: unsigned. INVALID_ARGUMENT when there are too many. */
dsajit_status bundle_write(struct bundle_contents *contents, const struct secret_key *key,
                           struct bytes *archive, dsajit_error *error);
void bundle_contents_free(struct bundle_contents *contents);

/* ---- Reading ---- */
struct bundle_member {
    char name[BUNDLE_NAME_SIZE];
    const uint8_t *data; /* in the archive's bytes */
    size_t size;
};

/* A bundle of which everything is verified. */
struct bundle {
    struct bundle_member *members;
    size_t count;
    uint64_t bytes; /* of all members */
    bool is_signed;
    struct public_key signer;
    bool trusted; /* the signer is one of the keys given */
};

/* Verifies signature, manifest and every member, and only then succeeds; with keys, the signer has
   to be among them. The bytes are hostile, and have to stay as they are while the bundle is used.
   CORRUPT says what is wrong. */
dsajit_status bundle_open(const void *data, size_t size, const struct public_key *keys,
                          size_t key_count, struct bundle *bundle, dsajit_error *error);
/* A member as an entry, to be freed. */
dsajit_status bundle_entry(const struct bundle *bundle, size_t index, struct cache_entry *entry,
                           dsajit_error *error);
void bundle_close(struct bundle *bundle);

#endif
