/* SPDX-License-Identifier: MIT */
/* Digests and sealing (libcrypto). */
#ifndef ADIT_WRAP_CRYPT_H
#define ADIT_WRAP_CRYPT_H

#include <stdbool.h>
#include <stddef.h>

#define CRYPT_SHA256_LEN 32

/* Writes the SHA-256 of len bytes.  Returns false where libcrypto fails, which is a lack of memory.
 */
bool crypt_sha256(const void *data, size_t len, unsigned char out[CRYPT_SHA256_LEN]);

#define CRYPT_KEY_LEN 32
#define CRYPT_NONCE_LEN 12
#define CRYPT_TAG_LEN 16

/* Bytes that a sealed text is longer than the text. */
#define CRYPT_SEAL_OVERHEAD (CRYPT_NONCE_LEN + CRYPT_TAG_LEN)

/* Seals len bytes with AES-256-GCM (NIST SP 800-38D) under a random nonce, bound to aad: writes
 * nonce, ciphertext and tag, len + CRYPT_SEAL_OVERHEAD bytes.  Returns false where libcrypto or the
 * source of random numbers fails. */
bool crypt_seal(const unsigned char key[CRYPT_KEY_LEN], const void *aad, size_t aad_len,
                const void *text, size_t len, unsigned char *sealed);

/* Opens what crypt_seal() made: writes sealed_len - CRYPT_SEAL_OVERHEAD bytes.  Returns false, with
 * nothing of the text in *text, where it was not sealed under that key and aad. */
bool crypt_open(const unsigned char key[CRYPT_KEY_LEN], const void *aad, size_t aad_len,
                const unsigned char *sealed, size_t sealed_len, char *text);

#endif
