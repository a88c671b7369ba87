#include "emulator/inspector.h"

#include "base/digest.h"
#include "cache/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct inspector {
    struct cache *cache;
    struct compiler *compiler;
    struct logger log;
};

dsajit_status inspector_create(const struct inspector_options *options, struct inspector **result,
                               dsajit_error *error)
{
    struct inspector *inspector = calloc(1, sizeof *inspector);
    if (!inspector)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "emulator: out of memory");
    inspector->log = options->log;
    const struct cache_options cache = {
        .directory = options->cache_directory, .prebuilt = options->prebuilt, .log = options->log};
    const struct compiler_options compiler = {
        .helper_path = options->compiler, .rocm_path = options->rocm_path, .log = options->log};
    dsajit_status status = cache_open(&cache, &inspector->cache, error);
    if (!status)
        status = compiler_create(&compiler, &inspector->compiler, error);
    if (status) {
        inspector_destroy(inspector);
        return status;
    }
    *result = inspector;
    return DSAJIT_OK;
}

void inspector_destroy(struct inspector *inspector)
{
    if (!inspector)
        return;
    if (inspector->compiler)
        compiler_destroy(inspector->compiler);
    if (inspector->cache)
        cache_close(inspector->cache);
    free(inspector);
}

/* Reads digits of `base` up to a blank; false if there are none or too many. */
static bool read_field(const char **text, int base, uint64_t *value)
{
    char *end;
    if (strspn(*text, "0123456789abcdef") > 15)
        return false;
    *value = strtoull(*text, &end, base);
    if (end == *text || *end != ' ')
        return false;
    *text = end + 1;
    return true;
}

dsajit_status inspector_check_listing(const char *listing, uint64_t text_size, dsajit_error *error)
{
    uint64_t expected = 0;
    for (size_t line = 1; *listing; line++) {
        uint64_t offset, size;
        /* strtoull would also take blanks and signs. */
        if (!strchr("0123456789abcdef", *listing) || !read_field(&listing, 16, &offset) ||
            !strchr("0123456789", *listing) || !read_field(&listing, 10, &size) || !size)
            return error_set(error, DSAJIT_ERROR_CORRUPT, "listing: line %zu is malformed", line);
        if (offset != expected)
            return error_set(error, DSAJIT_ERROR_CORRUPT,
                             "listing: line %zu is at 0x%" PRIx64 ", not 0x%" PRIx64, line, offset,
                             expected);
        expected = offset + size;
        listing += strcspn(listing, "\n");
        listing += *listing == '\n';
    }
    if (expected != text_size)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "listing: covers %" PRIu64 " of %" PRIu64 " bytes of .text", expected,
                         text_size);
    return DSAJIT_OK;
}

static dsajit_status check(const struct inspection *inspection, uint64_t text_size,
                           dsajit_error *error)
{
    return inspector_check_listing(bytes_text(&inspection->listing), text_size, error);
}

static dsajit_status make_key(const void *code, size_t size, struct cache_key *key,
                              dsajit_error *error)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_compute(code, size, digest);
    digest_to_hex(digest, hex);
    cache_key_append(key, "dsajit-key", "1");
    cache_key_append(key, "kind", "inspection");
    cache_key_append(key, "code", hex);
    if (bytes_failed(&key->base))
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "inspection: out of memory");
    return DSAJIT_OK;
}

/* Any failure is as good as a miss. */
static dsajit_status recall(struct inspector *inspector, const struct cache_key *key,
                            uint64_t text_size, struct inspection *inspection)
{
    struct cache_entry entry = {0};
    dsajit_error error;
    dsajit_status status = cache_get(inspector->cache, key, &entry, &error);
    if (status)
        return status;
    const struct cache_section *metadata = cache_entry_section(&entry, "metadata");
    const struct cache_section *listing = cache_entry_section(&entry, "listing");
    if (metadata && listing) {
        bytes_append(&inspection->metadata, metadata->data, metadata->size);
        bytes_append(&inspection->listing, listing->data, listing->size);
        status = check(inspection, text_size, &error);
    } else {
        status = error_set(&error, DSAJIT_ERROR_CORRUPT, "lacks a section");
    }
    if (!status && (bytes_failed(&inspection->metadata) || bytes_failed(&inspection->listing)))
        status = error_set(&error, DSAJIT_ERROR_OUT_OF_MEMORY, "out of memory");
    if (status) {
        log_message(&inspector->log, DSAJIT_LOG_WARNING, "cache entry %s isn't used: %s",
                    entry.path, error.message);
        inspection_free(inspection);
    }
    cache_entry_free(&entry);
    return status;
}

static void remember(struct inspector *inspector, const struct cache_key *key,
                     const struct inspection *inspection)
{
    const struct cache_section sections[] = {
        {"metadata", inspection->metadata.data, inspection->metadata.size},
        {"listing", inspection->listing.data, inspection->listing.size},
    };
    /* A failure is the cache's to tell, and costs this process nothing. */
    cache_publish(inspector->cache, key, sections, sizeof sections / sizeof *sections, NULL);
}

dsajit_status inspector_inspect(struct inspector *inspector, const void *code, size_t size,
                                uint64_t text_size, struct inspection *inspection,
                                dsajit_error *error)
{
    *inspection = (struct inspection){0};
    struct cache_key key = {0};
    dsajit_status status = make_key(code, size, &key, error);
    if (status)
        goto out;
    if (recall(inspector, &key, text_size, inspection) == DSAJIT_OK)
        goto out;
    *inspection = (struct inspection){0};
    status = compiler_inspect(inspector->compiler, code, size, inspection, error);
    if (status)
        goto out;
    status = check(inspection, text_size, error);
    if (status) {
        inspection_free(inspection);
        goto out;
    }
    if (cache_directory(inspector->cache))
        remember(inspector, &key, inspection);
out:
    cache_key_free(&key);
    return status;
}
