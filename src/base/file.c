#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads `size` bytes; 0 or an errno value. */
static int read_all(int fd, uint8_t *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, to + done, size - done);
        if (got == 0)
            return EIO;
        if (got < 0 && errno != EINTR)
            return errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static int write_all(int fd, const uint8_t *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, from + done, size - done);
        if (put < 0 && errno != EINTR)
            return errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int read_open(int fd, size_t limit, struct bytes *bytes, struct stat *state)
{
    if (fstat(fd, state))
        return errno;
    if (!S_ISREG(state->st_mode))
        return EINVAL;
    if ((uintmax_t)state->st_size > limit)
        return EFBIG;
    size_t size = (size_t)state->st_size, before = bytes->size;
    uint8_t *to = bytes_extend(bytes, size);
    if (!to)
        return ENOMEM;
    int result = read_all(fd, to, size);
    if (result)
        bytes->size = before;
    return result;
}

int file_read(const char *path, size_t limit, struct bytes *bytes, struct stat *state)
{
    struct stat unused;
    int fd =
        TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (fd < 0)
        return errno;
    int result = read_open(fd, limit, bytes, state ? state : &unused);
    close(fd);
    return result;
}

/* DIRECTORY/.tmp-XXXXXX beside `path`; rename works within one file system only. */
static char *temporary_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    int directory = slash ? (int)(slash - path) + 1 : 0;
    char *result = NULL;
    return asprintf(&result, "%.*s" FILE_TEMPORARY_PREFIX "XXXXXX", directory, path) < 0 ? NULL
                                                                                         : result;
}

/* Makes a rename last; best effort, since not every file system can. */
static void sync_directory_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path ? 1 : 0] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int file_replace(const char *path, const void *data, size_t size, mode_t mode)
{
    char *temporary = temporary_path(path);
    if (!temporary)
        return ENOMEM;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        int result = errno;
        free(temporary);
        return result;
    }
    int result = write_all(fd, data, size);
    if (!result && (fchmod(fd, mode) || TEMP_FAILURE_RETRY(fsync(fd))))
        result = errno;
    /* Some file systems report a failed write only here; an interrupted close has closed. */
    if (close(fd) && !result && errno != EINTR)
        result = errno;
    if (!result && rename(temporary, path))
        result = errno;
    if (result)
        unlink(temporary);
    else
        sync_directory_of(temporary);
    free(temporary);
    return result;
}
