/* Which directories are the cache's layers, and whether the writable one can be trusted. */
#ifndef CACHE_DIRECTORY_H
#define CACHE_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"

/* The writable layer's absolute path, to be freed: the option, else the environment's, else the
   user's. `origin` (may be NULL) gets what decided, in static storage: a variable's name, "home
   directory" … NULL when memory ran out. */
char *directory_choose(const char *option, const char **origin);

/* The read-only layers, absolute paths: the option, else DSAJIT_PREBUILT_PATH. NULL-terminated;
   NULL when memory ran out. */
char **directory_choose_prebuilt(const char *const *option);
void directory_free_list(char **directories);

/* Makes the directory with its parents where it is missing, and checks that only its user can write
   in it. True: `mode` gets its permissions. False: the reason is in `problem`. */
bool directory_prepare(const char *path, mode_t *mode, struct bytes *problem);

/* Makes a directory and its missing parents with these permissions. 0 or an errno value. */
int directory_make(const char *path, mode_t mode);

#endif
