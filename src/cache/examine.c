#include "cache/examine.h"

#include "base/file.h"
#include "cache/entry.h"
#include "cache/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* POSIX has no such time; statx does. */
static int64_t creation_time(const char *path)
{
    struct statx state;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &state) ||
        !(state.stx_mask & STATX_BTIME))
        return 0;
    return state.stx_btime.tv_sec;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && !strcmp(text + size - end_size, end);
}

/* The path ends in /BUCKET/NAME of the entry's own key. */
static bool has_own_name(const char *path, const struct cache_entry *entry)
{
    const struct cache_key key = key_of_entry(entry);
    struct key_name name;
    key_name(&key, &name);
    char *tail = key_path("", &name, ENTRY_SUFFIX);
    bool own = tail && ends_with(path, tail);
    free(tail);
    return own;
}

static void judge(const char *path, bool named, struct bytes *file, struct examination *examination)
{
    bool other_version = entry_is_other_version(file);
    if (cache_entry_parse(file, &examination->entry, &examination->problem)) {
        examination->state = other_version ? ENTRY_FOREIGN : ENTRY_CORRUPT;
    } else if (named && !has_own_name(path, &examination->entry)) {
        examination->state = ENTRY_FOREIGN;
        error_set(&examination->problem, DSAJIT_ERROR_CORRUPT,
                  "its name is another than its key's");
    }
}

int examine_file(const char *path, bool named, struct examination *examination)
{
    *examination = (struct examination){0};
    if (lstat(path, &examination->file))
        return errno;
    examination->created = creation_time(path);
    struct bytes file = {0};
    int result = file_read(path, ENTRY_SIZE_MAX, &file, &examination->file);
    if (!result) {
        judge(path, named, &file, examination);
    } else if (result != ENOENT && result != ENOMEM) {
        examination->state = ENTRY_CORRUPT;
        error_set_errno(&examination->problem, DSAJIT_ERROR_IO, result, "it can't be read");
        result = 0;
    }
    bytes_free(&file);
    return result;
}

void examination_free(struct examination *examination)
{
    cache_entry_free(&examination->entry);
}
