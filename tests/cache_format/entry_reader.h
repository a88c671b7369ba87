/* A reader of cache entries written from docs/cache-format.md alone, for comparison with the
   library's: it shares no code with it. */
#ifndef TESTS_CACHE_FORMAT_ENTRY_READER_H
#define TESTS_CACHE_FORMAT_ENTRY_READER_H

#include <stddef.h>
#include <stdint.h>

enum { READER_SECTIONS_MAX = 16, READER_NAME_SIZE = 24, READER_FILE_NAME_SIZE = 100 };

struct reader_block {
    char name[READER_NAME_SIZE + 1];
    const uint8_t *data;
    size_t size;
};

struct reader_entry {
    struct reader_block base, toolchain;
    struct reader_block sections[READER_SECTIONS_MAX];
    size_t section_count;
};

/* NULL when the bytes are an entry of version 1, else what is wrong with them. What is found points
   into the bytes. */
const char *reader_read(const uint8_t *bytes, size_t size, struct reader_entry *entry);

/* The name that the entry's file has in its layer, "XX/BASE-TOOLCHAIN.dsajit". */
void reader_file_name(const struct reader_entry *entry, char name[READER_FILE_NAME_SIZE]);

#endif
