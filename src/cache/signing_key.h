/* Ed25519 keys for signing bundles, in text files of one line: "ed25519-secret=HEX" (the seed) and
   "ed25519-public=HEX". */
#ifndef CACHE_SIGNING_KEY_H
#define CACHE_SIGNING_KEY_H

#include "base/bytes.h"
#include "base/error.h"

enum {
    PUBLIC_KEY_SIZE = 32,
    SECRET_KEY_SIZE = 64, /* seed and public key, as libsodium wants it */
    SIGNATURE_SIZE = 64,
    PUBLIC_KEY_DIGITS = 2 * PUBLIC_KEY_SIZE,
    SIGNATURE_DIGITS = 2 * SIGNATURE_SIZE
};

struct public_key {
    uint8_t bytes[PUBLIC_KEY_SIZE];
};

struct secret_key {
    uint8_t bytes[SECRET_KEY_SIZE];
    struct public_key public_key;
};

/* Makes a pair. Files that exist are not replaced. IO, OUT_OF_MEMORY. */
dsajit_status signing_key_create(const char *secret_path, const char *public_path,
                                 dsajit_error *error);

/* NOT_FOUND, IO, CORRUPT. The secret is to be wiped with signing_key_wipe. */
dsajit_status signing_key_read_public(const char *path, struct public_key *key,
                                      dsajit_error *error);
dsajit_status signing_key_read_secret(const char *path, struct secret_key *key,
                                      dsajit_error *error);
void signing_key_wipe(struct secret_key *key);

void signing_key_sign(const struct secret_key *key, const void *message, size_t size,
                      uint8_t signature[SIGNATURE_SIZE]);
bool signing_key_verify(const struct public_key *key, const void *message, size_t size,
                        const uint8_t signature[SIGNATURE_SIZE]);

#endif
