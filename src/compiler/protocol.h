/* What the compiler's client and its helper process say to each other over a stream.

   A message is a header of 16 bytes (u32 magic, u32 type, u64 payload size) and a payload of fields
   (u32 tag, u32 size, bytes), all little-endian. Client and helper are built together: the magic's
   last byte is the protocol's version, and another version is refused. Neither side trusts the
   other: sizes are bounded and checked before anything is read by them. */
#ifndef COMPILER_PROTOCOL_H
#define COMPILER_PROTOCOL_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_HEADER_SIZE = 16, MESSAGE_PAYLOAD_MAX = 256 << 20 };

enum message_type {
    MESSAGE_IDENTIFY =
        1, /* no fields. Reply: TAG_VERSION, and per library TAG_LIBRARY, TAG_PATH, TAG_BUILD_ID */
    MESSAGE_COMPILE = 2, /* TAG_SOURCE, TAG_NAME, TAG_TARGET, TAG_OPTION…
                            Reply: TAG_LOG, TAG_CODE, TAG_METADATA, TAG_MICROSECONDS */
    MESSAGE_INSPECT = 3, /* TAG_CODE. Reply: TAG_METADATA, TAG_LISTING */
    MESSAGE_REPLY =
        4 /* to each of the above; always with TAG_STATUS, and TAG_MESSAGE unless it is REPLY_OK */
};

enum message_tag {
    TAG_STATUS = 1, /* u64: enum reply_status */
    TAG_MESSAGE = 2,
    TAG_SOURCE = 3,
    TAG_NAME = 4,
    TAG_TARGET = 5,
    TAG_OPTION = 6, /* one each, in order */
    TAG_LOG = 7,
    TAG_CODE = 8,
    TAG_METADATA = 9,      /* text, as compiler.h describes */
    TAG_LISTING = 10,      /* text, as compiler.h describes */
    TAG_MICROSECONDS = 11, /* u64 */
    TAG_VERSION = 12,
    TAG_LIBRARY = 13, /* a library's name (DT_SONAME); the next two belong to it */
    TAG_PATH = 14,    /* the file it was loaded from */
    TAG_BUILD_ID = 15 /* hexadecimal; empty when it has none */
};

enum reply_status {
    REPLY_OK = 0,
    REPLY_COMPILE_ERROR = 1,
    REPLY_COMGR_MISSING = 2, /* or too old */
    REPLY_HIPRTC_MISSING = 3,
    REPLY_BAD_CODE_OBJECT = 4,
    REPLY_BAD_REQUEST = 5,
    REPLY_OUT_OF_MEMORY = 6,
    REPLY_FAILED = 7 /* hipRTC or comgr failed in a way of its own */
};

/* ---- Writing ---- */
/* Failures are kept in bytes.failed, too large a message among them. */
void message_begin(struct bytes *message, enum message_type type);
void message_add(struct bytes *message, enum message_tag tag, const void *data, size_t size);
void message_add_text(struct bytes *message, enum message_tag tag, const char *text);
void message_add_number(struct bytes *message, enum message_tag tag, uint64_t value);
void message_end(struct bytes *message);

/* ---- Reading ---- */
/* False when the header is not one of this protocol's, or the payload too large. */
bool message_parse_header(const uint8_t header[MESSAGE_HEADER_SIZE], uint32_t *type,
                          size_t *payload_size);

struct message_field {
    uint32_t tag;
    const uint8_t *data;
    size_t size;
};

/* Walks a payload's fields: `*offset` starts at 0. False at the end and at a broken field; only at
   the end is `*offset` equal to the payload's size. */
bool message_next(const struct bytes *payload, size_t *offset, struct message_field *field);

/* Every field is whole. */
bool message_is_valid(const struct bytes *payload);

/* The first field of that tag. */
bool message_find(const struct bytes *payload, enum message_tag tag, struct message_field *field);
bool message_find_number(const struct bytes *payload, enum message_tag tag, uint64_t *value);

/* A copy as a C string; NULL when the field holds a NUL or memory ran out. */
char *message_copy_text(const struct message_field *field);

#endif
