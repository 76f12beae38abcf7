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
    size_t n_others; /* certificates that are no authority's, and blocks of other types */
};

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
