/* The framing between client and helper, against bytes written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/protocol.h"

static void a_message_has_the_documented_bytes(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        'D', 'S', 'J', 1, 2, 0, 0, 0, 27,  0,   0,
        0,   0,   0,   0, 0,                         /* header: a compile of 27 bytes */
        3,   0,   0,   0, 3, 0, 0, 0, 'a', 'b', 'c', /* source */
        1,   0,   0,   0, 8, 0, 0, 0, 8,   7,   6,
        5,   4,   3,   2, 1, /* status, a number */
    };
    struct bytes message = {0};
    message_begin(&message, MESSAGE_COMPILE);
    message_add_text(&message, TAG_SOURCE, "abc");
    message_add_number(&message, TAG_STATUS, 0x0102030405060708);
    message_end(&message);
    assert_false(bytes_failed(&message));
    assert_int_equal(message.size, sizeof expected);
    assert_memory_equal(message.data, expected, sizeof expected);
    bytes_free(&message);
}

static void headers_of_others_are_refused(void **state)
{
    (void)state;
    const uint8_t good[MESSAGE_HEADER_SIZE] = {'D', 'S', 'J', 1, 4, 0, 0, 0, 5};
    uint32_t type;
    size_t size;
    assert_true(message_parse_header(good, &type, &size));
    assert_int_equal(type, MESSAGE_REPLY);
    assert_int_equal(size, 5);
    for (size_t i = 0; i < 4; i++) {
        uint8_t bad[MESSAGE_HEADER_SIZE];
        memcpy(bad, good, sizeof bad);
        bad[i] ^= 1;
        assert_false(message_parse_header(bad, &type, &size));
    }
    /* 256 MiB are the most. */
    uint8_t long_one[MESSAGE_HEADER_SIZE];
    memcpy(long_one, good, sizeof long_one);
    memcpy(long_one + 8, (const uint8_t[8]){0, 0, 0, 16}, 8);
    assert_true(message_parse_header(long_one, &type, &size));
    memcpy(long_one + 8, (const uint8_t[8]){1, 0, 0, 16}, 8);
    assert_false(message_parse_header(long_one, &type, &size));
    memset(long_one + 8, 0xff, 8);
    assert_false(message_parse_header(long_one, &type, &size));
}

/* The bytes in an allocation of their own size, so that a sanitizer sees a read beyond. */
static struct bytes exactly(const void *data, size_t size)
{
    struct bytes bytes = {.data = malloc(size ? size : 1), .size = size};
    assert_non_null(bytes.data);
    memcpy(bytes.data, data, size);
    return bytes;
}

static void a_payload_cut_anywhere_is_invalid(void **state)
{
    (void)state;
    struct bytes message = {0};
    message_begin(&message, MESSAGE_REPLY);
    message_add_text(&message, TAG_LOG, "a log");
    message_add_number(&message, TAG_STATUS, 7);
    message_end(&message);
    size_t size = message.size - MESSAGE_HEADER_SIZE;
    for (size_t cut = 0; cut <= size; cut++) {
        struct bytes payload = exactly(message.data + MESSAGE_HEADER_SIZE, cut);
        bool whole_fields = cut == 0 || cut == 13 || cut == size;
        assert_int_equal(message_is_valid(&payload), whole_fields);
        free(payload.data);
    }
    bytes_free(&message);
}

static void fields_are_found_and_checked(void **state)
{
    (void)state;
    struct bytes message = {0};
    message_begin(&message, MESSAGE_REPLY);
    message_add_text(&message, TAG_OPTION, "first");
    message_add_text(&message, TAG_OPTION, "second");
    message_add(&message, TAG_NAME, "a\0b", 3);
    message_add_text(&message, TAG_STATUS, "1234567");
    message_end(&message);
    struct bytes payload =
        exactly(message.data + MESSAGE_HEADER_SIZE, message.size - MESSAGE_HEADER_SIZE);
    struct message_field field;
    assert_true(message_find(&payload, TAG_OPTION, &field));
    char *text = message_copy_text(&field);
    assert_string_equal(text, "first");
    free(text);
    assert_true(message_find(&payload, TAG_NAME, &field));
    assert_null(message_copy_text(&field));
    assert_false(message_find(&payload, TAG_CODE, &field));
    uint64_t number;
    assert_false(message_find_number(&payload, TAG_STATUS, &number)); /* 7 bytes are no number */
    free(payload.data);
    bytes_free(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_has_the_documented_bytes),
        cmocka_unit_test(headers_of_others_are_refused),
        cmocka_unit_test(a_payload_cut_anywhere_is_invalid),
        cmocka_unit_test(fields_are_found_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
