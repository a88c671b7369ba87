#include "text_file.h"

#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One byte more than is allowed tells a file that grew. */
static dsajit_status read_descriptor(int descriptor, const char *path, size_t most, char **text,
                                     size_t *size, dsajit_error *error)
{
    struct stat about;
    if (fstat(descriptor, &about))
        return failure_set_errno(error, DSAJIT_ERROR_IO, errno, "%s", path);
    if (!S_ISREG(about.st_mode))
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s is not a regular file", path);
    char *bytes = malloc(most + 1);
    if (!bytes)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for %s", path);
    size_t done = 0;
    while (done <= most) {
        const ssize_t count = read(descriptor, bytes + done, most + 1 - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            const int number = errno;
            free(bytes);
            return failure_set_errno(error, DSAJIT_ERROR_IO, number, "reading %s", path);
        }
        if (count == 0)
            break;
        done += (size_t)count;
    }
    if (done > most) {
        free(bytes);
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s is longer than %zu bytes", path, most);
    }
    bytes[done] = '\0';
    *text = bytes;
    *size = done;
    return DSAJIT_OK;
}

dsajit_status text_file_read(const char *path, size_t most, char **text, size_t *size,
                             dsajit_error *error)
{
    /* A FIFO that nobody writes to must not hold the program. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return failure_set_errno(error, errno == ENOENT ? DSAJIT_ERROR_NOT_FOUND : DSAJIT_ERROR_IO,
                                 errno, "%s", path);
    const dsajit_status status = read_descriptor(descriptor, path, most, text, size, error);
    close(descriptor);
    return status;
}
