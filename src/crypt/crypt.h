/* SPDX-License-Identifier: MIT */
/* Digests and sealing (libcrypto). */
#ifndef ADIT_CRYPT_CRYPT_H
#define ADIT_CRYPT_CRYPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "base/text.h"

/* Makes libcrypto load its algorithms now.  On its own it loads them on first use; if memory runs
 * out then, it crashes or never works again.  A program that answers requests calls this when it
 * starts.  Returns false if libcrypto does not work. */
MUST_CHECK bool crypt_start(void);

#define CRYPT_SHA256_LEN 32

/* Writes the SHA-256 of len bytes.  Returns false if libcrypto fails, for lack of memory. */
MUST_CHECK bool crypt_sha256(const void *data, size_t len, unsigned char out[CRYPT_SHA256_LEN]);

/* Writes the HMAC-SHA-256 (RFC 2104) of len bytes under a key.  Returns false if libcrypto fails.
 */
MUST_CHECK bool crypt_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                                  unsigned char out[CRYPT_SHA256_LEN]);

/* A context for one digest after the other.  For a text as short as an API key, libcrypto spends
 * more time on making the context than on the digest. */
struct crypt_hasher;

/* Returns a hasher, which the caller frees, or NULL if libcrypto fails. */
MUST_CHECK struct crypt_hasher *crypt_hasher_new(void);

/* Frees a hasher.  Accepts NULL. */
void crypt_hasher_free(struct crypt_hasher *hasher);

/* Writes the SHA-256 of len bytes.  Each call is a digest of its own.  Returns false if libcrypto
 * fails. */
MUST_CHECK bool crypt_hasher_sha256(struct crypt_hasher *hasher, const void *data, size_t len,
                                    unsigned char out[CRYPT_SHA256_LEN]);

#define CRYPT_KEY_LEN 32
#define CRYPT_NONCE_LEN 12
#define CRYPT_TAG_LEN 16

/* The bytes that sealing adds to a text. */
#define CRYPT_SEAL_OVERHEAD (CRYPT_NONCE_LEN + CRYPT_TAG_LEN)

/* AES-256-GCM (NIST SP 800-38D) under one key.  For a text as short as a secret, libcrypto spends
 * more time on a new context and on the key than on the text. */
struct crypt_cipher;

/* Returns a cipher without a key, which the caller frees, or NULL if libcrypto fails. */
MUST_CHECK struct crypt_cipher *crypt_cipher_new(void);

/* Wipes and frees a cipher.  Accepts NULL. */
void crypt_cipher_free(struct crypt_cipher *cipher);

/* Gives the cipher a key, instead of the one it has.  Returns false if libcrypto fails: the cipher
 * needs a key again then. */
MUST_CHECK bool crypt_cipher_set_key(struct crypt_cipher *cipher,
                                     const unsigned char key[CRYPT_KEY_LEN]);

/* Encrypts a text under the cipher's key and a random nonce, with aad as the additional
 * authenticated data.  Writes nonce, ciphertext and tag: text.len + CRYPT_SEAL_OVERHEAD bytes.
 * Returns false if libcrypto or the source of random numbers fails. */
MUST_CHECK bool crypt_seal(struct crypt_cipher *cipher, struct text aad, struct text text,
                           unsigned char *sealed);

/* The result of crypt_open().  CRYPT_NOT_GOOD is 0. */
enum crypt_opened { CRYPT_NOT_GOOD, CRYPT_OPENED, CRYPT_NO_MEMORY };

/* Decrypts what crypt_seal() wrote: sealed_len - CRYPT_SEAL_OVERHEAD bytes.  Returns CRYPT_OPENED;
 * CRYPT_NOT_GOOD if it was not sealed under the cipher's key and that aad; or CRYPT_NO_MEMORY if
 * libcrypto fails, when the seal may be good.  Only after CRYPT_OPENED does *text hold any of the
 * text. */
MUST_CHECK enum crypt_opened crypt_open(struct crypt_cipher *cipher, struct text aad,
                                        const unsigned char *sealed, size_t sealed_len, char *text);

#endif
