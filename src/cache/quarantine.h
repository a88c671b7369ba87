/* Moving a bad entry aside, so that it is not read again but can be looked at. */
#ifndef CACHE_QUARANTINE_H
#define CACHE_QUARANTINE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Renames PATH to PATH.bad and adds the reason to the entry's history, unless another process has
   replaced the file since it was read in state `read` (NULL: whatever it is now). Between the look
   and the rename it still can: then a good entry is lost, which costs one recompile. */
bool quarantine_entry(const char *path, const struct stat *read, const char *reason);

#endif
