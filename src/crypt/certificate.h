/* SPDX-License-Identifier: MIT */
/* Certificates of authorities in PEM (libcrypto). */
#ifndef ADIT_CRYPT_CERTIFICATE_H
#define ADIT_CRYPT_CERTIFICATE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/must_check.h"

/* The blocks of a PEM text, by what became of them. */
struct crypt_certificates {
    size_t n_taken;
    size_t n_others;       /* all that was left out; these are parts of it: */
    size_t n_no_authority; /* certificates without CA:TRUE */
    size_t n_no_signing;   /* those with it, whose keyUsage lacks keyCertSign */
    size_t n_trusted;      /* blocks TRUSTED CERTIFICATE, which OpenSSL's own tools write */
    size_t n_unread;       /* "-----BEGIN " behind other text in its line, such as blanks */
};

/* Room for what crypt_certificates_describe() writes. */
#define CRYPT_CERTIFICATES_TEXT_SIZE 320

/* Writes what was left out, and what to do about it; "": nothing was. */
void crypt_certificates_describe(const struct crypt_certificates *found,
                                 char out[CRYPT_CERTIFICATES_TEXT_SIZE]);

/* The result of crypt_certificates_take().  CRYPT_CERTIFICATES_MALFORMED is 0. */
enum crypt_certificates_result {
    CRYPT_CERTIFICATES_MALFORMED, /* a block is damaged, or a certificate is not DER */
    CRYPT_CERTIFICATES_READ,
    CRYPT_CERTIFICATES_NO_MEMORY
};

/* Reads len bytes of PEM (RFC 7468) and appends each certificate of an authority to *out: written
 * anew, as PEM without other text or blank lines.  An authority's certificate has CA:TRUE (RFC
 * 5280, section 4.2.1.9) and may sign certificates.  One that *out already holds is not repeated.
 * Text between the blocks, private keys and everything else are left out.  Unless it returns
 * CRYPT_CERTIFICATES_READ, *out is unchanged, and *found is all zero. */
MUST_CHECK enum crypt_certificates_result crypt_certificates_take(const char *pem, size_t len,
                                                                  struct buf *out,
                                                                  struct crypt_certificates *found);

#endif
