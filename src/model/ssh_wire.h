/* SPDX-License-Identifier: MIT */
/* The wire form of a public SSH key: strings with their lengths in front; the first is the name of
 * the type (RFC 4251, section 5; RFC 4253, section 6.6; RFC 5656; RFC 8709; PROTOCOL.u2f of
 * OpenSSH).
 */
#ifndef ADIT_MODEL_SSH_WIRE_H
#define ADIT_MODEL_SSH_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

enum ssh_kind {
    SSH_KIND_UNKNOWN,
    SSH_KIND_CERTIFICATE, /* of any type */
    SSH_KIND_DSA,
    SSH_KIND_RSA,
    SSH_KIND_ECDSA,
    SSH_KIND_ED25519,
    SSH_KIND_SK_ECDSA, /* security keys */
    SSH_KIND_SK_ED25519,
};

/* A type of key. */
struct ssh_type {
    enum ssh_kind kind;
    const char *name;  /* static; NULL for SSH_KIND_UNKNOWN and SSH_KIND_CERTIFICATE */
    const char *curve; /* NULL: none */
    size_t point_len;  /* bytes of an uncompressed point of the curve */
};

/* Returns the type of that name of len bytes, static.  An unknown name has a type, too. */
const struct ssh_type *ssh_type_of(const char *name, size_t len);

/* Returns the reason why all keys of that type are refused, or NULL. */
const char *ssh_type_refusal(const struct ssh_type *type);

#define SSH_BLOB_MAX 12416

/* A key in its wire form.  The owner overwrites it after use. */
struct ssh_blob {
    size_t len;
    unsigned char data[SSH_BLOB_MAX];
};

/* Appends a string of len bytes.  Returns false if it does not fit. */
MUST_CHECK bool ssh_blob_put(struct ssh_blob *blob, const void *s, size_t len);

/* Checks every byte of a blob, which has to be one key of an accepted type, and of the expected
 * type unless that is NULL:
 *   - numbers are positive and in their shortest form,
 *   - an RSA key has 2048 to 16384 bits, an odd modulus, and an odd exponent from 3 to below 2^64,
 *   - a point is uncompressed and on the curve of the type,
 *   - nothing is missing, and nothing follows.
 * It does not check that an RSA modulus is a product of two primes.
 *
 * Returns true with the key's type, static, or false with *reason: a sentence for the client,
 * static, or NULL if memory ran out. */
MUST_CHECK bool ssh_blob_check(const struct ssh_blob *blob, const struct ssh_type *expected,
                               const struct ssh_type **type, const char **reason);

#endif
