#include "cache/directory.h"

#include "base/variable.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Choosing ---- */

static char *join(const char *directory, const char *rest)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, rest) < 0 ? NULL : path;
}

/* A later chdir must not move the cache. */
static char *make_absolute(const char *path)
{
    if (*path == '/')
        return strdup(path);
    char *current = getcwd(NULL, 0);
    char *absolute = current ? join(current, path) : NULL;
    free(current);
    return absolute;
}

static bool is_directory(const char *path)
{
    struct stat state;
    return path && *path == '/' && !stat(path, &state) && S_ISDIR(state.st_mode);
}

/* $HOME where it is a directory: service accounts have names of none. Else the one in the user
   database. NULL when there is none. */
static char *home_directory(void)
{
    const char *home = variable_get("HOME");
    if (is_directory(home))
        return strdup(home);
    struct passwd record, *found = NULL;
    char buffer[4096];
    if (!getpwuid_r(geteuid(), &record, buffer, sizeof buffer, &found) && found &&
        is_directory(found->pw_dir))
        return strdup(found->pw_dir);
    return NULL;
}

/* Named for the user: another's directory of the same name must not be met by accident. */
static char *last_resort(void)
{
    char *path = NULL;
    return asprintf(&path, "/tmp/dsajit-%lu", (unsigned long)geteuid()) < 0 ? NULL : path;
}

char *directory_choose(const char *option, const char **origin)
{
    const char *unused;
    if (!origin)
        origin = &unused;
    *origin = "option";
    if (option)
        return make_absolute(option);
    const char *named = variable_get(*origin = "DSAJIT_CACHE_DIR");
    if (named)
        return make_absolute(named);
    const char *caches = variable_get(*origin = "XDG_CACHE_HOME");
    if (caches && *caches == '/') /* the XDG specification has relative ones ignored */
        return join(caches, "dsajit");
    char *home = home_directory();
    *origin = home ? "home directory" : "last resort";
    char *path = home ? join(home, ".cache/dsajit") : last_resort();
    free(home);
    return path;
}

void directory_free_list(char **directories)
{
    for (size_t i = 0; directories && directories[i]; i++)
        free(directories[i]);
    free(directories);
}

/* Room for one more and the NULL; false when memory ran out. */
static bool append_directory(char ***list, size_t *count, const char *path)
{
    char **longer = realloc(*list, (*count + 2) * sizeof **list);
    if (!longer)
        return false;
    *list = longer;
    longer[*count] = path ? make_absolute(path) : NULL;
    longer[*count + 1] = NULL;
    if (!longer[*count])
        return !path;
    ++*count;
    return true;
}

char **directory_choose_prebuilt(const char *const *option)
{
    char **list = NULL;
    size_t count = 0;
    char *copy = NULL, *rest = NULL;
    bool good = append_directory(&list, &count, NULL);
    if (option) {
        for (; good && *option; option++)
            good = append_directory(&list, &count, *option);
    } else if (variable_get("DSAJIT_PREBUILT_PATH")) {
        copy = strdup(variable_get("DSAJIT_PREBUILT_PATH"));
        good = good && copy;
        for (char *path = good ? strtok_r(copy, ":", &rest) : NULL; good && path;
             path = strtok_r(NULL, ":", &rest))
            good = append_directory(&list, &count, path);
    }
    free(copy);
    if (!good) {
        directory_free_list(list);
        return NULL;
    }
    return list;
}

/* ---- Making and trusting ---- */

int directory_make(const char *path, mode_t mode)
{
    if (!mkdir(path, mode) || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return errno;
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ENOENT;
    char *parent = strndup(path, (size_t)(slash - path));
    if (!parent)
        return ENOMEM;
    int result = directory_make(parent, mode);
    free(parent);
    if (!result && mkdir(path, mode) && errno != EEXIST)
        result = errno;
    return result;
}

static bool is_shared(void)
{
    const char *shared = variable_get("DSAJIT_CACHE_SHARED");
    return shared && !strcmp(shared, "1");
}

/* Who can write in the cache decides what runs on the GPU and in which process. Root can anyway. */
static const char *distrust(const struct stat *state)
{
    if (S_ISLNK(state->st_mode))
        return "it is a symbolic link";
    if (state->st_uid != geteuid() && state->st_uid != 0)
        return "it belongs to another user";
    if (state->st_mode & (S_IWGRP | S_IWOTH))
        return "its group or others may write in it";
    return NULL;
}

bool directory_prepare(const char *path, mode_t *mode, struct bytes *problem)
{
    struct stat state;
    int result = directory_make(path, S_IRWXU);
    if (!result && lstat(path, &state))
        result = errno;
    const char *reason = NULL;
    if (!result && !is_shared())
        reason = distrust(&state);
    if (!result && !reason && stat(path, &state))
        result = errno;
    if (!result && !reason && !S_ISDIR(state.st_mode))
        result = ENOTDIR;
    if (result)
        bytes_append_format(problem, "%s: %s", path, strerrordesc_np(result));
    else if (reason)
        bytes_append_format(problem, "%s: %s; DSAJIT_CACHE_SHARED=1 would accept it", path, reason);
    if (result || reason)
        return false;
    *mode = state.st_mode & 07777;
    return true;
}
