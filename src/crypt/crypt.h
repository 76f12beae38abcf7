/* SPDX-License-Identifier: MIT */
/* Digests and sealing (libcrypto). */
#ifndef ADIT_CRYPT_CRYPT_H
#define ADIT_CRYPT_CRYPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

/* Sets libcrypto up, which it would do on first use; where memory runs out in that moment, it
 * crashes or never works again.  A program that answers requests calls this when it starts. Returns
 * false where libcrypto does not work. */
MUST_CHECK bool crypt_start(void);

#define CRYPT_SHA256_LEN 32

/* Writes the SHA-256 of len bytes.  Returns false where libcrypto fails, which is a lack of memory.
 */
MUST_CHECK bool crypt_sha256(const void *data, size_t len, unsigned char out[CRYPT_SHA256_LEN]);

/* What digests one thing after the other.  libcrypto takes longer to get ready for the first one
 * than to digest something as short as a key. */
struct crypt_hasher;

/* Returns a hasher that is ready, or NULL where libcrypto fails. */
MUST_CHECK struct crypt_hasher *crypt_hasher_new(void);

/* NULL is fine. */
void crypt_hasher_free(struct crypt_hasher *hasher);

/* Writes the SHA-256 of len bytes, of which the hasher keeps none.  Returns false where libcrypto
 * fails. */
MUST_CHECK bool crypt_hasher_sha256(struct crypt_hasher *hasher, const void *data, size_t len,
                                    unsigned char out[CRYPT_SHA256_LEN]);

#define CRYPT_KEY_LEN 32
#define CRYPT_NONCE_LEN 12
#define CRYPT_TAG_LEN 16

/* Bytes that a sealed text is longer than the text. */
#define CRYPT_SEAL_OVERHEAD (CRYPT_NONCE_LEN + CRYPT_TAG_LEN)

/* Seals len bytes with AES-256-GCM (NIST SP 800-38D) under a random nonce, bound to aad: writes
 * nonce, ciphertext and tag, len + CRYPT_SEAL_OVERHEAD bytes.  Returns false where libcrypto or the
 * source of random numbers fails. */
MUST_CHECK bool crypt_seal(const unsigned char key[CRYPT_KEY_LEN], const void *aad, size_t aad_len,
                           const void *text, size_t len, unsigned char *sealed);

/* What came of opening; not good is 0. */
enum crypt_opened { CRYPT_NOT_GOOD, CRYPT_OPENED, CRYPT_NO_MEMORY };

/* Opens what crypt_seal() made: writes sealed_len - CRYPT_SEAL_OVERHEAD bytes.  Returns
 * CRYPT_OPENED, or, with nothing of the text in *text, CRYPT_NOT_GOOD where it was not sealed under
 * that key and aad, and CRYPT_NO_MEMORY where libcrypto fails, which says nothing about the seal.
 */
MUST_CHECK enum crypt_opened crypt_open(const unsigned char key[CRYPT_KEY_LEN], const void *aad,
                                        size_t aad_len, const unsigned char *sealed,
                                        size_t sealed_len, char *text);

#endif
