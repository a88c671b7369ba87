#include "base/digest.h"

#include <sodium.h>

void digest_compute(const void *data, size_t size, uint8_t digest[DIGEST_SIZE])
{
    /* BLAKE2b needs no sodium_init: that only picks faster code paths and seeds randomness. */
    crypto_generichash(digest, DIGEST_SIZE, data, size, NULL, 0);
}

void digest_to_hex(const uint8_t digest[DIGEST_SIZE], char hex[DIGEST_HEX_SIZE])
{
    sodium_bin2hex(hex, DIGEST_HEX_SIZE, digest, DIGEST_SIZE);
}
