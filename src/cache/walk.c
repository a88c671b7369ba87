#include "cache/walk.h"

#include "base/file.h"
#include "cache/key.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static enum file_kind classify_in_bucket(const char *name)
{
    static const struct {
        const char *suffix;
        enum file_kind kind;
    } kinds[] = {
        {ENTRY_SUFFIX, FILE_ENTRY},
        {LOCK_SUFFIX, FILE_LOCK},
        {QUARANTINED_SUFFIX, FILE_QUARANTINED},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (key_is_file_name(name, kinds[i].suffix))
            return kinds[i].kind;
    }
    return starts_with(name, FILE_TEMPORARY_PREFIX) ? FILE_TEMPORARY : FILE_UNKNOWN;
}

static enum file_kind classify_beside_buckets(const char *name)
{
    if (starts_with(name, "toolchain-"))
        return FILE_TOOLCHAIN;
    if (starts_with(name, FILE_TEMPORARY_PREFIX))
        return FILE_TEMPORARY;
    return strcmp(name, SWEPT_MARKER) == 0 ? FILE_MARKER : FILE_UNKNOWN;
}

static int is_visible(const struct dirent *file)
{
    return strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
}

static bool is_bucket(const char *name)
{
    return strlen(name) == BUCKET_DIGITS && strspn(name, "0123456789abcdef") == BUCKET_DIGITS;
}

/* 0, an errno value, or -1 when the visitor has had enough. */
static int show(const char *directory, const char *name, enum file_kind kind,
                layer_visit_function visit, void *user)
{
    char *path = NULL;
    struct layer_file file = {.kind = kind};
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return ENOMEM;
    file.path = path;
    file.name = path + strlen(directory) + 1;
    bool more = lstat(path, &file.state) || visit(user, &file);
    free(path);
    return more ? 0 : -1;
}

/* What to do with each name in a directory. */
typedef int (*name_function)(const char *directory, const char *name, layer_visit_function visit,
                             void *user);

static int walk(const char *directory, name_function each, layer_visit_function visit, void *user)
{
    struct dirent **names = NULL;
    int count = scandir(directory, &names, is_visible, alphasort);
    if (count < 0)
        return errno;
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (!result)
            result = each(directory, names[i]->d_name, visit, user);
        free(names[i]);
    }
    free(names);
    return result;
}

static int show_in_bucket(const char *bucket, const char *name, layer_visit_function visit,
                          void *user)
{
    return show(bucket, name, classify_in_bucket(name), visit, user);
}

/* A bucket that vanished, or that is no directory, holds nothing. */
static int enter_bucket(const char *layer, const char *name, layer_visit_function visit, void *user)
{
    if (!is_bucket(name))
        return 0;
    char *bucket = NULL;
    if (asprintf(&bucket, "%s/%s", layer, name) < 0)
        return ENOMEM;
    int result = walk(bucket, show_in_bucket, visit, user);
    free(bucket);
    return result == ENOENT || result == ENOTDIR ? 0 : result;
}

static int show_beside_buckets(const char *layer, const char *name, layer_visit_function visit,
                               void *user)
{
    return is_bucket(name) ? 0 : show(layer, name, classify_beside_buckets(name), visit, user);
}

int walk_bucket(const char *bucket, layer_visit_function visit, void *user)
{
    int result = walk(bucket, show_in_bucket, visit, user);
    return result < 0 ? 0 : result;
}

int walk_layer(const char *directory, layer_visit_function visit, void *user)
{
    int result = walk(directory, enter_bucket, visit, user);
    if (!result)
        result = walk(directory, show_beside_buckets, visit, user);
    return result < 0 ? 0 : result;
}
