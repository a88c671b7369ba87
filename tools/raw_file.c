#include "raw_file.h"

#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *join(const char *directory, const char *name, dsajit_error *error)
{
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0) {
        failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
        return NULL;
    }
    return path;
}

/* Compares the length before any memory is taken, and reads no further than it. */
static dsajit_status read_descriptor(int descriptor, const char *path, size_t size, void **data,
                                     dsajit_error *error)
{
    struct stat about;
    if (fstat(descriptor, &about))
        return failure_set_errno(error, DSAJIT_ERROR_IO, errno, "%s", path);
    if (!S_ISREG(about.st_mode))
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s is not a regular file", path);
    if ((uintmax_t)about.st_size != size)
        return failure_set(error, DSAJIT_ERROR_CORRUPT,
                           "%s has %ju bytes; its tensor has %zu by the sizes in case.json", path,
                           (uintmax_t)about.st_size, size);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for the %zu bytes of %s",
                           size, path);
    for (size_t done = 0; done < size;) {
        const ssize_t count = read(descriptor, bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            const int number = count ? errno : EIO;
            free(bytes);
            return failure_set_errno(error, DSAJIT_ERROR_IO, number, "reading %s", path);
        }
        done += (size_t)count;
    }
    *data = bytes;
    return DSAJIT_OK;
}

dsajit_status raw_file_read(const char *directory, const char *name, size_t size, void **data,
                            dsajit_error *error)
{
    char *path = join(directory, name, error);
    if (!path)
        return DSAJIT_ERROR_OUT_OF_MEMORY;
    dsajit_status status;
    /* Without O_NONBLOCK a FIFO would hang here. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        status = errno == ENOENT ? DSAJIT_ERROR_NOT_FOUND : DSAJIT_ERROR_IO;
        failure_set_errno(error, status, errno, "%s", path);
    } else {
        status = read_descriptor(descriptor, path, size, data, error);
        close(descriptor);
    }
    free(path);
    return status;
}

dsajit_status raw_files_read(const char *directory, const struct raw_file *files, size_t count,
                             dsajit_error *error)
{
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < count; i++) {
        status = raw_file_read(directory, files[i].name, files[i].size, files[i].data, error);
        if (files[i].optional && status == DSAJIT_ERROR_NOT_FOUND)
            status = DSAJIT_OK;
    }
    return status;
}

dsajit_status raw_file_make_folder(const char *directory, dsajit_error *error)
{
    if (mkdir(directory, 0777) && errno != EEXIST)
        return failure_set_errno(error, DSAJIT_ERROR_IO, errno, "making the folder %s", directory);
    return DSAJIT_OK;
}

dsajit_status raw_file_write(const char *directory, const char *name, const void *data, size_t size,
                             dsajit_error *error)
{
    char *path = join(directory, name, error);
    if (!path)
        return DSAJIT_ERROR_OUT_OF_MEMORY;
    dsajit_status status = DSAJIT_OK;
    FILE *file = fopen(path, "wbe");
    int number = file ? 0 : errno;
    if (file && fwrite(data, 1, size, file) != size)
        number = errno;
    if (file && fclose(file) && !number)
        number = errno;
    if (number)
        status = failure_set_errno(error, DSAJIT_ERROR_IO, number, "writing %s", path);
    free(path);
    return status;
}
