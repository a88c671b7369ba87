/* The one kind of tar member that a bundle has: a regular file whose ustar header follows from its
   name and size. A reader builds that header and compares, so there is nothing to parse: no links,
   devices, extensions or other people's names get through. */
#ifndef CACHE_TAR_H
#define CACHE_TAR_H

#include "base/bytes.h"

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 99, TAR_END_SIZE = 2 * TAR_BLOCK };

/* `name` has at most TAR_NAME_MAX bytes, `size` is below 8 GiB. */
void tar_append(struct bytes *archive, const char *name, const void *data, size_t size);
void tar_append_end(struct bytes *archive);

/* An archive's bytes and how far they are read. */
struct tar_reader {
    const uint8_t *data;
    size_t size, offset;
};

/* The next member has this name and size and is whole: `*content` is where it starts, and the
   reader is behind it. */
bool tar_read(struct tar_reader *reader, const char *name, size_t size, const uint8_t **content);

/* What the next member's header claims, for asking with tar_read; false when it has no size that
   fits. */
bool tar_peek_size(const struct tar_reader *reader, size_t *size);

/* Nothing is left but the end. */
bool tar_at_end(const struct tar_reader *reader);

#endif
