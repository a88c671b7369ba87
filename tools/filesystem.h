/* What lies below a path. */
#ifndef TOOLS_FILESYSTEM_H
#define TOOLS_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

struct filesystem {
    const char *type;    /* "ext4", "nfs", …; "unknown" for one without a name here */
    bool remote;         /* shared between hosts */
    uint64_t free_bytes; /* for an unprivileged user */
};

/* False, with errno set, when `path` can't be looked at. */
bool filesystem_look(const char *path, struct filesystem *filesystem);

#endif
