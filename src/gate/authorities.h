/* SPDX-License-Identifier: MIT */
/* The authorities that sign the certificates of identity providers. */
#ifndef ADIT_GATE_AUTHORITIES_H
#define ADIT_GATE_AUTHORITIES_H

#include <stdbool.h>

#include "base/must_check.h"

struct authorities;

/* Returns the authorities of a PEM file, or those of a folder as openssl-rehash(1) makes it, or,
 * with neither, those of libcrypto's default places.  NULL where memory is short;
 * authorities_free() frees it.  Reads nothing yet.  Both paths must outlive it. */
MUST_CHECK struct authorities *authorities_new(const char *file, const char *folder);

/* NULL is fine. */
void authorities_free(struct authorities *authorities);

/* Reads the file, unless that was done and the file has not changed since.  Returns NULL, or why it
 * cannot be read, static: then nobody is trusted.  A system's file takes some 30 ms. */
MUST_CHECK const char *authorities_read(struct authorities *authorities);

/* Makes a TLS context (SSL_CTX) trust the authorities that were read, and nobody else.  Returns
 * false if they could not be read: the context must not be used. */
MUST_CHECK bool authorities_use(const struct authorities *authorities, void *tls);

/* Returns whether another library's TLS, such as "OpenSSL/3.0.17", takes these authorities. */
MUST_CHECK bool authorities_fit(const char *tls_version);

#endif
