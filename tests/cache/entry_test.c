/* The entry format: its bytes, a reader of its own written from docs/cache-format.md, and every
   damage of one byte or one length. */
#include "support.h"

#include "base/file.h"
#include "cache/entry.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void build_example(struct bytes *file)
{
    struct cache_key key = make_key("example", "abc");
    const struct cache_section sections[] = {
        {"code", "\177ELF of sixteen!", 16}, {"log", "", 0}, {"symbol", "k", 1}};
    assert_int_equal(entry_build(&key, sections, 3, file, NULL), DSAJIT_OK);
    cache_key_free(&key);
}

/* The document's example, byte for byte. */
static void an_entry_has_the_documented_bytes(void **state)
{
    (void)state;
    static const char expected[] = "\x89"
                                   "DSAJIT\n"
                                   "\1\0\0\0"
                                   "\3\0\0\0"
                                   "\60\1\0\0\0\0\0\0"
                                   "\47\0\0\0"
                                   "\34\0\0\0"
                                   "code\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                   "\20\0\0\0\0\0\0\0"
                                   "log\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0\0\0\0\0"
                                   "symbol\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                   "\1\0\0\0\0\0\0\0";
    struct bytes file = {0};
    build_example(&file);
    assert_memory_equal(file.data, expected, sizeof expected - 1);
    bytes_free(&file);
}

/* ---- A second reader ---- */

static uint64_t number(const uint8_t *from, int size)
{
    uint64_t value = 0;
    while (size--)
        value = value << 8 | from[size];
    return value;
}

/* Where a block of that size at that offset ends, with its 1…16 bytes of padding. */
static size_t block_end(size_t offset, size_t size)
{
    return (offset + size) / 16 * 16 + 16;
}

static void the_format_document_is_enough_to_read_an_entry(void **state)
{
    (void)state;
    struct bytes file = {0};
    build_example(&file);
    const uint8_t *data = file.data;
    assert_int_equal(number(data + 8, 4), 1);
    assert_int_equal(number(data + 16, 8), file.size);
    size_t count = number(data + 12, 4), base = number(data + 24, 4);
    size_t toolchain = number(data + 28, 4), offset = 32 + 32 * count;
    assert_int_equal(count, 3);

    static const char base_text[] = "format=1\nvariant=example\ntarget=gfx950\n";
    assert_int_equal(base, sizeof base_text - 1);
    assert_memory_equal(data + offset, base_text, sizeof base_text);
    offset = block_end(offset, base);
    static const char toolchain_text[] = "libcompiler.so=build-id:abc\n";
    assert_int_equal(toolchain, sizeof toolchain_text - 1);
    assert_memory_equal(data + offset, toolchain_text, sizeof toolchain_text);
    offset = block_end(offset, toolchain);
    assert_memory_equal(data + offset, "\177ELF of sixteen!", 17);
    offset = block_end(offset, 16);
    offset = block_end(offset, 0);
    assert_memory_equal(data + offset, "k", 2);
    offset = block_end(offset, 1);

    uint8_t digest[32];
    crypto_generichash(digest, sizeof digest, data, offset, NULL, 0);
    assert_int_equal(offset + 32, file.size);
    assert_memory_equal(data + offset, digest, sizeof digest);
    bytes_free(&file);
}

/* ---- Round trip ---- */

static void what_was_built_is_parsed(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct cache_entry entry;
    build_example(&file);
    assert_int_equal(cache_entry_parse(&file, &entry, NULL), DSAJIT_OK);
    assert_null(file.data);
    assert_string_equal(entry.key_base, "format=1\nvariant=example\ntarget=gfx950\n");
    assert_string_equal(entry.key_toolchain, "libcompiler.so=build-id:abc\n");
    assert_int_equal(entry.section_count, 3);
    const struct cache_section *code = cache_entry_section(&entry, "code");
    assert_int_equal(code->size, 16);
    assert_memory_equal(code->data, "\177ELF of sixteen!", 17); /* with a NUL behind it */
    assert_int_equal((uintptr_t)code->data % 16, 0);
    assert_int_equal(cache_entry_section(&entry, "log")->size, 0);
    assert_string_equal(cache_entry_section(&entry, "symbol")->data, "k");
    assert_null(cache_entry_section(&entry, "listing"));
    cache_entry_free(&entry);
}

static void the_same_content_gives_the_same_bytes(void **state)
{
    (void)state;
    struct bytes first = {0}, second = {0};
    build_example(&first);
    build_example(&second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    bytes_free(&first);
    bytes_free(&second);
}

static void unusable_input_is_refused(void **state)
{
    (void)state;
    static const struct cache_section good = {"code", "x", 1};
    static const struct cache_section bad[][2] = {
        {{"", "x", 1}, {"log", "", 0}},
        {{"Code", "x", 1}, {"log", "", 0}},
        {{"a b", "x", 1}, {"log", "", 0}},
        {{"code", "x", 1}, {"code", "y", 1}},
        {{"abcdefghijklmnopqrstuvwx", "x", 1}, {"log", "", 0}},
        {{"code", "x", SIZE_MAX}, {"log", "", 0}},
        {{"code", "x", (128 << 20) - 8}, {"log", "", 64}},
    };
    struct bytes file = {0};
    struct cache_key key = make_key("refused", "abc"), empty = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(entry_build(&key, bad[i], 2, &file, NULL), DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(entry_build(&empty, &good, 1, &file, NULL), DSAJIT_ERROR_INVALID_ARGUMENT);
    bytes_append(&key.toolchain, "\0", 1);
    assert_int_equal(entry_build(&key, &good, 1, &file, NULL), DSAJIT_ERROR_INVALID_ARGUMENT);
    assert_null(file.data);
    cache_key_free(&key);
}

static void a_key_takes_one_line_a_value(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"name", "two\nlines"}, {"", "x"}, {"a=b", "x"}, {"a b", "x"}, {"a\n", "x"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cache_key key = {0};
        cache_key_append(&key, bad[i][0], bad[i][1]);
        assert_true(bytes_failed(&key.base));
        cache_key_free(&key);
    }
}

/* ---- Damage ---- */

/* Parses a copy in an allocation of its own size, so that a sanitizer sees a read beyond. */
static dsajit_status parse_copy(const uint8_t *data, size_t size)
{
    struct bytes copy = {.data = malloc(size ? size : 1), .size = size};
    struct cache_entry entry;
    assert_non_null(copy.data);
    memcpy(copy.data, data, size);
    dsajit_error error = {0};
    dsajit_status status = cache_entry_parse(&copy, &entry, &error);
    if (status)
        assert_true(error.message[0]);
    else
        cache_entry_free(&entry);
    free(copy.data);
    return status;
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    struct bytes file = {0};
    build_example(&file);
    for (size_t size = 0; size < file.size; size++)
        assert_int_equal(parse_copy(file.data, size), DSAJIT_ERROR_CORRUPT);
    assert_int_equal(parse_copy(file.data, file.size), DSAJIT_OK);
    bytes_append(&file, "", 1);
    assert_int_equal(parse_copy(file.data, file.size), DSAJIT_ERROR_CORRUPT);
    bytes_free(&file);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct bytes file = {0};
    build_example(&file);
    for (size_t at = 0; at < file.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            file.data[at] ^= (uint8_t)(1 << bit);
            assert_int_equal(parse_copy(file.data, file.size), DSAJIT_ERROR_CORRUPT);
            file.data[at] ^= (uint8_t)(1 << bit);
        }
    }
    bytes_free(&file);
}

static void sign(struct bytes *file)
{
    size_t end = file->size - 32;
    crypto_generichash(file->data + end, 32, file->data, end, NULL, 0);
}

/* A digest proves no good will: whoever writes an entry can compute it. */
static void a_good_digest_over_nonsense_is_no_entry(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct bytes file = {0};
    build_example(&file);
    size_t accepted = 0;
    for (size_t at = 0; at < 128; at++) {
        uint8_t before = file.data[at];
        for (size_t i = 0; i < sizeof values; i++) {
            file.data[at] = values[i];
            sign(&file);
            dsajit_status status = parse_copy(file.data, file.size);
            accepted += status == DSAJIT_OK && values[i] != before;
        }
        file.data[at] = before;
    }
    /* What is another entry, but a proper one: "cod", "lo", "symbo", and a log of one NUL. */
    assert_int_equal(accepted, 4);

    /* Padding that isn't zero, and a name twice. */
    sign(&file);
    assert_int_equal(parse_copy(file.data, file.size), DSAJIT_OK);
    uint8_t *padding = file.data + file.size - 33;
    *padding = 1;
    sign(&file);
    assert_int_equal(parse_copy(file.data, file.size), DSAJIT_ERROR_CORRUPT);
    *padding = 0;
    memcpy(file.data + 64, "code", 4);
    sign(&file);
    assert_int_equal(parse_copy(file.data, file.size), DSAJIT_ERROR_CORRUPT);
    bytes_free(&file);
}

static void random_bytes_are_no_entry(void **state)
{
    (void)state;
    uint8_t data[512];
    uint32_t random = 1;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof data; i++) {
            random = random * 1664525 + 1013904223;
            data[i] = (uint8_t)(random >> 24);
        }
        assert_int_equal(parse_copy(data, random % sizeof data), DSAJIT_ERROR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_has_the_documented_bytes),
        cmocka_unit_test(the_format_document_is_enough_to_read_an_entry),
        cmocka_unit_test(what_was_built_is_parsed),
        cmocka_unit_test(the_same_content_gives_the_same_bytes),
        cmocka_unit_test(unusable_input_is_refused),
        cmocka_unit_test(a_key_takes_one_line_a_value),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(a_good_digest_over_nonsense_is_no_entry),
        cmocka_unit_test(random_bytes_are_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
