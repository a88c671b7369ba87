#include "cache/prune.h"

#include "cache/key.h"
#include "cache/layers.h"
#include "cache/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600, WEEK = 7 * 24 * HOUR, MONTH = 30 * 24 * HOUR };

/* How old a file of a kind has to be to be a leftover; absent: never. A temporary file is renamed
   within seconds; a bad file is kept for people to look at; a lock is in use as long as it is
   taken now and then. */
static const int64_t stale_after[FILE_UNKNOWN + 1] = {
    [FILE_TEMPORARY] = HOUR,
    [FILE_QUARANTINED] = WEEK,
    [FILE_LOCK] = MONTH,
};

struct candidate {
    char *path;
    uint64_t bytes;
    int64_t used;
    bool removed;
};

struct pruning {
    const struct prune_request *request;
    struct prune_result *result;
    int64_t now;
    char toolchains[2][TOOLCHAIN_DIGITS + 1]; /* in names: the one that stays, and of none at all */
    struct candidate *candidates;
    size_t count, capacity;
    bool out_of_memory;
};

/* A time in the future is a wrong clock's: as old as it is far away. */
static int64_t age_of(const struct pruning *pruning, int64_t used)
{
    int64_t age = pruning->now - used;
    return age < 0 ? -age : age;
}

/* ---- Leftovers ---- */

/* Only when nobody holds it, and while holding it: whoever opened it meanwhile notices. */
static bool remove_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool removed = !flock(fd, LOCK_EX | LOCK_NB) && !unlink(path);
    close(fd);
    return removed;
}

static bool is_leftover(const struct pruning *pruning, const struct layer_file *file)
{
    if (pruning->request->everything)
        return file->kind != FILE_ENTRY && file->kind != FILE_UNKNOWN;
    int64_t stale = stale_after[file->kind];
    return stale && age_of(pruning, file->state.st_mtime) > stale;
}

static void remove_leftover(struct pruning *pruning, const struct layer_file *file)
{
    bool removed = pruning->request->dry_run ||
                   (file->kind == FILE_LOCK ? remove_lock(file->path) : !remove(file->path));
    bool counts = file->kind != FILE_TOOLCHAIN && file->kind != FILE_MARKER;
    pruning->result->leftovers += removed && counts;
}

/* ---- Entries ---- */

static bool add_candidate(struct pruning *pruning, const struct layer_file *file)
{
    if (pruning->count == pruning->capacity) {
        size_t capacity = pruning->capacity ? 2 * pruning->capacity : 64;
        struct candidate *candidates =
            reallocarray(pruning->candidates, capacity, sizeof *candidates);
        if (!candidates)
            return false;
        pruning->candidates = candidates;
        pruning->capacity = capacity;
    }
    char *path = strdup(file->path);
    if (!path)
        return false;
    pruning->candidates[pruning->count++] =
        (struct candidate){path, (uint64_t)file->state.st_size, file->state.st_mtime, false};
    return true;
}

static bool sort_out(void *user, const struct layer_file *file)
{
    struct pruning *pruning = user;
    if (file->kind == FILE_ENTRY && !S_ISDIR(file->state.st_mode))
        pruning->out_of_memory = !add_candidate(pruning, file);
    else if (is_leftover(pruning, file))
        remove_leftover(pruning, file);
    return !pruning->out_of_memory;
}

static int compare_candidates(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    return strcmp(a->path, b->path);
}

static bool is_spared(const struct pruning *pruning, int64_t used)
{
    return age_of(pruning, used) < pruning->request->spare_seconds;
}

/* Somebody may have used or replaced it since the files were listed. */
static bool is_used_again(const struct pruning *pruning, const struct candidate *candidate)
{
    struct stat state;
    return pruning->request->spare_seconds > 0 && !lstat(candidate->path, &state) &&
           is_spared(pruning, state.st_mtime);
}

static void add_to_history(const struct pruning *pruning, const char *entry_path)
{
    char *lock = key_sibling_path(entry_path, LOCK_SUFFIX);
    if (lock)
        history_append_to(lock, pruning->request->event, NULL);
    free(lock);
}

static void remove_entry(struct pruning *pruning, struct candidate *candidate)
{
    const struct prune_request *request = pruning->request;
    if (candidate->removed || is_spared(pruning, candidate->used) ||
        is_used_again(pruning, candidate))
        return;
    if (!request->dry_run) {
        bool gone = !unlink(candidate->path);
        if (!gone && errno != ENOENT)
            return;
        if (gone)
            add_to_history(pruning, candidate->path);
    }
    candidate->removed = true;
    struct prune_result *result = pruning->result;
    result->removed++;
    result->removed_bytes += candidate->bytes;
    result->kept--;
    result->kept_bytes -= candidate->bytes;
    if (request->removed)
        request->removed(request->user, candidate->path, candidate->bytes);
}

static bool is_stale(const struct pruning *pruning, const char *path)
{
    const char *dash = strrchr(path, '-');
    return pruning->request->toolchain && dash &&
           strncmp(dash + 1, pruning->toolchains[0], TOOLCHAIN_DIGITS) != 0 &&
           strncmp(dash + 1, pruning->toolchains[1], TOOLCHAIN_DIGITS) != 0;
}

static void remove_entries(struct pruning *pruning)
{
    const struct prune_request *request = pruning->request;
    if (pruning->count)
        qsort(pruning->candidates, pruning->count, sizeof *pruning->candidates, compare_candidates);
    for (size_t i = 0; i < pruning->count; i++) {
        struct candidate *candidate = &pruning->candidates[i];
        bool unused = request->unused_seconds >= 0 &&
                      age_of(pruning, candidate->used) >= request->unused_seconds;
        if (unused || is_stale(pruning, candidate->path))
            remove_entry(pruning, candidate);
    }
    if (pruning->result->kept_bytes <= request->max_bytes)
        return;
    for (size_t i = 0; i < pruning->count && pruning->result->kept_bytes > request->target_bytes;
         i++)
        remove_entry(pruning, &pruning->candidates[i]);
}

static void name_toolchain(const char *toolchain, char digits[TOOLCHAIN_DIGITS + 1])
{
    struct key_name name;
    const struct cache_key key = {
        .toolchain = {.data = (uint8_t *)toolchain, .size = strlen(toolchain)}};
    key_name(&key, &name);
    memcpy(digits, name.toolchain, sizeof name.toolchain);
}

dsajit_status prune_layer(struct cache *cache, const struct prune_request *request,
                          struct prune_result *result, dsajit_error *error)
{
    *result = (struct prune_result){0};
    dsajit_status status = cache_require_directory(cache, error);
    if (status)
        return status;
    struct pruning pruning = {.request = request, .result = result, .now = (int64_t)time(NULL)};
    if (request->toolchain)
        name_toolchain(request->toolchain, pruning.toolchains[0]);
    name_toolchain("", pruning.toolchains[1]);
    int failure = walk_layer(cache->directory, sort_out, &pruning);
    if (pruning.out_of_memory)
        failure = ENOMEM;
    if (!failure) {
        result->kept = pruning.count;
        for (size_t i = 0; i < pruning.count; i++)
            result->kept_bytes += pruning.candidates[i].bytes;
        remove_entries(&pruning);
    }
    for (size_t i = 0; i < pruning.count; i++)
        free(pruning.candidates[i].path);
    free(pruning.candidates);
    if (!failure)
        return DSAJIT_OK;
    return error_set_errno(error, failure == ENOMEM ? DSAJIT_ERROR_OUT_OF_MEMORY : DSAJIT_ERROR_IO,
                           failure, "%s", cache->directory);
}
