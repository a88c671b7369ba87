/* The toolchain's identity, from what the helper really loads. */
#include "base/digest.h"
#include "base/file.h"
#include "compiler/internal.h"
#include "compiler/toolchain_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* libLLVM has some 150 MB. */
enum { LIBRARY_FILE_MAX = 1 << 30, LIBRARIES_MAX = 64 };

struct library {
    char *name, *path, *build_id; /* build_id: "" when the library has none */
};

struct libraries {
    struct library items[LIBRARIES_MAX];
    size_t count;
};

static void free_libraries(struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++) {
        free(libraries->items[i].name);
        free(libraries->items[i].path);
        free(libraries->items[i].build_id);
    }
}

/* False when the answer is damaged or memory ran out. */
static bool read_libraries(const struct bytes *reply, struct libraries *libraries)
{
    struct message_field field;
    size_t offset = 0;
    bool good = true;
    while (good && message_next(reply, &offset, &field)) {
        if (field.tag == TAG_LIBRARY && libraries->count < LIBRARIES_MAX)
            libraries->count++;
        else if (field.tag != TAG_PATH && field.tag != TAG_BUILD_ID)
            continue;
        if (libraries->count == 0)
            return false;
        struct library *library = &libraries->items[libraries->count - 1];
        char **member = field.tag == TAG_LIBRARY ? &library->name
                        : field.tag == TAG_PATH  ? &library->path
                                                 : &library->build_id;
        good = !*member && (*member = message_copy_text(&field));
    }
    for (size_t i = 0; good && i < libraries->count; i++) {
        const struct library *library = &libraries->items[i];
        good = library->path && library->build_id && !strpbrk(library->name, "=\n") &&
               !strchr(library->build_id, '\n');
    }
    return good && libraries->count;
}

/* By name, and by build id should two have one name, so that the load order doesn't matter. */
static int compare_libraries(const void *left, const void *right)
{
    const struct library *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->build_id, b->build_id);
}

/* A library without a build id is known by its content. */
static dsajit_status append_content(struct bytes *identity, const char *path, dsajit_error *error)
{
    struct bytes file = {0};
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    char *real = realpath(path, NULL);
    int result = real ? file_read(real, LIBRARY_FILE_MAX, &file, NULL) : EIO;
    dsajit_status status = DSAJIT_OK;
    if (result) {
        status = error_set_errno(error, DSAJIT_ERROR_IO, result,
                                 "%s has no build id and can't be read", path);
    } else {
        digest_compute(file.data, file.size, digest);
        digest_to_hex(digest, hex);
        bytes_append_text(identity, hex);
    }
    bytes_free(&file);
    free(real);
    return status;
}

static dsajit_status format_identity(struct libraries *libraries, char **text, dsajit_error *error)
{
    struct bytes identity = {0};
    dsajit_status status = DSAJIT_OK;
    qsort(libraries->items, libraries->count, sizeof *libraries->items, compare_libraries);
    for (size_t i = 0; !status && i < libraries->count; i++) {
        const struct library *library = &libraries->items[i];
        if (*library->build_id) {
            bytes_append_format(&identity, "%s=build-id:%s", library->name, library->build_id);
        } else {
            bytes_append_format(&identity, "%s=content:", library->name);
            status = append_content(&identity, library->path, error);
        }
        bytes_append_text(&identity, "\n");
    }
    if (!status && (bytes_failed(&identity) || !(*text = strdup(bytes_text(&identity)))))
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for an identity");
    bytes_free(&identity);
    return status;
}

static dsajit_status take_identity(const struct bytes *reply, struct libraries *libraries,
                                   struct toolchain *toolchain, dsajit_error *error)
{
    struct message_field version;
    if (!message_find(reply, TAG_VERSION, &version) ||
        !(toolchain->version = message_copy_text(&version)) || strchr(toolchain->version, '\n') ||
        !read_libraries(reply, libraries))
        return error_set(error, DSAJIT_ERROR_COMPILER_CRASHED,
                         "the compiler helper's answer doesn't identify the toolchain");
    return format_identity(libraries, &toolchain->identity, error);
}

static dsajit_status identify(struct compiler *compiler, const char *memory_directory,
                              const struct location *location, struct toolchain *toolchain,
                              dsajit_error *error)
{
    struct bytes request = {0}, reply = {0};
    struct libraries libraries = {.count = 0};
    message_begin(&request, MESSAGE_IDENTIFY);
    message_end(&request);
    const struct request_options options = {0};
    dsajit_status status = compiler_request(compiler, &request, &options, &reply, error);
    if (!status)
        status = take_identity(&reply, &libraries, toolchain, error);
    if (!status && memory_directory) {
        const char *paths[LIBRARIES_MAX];
        for (size_t i = 0; i < libraries.count; i++)
            paths[i] = libraries.items[i].path;
        toolchain_remember(memory_directory, location, toolchain, paths, libraries.count);
    }
    free_libraries(&libraries);
    bytes_free(&request);
    bytes_free(&reply);
    return status;
}

dsajit_status compiler_toolchain(struct compiler *compiler, const char *memory_directory,
                                 struct toolchain *toolchain, dsajit_error *error)
{
    const struct location *location;
    *toolchain = (struct toolchain){0};
    dsajit_status status = compiler_locate(compiler, &location, error);
    if (status)
        return status;
    toolchain->helper = strdup(location->helper);
    toolchain->prefix = strdup(location->prefix);
    toolchain->origin = strdup(location->origin);
    if (!toolchain->helper || !toolchain->prefix || !toolchain->origin)
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a toolchain");
    else if (!memory_directory || !toolchain_recall(memory_directory, location, toolchain))
        status = identify(compiler, memory_directory, location, toolchain, error);
    if (status)
        toolchain_free(toolchain);
    return status;
}

void toolchain_free(struct toolchain *toolchain)
{
    free(toolchain->helper);
    free(toolchain->prefix);
    free(toolchain->origin);
    free(toolchain->version);
    free(toolchain->identity);
    *toolchain = (struct toolchain){0};
}
