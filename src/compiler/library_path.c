#include "compiler/library_path.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*visit_function)(void *user, const char *folder);

/* ld.so.conf may include itself. */
enum { INCLUDE_DEPTH_MAX = 8 };

static const char blanks[] = " \t\n";

static bool search_file(const char *path, int depth, visit_function visit, void *user);

static bool search_included(const char *pattern, int depth, visit_function visit, void *user)
{
    glob_t files;
    if (depth == INCLUDE_DEPTH_MAX || glob(pattern, 0, NULL, &files))
        return false;
    bool found = false;
    for (size_t i = 0; !found && i < files.gl_pathc; i++)
        found = search_file(files.gl_pathv[i], depth + 1, visit, user);
    globfree(&files);
    return found;
}

/* A line of ld.so.conf: a folder, "include PATTERN", or a comment. */
static bool search_line(char *line, int depth, visit_function visit, void *user)
{
    line[strcspn(line, "#")] = '\0';
    char *rest = NULL;
    const char *word = strtok_r(line, blanks, &rest);
    if (!word)
        return false;
    if (strcmp(word, "include") != 0)
        return *word == '/' && visit(user, word);
    const char *pattern = strtok_r(NULL, blanks, &rest);
    return pattern && *pattern == '/' && search_included(pattern, depth, visit, user);
}

static bool search_file(const char *path, int depth, visit_function visit, void *user)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool found = false;
    char *line = NULL;
    size_t capacity = 0;
    while (!found && getline(&line, &capacity, file) >= 0)
        found = search_line(line, depth, visit, user);
    free(line);
    fclose(file);
    return found;
}

static bool search_list(const char *list, visit_function visit, void *user)
{
    char *copy = list ? strdup(list) : NULL;
    bool found = false;
    char *rest = NULL;
    for (char *folder = copy ? strtok_r(copy, ":;", &rest) : NULL; folder && !found;
         folder = strtok_r(NULL, ":;", &rest))
        found = visit(user, folder);
    free(copy);
    return found;
}

bool library_path_search(visit_function visit, void *user)
{
    static const char *const defaults[] = {"/lib/x86_64-linux-gnu",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/lib64",
                                           "/usr/lib64",
                                           "/lib",
                                           "/usr/lib"};
    bool found = search_list(secure_getenv("LD_LIBRARY_PATH"), visit, user) ||
                 search_file("/etc/ld.so.conf", 0, visit, user);
    for (size_t i = 0; !found && i < sizeof defaults / sizeof *defaults; i++)
        found = visit(user, defaults[i]);
    return found;
}
