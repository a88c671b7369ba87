#include "runtime/template_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dsajit_status read_stream(FILE *file, const char *path, struct bytes *text,
                                 dsajit_error *error)
{
    char block[16384];
    size_t size;
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        bytes_append(text, block, size);
    if (ferror(file))
        return error_set_errno(error, DSAJIT_ERROR_IO, errno, "can't read template %s", path);
    return DSAJIT_OK;
}

static dsajit_status read_template(void *user, const char *name, struct bytes *text,
                                   dsajit_error *error)
{
    if (strstr(name, "..") || name[0] == '/')
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "template '%s' lies outside the template directory", name);
    struct bytes path = {0};
    bytes_append_format(&path, "%s/%s", (const char *)user, name);
    FILE *file = bytes_failed(&path) ? NULL : fopen(bytes_text(&path), "rbe");
    dsajit_status status;
    if (!file) {
        status = error_set_errno(error, DSAJIT_ERROR_NOT_FOUND, errno, "can't open template %s",
                                 bytes_text(&path));
    } else {
        status = read_stream(file, bytes_text(&path), text, error);
        fclose(file);
    }
    bytes_free(&path);
    return status;
}

dsajit_status template_directory_open(const char *directory, char **copy,
                                      struct template_source *source, dsajit_error *error)
{
    *copy = NULL;
    *source = builtin_templates;
    if (!directory)
        return DSAJIT_OK;
    *copy = strdup(directory);
    if (!*copy)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
    *source = (struct template_source){read_template, *copy};
    return DSAJIT_OK;
}
