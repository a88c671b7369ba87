#include "cache/signing_key.h"

#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static_assert(PUBLIC_KEY_SIZE == crypto_sign_PUBLICKEYBYTES, "");
static_assert(SECRET_KEY_SIZE == crypto_sign_SECRETKEYBYTES, "");
static_assert(SIGNATURE_SIZE == crypto_sign_BYTES, "");

static const char secret_name[] = "ed25519-secret=", public_name[] = "ed25519-public=";
enum { KEY_SIZE = 32, KEY_DIGITS = 2 * KEY_SIZE, FILE_MAX = 4096 };

/* 0 or an errno value; nothing is left of a file that couldn't be written. */
static int write_new(const char *path, mode_t mode, const char *name, const uint8_t key[KEY_SIZE])
{
    char hex[KEY_DIGITS + 1], line[sizeof secret_name + KEY_DIGITS + 1];
    sodium_bin2hex(hex, sizeof hex, key, KEY_SIZE);
    size_t size = (size_t)snprintf(line, sizeof line, "%s%s\n", name, hex);
    sodium_memzero(hex, sizeof hex);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    int result = fd < 0 ? errno : 0;
    if (!result) {
        ssize_t put = write(fd, line, size);
        if (put != (ssize_t)size)
            result = put < 0 ? errno : ENOSPC;
        if (!result && fsync(fd))
            result = errno;
        close(fd);
        if (result)
            unlink(path);
    }
    sodium_memzero(line, sizeof line);
    return result;
}

dsajit_status signing_key_create(const char *secret_path, const char *public_path,
                                 dsajit_error *error)
{
    uint8_t public_key[PUBLIC_KEY_SIZE], secret[SECRET_KEY_SIZE];
    if (sodium_init() < 0)
        return error_set(error, DSAJIT_ERROR_IO, "no source of random numbers");
    crypto_sign_keypair(public_key, secret);
    const char *path = secret_path;
    int result = write_new(secret_path, 0600, secret_name, secret); /* its first half is the seed */
    if (!result) {
        path = public_path;
        result = write_new(public_path, 0644, public_name, public_key);
        if (result)
            unlink(secret_path);
    }
    sodium_memzero(secret, sizeof secret);
    return result ? error_set_errno(error, DSAJIT_ERROR_IO, result, "%s", path) : DSAJIT_OK;
}

static dsajit_status read_key(const char *path, const char *name, uint8_t key[KEY_SIZE],
                              dsajit_error *error)
{
    struct bytes file = {0};
    int result = file_read(path, FILE_MAX, &file, NULL);
    if (result) {
        bytes_free(&file);
        return error_set_errno(error, result == ENOENT ? DSAJIT_ERROR_NOT_FOUND : DSAJIT_ERROR_IO,
                               result, "%s", path);
    }
    const char *text = bytes_text(&file), *end = text;
    size_t name_size = strlen(name), key_size = 0;
    bool good =
        !strncmp(text, name, name_size) && file.size >= name_size + KEY_DIGITS &&
        !sodium_hex2bin(key, KEY_SIZE, text + name_size, KEY_DIGITS, NULL, &key_size, &end) &&
        key_size == KEY_SIZE;
    end = good ? text + name_size + KEY_DIGITS : text;
    good = good && end[strspn(end, "\r\n")] == '\0';
    sodium_memzero(file.data, file.size);
    bytes_free(&file);
    return good ? DSAJIT_OK
                : error_set(error, DSAJIT_ERROR_CORRUPT, "%s: not a line %s and %d digits", path,
                            name, KEY_DIGITS);
}

dsajit_status signing_key_read_public(const char *path, struct public_key *key, dsajit_error *error)
{
    return read_key(path, public_name, key->bytes, error);
}

dsajit_status signing_key_read_secret(const char *path, struct secret_key *key, dsajit_error *error)
{
    uint8_t seed[KEY_SIZE];
    dsajit_status status = read_key(path, secret_name, seed, error);
    if (!status)
        crypto_sign_seed_keypair(key->public_key.bytes, key->bytes, seed);
    sodium_memzero(seed, sizeof seed);
    return status;
}

void signing_key_wipe(struct secret_key *key)
{
    sodium_memzero(key, sizeof *key);
}

void signing_key_sign(const struct secret_key *key, const void *message, size_t size,
                      uint8_t signature[SIGNATURE_SIZE])
{
    crypto_sign_detached(signature, NULL, message, size, key->bytes);
}

bool signing_key_verify(const struct public_key *key, const void *message, size_t size,
                        const uint8_t signature[SIGNATURE_SIZE])
{
    return !crypto_sign_verify_detached(signature, message, size, key->bytes);
}
