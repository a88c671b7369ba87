#include "compiler/protocol.h"

#include "base/little_endian.h"

#include <string.h>

/* "DSJ" and the version. */
static const uint32_t magic = 0x014a5344;

enum { FIELD_HEADER_SIZE = 8 };

void message_begin(struct bytes *message, enum message_type type)
{
    uint8_t *header = bytes_extend(message, MESSAGE_HEADER_SIZE);
    if (!header)
        return;
    store_u32(header, magic);
    store_u32(header + 4, type);
    store_u64(header + 8, 0);
}

void message_add(struct bytes *message, enum message_tag tag, const void *data, size_t size)
{
    if (size > MESSAGE_PAYLOAD_MAX) {
        message->failed = true;
        return;
    }
    uint8_t *header = bytes_extend(message, FIELD_HEADER_SIZE);
    if (!header)
        return;
    store_u32(header, tag);
    store_u32(header + 4, (uint32_t)size);
    bytes_append(message, data, size);
}

void message_add_text(struct bytes *message, enum message_tag tag, const char *text)
{
    message_add(message, tag, text, strlen(text));
}

void message_add_number(struct bytes *message, enum message_tag tag, uint64_t value)
{
    uint8_t data[8];
    store_u64(data, value);
    message_add(message, tag, data, sizeof data);
}

void message_end(struct bytes *message)
{
    if (message->failed)
        return;
    size_t payload = message->size - MESSAGE_HEADER_SIZE;
    if (payload > MESSAGE_PAYLOAD_MAX)
        message->failed = true;
    else
        store_u64(message->data + 8, payload);
}

bool message_parse_header(const uint8_t header[MESSAGE_HEADER_SIZE], uint32_t *type,
                          size_t *payload_size)
{
    uint64_t size = load_u64(header + 8);
    if (load_u32(header) != magic || size > MESSAGE_PAYLOAD_MAX)
        return false;
    *type = load_u32(header + 4);
    *payload_size = (size_t)size;
    return true;
}

bool message_next(const struct bytes *payload, size_t *offset, struct message_field *field)
{
    size_t left = payload->size - *offset;
    if (left < FIELD_HEADER_SIZE)
        return false;
    const uint8_t *header = payload->data + *offset;
    size_t size = load_u32(header + 4);
    if (size > left - FIELD_HEADER_SIZE)
        return false;
    *field = (struct message_field){load_u32(header), header + FIELD_HEADER_SIZE, size};
    *offset += FIELD_HEADER_SIZE + size;
    return true;
}

bool message_is_valid(const struct bytes *payload)
{
    struct message_field field;
    size_t offset = 0;
    while (message_next(payload, &offset, &field))
        ;
    return offset == payload->size;
}

bool message_find(const struct bytes *payload, enum message_tag tag, struct message_field *field)
{
    size_t offset = 0;
    while (message_next(payload, &offset, field)) {
        if (field->tag == (uint32_t)tag)
            return true;
    }
    return false;
}

bool message_find_number(const struct bytes *payload, enum message_tag tag, uint64_t *value)
{
    struct message_field field;
    if (!message_find(payload, tag, &field) || field.size != 8)
        return false;
    *value = load_u64(field.data);
    return true;
}

char *message_copy_text(const struct message_field *field)
{
    if (memchr(field->data, 0, field->size))
        return NULL;
    return strndup((const char *)field->data, field->size);
}
