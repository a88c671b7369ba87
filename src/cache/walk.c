/* Walking a layer's entry files. */
#include "cache/key.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_bucket(const struct dirent *file)
{
    static const char hex_digits[] = "0123456789abcdef";
    return strlen(file->d_name) == BUCKET_DIGITS &&
           strspn(file->d_name, hex_digits) == BUCKET_DIGITS;
}

static int is_entry(const struct dirent *file)
{
    return key_is_entry_name(file->d_name);
}

static void free_files(struct dirent **files, int count)
{
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
}

/* False when the visitor has had enough or memory ran out. */
static bool walk_bucket(const char *directory, const char *bucket, cache_visit_function visit,
                        void *user)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, bucket) < 0)
        return false;
    struct dirent **files = NULL;
    int count = scandir(path, &files, is_entry, alphasort);
    bool more = true;
    for (int i = 0; more && i < count; i++) {
        char *file = NULL;
        more = asprintf(&file, "%s/%s", path, files[i]->d_name) >= 0 && visit(user, file);
        free(file);
    }
    free_files(files, count);
    free(path);
    return more;
}

dsajit_status cache_walk(const char *directory, cache_visit_function visit, void *user,
                         dsajit_error *error)
{
    struct dirent **buckets = NULL;
    int count = scandir(directory, &buckets, is_bucket, alphasort);
    if (count < 0)
        return error_set_errno(error, errno == ENOENT ? DSAJIT_ERROR_NOT_FOUND : DSAJIT_ERROR_IO,
                               errno, "%s", directory);
    for (int i = 0; i < count && walk_bucket(directory, buckets[i]->d_name, visit, user); i++)
        ;
    free_files(buckets, count);
    return DSAJIT_OK;
}
