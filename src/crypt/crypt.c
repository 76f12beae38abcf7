/* SPDX-License-Identifier: MIT */
/* SHA-256 and AES-256-GCM by libcrypto. */
#include "crypt/crypt.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool crypt_sha256(const void *data, size_t len, unsigned char out[CRYPT_SHA256_LEN])
{
    return EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL) == 1;
}

bool crypt_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                       unsigned char out[CRYPT_SHA256_LEN])
{
    return key_len <= INT_MAX && HMAC(EVP_sha256(), key, (int)key_len, data, len, out, NULL);
}

struct crypt_hasher {
    EVP_MD_CTX *ctx;
};

struct crypt_hasher *crypt_hasher_new(void)
{
    struct crypt_hasher *hasher = calloc(1, sizeof *hasher);

    if (!hasher)
        return NULL;
    hasher->ctx = EVP_MD_CTX_new();
    if (hasher->ctx && EVP_DigestInit_ex2(hasher->ctx, EVP_sha256(), NULL) == 1)
        return hasher;
    crypt_hasher_free(hasher);
    return NULL;
}

void crypt_hasher_free(struct crypt_hasher *hasher)
{
    if (hasher)
        EVP_MD_CTX_free(hasher->ctx);
    free(hasher);
}

bool crypt_hasher_sha256(struct crypt_hasher *hasher, const void *data, size_t len,
                         unsigned char out[CRYPT_SHA256_LEN])
{
    return EVP_DigestInit_ex2(hasher->ctx, NULL, NULL) == 1 &&
           EVP_DigestUpdate(hasher->ctx, data, len) == 1 &&
           EVP_DigestFinal_ex(hasher->ctx, out, NULL) == 1;
}

struct crypt_cipher {
    EVP_CIPHER_CTX *ctx;
};

struct crypt_cipher *crypt_cipher_new(void)
{
    struct crypt_cipher *cipher = calloc(1, sizeof *cipher);

    if (!cipher)
        return NULL;
    cipher->ctx = EVP_CIPHER_CTX_new();
    if (cipher->ctx && EVP_CipherInit_ex2(cipher->ctx, EVP_aes_256_gcm(), NULL, NULL, 1, NULL) == 1)
        return cipher;
    crypt_cipher_free(cipher);
    return NULL;
}

void crypt_cipher_free(struct crypt_cipher *cipher)
{
    if (cipher)
        EVP_CIPHER_CTX_free(cipher->ctx);
    free(cipher);
}

bool crypt_cipher_set_key(struct crypt_cipher *cipher, const unsigned char key[CRYPT_KEY_LEN])
{
    return EVP_CipherInit_ex2(cipher->ctx, NULL, key, NULL, -1, NULL) == 1;
}

/* Begins a text: the key stays, the nonce is new. */
static bool begin(EVP_CIPHER_CTX *ctx, const unsigned char *nonce, struct text aad, int sealing)
{
    int done;

    return EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, sealing, NULL) == 1 &&
           EVP_CipherUpdate(ctx, NULL, &done, (const unsigned char *)aad.s, (int)aad.len) == 1;
}

bool crypt_seal(struct crypt_cipher *cipher, struct text aad, struct text text,
                unsigned char *sealed)
{
    EVP_CIPHER_CTX *ctx = cipher->ctx;
    unsigned char *out = sealed + CRYPT_NONCE_LEN;
    int done;

    return text.len <= INT_MAX && aad.len <= INT_MAX &&
           getrandom(sealed, CRYPT_NONCE_LEN, 0) == CRYPT_NONCE_LEN && begin(ctx, sealed, aad, 1) &&
           EVP_CipherUpdate(ctx, out, &done, (const unsigned char *)text.s, (int)text.len) == 1 &&
           EVP_CipherFinal_ex(ctx, out + text.len, &done) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, CRYPT_TAG_LEN, out + text.len) == 1;
}

enum crypt_opened crypt_open(struct crypt_cipher *cipher, struct text aad,
                             const unsigned char *sealed, size_t sealed_len, char *text)
{
    enum crypt_opened opened = CRYPT_NO_MEMORY;
    EVP_CIPHER_CTX *ctx = cipher->ctx;
    unsigned char tag[CRYPT_TAG_LEN];
    size_t len;
    int done;

    if (sealed_len < CRYPT_SEAL_OVERHEAD || sealed_len > INT_MAX || aad.len > INT_MAX)
        return CRYPT_NOT_GOOD;
    len = sealed_len - CRYPT_SEAL_OVERHEAD;
    memcpy(tag, sealed + sealed_len - sizeof tag, sizeof tag);
    if (begin(ctx, sealed, aad, 0) &&
        EVP_CipherUpdate(ctx, (unsigned char *)text, &done, sealed + CRYPT_NONCE_LEN, (int)len) ==
            1 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) == 1)
        opened = EVP_CipherFinal_ex(ctx, (unsigned char *)text + len, &done) == 1 ? CRYPT_OPENED
                                                                                  : CRYPT_NOT_GOOD;
    if (opened != CRYPT_OPENED)
        explicit_bzero(text, len);
    return opened;
}

/* Each call makes libcrypto load its algorithm, which then stays loaded. */
bool crypt_start(void)
{
    static const unsigned char key[CRYPT_KEY_LEN];
    unsigned char digest[CRYPT_SHA256_LEN];
    unsigned char sealed[sizeof key + CRYPT_SEAL_OVERHEAD];
    char opened[sizeof key];
    struct crypt_cipher *cipher = crypt_cipher_new();
    bool ok =
        cipher && crypt_sha256(key, sizeof key, digest) && crypt_cipher_set_key(cipher, key) &&
        crypt_seal(cipher, text_of(""), (struct text){(const char *)key, sizeof key}, sealed) &&
        crypt_open(cipher, text_of(""), sealed, sizeof sealed, opened) == CRYPT_OPENED;

    crypt_cipher_free(cipher);
    return ok;
}
