/* A growing byte buffer. Appending after an allocation failed does nothing, so a caller builds a
   whole text and asks once, with bytes_failed. A zeroed struct is an empty buffer. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data; /* NULL while empty; otherwise one NUL follows data[size - 1] */
    size_t size;
    size_t capacity;
    bool failed;
};

void bytes_append(struct bytes *bytes, const void *data, size_t size);
void bytes_append_text(struct bytes *bytes, const char *text);
void bytes_append_format(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes room for `size` more bytes, counts them as used and returns where they start,
   uninitialised; NULL when memory ran out. */
void *bytes_extend(struct bytes *bytes, size_t size);

static inline bool bytes_failed(const struct bytes *bytes)
{
    return bytes->failed;
}

/* The content as a C string; "" while empty. Valid until the buffer changes. */
const char *bytes_text(const struct bytes *bytes);

void bytes_free(struct bytes *bytes);

static inline bool bytes_are_zero(const uint8_t *data, size_t size)
{
    while (size && !data[size - 1])
        size--;
    return size == 0;
}

#endif
