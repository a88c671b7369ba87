#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bytes_extend(struct bytes *bytes, size_t size)
{
    if (bytes->failed)
        return NULL;
    if (size > SIZE_MAX / 2 - bytes->size - 1) {
        bytes->failed = true;
        return NULL;
    }
    size_t needed = bytes->size + size + 1;
    if (needed > bytes->capacity) {
        size_t capacity = bytes->capacity ? bytes->capacity : 256;
        while (capacity < needed)
            capacity *= 2;
        uint8_t *data = realloc(bytes->data, capacity);
        if (!data) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = data;
        bytes->capacity = capacity;
    }
    uint8_t *start = bytes->data + bytes->size;
    bytes->size += size;
    bytes->data[bytes->size] = 0;
    return start;
}

void bytes_append(struct bytes *bytes, const void *data, size_t size)
{
    void *start = bytes_extend(bytes, size);
    if (start && size)
        memcpy(start, data, size);
}

void bytes_append_text(struct bytes *bytes, const char *text)
{
    bytes_append(bytes, text, strlen(text));
}

void bytes_append_format(struct bytes *bytes, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        bytes->failed = true;
    } else {
        char *start = bytes_extend(bytes, (size_t)size);
        if (start)
            vsnprintf(start, (size_t)size + 1, format, again);
    }
    va_end(again);
}

const char *bytes_text(const struct bytes *bytes)
{
    return bytes->data ? (const char *)bytes->data : "";
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}
