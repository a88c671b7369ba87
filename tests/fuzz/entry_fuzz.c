/* cache_entry_parse takes any bytes. What it accepts is canonical: building the entry anew from
   what was read gives the same bytes, so nothing can hide in a file. */
#include "fuzz.h"

#include "base/digest.h"
#include "cache/entry.h"
#include "cache/key.h"

#include <string.h>

static void check(const struct cache_entry *entry, const uint8_t *data, size_t size)
{
    const struct cache_key key = key_of_entry(entry);
    struct bytes again = {0};
    for (size_t i = 0; i < entry->section_count; i++) {
        const struct cache_section *section = &entry->sections[i];
        const uint8_t *start = section->data;
        fuzz_require(start >= entry->file.data && section->size <= entry->file.size &&
                         start + section->size <= entry->file.data + entry->file.size,
                     "a section lies in its file");
        fuzz_require((uintptr_t)(start - entry->file.data) % 16 == 0, "a section is aligned");
        fuzz_require(start[section->size] == 0, "a NUL follows a section");
        fuzz_require(cache_entry_section(entry, section->name) == section,
                     "a section is found by its name");
    }
    fuzz_require(entry_build(&key, entry->sections, entry->section_count, &again, NULL) ==
                     DSAJIT_OK,
                 "what was parsed can be built");
    fuzz_require(again.size == size && !memcmp(again.data, data, size),
                 "building what was parsed gives the same bytes");
    bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes file = {0};
    struct cache_entry entry;
    dsajit_error error;
    bytes_append(&file, data, size);
    if (cache_entry_parse(&file, &entry, &error) == DSAJIT_OK)
        check(&entry, data, size);
    else
        fuzz_require(error.status == DSAJIT_ERROR_CORRUPT && *error.message,
                     "a refusal has a reason");
    cache_entry_free(&entry);
    bytes_free(&file);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room)
{
    static const struct cache_section sections[] = {{"code", "0123456789abcdef", 16},
                                                    {"symbol", "k", 1},
                                                    {"resources", "a=1\n", 4},
                                                    {"log", "", 0}};
    enum { SECTIONS = sizeof sections / sizeof *sections };
    struct cache_key key = {0};
    struct bytes file = {0};
    if (number > SECTIONS)
        return 0;
    cache_key_append(&key, "variant", "v");
    bytes_append_text(&key.toolchain, number & 1 ? "libcompiler.so=build-id:0\n" : "");
    entry_build(&key, sections, number, &file, NULL);
    size_t size = file.size <= room ? file.size : 0;
    memcpy(data, file.data, size);
    bytes_free(&file);
    cache_key_free(&key);
    return size;
}

void fuzz_repair(uint8_t *data, size_t size)
{
    if (size < 32 + DIGEST_SIZE)
        return;
    const uint64_t file_size = size;
    memcpy(data + 16, &file_size, sizeof file_size);
    digest_compute(data, size - DIGEST_SIZE, data + size - DIGEST_SIZE);
}
