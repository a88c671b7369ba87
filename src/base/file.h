/* Reading and replacing small whole files. Both return 0 or an errno value. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/bytes.h"

#include <sys/stat.h>

/* Appends a regular file's content to `bytes` and, unless NULL, its state to `state`. Never follows
   a symbolic link and never waits on a FIFO; EINVAL when it is no regular file, EFBIG when it is
   larger than `limit`, EIO when it is shorter than its size said. */
int file_read(const char *path, size_t limit, struct bytes *bytes, struct stat *state);

/* Puts a file in place by rename, so that readers see the old content or the new one, never a part.
   The data are on the disk before the name is. Nothing is left behind after a failure; the
   temporary file of a process that is killed starts with FILE_TEMPORARY_PREFIX. */
int file_replace(const char *path, const void *data, size_t size, mode_t mode);

#define FILE_TEMPORARY_PREFIX ".tmp-"

#endif
