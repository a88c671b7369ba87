/* Whole small text files that a user names. */
#ifndef TOOLS_TEXT_FILE_H
#define TOOLS_TEXT_FILE_H

#include <dsajit/status.h>
#include <stddef.h>

/* Reads a regular file of at most `most` bytes; *text is the caller's to free, with a NUL behind
   it. NOT_FOUND, IO, CORRUPT for what is no regular file or longer. */
dsajit_status text_file_read(const char *path, size_t most, char **text, size_t *size,
                             dsajit_error *error);

#endif
