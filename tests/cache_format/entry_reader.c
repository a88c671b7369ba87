#include "entry_reader.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    HEADER = 32,
    TABLE_ROW = 32,
    ALIGNMENT = 16,
    DIGEST = 32,
    HEX_SIZE = 65,
    FILE_MAX = 256 << 20
};

static const uint8_t magic[] = {0x89, 'D', 'S', 'A', 'J', 'I', 'T', '\n'};

static uint64_t little_endian(const uint8_t *bytes, int size)
{
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* Takes a block of `size` bytes at *offset, with its 1 to 16 zeros; false when it leaves the
   content. */
static bool take_block(const uint8_t *bytes, size_t end, size_t *offset, uint64_t size,
                       struct reader_block *block)
{
    if (size > end || *offset + size >= end)
        return false;
    const size_t next = (*offset + (size_t)size) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    if (next > end)
        return false;
    for (size_t i = *offset + (size_t)size; i < next; i++)
        if (bytes[i] != 0)
            return false;
    block->data = bytes + *offset;
    block->size = (size_t)size;
    *offset = next;
    return true;
}

/* 1 to 23 characters of a-z, 0-9, '-' and '_', then NULs only; not that of an earlier section. */
static bool take_name(const uint8_t *row, struct reader_entry *entry, size_t index)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    char *name = entry->sections[index].name;
    memcpy(name, row, READER_NAME_SIZE);
    name[READER_NAME_SIZE] = '\0';
    const size_t size = strlen(name);
    if (size < 1 || size >= READER_NAME_SIZE || strspn(name, allowed) != size)
        return false;
    for (size_t i = size; i < READER_NAME_SIZE; i++)
        if (row[i] != 0)
            return false;
    for (size_t i = 0; i < index; i++)
        if (strcmp(entry->sections[i].name, name) == 0)
            return false;
    return true;
}

/* Lines of name=value, each ended by a newline; no NUL. */
static bool is_key_text(const struct reader_block *text)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *line = (const char *)text->data, *end = line + text->size;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const size_t name = strspn(line, allowed);
        if (!newline || name == 0 || line[name] != '=' ||
            memchr(line, '\0', (size_t)(newline - line)))
            return false;
        line = newline + 1;
    }
    return true;
}

const char *reader_read(const uint8_t *bytes, size_t size, struct reader_entry *entry)
{
    uint8_t digest[DIGEST];
    *entry = (struct reader_entry){0};
    if (size < HEADER + DIGEST || size > FILE_MAX || memcmp(bytes, magic, sizeof magic) != 0)
        return "no entry";
    if (little_endian(bytes + 8, 4) != 1)
        return "another version";
    if (little_endian(bytes + 16, 8) != size)
        return "another size";
    const size_t end = size - DIGEST;
    crypto_generichash(digest, sizeof digest, bytes, end, NULL, 0);
    if (memcmp(digest, bytes + end, sizeof digest) != 0)
        return "another digest";

    entry->section_count = (size_t)little_endian(bytes + 12, 4);
    size_t offset = HEADER + TABLE_ROW * entry->section_count;
    if (entry->section_count > READER_SECTIONS_MAX || offset > end)
        return "too many sections";
    if (!take_block(bytes, end, &offset, little_endian(bytes + 24, 4), &entry->base) ||
        !take_block(bytes, end, &offset, little_endian(bytes + 28, 4), &entry->toolchain))
        return "the key leaves the file";
    for (size_t i = 0; i < entry->section_count; i++) {
        const uint8_t *row = bytes + HEADER + TABLE_ROW * i;
        if (!take_name(row, entry, i))
            return "a section's name";
        if (!take_block(bytes, end, &offset, little_endian(row + READER_NAME_SIZE, 8),
                        &entry->sections[i]))
            return "a section leaves the file";
    }
    if (offset != end)
        return "bytes behind the last section";
    if (memchr(entry->base.data, 0, entry->base.size) ||
        memchr(entry->toolchain.data, 0, entry->toolchain.size) || !is_key_text(&entry->base))
        return "the key";
    return NULL;
}

static void hash(const struct reader_block *text, char hex[HEX_SIZE])
{
    uint8_t digest[DIGEST];
    crypto_generichash(digest, sizeof digest, text->data, text->size, NULL, 0);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

void reader_file_name(const struct reader_entry *entry, char name[READER_FILE_NAME_SIZE])
{
    char base[HEX_SIZE], toolchain[HEX_SIZE];
    hash(&entry->base, base);
    hash(&entry->toolchain, toolchain);
    snprintf(name, READER_FILE_NAME_SIZE, "%.2s/%s-%.16s.dsajit", base, base + 2, toolchain);
}
