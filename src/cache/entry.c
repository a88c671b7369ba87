#include "cache/entry.h"

#include "base/digest.h"
#include "base/little_endian.h"

#include <stdlib.h>
#include <string.h>

/* The first byte is no text's, and the last is lost where line ends are converted. */
static const uint8_t magic[8] = {0x89, 'D', 'S', 'A', 'J', 'I', 'T', '\n'};

/* Offsets in the header, and in a row of the section table that follows it. */
enum {
    HEADER_VERSION = 8,
    HEADER_SECTION_COUNT = 12,
    HEADER_FILE_SIZE = 16,
    HEADER_BASE_SIZE = 24,
    HEADER_TOOLCHAIN_SIZE = 28,
    HEADER_SIZE = 32,
    ROW_NAME_SIZE = 24, /* padded with NULs, at least one */
    ROW_SECTION_SIZE = 24,
    ROW_SIZE = 32,
    ALIGNMENT = 16
};

/* From a block's end to the next block: 1…16 zero bytes, so that a NUL follows every block. */
static size_t padding(size_t size)
{
    return ALIGNMENT - size % ALIGNMENT;
}

/* `size` is the array's; the name must end within it. */
static bool is_section_name(const char *name, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = strnlen(name, size);
    return length && length < size && strspn(name, allowed) == length;
}

static bool names_repeat(const struct cache_section *sections, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!strcmp(sections[i].name, sections[j].name))
                return true;
        }
    }
    return false;
}

/* ---- Building ---- */

static dsajit_status check_input(const struct cache_key *key, const struct cache_section *sections,
                                 size_t section_count, dsajit_error *error)
{
    if (bytes_failed(&key->base) || bytes_failed(&key->toolchain))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "the entry's key is unusable");
    size_t room = ENTRY_SIZE_MAX / 2;
    const size_t parts[] = {key->base.size, key->toolchain.size};
    if (parts[0] == 0 || parts[0] > room || parts[1] > room ||
        memchr(key->base.data, 0, parts[0]) ||
        (parts[1] && memchr(key->toolchain.data, 0, parts[1])))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "the entry's key is empty, too long or holds a NUL");
    if (section_count > CACHE_SECTIONS_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%zu sections, at most %d go",
                         section_count, CACHE_SECTIONS_MAX);
    for (size_t i = 0; i < section_count; i++) {
        if (!is_section_name(sections[i].name, ROW_NAME_SIZE))
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "no section can be named %s",
                             sections[i].name);
        if (sections[i].size > room)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "section %s has %zu bytes",
                             sections[i].name, sections[i].size);
        room -= sections[i].size;
    }
    if (names_repeat(sections, section_count))
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "two sections have one name");
    return DSAJIT_OK;
}

static void append_block(struct bytes *file, const void *data, size_t size)
{
    static const uint8_t zeros[ALIGNMENT];
    bytes_append(file, data, size);
    bytes_append(file, zeros, padding(size));
}

static void append_header(struct bytes *file, const struct cache_key *key,
                          const struct cache_section *sections, size_t section_count)
{
    uint8_t header[HEADER_SIZE];
    memcpy(header, magic, sizeof magic);
    store_u32(header + HEADER_VERSION, ENTRY_FORMAT_VERSION);
    store_u32(header + HEADER_SECTION_COUNT, (uint32_t)section_count);
    store_u64(header + HEADER_FILE_SIZE, 0); /* known at the end */
    store_u32(header + HEADER_BASE_SIZE, (uint32_t)key->base.size);
    store_u32(header + HEADER_TOOLCHAIN_SIZE, (uint32_t)key->toolchain.size);
    bytes_append(file, header, sizeof header);
    for (size_t i = 0; i < section_count; i++) {
        uint8_t row[ROW_SIZE] = {0};
        memcpy(row, sections[i].name, strlen(sections[i].name));
        store_u64(row + ROW_SECTION_SIZE, sections[i].size);
        bytes_append(file, row, sizeof row);
    }
}

dsajit_status entry_build(const struct cache_key *key, const struct cache_section *sections,
                          size_t section_count, struct bytes *file, dsajit_error *error)
{
    dsajit_status status = check_input(key, sections, section_count, error);
    if (status)
        return status;
    append_header(file, key, sections, section_count);
    append_block(file, key->base.data, key->base.size);
    append_block(file, key->toolchain.data, key->toolchain.size);
    for (size_t i = 0; i < section_count; i++)
        append_block(file, sections[i].data, sections[i].size);
    if (!bytes_failed(file)) {
        uint8_t digest[DIGEST_SIZE];
        store_u64(file->data + HEADER_FILE_SIZE, file->size + DIGEST_SIZE);
        digest_compute(file->data, file->size, digest);
        bytes_append(file, digest, sizeof digest);
    }
    return bytes_failed(file)
               ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for an entry")
               : DSAJIT_OK;
}

/* ---- Parsing ---- */

/* A file's bytes and how far they are understood. */
struct reader {
    const uint8_t *data;
    size_t end; /* of the blocks: where the digest starts */
    size_t offset;
};

bool entry_is_other_version(const struct bytes *file)
{
    return file->size >= HEADER_SIZE && !memcmp(file->data, magic, sizeof magic) &&
           load_u32(file->data + HEADER_VERSION) != ENTRY_FORMAT_VERSION;
}

static dsajit_status check_frame(const struct bytes *file, dsajit_error *error)
{
    if (file->size < HEADER_SIZE + DIGEST_SIZE)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%zu bytes are too few for an entry",
                         file->size);
    if (file->size > ENTRY_SIZE_MAX)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%zu bytes are too many for an entry",
                         file->size);
    if (memcmp(file->data, magic, sizeof magic) != 0)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "no dsajit cache entry");
    uint32_t version = load_u32(file->data + HEADER_VERSION);
    if (version != ENTRY_FORMAT_VERSION)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "format version %u, this library reads %d",
                         version, ENTRY_FORMAT_VERSION);
    uint64_t size = load_u64(file->data + HEADER_FILE_SIZE);
    if (size != file->size)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%zu bytes of an entry of %llu", file->size,
                         (unsigned long long)size);
    uint8_t digest[DIGEST_SIZE];
    size_t end = file->size - DIGEST_SIZE;
    digest_compute(file->data, end, digest);
    if (memcmp(digest, file->data + end, DIGEST_SIZE) != 0)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "the digest doesn't match the content");
    return DSAJIT_OK;
}

/* A block of `size` bytes and its padding; NULL when they aren't there as they should be. */
static const void *read_block(struct reader *reader, uint64_t size)
{
    size_t left = reader->end - reader->offset;
    if (size > left || padding(size) > left - size)
        return NULL;
    const uint8_t *block = reader->data + reader->offset;
    if (!bytes_are_zero(block + size, padding(size)))
        return NULL;
    reader->offset += size + padding(size);
    return block;
}

static dsajit_status parse_sections(struct reader *reader, struct cache_entry *entry,
                                    dsajit_error *error)
{
    const uint8_t *rows = reader->data + HEADER_SIZE;
    for (size_t i = 0; i < entry->section_count; i++) {
        const uint8_t *row = rows + i * ROW_SIZE;
        struct cache_section *section = &entry->sections[i];
        uint64_t size = load_u64(row + ROW_SECTION_SIZE);
        section->name = (const char *)row;
        if (!is_section_name(section->name, ROW_NAME_SIZE) ||
            !bytes_are_zero(row + strlen(section->name), ROW_NAME_SIZE - strlen(section->name)))
            return error_set(error, DSAJIT_ERROR_CORRUPT, "section %zu has no proper name", i);
        section->data = read_block(reader, size);
        if (!section->data)
            return error_set(error, DSAJIT_ERROR_CORRUPT, "section %s doesn't fit the file",
                             section->name);
        section->size = (size_t)size;
    }
    if (names_repeat(entry->sections, entry->section_count))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "two sections have one name");
    return DSAJIT_OK;
}

static dsajit_status parse_key(struct reader *reader, struct cache_entry *entry,
                               dsajit_error *error)
{
    uint32_t base_size = load_u32(reader->data + HEADER_BASE_SIZE);
    uint32_t toolchain_size = load_u32(reader->data + HEADER_TOOLCHAIN_SIZE);
    entry->key_base = read_block(reader, base_size);
    entry->key_toolchain = entry->key_base ? read_block(reader, toolchain_size) : NULL;
    if (!entry->key_toolchain || strlen(entry->key_base) != base_size ||
        strlen(entry->key_toolchain) != toolchain_size || !base_size)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "the key doesn't fit the file");
    return DSAJIT_OK;
}

dsajit_status cache_entry_parse(struct bytes *file, struct cache_entry *entry, dsajit_error *error)
{
    *entry = (struct cache_entry){0};
    dsajit_status status = check_frame(file, error);
    if (status)
        return status;
    struct reader reader = {file->data, file->size - DIGEST_SIZE, 0};
    uint32_t count = load_u32(file->data + HEADER_SECTION_COUNT);
    if (count > CACHE_SECTIONS_MAX || HEADER_SIZE + count * ROW_SIZE > reader.end)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%u sections don't fit the file", count);
    entry->section_count = count;
    reader.offset = HEADER_SIZE + count * ROW_SIZE;
    if (!(status = parse_key(&reader, entry, error)))
        status = parse_sections(&reader, entry, error);
    if (!status && reader.offset != reader.end)
        status = error_set(error, DSAJIT_ERROR_CORRUPT, "bytes that belong to no section");
    if (status) {
        *entry = (struct cache_entry){0};
        return status;
    }
    entry->file = *file;
    *file = (struct bytes){0};
    return DSAJIT_OK;
}

const struct cache_section *cache_entry_section(const struct cache_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->section_count; i++) {
        if (!strcmp(entry->sections[i].name, name))
            return &entry->sections[i];
    }
    return NULL;
}

void cache_entry_free(struct cache_entry *entry)
{
    bytes_free(&entry->file);
    free((char *)entry->path);
    *entry = (struct cache_entry){0};
}
