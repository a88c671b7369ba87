/* The file's lines:
       dsajit toolchain 1
       file DEVICE INODE SIZE MTIME_NS CTIME_NS PATH     one a library
       version TEXT
       identity NAME=VALUE                               one a line of the identity
       digest HEX                                        of everything before
   A line that doesn't match what the file system says now makes the whole file worthless. */
#include "compiler/toolchain_memory.h"

#include "base/digest.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char title[] = "dsajit toolchain 1";

enum { MEMORY_FILE_MAX = 64 << 10, NAME_DIGITS = 16 };

/* A file that changed this recently may change again within its time stamps' resolution. */
enum { SETTLED_SECONDS = 2 };

/* One file a location, so that several ROCms on one machine don't overwrite each other's. */
static char *memory_path(const char *directory, const struct location *location)
{
    struct bytes text = {0};
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE], *path = NULL;
    bytes_append_format(&text, "%s\n%s\n%s\n%s\n", location->loader ? location->loader : "",
                        location->library_path, location->comgr, location->hiprtc);
    if (!bytes_failed(&text)) {
        digest_compute(text.data, text.size, digest);
        digest_to_hex(digest, hex);
        if (asprintf(&path, "%s/toolchain-%.*s", directory, NAME_DIGITS, hex) < 0)
            path = NULL;
    }
    bytes_free(&text);
    return path;
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* "file …" for the file as it is now; false when it can't be looked at. */
static bool append_file(struct bytes *line, const char *path, struct stat *state)
{
    if (stat(path, state))
        return false;
    bytes_append_format(line, "file %ju %ju %ju %" PRId64 " %" PRId64 " %s\n",
                        (uintmax_t)state->st_dev, (uintmax_t)state->st_ino,
                        (uintmax_t)state->st_size, nanoseconds(state->st_mtim),
                        nanoseconds(state->st_ctim), path);
    return true;
}

/* ---- Recalling ---- */

/* Checks the digest and cuts its line off. */
static bool check_digest(struct bytes *file)
{
    static const char word[] = "digest ";
    const size_t line = sizeof word - 1 + DIGEST_HEX_SIZE; /* its newline instead of the NUL */
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    if (file->size < line)
        return false;
    size_t size = file->size - line;
    const char *last = (const char *)file->data + size;
    digest_compute(file->data, size, digest);
    digest_to_hex(digest, hex);
    if (memcmp(last, word, sizeof word - 1) != 0 ||
        memcmp(last + sizeof word - 1, hex, DIGEST_HEX_SIZE - 1) != 0)
        return false;
    file->size = size;
    file->data[size] = 0;
    return true;
}

/* The path is the line's last word, which may hold blanks: it starts after six words. */
static bool file_is_unchanged(const char *line)
{
    const char *path = line;
    for (int i = 0; path && i < 6; i++) {
        path = strchr(path, ' ');
        path = path ? path + 1 : NULL;
    }
    struct bytes now = {0};
    struct stat state;
    bool same = path && append_file(&now, path, &state) && !bytes_failed(&now) &&
                now.size == strlen(line) + 1 && !memcmp(now.data, line, now.size - 1);
    bytes_free(&now);
    return same;
}

/* The rest of `line` when it starts with `word`; NULL otherwise. */
static const char *after(const char *line, const char *word)
{
    size_t size = strlen(word);
    return strncmp(line, word, size) ? NULL : line + size;
}

static bool recall_lines(char *text, struct bytes *version, struct bytes *identity)
{
    char *rest = NULL;
    const char *line = strtok_r(text, "\n", &rest), *value;
    if (!line || strcmp(line, title) != 0)
        return false;
    while ((line = strtok_r(NULL, "\n", &rest))) {
        if (after(line, "file ")) {
            if (!file_is_unchanged(line))
                return false;
        } else if ((value = after(line, "version "))) {
            bytes_append_text(version, value);
        } else if ((value = after(line, "identity "))) {
            bytes_append_format(identity, "%s\n", value);
        } else {
            return false;
        }
    }
    return version->size && identity->size && !bytes_failed(version) && !bytes_failed(identity);
}

bool toolchain_recall(const char *directory, const struct location *location,
                      struct toolchain *toolchain)
{
    char *path = memory_path(directory, location);
    struct bytes file = {0}, version = {0}, identity = {0};
    bool recalled = path && !file_read(path, MEMORY_FILE_MAX, &file, NULL) && check_digest(&file) &&
                    recall_lines((char *)file.data, &version, &identity);
    if (recalled) {
        toolchain->version = strdup((char *)version.data);
        toolchain->identity = strdup((char *)identity.data);
        recalled = toolchain->version && toolchain->identity;
    }
    bytes_free(&file);
    bytes_free(&version);
    bytes_free(&identity);
    free(path);
    return recalled;
}

/* ---- Remembering ---- */

static bool is_settled(const struct stat *state)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return state->st_ctim.tv_sec + SETTLED_SECONDS < now.tv_sec;
}

static void append_identity(struct bytes *file, const char *identity)
{
    while (*identity) {
        size_t size = strcspn(identity, "\n");
        bytes_append_format(file, "identity %.*s\n", (int)size, identity);
        identity += size + (identity[size] != '\0');
    }
}

static void append_digest(struct bytes *file)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_compute(file->data, file->size, digest);
    digest_to_hex(digest, hex);
    bytes_append_format(file, "digest %s\n", hex);
}

void toolchain_remember(const char *directory, const struct location *location,
                        const struct toolchain *toolchain, const char *const *paths,
                        size_t path_count)
{
    struct bytes file = {0};
    char *path = memory_path(directory, location);
    bool fit = path && path_count;
    bytes_append_format(&file, "%s\n", title);
    for (size_t i = 0; fit && i < path_count; i++) {
        struct stat state;
        fit = !strchr(paths[i], '\n') && append_file(&file, paths[i], &state) && is_settled(&state);
    }
    bytes_append_format(&file, "version %s\n", toolchain->version);
    append_identity(&file, toolchain->identity);
    if (fit && !bytes_failed(&file)) {
        append_digest(&file);
        if (!bytes_failed(&file))
            file_replace(path, file.data, file.size, S_IRUSR | S_IWUSR);
    }
    bytes_free(&file);
    free(path);
}
