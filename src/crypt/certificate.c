/* SPDX-License-Identifier: MIT */
/* Certificates of authorities, by libcrypto's readers of PEM and X.509. */
#include "crypt/certificate.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* What X509_check_ca() returns for CA:TRUE.  Other values stand for older signs of an authority. */
#define IS_AUTHORITY 1

/* One block of PEM.  libcrypto allocates the members. */
struct block {
    char *name; /* "CERTIFICATE" */
    char *header;
    unsigned char *data;
    long len;
};

/* The block may be a private key. */
static void block_free(struct block *block)
{
    OPENSSL_free(block->name);
    OPENSSL_free(block->header);
    OPENSSL_clear_free(block->data, block->len > 0 ? (size_t)block->len : 0);
    *block = (struct block){.name = NULL};
}

static bool holds_certificate(const struct block *block)
{
    return strcmp(block->name, PEM_STRING_X509) == 0 ||
           strcmp(block->name, PEM_STRING_X509_OLD) == 0;
}

static bool lacked_memory(void)
{
    return ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE;
}

/* Appends a certificate, unless *out has it.  Returns false if memory runs out. */
static bool append(X509 *certificate, struct buf *out)
{
    BIO *written = BIO_new(BIO_s_mem());
    char *data = NULL;
    long len;
    bool ok = written && PEM_write_bio_X509(written, certificate) == 1;

    if (ok) {
        len = BIO_get_mem_data(written, &data);
        if (!out->data || !memmem(out->data, out->len, data, (size_t)len))
            buf_add(out, data, (size_t)len);
    }
    BIO_free(written);
    return ok && !out->failed;
}

/* Takes a certificate, which has to be the whole block. */
static enum crypt_certificates_result take_certificate(const struct block *block, struct buf *out,
                                                       struct crypt_certificates *found)
{
    const unsigned char *end = block->data;
    X509 *certificate = d2i_X509(NULL, &end, block->len);
    enum crypt_certificates_result result = CRYPT_CERTIFICATES_MALFORMED;

    if (!certificate)
        return lacked_memory() ? CRYPT_CERTIFICATES_NO_MEMORY : CRYPT_CERTIFICATES_MALFORMED;
    if (end == block->data + block->len) {
        bool is_authority = X509_check_ca(certificate) == IS_AUTHORITY;
        bool has_mark = (X509_get_extension_flags(certificate) & EXFLAG_CA) != 0;

        result = !is_authority || append(certificate, out) ? CRYPT_CERTIFICATES_READ
                                                           : CRYPT_CERTIFICATES_NO_MEMORY;
        found->n_taken += is_authority;
        found->n_others += !is_authority;
        found->n_no_signing += !is_authority && has_mark;
        found->n_no_authority += !is_authority && !has_mark;
    }
    X509_free(certificate);
    return result;
}

/* Takes the blocks until the end of the text, and counts them. */
static enum crypt_certificates_result
take_blocks(BIO *pem, struct buf *out, struct crypt_certificates *found, size_t *n_blocks)
{
    enum crypt_certificates_result result = CRYPT_CERTIFICATES_READ;
    struct block block = {.name = NULL};

    while (result == CRYPT_CERTIFICATES_READ &&
           PEM_read_bio(pem, &block.name, &block.header, &block.data, &block.len) == 1) {
        ++*n_blocks;
        if (holds_certificate(&block))
            result = take_certificate(&block, out, found);
        else
            found->n_others++;
        found->n_trusted += strcmp(block.name, PEM_STRING_X509_TRUSTED) == 0;
        block_free(&block);
    }
    if (result != CRYPT_CERTIFICATES_READ ||
        ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
        return result;
    return lacked_memory() ? CRYPT_CERTIFICATES_NO_MEMORY : CRYPT_CERTIFICATES_MALFORMED;
}

static size_t count_begins(const char *pem, size_t len)
{
    static const char begin[] = "-----BEGIN ";
    const char *end = pem + len;
    size_t n = 0;

    while (len > 0 && (pem = memmem(pem, (size_t)(end - pem), begin, sizeof begin - 1)) != NULL) {
        pem += sizeof begin - 1;
        n++;
    }
    return n;
}

enum crypt_certificates_result crypt_certificates_take(const char *pem, size_t len, struct buf *out,
                                                       struct crypt_certificates *found)
{
    enum crypt_certificates_result result = CRYPT_CERTIFICATES_NO_MEMORY;
    size_t len_before = out->len;
    size_t n_blocks = 0;
    BIO *text = len <= INT_MAX ? BIO_new_mem_buf(pem ? pem : "", (int)len) : NULL;

    *found = (struct crypt_certificates){.n_taken = 0};
    ERR_clear_error();
    if (text)
        result = take_blocks(text, out, found, &n_blocks);
    BIO_free(text);
    ERR_clear_error();
    if (result != CRYPT_CERTIFICATES_READ) {
        buf_cut(out, len_before);
        *found = (struct crypt_certificates){.n_taken = 0};
    } else if (count_begins(pem, len) > n_blocks) {
        found->n_unread = count_begins(pem, len) - n_blocks;
        found->n_others += found->n_unread;
    }
    return result;
}

void crypt_certificates_describe(const struct crypt_certificates *found,
                                 char out[CRYPT_CERTIFICATES_TEXT_SIZE])
{
    const struct {
        size_t n;
        const char *what;
    } parts[] = {
        {found->n_no_authority, "without CA:TRUE"},
        {found->n_no_signing, "whose keyUsage lacks keyCertSign"},
        {found->n_trusted, "TRUSTED CERTIFICATE (convert it: openssl x509)"},
        {found->n_unread, "BEGIN not at the start of a line (remove what is in front)"},
        {found->n_others - found->n_no_authority - found->n_no_signing - found->n_trusted -
             found->n_unread,
         "no certificate"},
    };
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].n > 0 && len < CRYPT_CERTIFICATES_TEXT_SIZE)
            len +=
                (size_t)snprintf(out + len, CRYPT_CERTIFICATES_TEXT_SIZE - len, "%s%zu %s",
                                 len > 0 ? ", " : "blocks left out: ", parts[i].n, parts[i].what);
    }
}
