#include "cache/bundle_format.h"
#include "cache/entry.h"
#include "cache/tar.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* ---- Signature ---- */

/* Reads `digits` hexadecimal digits, lower case as they are written. */
static bool read_hex(const char **text, uint8_t *bytes, size_t size)
{
    if (strspn(*text, "0123456789abcdef") < 2 * size ||
        sodium_hex2bin(bytes, size, *text, 2 * size, NULL, NULL, NULL))
        return false;
    *text += 2 * size;
    return true;
}

static bool read_word(const char **text, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(*text, word, size) != 0)
        return false;
    *text += size;
    return true;
}

static bool parse_signature(const uint8_t *content, struct public_key *signer,
                            uint8_t signature[SIGNATURE_SIZE])
{
    char copy[BUNDLE_SIGNATURE_FILE_SIZE + 1];
    memcpy(copy, content, BUNDLE_SIGNATURE_FILE_SIZE);
    copy[BUNDLE_SIGNATURE_FILE_SIZE] = '\0';
    const char *text = copy;
    return read_word(&text, BUNDLE_SIGNER) && read_hex(&text, signer->bytes, PUBLIC_KEY_SIZE) &&
           read_word(&text, BUNDLE_SIGNATURE) && read_hex(&text, signature, SIGNATURE_SIZE) &&
           !strcmp(text, "\n");
}

static bool is_among(const struct public_key *key, const struct public_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!memcmp(key->bytes, keys[i].bytes, PUBLIC_KEY_SIZE))
            return true;
    }
    return false;
}

/* `signature` is the member's content, NULL when there is none. */
static dsajit_status check_signature(struct bundle *bundle, const uint8_t *content,
                                     const struct bytes *manifest, const struct public_key *keys,
                                     size_t key_count, dsajit_error *error)
{
    uint8_t signature[SIGNATURE_SIZE];
    if (!content)
        return key_count ? error_set(error, DSAJIT_ERROR_CORRUPT, "the bundle isn't signed")
                         : DSAJIT_OK;
    if (!parse_signature(content, &bundle->signer, signature))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "the bundle's signature is malformed");
    bundle->is_signed = true;
    bundle->trusted = is_among(&bundle->signer, keys, key_count);
    if (key_count && !bundle->trusted)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "the bundle is signed with a key that is none of those given");
    if (!signing_key_verify(&bundle->signer, manifest->data, manifest->size, signature))
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "the bundle's signature doesn't match its manifest");
    return DSAJIT_OK;
}

/* ---- Manifest ---- */

/* Reads a number without leading zeros, at most an entry's size, and the blank behind it. */
static bool read_size(const char **text, size_t *size)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 9 || (**text == '0' && digits > 1) || (*text)[digits] != ' ')
        return false;
    *size = strtoul(*text, NULL, 10);
    *text += digits + 1;
    return *size <= ENTRY_SIZE_MAX;
}

struct manifest_line {
    uint8_t digest[DIGEST_SIZE];
    size_t size;
    char name[BUNDLE_NAME_SIZE];
};

/* "DIGEST SIZE NAME\n" */
static bool read_line(const char **text, struct manifest_line *line)
{
    if (!read_hex(text, line->digest, DIGEST_SIZE) || !read_word(text, " ") ||
        !read_size(text, &line->size))
        return false;
    size_t size = strcspn(*text, "\n");
    if (size == 0 || size >= sizeof line->name || (*text)[size] != '\n')
        return false;
    memcpy(line->name, *text, size);
    line->name[size] = '\0';
    *text += size + 1;
    return true;
}

/* ---- Members ---- */

/* Digest, content, and that the name is that of the entry's own key: a name of any other form gets
   no further, whatever path it is. */
static dsajit_status check_member(const struct bundle_member *member,
                                  const struct manifest_line *line, dsajit_error *error)
{
    uint8_t digest[DIGEST_SIZE];
    char name[BUNDLE_NAME_SIZE];
    digest_compute(member->data, member->size, digest);
    if (memcmp(digest, line->digest, DIGEST_SIZE) != 0)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%s: not what the manifest lists",
                         member->name);
    struct bytes file = {0};
    struct cache_entry entry = {0};
    bytes_append(&file, member->data, member->size);
    dsajit_status status = bytes_failed(&file)
                               ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory")
                               : cache_entry_parse(&file, &entry, error);
    if (!status) {
        bundle_name_entry(&entry, name);
        if (strcmp(name, member->name) != 0)
            status = error_set(error, DSAJIT_ERROR_CORRUPT, "its name is another than its key's");
    }
    bytes_free(&file);
    cache_entry_free(&entry);
    return status ? error_prefix(error, status, "%s", member->name) : DSAJIT_OK;
}

static dsajit_status read_member(struct tar_reader *reader, const char **text,
                                 struct bundle *bundle, dsajit_error *error)
{
    struct manifest_line line;
    struct bundle_member *member = &bundle->members[bundle->count];
    if (!read_line(text, &line) || (bundle->count && strcmp(member[-1].name, line.name) >= 0))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "line %zu of the manifest is malformed",
                         bundle->count + 2);
    member->size = line.size;
    memcpy(member->name, line.name, sizeof member->name);
    if (!tar_read(reader, line.name, line.size, &member->data))
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "what should be %s is no such file of %zu bytes", line.name, line.size);
    bundle->count++;
    bundle->bytes += line.size;
    return check_member(member, &line, error);
}

static dsajit_status read_members(struct tar_reader *reader, const struct bytes *manifest,
                                  struct bundle *bundle, dsajit_error *error)
{
    const char *text = bytes_text(manifest);
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    if (strlen(text) != manifest->size || !read_word(&text, BUNDLE_MANIFEST_BEGIN) ||
        lines > BUNDLE_MEMBERS_MAX + 1)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "the manifest is of another version, too long or no text");
    bundle->members = calloc(lines + 1, sizeof *bundle->members);
    if (!bundle->members)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a bundle's members");
    dsajit_status status = DSAJIT_OK;
    while (!status && *text)
        status = bundle->count + 1 < lines
                     ? read_member(reader, &text, bundle, error)
                     : error_set(error, DSAJIT_ERROR_CORRUPT, "the manifest's end is malformed");
    if (!status && !tar_at_end(reader))
        status = error_set(error, DSAJIT_ERROR_CORRUPT, "something follows the last member");
    return status;
}

/* The signature's content if the archive starts with one, and a copy of the manifest. */
static dsajit_status read_front(struct tar_reader *reader, const uint8_t **signature,
                                struct bytes *manifest, dsajit_error *error)
{
    const uint8_t *content;
    size_t size;
    if (!tar_read(reader, BUNDLE_SIGNATURE_NAME, BUNDLE_SIGNATURE_FILE_SIZE, signature))
        *signature = NULL;
    if (!tar_peek_size(reader, &size) || size > BUNDLE_MANIFEST_MAX ||
        !tar_read(reader, BUNDLE_MANIFEST_NAME, size, &content))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "no dsajit bundle");
    bytes_append(manifest, content, size);
    return bytes_failed(manifest)
               ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a bundle's manifest")
               : DSAJIT_OK;
}

dsajit_status bundle_open(const void *data, size_t size, const struct public_key *keys,
                          size_t key_count, struct bundle *bundle, dsajit_error *error)
{
    *bundle = (struct bundle){0};
    struct tar_reader reader = {data, size, 0};
    struct bytes manifest = {0};
    const uint8_t *signature;
    dsajit_status status = read_front(&reader, &signature, &manifest, error);
    if (!status)
        status = check_signature(bundle, signature, &manifest, keys, key_count, error);
    if (!status)
        status = read_members(&reader, &manifest, bundle, error);
    bytes_free(&manifest);
    if (status)
        bundle_close(bundle);
    return status;
}

dsajit_status bundle_entry(const struct bundle *bundle, size_t index, struct cache_entry *entry,
                           dsajit_error *error)
{
    struct bytes file = {0};
    bytes_append(&file, bundle->members[index].data, bundle->members[index].size);
    dsajit_status status = bytes_failed(&file)
                               ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory")
                               : cache_entry_parse(&file, entry, error);
    bytes_free(&file);
    return status;
}

void bundle_close(struct bundle *bundle)
{
    free(bundle->members);
    *bundle = (struct bundle){0};
}
