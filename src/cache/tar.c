#include "cache/tar.h"

#include <stdio.h>
#include <string.h>

/* Where POSIX's ustar header has its fields; the rest stays zero. */
enum {
    NAME = 0,
    MODE = 100,
    USER_ID = 108,
    GROUP_ID = 116,
    SIZE = 124,
    TIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    DEVICE_MAJOR = 329,
    DEVICE_MINOR = 337,
    SIZE_DIGITS = 11
};

static size_t padded(size_t size)
{
    return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* The NUL behind it is there already. */
static void put(uint8_t *header, size_t at, const char *text)
{
    for (; *text; text++)
        header[at++] = (uint8_t)*text;
}

static void make_header(uint8_t header[TAR_BLOCK], const char *name, size_t size)
{
    char digits[24];
    unsigned sum = 0;
    memset(header, 0, TAR_BLOCK);
    put(header, NAME, name);
    put(header, MODE, "0000644");
    put(header, USER_ID, "0000000");
    put(header, GROUP_ID, "0000000");
    snprintf(digits, sizeof digits, "%0*zo", SIZE_DIGITS, size);
    put(header, SIZE, digits);
    put(header, TIME, "00000000000");
    put(header, CHECKSUM, "        "); /* counts as blanks */
    put(header, TYPE, "0");
    memcpy(header + MAGIC,
           "ustar\0"
           "00",
           8);
    put(header, DEVICE_MAJOR, "0000000");
    put(header, DEVICE_MINOR, "0000000");
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += header[i];
    snprintf(digits, sizeof digits, "%06o", sum);
    put(header, CHECKSUM, digits);
    header[CHECKSUM + 6] = 0; /* and a blank stays */
}

void tar_append(struct bytes *archive, const char *name, const void *data, size_t size)
{
    static const uint8_t zeros[TAR_BLOCK];
    uint8_t header[TAR_BLOCK];
    make_header(header, name, size);
    bytes_append(archive, header, sizeof header);
    bytes_append(archive, data, size);
    bytes_append(archive, zeros, padded(size) - size);
}

void tar_append_end(struct bytes *archive)
{
    static const uint8_t zeros[TAR_END_SIZE];
    bytes_append(archive, zeros, sizeof zeros);
}

bool tar_read(struct tar_reader *reader, const char *name, size_t size, const uint8_t **content)
{
    uint8_t header[TAR_BLOCK];
    const uint8_t *at = reader->data + reader->offset;
    size_t left = reader->size - reader->offset;
    if (left < TAR_BLOCK || size > left - TAR_BLOCK || padded(size) > left - TAR_BLOCK)
        return false;
    make_header(header, name, size);
    if (memcmp(at, header, TAR_BLOCK) != 0 ||
        !bytes_are_zero(at + TAR_BLOCK + size, padded(size) - size))
        return false;
    *content = at + TAR_BLOCK;
    reader->offset += TAR_BLOCK + padded(size);
    return true;
}

bool tar_peek_size(const struct tar_reader *reader, size_t *size)
{
    const uint8_t *digits = reader->data + reader->offset + SIZE;
    if (reader->size - reader->offset < TAR_BLOCK)
        return false;
    *size = 0;
    for (size_t i = 0; i < SIZE_DIGITS; i++) {
        if (digits[i] < '0' || digits[i] > '7')
            return false;
        *size = *size * 8 + (size_t)(digits[i] - '0');
    }
    return *size <= reader->size - reader->offset;
}

bool tar_at_end(const struct tar_reader *reader)
{
    return reader->size - reader->offset == TAR_END_SIZE &&
           bytes_are_zero(reader->data + reader->offset, TAR_END_SIZE);
}
