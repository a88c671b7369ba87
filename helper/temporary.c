#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100, OPEN_FOLDERS = 8 };

static const char prefix[] = "dsajit-compiler-";

/* What TMPDIR was; the folder, and its descriptor, which holds a lock for as long as the process
   lives. The lock, and not a process id, tells whether a folder is in use: containers that share a
   folder number their processes each on its own. */
static char parent[PATH_MAX], folder[PATH_MAX];
static int locked = -1;

/* ---- Folders of others ---- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    remove(path); /* what stays is of no use to anybody, and in nobody's way */
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* A descriptor of this user's directory, locked; negative if it isn't one or is in use. */
static int lock_folder(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return -1;
    if (fstat(file, &status) == 0 && status.st_uid == geteuid() &&
        flock(file, LOCK_EX | LOCK_NB) == 0)
        return file;
    close(file);
    return -1;
}

static void remove_if_abandoned(const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", parent, name) >= (int)sizeof path)
        return;
    int file = lock_folder(path);
    if (file < 0)
        return;
    remove_tree(path);
    close(file);
}

static void sweep(void)
{
    DIR *directory = opendir(parent);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0)
            remove_if_abandoned(entry->d_name);
    }
    if (directory)
        closedir(directory);
}

/* ---- The own folder ---- */

/* A new folder can be taken for abandoned before it is locked, and is gone then. */
static bool make_locked(void)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (snprintf(folder, sizeof folder, "%s/%sXXXXXX", parent, prefix) >= (int)sizeof folder) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!mkdtemp(folder))
            return false;
        locked = lock_folder(folder);
        if (locked >= 0 && access(folder, F_OK) == 0)
            return true;
        temporary_end();
    }
    return false;
}

enum reply_status temporary_begin(struct failure *failure)
{
    if (!parent[0]) {
        const char *named = getenv("TMPDIR");
        if (named && strlen(named) >= sizeof parent)
            return fail(failure, REPLY_FAILED, "TMPDIR is too long");
        strcpy(parent, named && *named ? named : "/tmp");
        sweep();
    }
    if (make_locked() && setenv("TMPDIR", folder, 1) == 0)
        return REPLY_OK;
    return fail(failure, REPLY_FAILED, "no folder for temporary files in %s: %s", parent,
                strerror(errno));
}

void temporary_end(void)
{
    if (locked >= 0) {
        remove_tree(folder);
        close(locked);
    }
    locked = -1;
    setenv("TMPDIR", parent, 1);
}
