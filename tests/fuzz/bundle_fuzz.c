/* bundle_open takes any bytes. What it accepts is canonical: writing the entries that were read
   gives the same archive, but for a signature in front. */
#include "fuzz.h"

#include "base/digest.h"
#include "cache/bundle.h"
#include "cache/entry.h"
#include "cache/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_MEMBER_SIZE = 2 * TAR_BLOCK }; /* a header and a block: the signature has no more */

static void check(const struct bundle *bundle, const uint8_t *data, size_t size)
{
    struct bundle_contents contents = {0};
    struct bytes again = {0};
    for (size_t i = 0; i < bundle->count; i++) {
        struct cache_entry entry;
        fuzz_require(bundle_entry(bundle, i, &entry, NULL) == DSAJIT_OK &&
                         bundle_add(&contents, &entry, NULL) == DSAJIT_OK,
                     "every member of an open bundle is an entry");
    }
    fuzz_require(bundle_write(&contents, NULL, &again, NULL) == DSAJIT_OK,
                 "what was read can be written");
    if (bundle->is_signed) {
        data += SMALL_MEMBER_SIZE;
        size -= SMALL_MEMBER_SIZE;
    }
    fuzz_require(again.size == size && !memcmp(again.data, data, size),
                 "writing what was read gives the same bytes");
    bundle_contents_free(&contents);
    bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle bundle;
    dsajit_error error;
    if (bundle_open(data, size, NULL, 0, &bundle, &error) == DSAJIT_OK)
        check(&bundle, data, size);
    else
        fuzz_require(error.status == DSAJIT_ERROR_CORRUPT && *error.message,
                     "a refusal has a reason");
    bundle_close(&bundle);
    return 0;
}

static void add_entry(struct bundle_contents *contents, unsigned number)
{
    char name[16], code[64];
    struct cache_key key = {0};
    struct bytes file = {0};
    struct cache_entry entry;
    snprintf(name, sizeof name, "v%u", number);
    memset(code, 'a' + (int)number, sizeof code);
    const struct cache_section section = {"code", code, sizeof code};
    cache_key_append(&key, "variant", name);
    fuzz_require(entry_build(&key, &section, 1, &file, NULL) == DSAJIT_OK &&
                     cache_entry_parse(&file, &entry, NULL) == DSAJIT_OK &&
                     bundle_add(contents, &entry, NULL) == DSAJIT_OK,
                 "a seed can be made");
    cache_key_free(&key);
}

/* 0, 1, 2 or 3 entries; the last one signed. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room)
{
    static struct secret_key key; /* zeroed: a key like any other, to libsodium */
    struct bundle_contents contents = {0};
    struct bytes archive = {0};
    if (number > 3)
        return 0;
    for (unsigned i = 0; i < number; i++)
        add_entry(&contents, i);
    fuzz_require(bundle_write(&contents, number == 3 ? &key : NULL, &archive, NULL) == DSAJIT_OK,
                 "a seed can be written");
    size_t size = archive.size <= room ? archive.size : 0;
    memcpy(data, archive.data, size);
    bundle_contents_free(&contents);
    bytes_free(&archive);
    return size;
}

/* The manifest's digests, as far as its lines can be understood. */
void fuzz_repair(uint8_t *data, size_t size)
{
    static const char name[] = "dsajit-bundle.manifest";
    uint8_t *header = memmem(data, size, name, sizeof name);
    if (!header || size - (size_t)(header - data) < SMALL_MEMBER_SIZE)
        return;
    char *line = (char *)header + TAR_BLOCK;
    char *end = memchr(line, '\0', size - (size_t)((uint8_t *)line - data));
    size_t manifest = end ? (size_t)(end - line) : 0;
    uint8_t *member = (uint8_t *)line + (manifest + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    for (line = end ? strchr(line, '\n') : NULL; line && line[1]; line = strchr(line + 1, '\n')) {
        uint8_t digest[DIGEST_SIZE];
        char hex[DIGEST_HEX_SIZE];
        char *blank = strchr(line + 1, ' ');
        size_t bytes = blank ? strtoul(blank, NULL, 10) : 0;
        size_t left = size - (size_t)(member - data);
        if (!blank || blank - line != DIGEST_HEX_SIZE || left < TAR_BLOCK ||
            bytes > left - TAR_BLOCK)
            return;
        digest_compute(member + TAR_BLOCK, bytes, digest);
        digest_to_hex(digest, hex);
        memcpy(line + 1, hex, DIGEST_HEX_SIZE - 1);
        member += TAR_BLOCK + (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
        if (member > data + size)
            return;
    }
}
