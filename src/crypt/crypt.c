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

static EVP_CIPHER_CTX *begin(const unsigned char *key, const unsigned char *nonce, const void *aad,
                             size_t aad_len, int sealing)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int done;

    if (ctx && EVP_CipherInit_ex2(ctx, EVP_aes_256_gcm(), key, nonce, sealing, NULL) == 1 &&
        EVP_CipherUpdate(ctx, NULL, &done, aad, (int)aad_len) == 1)
        return ctx;
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

bool crypt_seal(const unsigned char key[CRYPT_KEY_LEN], const void *aad, size_t aad_len,
                const void *text, size_t len, unsigned char *sealed)
{
    unsigned char *cipher = sealed + CRYPT_NONCE_LEN;
    EVP_CIPHER_CTX *ctx = NULL;
    bool ok = false;
    int done;

    if (len > INT_MAX || aad_len > INT_MAX ||
        getrandom(sealed, CRYPT_NONCE_LEN, 0) != CRYPT_NONCE_LEN)
        return false;
    ctx = begin(key, sealed, aad, aad_len, 1);
    ok = ctx && EVP_CipherUpdate(ctx, cipher, &done, text, (int)len) == 1 &&
         EVP_CipherFinal_ex(ctx, cipher + len, &done) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, CRYPT_TAG_LEN, cipher + len) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

enum crypt_opened crypt_open(const unsigned char key[CRYPT_KEY_LEN], const void *aad,
                             size_t aad_len, const unsigned char *sealed, size_t sealed_len,
                             char *text)
{
    enum crypt_opened opened = CRYPT_NO_MEMORY;
    EVP_CIPHER_CTX *ctx = NULL;
    unsigned char tag[CRYPT_TAG_LEN];
    size_t len;
    int done;

    if (sealed_len < CRYPT_SEAL_OVERHEAD || sealed_len > INT_MAX || aad_len > INT_MAX)
        return CRYPT_NOT_GOOD;
    len = sealed_len - CRYPT_SEAL_OVERHEAD;
    memcpy(tag, sealed + sealed_len - sizeof tag, sizeof tag);
    ctx = begin(key, sealed, aad, aad_len, 0);
    if (ctx &&
        EVP_CipherUpdate(ctx, (unsigned char *)text, &done, sealed + CRYPT_NONCE_LEN, (int)len) ==
            1 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) == 1)
        opened = EVP_CipherFinal_ex(ctx, (unsigned char *)text + len, &done) == 1 ? CRYPT_OPENED
                                                                                  : CRYPT_NOT_GOOD;
    EVP_CIPHER_CTX_free(ctx);
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

    return crypt_sha256(key, sizeof key, digest) &&
           crypt_seal(key, "", 0, key, sizeof key, sealed) &&
           crypt_open(key, "", 0, sealed, sizeof sealed, opened) == CRYPT_OPENED;
}
