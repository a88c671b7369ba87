#include "cache/bundle_format.h"
#include "cache/key.h"
#include "cache/tar.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bundle_item {
    char name[BUNDLE_NAME_SIZE];
    size_t order; /* in which it was added */
    struct cache_entry entry;
};

static_assert(BUNDLE_NAME_SIZE == TAR_NAME_MAX + 1, "");
/* Bucket, slash, base, dash, toolchain, suffix, NUL. */
static_assert(DIGEST_HEX_SIZE + 1 + 1 + TOOLCHAIN_DIGITS + sizeof ENTRY_SUFFIX <= BUNDLE_NAME_SIZE,
              "");

void bundle_name_entry(const struct cache_entry *entry, char name[BUNDLE_NAME_SIZE])
{
    const struct cache_key key = key_of_entry(entry);
    struct key_name parts;
    key_name(&key, &parts);
    snprintf(name, BUNDLE_NAME_SIZE, "%s/%s-%s" ENTRY_SUFFIX, parts.bucket, parts.base,
             parts.toolchain);
}

dsajit_status bundle_add(struct bundle_contents *contents, struct cache_entry *entry,
                         dsajit_error *error)
{
    if (contents->count == contents->capacity) {
        size_t capacity = contents->capacity ? 2 * contents->capacity : 32;
        struct bundle_item *items = reallocarray(contents->items, capacity, sizeof *items);
        if (!items)
            return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a bundle");
        contents->items = items;
        contents->capacity = capacity;
    }
    struct bundle_item *item = &contents->items[contents->count];
    *item = (struct bundle_item){.order = contents->count++, .entry = *entry};
    bundle_name_entry(&item->entry, item->name);
    *entry = (struct cache_entry){0};
    return DSAJIT_OK;
}

void bundle_contents_free(struct bundle_contents *contents)
{
    for (size_t i = 0; i < contents->count; i++)
        cache_entry_free(&contents->items[i].entry);
    free(contents->items);
    *contents = (struct bundle_contents){0};
}

static int compare_items(const void *one, const void *other)
{
    const struct bundle_item *a = one, *b = other;
    int names = strcmp(a->name, b->name);
    return names ? names : (a->order > b->order) - (a->order < b->order);
}

static void sort_and_drop_repeated(struct bundle_contents *contents)
{
    size_t kept = 0;
    if (contents->count)
        qsort(contents->items, contents->count, sizeof *contents->items, compare_items);
    for (size_t i = 0; i < contents->count; i++) {
        struct bundle_item *item = &contents->items[i];
        if (kept && !strcmp(contents->items[kept - 1].name, item->name))
            cache_entry_free(&item->entry);
        else if (kept++ != i)
            contents->items[kept - 1] = *item;
    }
    contents->count = kept;
}

static void list_members(struct bundle_contents *contents, struct bytes *manifest)
{
    bytes_append_text(manifest, BUNDLE_MANIFEST_BEGIN);
    for (size_t i = 0; i < contents->count; i++) {
        const struct bytes *file = &contents->items[i].entry.file;
        uint8_t digest[DIGEST_SIZE];
        char hex[DIGEST_HEX_SIZE];
        digest_compute(file->data, file->size, digest);
        digest_to_hex(digest, hex);
        bytes_append_format(manifest, "%s %zu %s\n", hex, file->size, contents->items[i].name);
        contents->bytes += file->size;
    }
}

static void append_signature(struct bytes *archive, const struct secret_key *key,
                             const struct bytes *manifest)
{
    uint8_t signature[SIGNATURE_SIZE];
    char signer[PUBLIC_KEY_DIGITS + 1], hex[SIGNATURE_DIGITS + 1];
    char text[BUNDLE_SIGNATURE_FILE_SIZE + 1];
    signing_key_sign(key, manifest->data, manifest->size, signature);
    sodium_bin2hex(signer, sizeof signer, key->public_key.bytes, PUBLIC_KEY_SIZE);
    sodium_bin2hex(hex, sizeof hex, signature, SIGNATURE_SIZE);
    snprintf(text, sizeof text, BUNDLE_SIGNER "%s" BUNDLE_SIGNATURE "%s\n", signer, hex);
    tar_append(archive, BUNDLE_SIGNATURE_NAME, text, BUNDLE_SIGNATURE_FILE_SIZE);
}

dsajit_status bundle_write(struct bundle_contents *contents, const struct secret_key *key,
                           struct bytes *archive, dsajit_error *error)
{
    struct bytes manifest = {0};
    sort_and_drop_repeated(contents);
    if (contents->count > BUNDLE_MEMBERS_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "%zu entries; a bundle has room for %d", contents->count,
                         BUNDLE_MEMBERS_MAX);
    list_members(contents, &manifest);
    if (!bytes_failed(&manifest)) {
        if (key)
            append_signature(archive, key, &manifest);
        tar_append(archive, BUNDLE_MANIFEST_NAME, manifest.data, manifest.size);
    }
    for (size_t i = 0; i < contents->count; i++) {
        const struct bytes *file = &contents->items[i].entry.file;
        tar_append(archive, contents->items[i].name, file->data, file->size);
    }
    tar_append_end(archive);
    bool failed = bytes_failed(&manifest) || bytes_failed(archive);
    bytes_free(&manifest);
    if (failed)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a bundle");
    if (archive->size > BUNDLE_SIZE_MAX)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "a bundle of %zu bytes is too large",
                         archive->size);
    return DSAJIT_OK;
}
