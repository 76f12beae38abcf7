/* SPDX-License-Identifier: MIT */
/* The wire form of a public SSH key: strings behind their lengths, the type's name first (RFC 4251,
 * section 5; RFC 4253, section 6.6; RFC 5656; RFC 8709; PROTOCOL.u2f of OpenSSH). */
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

/* What a type's name stands for. */
struct ssh_type {
    enum ssh_kind kind;
    const char *name;  /* NULL for the unknown and certificates; static */
    const char *curve; /* NULL where there is none */
    size_t point_len;  /* bytes of an uncompressed point of the curve */
};

/* Returns what the type's name of len bytes stands for; static, never NULL. */
const struct ssh_type *ssh_type_of(const char *name, size_t len);

/* Returns why keys of that kind are refused whatever is in them, or NULL. */
const char *ssh_type_refusal(const struct ssh_type *type);

#define SSH_BLOB_MAX 12416

/* A key on the wire, while it is read or put together.  Whoever declares it wipes it. */
struct ssh_blob {
    size_t len;
    unsigned char data[SSH_BLOB_MAX];
};

/* Appends a string.  Returns false where it does not fit. */
MUST_CHECK bool ssh_blob_put(struct ssh_blob *blob, const void *s, size_t len);

/* Checks every byte of one key of a type that is accepted: numbers positive and in their shortest
 * form, RSA keys of 2048 to 16384 bits with an odd modulus and an odd exponent from 3 to below
 * 2^64, points uncompressed and on the curve that the type names, nothing missing and nothing
 * behind.  Whether an RSA modulus is the product of two primes is not looked at.  The type has to
 * be the expected one, unless that is NULL.
 *
 * Returns true and the key's type, static, or false with *reason: a sentence for the client,
 * static, or NULL for a lack of memory. */
MUST_CHECK bool ssh_blob_check(const struct ssh_blob *blob, const struct ssh_type *expected,
                               const struct ssh_type **type, const char **reason);

#endif
