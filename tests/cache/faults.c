#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 1024 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *watched_folder; /* NULL: disarmed */
static struct fault armed;
static int count;
static const char *struck;
static bool watched_descriptors[DESCRIPTORS_MAX];

void faults_arm(const char *folder, struct fault fault)
{
    pthread_mutex_lock(&mutex);
    watched_folder = folder;
    armed = fault;
    count = 0;
    struck = NULL;
    memset(watched_descriptors, 0, sizeof watched_descriptors);
    pthread_mutex_unlock(&mutex);
}

void faults_disarm(void)
{
    pthread_mutex_lock(&mutex);
    watched_folder = NULL;
    pthread_mutex_unlock(&mutex);
}

int faults_count(void)
{
    return count;
}

const char *faults_struck(void)
{
    return struck;
}

static bool is_watched_path(const char *path)
{
    return watched_folder && !strncmp(path, watched_folder, strlen(watched_folder));
}

static bool is_watched_descriptor(int fd)
{
    return watched_folder && fd >= 0 && fd < DESCRIPTORS_MAX && watched_descriptors[fd];
}

/* What to do with a watched call; FAULT_NONE: let it through. */
static enum fault_kind judge(bool watched, const char *name)
{
    enum fault_kind kind = FAULT_NONE;
    pthread_mutex_lock(&mutex);
    if (watched && armed.kind && (!armed.only || !strcmp(armed.only, name))) {
        count++;
        if (armed.at == 0 || armed.at == count) {
            kind = armed.kind;
            struck = name;
        }
    }
    pthread_mutex_unlock(&mutex);
    if (kind == FAULT_KILL)
        raise(SIGKILL);
    if (kind == FAULT_ERROR)
        errno = armed.error;
    return kind;
}

static int watch(int fd, bool watched)
{
    if (fd >= 0 && fd < DESCRIPTORS_MAX)
        watched_descriptors[fd] = watched && watched_folder;
    return fd;
}

/* ---- The wrappers ---- */

/* A call that returns -1 when it fails and does nothing else. FAULT_SHORT and FAULT_EMPTY, which
   mean nothing here, let it through. */
#define WRAP(name, watched, parameters, arguments)                                                 \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        const enum fault_kind kind = judge(watched, #name);                                        \
        if (kind == FAULT_ERROR)                                                                   \
            return -1;                                                                             \
        return kind == FAULT_STUB ? 0 : __real_##name arguments;                                   \
    }

#define WRAP_PATH(name, parameters, arguments)                                                     \
    WRAP(name, is_watched_path(path), parameters, arguments)
#define WRAP_DESCRIPTOR(name, parameters, arguments)                                               \
    WRAP(name, is_watched_descriptor(fd), parameters, arguments)

WRAP_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP_PATH(chmod, (const char *path, mode_t mode), (path, mode))
WRAP_PATH(stat, (const char *path, struct stat *state), (path, state))
WRAP_PATH(lstat, (const char *path, struct stat *state), (path, state))
WRAP_PATH(rename, (const char *path, const char *to), (path, to))
WRAP_PATH(unlink, (const char *path), (path))
WRAP_PATH(remove, (const char *path), (path))
WRAP_PATH(utimensat, (int at, const char *path, const struct timespec times[2], int flags),
          (at, path, times, flags))
WRAP_PATH(statx, (int at, const char *path, int flags, unsigned mask, struct statx *state),
          (at, path, flags, mask, state))
WRAP_PATH(scandir,
          (const char *path, struct dirent ***names, int (*filter)(const struct dirent *),
           int (*order)(const struct dirent **, const struct dirent **)),
          (path, names, filter, order))
WRAP_DESCRIPTOR(fstat, (int fd, struct stat *state), (fd, state))
WRAP_DESCRIPTOR(fsync, (int fd), (fd))
WRAP_DESCRIPTOR(fchmod, (int fd, mode_t mode), (fd, mode))
WRAP_DESCRIPTOR(ftruncate, (int fd, off_t size), (fd, size))
WRAP_DESCRIPTOR(flock, (int fd, int operation), (fd, operation))
WRAP_DESCRIPTOR(futimens, (int fd, const struct timespec times[2]), (fd, times))

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is right above */
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const bool watched = is_watched_path(path);
    if (judge(watched, "open") == FAULT_ERROR)
        return -1;
    return watch(__real_open(path, flags, mode), watched);
}

int __real_mkostemp(char *path, int flags);
int __wrap_mkostemp(char *path, int flags);
int __wrap_mkostemp(char *path, int flags)
{
    const bool watched = is_watched_path(path);
    if (judge(watched, "mkostemp") == FAULT_ERROR)
        return -1;
    return watch(__real_mkostemp(path, flags), watched);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    const enum fault_kind kind = judge(is_watched_descriptor(fd), "close");
    watch(fd, false);
    const int result = __real_close(fd);
    if (kind != FAULT_ERROR)
        return result;
    errno = armed.error;
    return -1;
}

/* Half of it, and at least a byte. */
static size_t shorten(enum fault_kind kind, size_t size)
{
    return kind == FAULT_SHORT ? (size + 1) / 2 : size;
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    const enum fault_kind kind = judge(is_watched_descriptor(fd), "read");
    if (kind == FAULT_ERROR)
        return -1;
    return kind == FAULT_EMPTY ? 0 : __real_read(fd, to, shorten(kind, size));
}

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    const enum fault_kind kind = judge(is_watched_descriptor(fd), "write");
    if (kind == FAULT_ERROR)
        return -1;
    return kind == FAULT_STUB ? (ssize_t)size : __real_write(fd, from, shorten(kind, size));
}
