/* Whole tensor files. */
#ifndef TOOLS_RAW_FILE_H
#define TOOLS_RAW_FILE_H

#include <dsajit/status.h>
#include <stddef.h>

/* Reads DIRECTORY/NAME, which must be a regular file of exactly `size` bytes; *data is the caller's
   to free, and never NULL on success. NOT_FOUND when there is none, CORRUPT for another length. */
dsajit_status raw_file_read(const char *directory, const char *name, size_t size, void **data,
                            dsajit_error *error);

/* Replaces DIRECTORY/NAME. */
dsajit_status raw_file_write(const char *directory, const char *name, const void *data, size_t size,
                             dsajit_error *error);

#endif
