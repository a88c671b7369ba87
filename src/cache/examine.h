/* Looking at one file, whatever it is, without changing anything. */
#ifndef CACHE_EXAMINE_H
#define CACHE_EXAMINE_H

#include "cache/cache.h"

#include <sys/stat.h>

enum entry_state {
    ENTRY_GOOD,
    ENTRY_CORRUPT, /* can't be read, or isn't what was written */
    ENTRY_FOREIGN  /* whole, but no look-up finds it: another format version, or another name than
                      its key's */
};

struct examination {
    enum entry_state state;
    dsajit_error problem; /* its message: what is wrong */
    struct stat file;
    int64_t created;          /* seconds since 1970; 0 where the file system doesn't know */
    struct cache_entry entry; /* without sections unless the content is whole */
};

/* With `named`, the name has to be that of the key. 0, or the errno value of a file that isn't
   there at all; the examination is to be freed in either case. */
int examine_file(const char *path, bool named, struct examination *examination);
void examination_free(struct examination *examination);

#endif
