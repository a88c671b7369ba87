#include "compiler/library_path.h"

#include "base/file.h"
#include "base/little_endian.h"

#include <stdlib.h>
#include <string.h>

/* glibc's ld.so.cache, for this machine's byte order: a header, entries of fixed size, strings. An
   entry names a library and its path by offsets from the header's first byte. Older systems put a
   table of an older format in front. */
static const char cache_magic[] = "glibc-ld.so.cache1.1";
enum {
    CACHE_COUNT = 20, /* offset of the number of entries */
    CACHE_HEADER = 48,
    ENTRY_NAME = 4,
    ENTRY_PATH = 8,
    ENTRY_SIZE = 24,
    CACHE_MAX = 16 << 20
};

/* The string at an offset; NULL when it doesn't end inside. */
static const char *string_at(const uint8_t *start, size_t size, uint32_t offset)
{
    bool inside = offset < size && memchr(start + offset, '\0', size - offset);
    return inside ? (const char *)start + offset : NULL;
}

static bool visit_folder_of(const char *path, library_path_visitor visit, void *user)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    bool found = folder && visit(user, folder);
    free(folder);
    return found;
}

bool library_cache_search(const struct bytes *cache, const char *library,
                          library_path_visitor visit, void *user)
{
    const uint8_t *start =
        cache->size ? memmem(cache->data, cache->size, cache_magic, sizeof cache_magic - 1) : NULL;
    size_t size = start ? cache->size - (size_t)(start - cache->data) : 0;
    if (size < CACHE_HEADER)
        return false;
    uint32_t count = load_u32(start + CACHE_COUNT);
    bool found = false;
    for (size_t i = 0; !found && i < count && (i + 1) * ENTRY_SIZE <= size - CACHE_HEADER; i++) {
        const uint8_t *entry = start + CACHE_HEADER + i * ENTRY_SIZE;
        const char *name = string_at(start, size, load_u32(entry + ENTRY_NAME));
        const char *path = string_at(start, size, load_u32(entry + ENTRY_PATH));
        if (name && path && strncmp(name, library, strlen(library)) == 0)
            found = visit_folder_of(path, visit, user);
    }
    return found;
}

static bool search_list(const char *list, library_path_visitor visit, void *user)
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

bool library_path_search(const char *library, library_path_visitor visit, void *user)
{
    if (search_list(secure_getenv("LD_LIBRARY_PATH"), visit, user))
        return true;
    struct bytes cache = {0};
    bool found = file_read("/etc/ld.so.cache", CACHE_MAX, &cache, NULL)
                     ? search_list("/lib64:/usr/lib64:/lib:/usr/lib", visit, user)
                     : library_cache_search(&cache, library, visit, user);
    bytes_free(&cache);
    return found;
}
