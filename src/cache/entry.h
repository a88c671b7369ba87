/* An entry file's bytes: docs/cache-format.md is the definition, this the one implementation.

   Format history:
     1  the first */
#ifndef CACHE_ENTRY_H
#define CACHE_ENTRY_H

#include "cache/cache.h"

enum { ENTRY_FORMAT_VERSION = 1, ENTRY_SIZE_MAX = 256 << 20 };

/* Appends the file's bytes: the same for the same input. INVALID_ARGUMENT, OUT_OF_MEMORY. */
dsajit_status entry_build(const struct cache_key *key, const struct cache_section *sections,
                          size_t section_count, struct bytes *file, dsajit_error *error);

/* An entry's magic and another version than this library's: made by an older or a newer one. */
bool entry_is_other_version(const struct bytes *file);

#endif
