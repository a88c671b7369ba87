#include "cache/key.h"

#include "cache/entry.h"

#include <stdio.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return *name && !name[strspn(name, allowed)];
}

void cache_key_append(struct cache_key *key, const char *name, const char *value)
{
    if (!is_name(name) || strchr(value, '\n')) {
        key->base.failed = true;
        return;
    }
    if (key->base.size == 0)
        bytes_append_format(&key->base, "format=%d\n", ENTRY_FORMAT_VERSION);
    bytes_append_format(&key->base, "%s=%s\n", name, value);
}

void cache_key_free(struct cache_key *key)
{
    bytes_free(&key->base);
    bytes_free(&key->toolchain);
}

void key_name(const struct cache_key *key, struct key_name *name)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_compute(key->base.data, key->base.size, digest);
    digest_to_hex(digest, hex);
    memcpy(name->bucket, hex, BUCKET_DIGITS);
    name->bucket[BUCKET_DIGITS] = '\0';
    memcpy(name->base, hex + BUCKET_DIGITS, sizeof name->base);

    digest_compute(key->toolchain.data, key->toolchain.size, digest);
    digest_to_hex(digest, hex);
    memcpy(name->toolchain, hex, TOOLCHAIN_DIGITS);
    name->toolchain[TOOLCHAIN_DIGITS] = '\0';
}

char *key_path(const char *directory, const struct key_name *name, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s/%s-%s%s", directory, name->bucket, name->base, name->toolchain,
                    suffix) < 0
               ? NULL
               : path;
}

char *key_sibling_path(const char *entry_path, const char *suffix)
{
    char *path = NULL;
    int size = (int)(strlen(entry_path) - strlen(ENTRY_SUFFIX));
    return asprintf(&path, "%.*s%s", size, entry_path, suffix) < 0 ? NULL : path;
}

char *key_bucket_path(const char *directory, const struct key_name *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name->bucket) < 0 ? NULL : path;
}

bool key_is_file_name(const char *file_name, const char *suffix)
{
    const size_t base = DIGEST_HEX_SIZE - 1 - BUCKET_DIGITS;
    return strspn(file_name, hex_digits) == base && file_name[base] == '-' &&
           strspn(file_name + base + 1, hex_digits) == TOOLCHAIN_DIGITS &&
           !strcmp(file_name + base + 1 + TOOLCHAIN_DIGITS, suffix);
}

static struct bytes borrow(const char *text)
{
    return (struct bytes){.data = (uint8_t *)text, .size = strlen(text)};
}

struct cache_key key_of_entry(const struct cache_entry *entry)
{
    return (struct cache_key){borrow(entry->key_base), borrow(entry->key_toolchain)};
}
