/* Bundles: what is written, and what is refused. libarchive is a second opinion on archives. */
#include "support.h"

#include "base/file.h"
#include "cache/bundle.h"
#include "cache/examine.h"

#include <archive.h>
#include <archive_entry.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Making bundles ---- */

static void add_entry(struct bundle_contents *contents, const char *name, const char *code)
{
    char folder[PATH_SIZE], path[PATH_SIZE];
    struct log_lines lines;
    struct examination examination;
    fresh_folder("bundle_source", folder);
    struct cache *cache = open_layers(folder, NULL, &lines);
    struct cache_key key = make_key(name, "one");
    publish_text(cache, &key, code);
    only_entry(folder, path);
    assert_int_equal(examine_file(path, true, &examination), 0);
    assert_int_equal(examination.state, ENTRY_GOOD);
    assert_int_equal(bundle_add(contents, &examination.entry, NULL), DSAJIT_OK);
    examination_free(&examination);
    cache_close(cache);
    cache_key_free(&key);
}

static void make_key_pair(struct secret_key *key, struct public_key *public_key, const char *name)
{
    char secret_path[PATH_SIZE], public_path[PATH_SIZE];
    fresh_folder(name, secret_path);
    snprintf(public_path, sizeof public_path, "%.*s/public", PATH_SIZE - 16, secret_path);
    strncat(secret_path, "/secret", sizeof secret_path - strlen(secret_path) - 1);
    assert_int_equal(signing_key_create(secret_path, public_path, NULL), DSAJIT_OK);
    assert_int_equal(signing_key_read_secret(secret_path, key, NULL), DSAJIT_OK);
    assert_int_equal(signing_key_read_public(public_path, public_key, NULL), DSAJIT_OK);
}

/* Entries a, b and c, added in the order of the text. */
static void make_bundle(const char *order, const struct secret_key *key, struct bytes *archive)
{
    struct bundle_contents contents = {0};
    for (const char *c = order; *c; c++) {
        const char name[] = {*c, '\0'};
        add_entry(&contents, name, name);
    }
    *archive = (struct bytes){0};
    assert_int_equal(bundle_write(&contents, key, archive, NULL), DSAJIT_OK);
    bundle_contents_free(&contents);
}

static void assert_opens(const struct bytes *archive, size_t count)
{
    struct bundle bundle;
    dsajit_error error = {0};
    if (bundle_open(archive->data, archive->size, NULL, 0, &bundle, &error))
        fail_msg("%s", error.message);
    assert_int_equal(bundle.count, count);
    bundle_close(&bundle);
}

/* `words` have to be in the message; "" for whichever. */
static void assert_refused(const struct bytes *archive, const struct public_key *keys, size_t count,
                           const char *words)
{
    struct bundle bundle;
    dsajit_error error = {0};
    assert_int_equal(bundle_open(archive->data, archive->size, keys, count, &bundle, &error),
                     DSAJIT_ERROR_CORRUPT);
    assert_contains(error.message, words);
}

/* ---- What is written ---- */

static void the_same_entries_give_the_same_bytes(void **state)
{
    (void)state;
    struct bytes one, other;
    make_bundle("abc", NULL, &one);
    make_bundle("cabba", NULL, &other);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    bytes_free(&one);
    bytes_free(&other);
    struct secret_key key;
    struct public_key public_key;
    make_key_pair(&key, &public_key, "same_keys");
    make_bundle("abc", &key, &one);
    make_bundle("bca", &key, &other);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    bytes_free(&one);
    bytes_free(&other);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct bytes archive;
    struct bundle bundle;
    make_bundle("abc", NULL, &archive);
    assert_int_equal(bundle_open(archive.data, archive.size, NULL, 0, &bundle, NULL), DSAJIT_OK);
    assert_int_equal(bundle.count, 3);
    assert_false(bundle.is_signed || bundle.trusted);
    for (size_t i = 0; i < bundle.count; i++) {
        struct cache_entry entry;
        assert_int_equal(bundle_entry(&bundle, i, &entry, NULL), DSAJIT_OK);
        const struct cache_section *code = cache_entry_section(&entry, "code");
        char line[32];
        snprintf(line, sizeof line, "\nvariant=%c\n", *(const char *)code->data);
        assert_contains(entry.key_base, line);
        cache_entry_free(&entry);
    }
    bundle_close(&bundle);
    bytes_free(&archive);
    make_bundle("", NULL, &archive);
    assert_opens(&archive, 0);
    bytes_free(&archive);
}

static void the_first_of_several_entries_of_a_key_counts(void **state)
{
    (void)state;
    struct bundle_contents contents = {0};
    struct bytes archive = {0};
    struct bundle bundle;
    struct cache_entry entry;
    add_entry(&contents, "a", "first");
    add_entry(&contents, "a", "second");
    assert_int_equal(bundle_write(&contents, NULL, &archive, NULL), DSAJIT_OK);
    bundle_contents_free(&contents);
    assert_int_equal(bundle_open(archive.data, archive.size, NULL, 0, &bundle, NULL), DSAJIT_OK);
    assert_int_equal(bundle.count, 1);
    assert_int_equal(bundle_entry(&bundle, 0, &entry, NULL), DSAJIT_OK);
    assert_memory_equal(cache_entry_section(&entry, "code")->data, "first", 5);
    cache_entry_free(&entry);
    bundle_close(&bundle);
    bytes_free(&archive);
}

/* docs/bundle-format.md, in another program's words: libarchive finds a ustar archive of plain
   files with these properties, and the manifest says what libsodium says. */
static void a_bundle_is_the_documented_archive(void **state)
{
    (void)state;
    struct bytes bundle_bytes;
    make_bundle("abc", NULL, &bundle_bytes);
    struct archive *archive = archive_read_new();
    struct archive_entry *member;
    char names[8][128], manifest[4096] = "", expected[4096] = "dsajit-bundle=1\n";
    int count = 0;
    assert_int_equal(archive_read_support_format_tar(archive), ARCHIVE_OK);
    assert_int_equal(archive_read_open_memory(archive, bundle_bytes.data, bundle_bytes.size),
                     ARCHIVE_OK);
    while (archive_read_next_header(archive, &member) == ARCHIVE_OK) {
        static uint8_t content[1 << 16];
        ssize_t size = archive_read_data(archive, content, sizeof content);
        assert_int_equal(size, archive_entry_size(member));
        assert_int_equal(archive_format(archive), ARCHIVE_FORMAT_TAR_USTAR);
        assert_int_equal(archive_entry_filetype(member), AE_IFREG);
        assert_int_equal(archive_entry_perm(member), 0644);
        assert_int_equal(archive_entry_mtime(member), 0);
        assert_int_equal(archive_entry_uid(member), 0);
        assert_int_equal(archive_entry_gid(member), 0);
        snprintf(names[count], sizeof names[count], "%s", archive_entry_pathname(member));
        if (count == 0) {
            memcpy(manifest, content, (size_t)size);
        } else {
            uint8_t digest[32];
            char hex[65];
            crypto_generichash(digest, sizeof digest, content, (size_t)size, NULL, 0);
            sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
            size_t used = strlen(expected);
            snprintf(expected + used, sizeof expected - used, "%s %zd %s\n", hex, size,
                     names[count]);
        }
        count++;
    }
    archive_read_free(archive);
    assert_int_equal(count, 4);
    assert_string_equal(names[0], "dsajit-bundle.manifest");
    assert_string_equal(manifest, expected);
    assert_true(strcmp(names[1], names[2]) < 0 && strcmp(names[2], names[3]) < 0);
    assert_int_equal(bundle_bytes.size % 512, 0);
    bytes_free(&bundle_bytes);
}

/* Unpacked by tar, a bundle is a layer. */
static void an_unpacked_bundle_is_a_prebuilt_layer(void **state)
{
    (void)state;
    char folder[PATH_SIZE], layer[PATH_SIZE], own[PATH_SIZE], file[PATH_SIZE + 16];
    struct bytes archive;
    struct log_lines lines;
    make_bundle("abc", NULL, &archive);
    fresh_folder("bundle_file", folder);
    fresh_folder("bundle_layer", layer);
    fresh_folder("bundle_own", own);
    snprintf(file, sizeof file, "%s/bundle.tar", folder);
    assert_int_equal(file_replace(file, archive.data, archive.size, 0644), 0);
    shell("tar -xf '%s' -C '%s'", file, layer);
    const char *const prebuilt[] = {layer, NULL};
    struct cache *cache = open_layers(own, prebuilt, &lines);
    struct cache_key key = make_key("b", "one");
    assert_holds(cache, &key, "b");
    assert_int_equal(lines.warnings, 0);
    cache_close(cache);
    cache_key_free(&key);
    bytes_free(&archive);
}

/* ---- Signatures ---- */

static void a_signature_says_who_made_it(void **state)
{
    (void)state;
    struct secret_key key, other_key;
    struct public_key keys[2];
    struct bytes archive, unsigned_archive;
    struct bundle bundle;
    make_key_pair(&key, &keys[1], "signer");
    make_key_pair(&other_key, &keys[0], "other_signer");
    make_bundle("ab", &key, &archive);
    make_bundle("ab", NULL, &unsigned_archive);

    assert_int_equal(bundle_open(archive.data, archive.size, keys, 2, &bundle, NULL), DSAJIT_OK);
    assert_true(bundle.is_signed && bundle.trusted);
    assert_memory_equal(bundle.signer.bytes, keys[1].bytes, PUBLIC_KEY_SIZE);
    bundle_close(&bundle);

    assert_int_equal(bundle_open(archive.data, archive.size, NULL, 0, &bundle, NULL), DSAJIT_OK);
    assert_true(bundle.is_signed);
    assert_false(bundle.trusted);
    bundle_close(&bundle);

    assert_refused(&archive, keys, 1, "none of those given");
    assert_refused(&unsigned_archive, keys, 2, "isn't signed");
    bytes_free(&archive);
    bytes_free(&unsigned_archive);
}

/* The signature of one bundle in front of another's manifest. */
static void a_moved_signature_is_refused(void **state)
{
    (void)state;
    enum { SIGNATURE_MEMBER = 1024 };
    struct secret_key key;
    struct public_key public_key;
    struct bytes archive, other, forged = {0};
    make_key_pair(&key, &public_key, "moved");
    make_bundle("ab", &key, &archive);
    make_bundle("ac", NULL, &other);
    bytes_append(&forged, archive.data, SIGNATURE_MEMBER);
    bytes_append(&forged, other.data, other.size);
    assert_refused(&forged, &public_key, 1, "doesn't match");
    assert_refused(&forged, NULL, 0, "doesn't match");
    bytes_free(&archive);
    bytes_free(&other);
    bytes_free(&forged);
}

static void every_changed_byte_is_refused(void **state)
{
    (void)state;
    struct secret_key key;
    struct public_key public_key;
    struct bytes archive;
    struct bundle bundle;
    make_key_pair(&key, &public_key, "changed");
    make_bundle("ab", &key, &archive);
    for (size_t at = 0; at < archive.size; at++) {
        archive.data[at] ^= 0x20;
        if (bundle_open(archive.data, archive.size, &public_key, 1, &bundle, NULL) == DSAJIT_OK)
            fail_msg("byte %zu may be changed", at);
        archive.data[at] ^= 0x20;
    }
    for (size_t size = 0; size < archive.size; size++) {
        /* A copy of that size, so that a sanitizer sees a read behind it. */
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, archive.data, size);
        if (bundle_open(cut, size, NULL, 0, &bundle, NULL) == DSAJIT_OK)
            fail_msg("%zu of %zu bytes are taken for a bundle", size, archive.size);
        free(cut);
    }
    bytes_append(&archive, "\0", 1);
    assert_refused(&archive, NULL, 0, "follows the last member");
    bytes_free(&archive);
}

/* ---- Keys ---- */

static void keys_are_private_and_never_replaced(void **state)
{
    (void)state;
    char folder[PATH_SIZE], secret_path[PATH_SIZE + 16], public_path[PATH_SIZE + 16];
    struct stat file;
    struct secret_key key;
    struct public_key public_key;
    dsajit_error error;
    fresh_folder("keys", folder);
    snprintf(secret_path, sizeof secret_path, "%s/secret", folder);
    snprintf(public_path, sizeof public_path, "%s/public", folder);
    assert_int_equal(signing_key_create(secret_path, public_path, NULL), DSAJIT_OK);
    assert_int_equal(stat(secret_path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(signing_key_create(secret_path, public_path, &error), DSAJIT_ERROR_IO);
    assert_contains(error.message, secret_path);
    assert_int_equal(unlink(secret_path), 0);
    assert_int_equal(signing_key_create(secret_path, public_path, &error), DSAJIT_ERROR_IO);
    assert_contains(error.message, public_path);
    assert_int_not_equal(access(secret_path, F_OK), 0); /* half a pair is of no use */

    assert_int_equal(signing_key_read_secret(public_path, &key, &error), DSAJIT_ERROR_CORRUPT);
    assert_int_equal(signing_key_read_public(secret_path, &public_key, &error),
                     DSAJIT_ERROR_NOT_FOUND);
    static const char *const lines[] = {"", "ed25519-public=", "ed25519-public=00",
                                        "ed25519-public=zz", "x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        shell("echo '%s' >'%s'", lines[i], public_path);
        assert_int_equal(signing_key_read_public(public_path, &public_key, &error),
                         DSAJIT_ERROR_CORRUPT);
    }
    shell("printf 'ed25519-public=%%064d0\\n' 0 >'%s'", public_path); /* a digit too many */
    assert_int_equal(signing_key_read_public(public_path, &public_key, &error),
                     DSAJIT_ERROR_CORRUPT);
}

/* RFC 8032, section 7.1, test 1: what our files hold is Ed25519. */
static void the_keys_are_those_of_the_standard(void **state)
{
    (void)state;
    static const char seed[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    static const char public_hex[] =
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    static const char signature_hex[] = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522"
                                        "4901555fb8821590a33bacc61e39701cf9"
                                        "b46bd25bf5f0595bbe24655141438e7a100b";
    char folder[PATH_SIZE], path[PATH_SIZE + 16], hex[2 * SIGNATURE_SIZE + 1];
    uint8_t signature[SIGNATURE_SIZE];
    struct secret_key key;
    fresh_folder("standard", folder);
    snprintf(path, sizeof path, "%s/secret", folder);
    shell("echo 'ed25519-secret=%s' >'%s'", seed, path);
    assert_int_equal(signing_key_read_secret(path, &key, NULL), DSAJIT_OK);
    sodium_bin2hex(hex, sizeof hex, key.public_key.bytes, PUBLIC_KEY_SIZE);
    assert_string_equal(hex, public_hex);
    signing_key_sign(&key, "", 0, signature);
    sodium_bin2hex(hex, sizeof hex, signature, SIGNATURE_SIZE);
    assert_string_equal(hex, signature_hex);
    assert_true(signing_key_verify(&key.public_key, "", 0, signature));
    signature[0] ^= 1;
    assert_false(signing_key_verify(&key.public_key, "", 0, signature));
    signing_key_wipe(&key);
    assert_true(bytes_are_zero(key.bytes, sizeof key.bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_entries_give_the_same_bytes),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(the_first_of_several_entries_of_a_key_counts),
        cmocka_unit_test(a_bundle_is_the_documented_archive),
        cmocka_unit_test(an_unpacked_bundle_is_a_prebuilt_layer),
        cmocka_unit_test(a_signature_says_who_made_it),
        cmocka_unit_test(a_moved_signature_is_refused),
        cmocka_unit_test(every_changed_byte_is_refused),
        cmocka_unit_test(keys_are_private_and_never_replaced),
        cmocka_unit_test(the_keys_are_those_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
