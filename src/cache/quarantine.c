#include "cache/quarantine.h"

#include "cache/history.h"
#include "cache/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_replaced(const char *path, const struct stat *read)
{
    struct stat now;
    return lstat(path, &now) ||
           (read && (now.st_ino != read->st_ino || now.st_dev != read->st_dev));
}

bool quarantine_entry(const char *path, const struct stat *read, const char *reason)
{
    char *aside = key_sibling_path(path, QUARANTINED_SUFFIX);
    char *lock = key_sibling_path(path, LOCK_SUFFIX);
    bool moved = aside && lock && !is_replaced(path, read) && !rename(path, aside);
    if (moved)
        history_append_to(lock, HISTORY_DAMAGED, reason);
    free(aside);
    free(lock);
    return moved;
}
