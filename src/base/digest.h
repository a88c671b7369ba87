/* The one digest of this project: BLAKE2b with a 32-byte result (libsodium's crypto_generichash).
   As collision resistant as SHA-256 and about four times faster, which is most of a cache hit. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32, DIGEST_HEX_SIZE = 2 * DIGEST_SIZE + 1 };

void digest_compute(const void *data, size_t size, uint8_t digest[DIGEST_SIZE]);

/* Lower-case hexadecimal with a NUL. */
void digest_to_hex(const uint8_t digest[DIGEST_SIZE], char hex[DIGEST_HEX_SIZE]);

#endif
