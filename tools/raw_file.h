/* Whole tensor files. */
#ifndef TOOLS_RAW_FILE_H
#define TOOLS_RAW_FILE_H

#include <dsajit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads DIRECTORY/NAME, which must be a regular file of exactly `size` bytes; *data is the caller's
   to free, and never NULL on success. NOT_FOUND when there is none, CORRUPT for another length. */
dsajit_status raw_file_read(const char *directory, const char *name, size_t size, void **data,
                            dsajit_error *error);

/* Several files of one folder. */
struct raw_file {
    const char *name;
    size_t size;
    void **data;   /* left alone for an optional one that isn't there */
    bool optional; /* may be absent */
};
/* As raw_file_read, until one fails. */
dsajit_status raw_files_read(const char *directory, const struct raw_file *files, size_t count,
                             dsajit_error *error);

/* Makes the folder if it is missing; not its parents. */
dsajit_status raw_file_make_folder(const char *directory, dsajit_error *error);

/* Replaces DIRECTORY/NAME. */
dsajit_status raw_file_write(const char *directory, const char *name, const void *data, size_t size,
                             dsajit_error *error);

#endif
