/* SPDX-License-Identifier: MIT */
/* Public keys in DER, turned into their wire form. */
#ifndef ADIT_MODEL_KEY_DER_H
#define ADIT_MODEL_KEY_DER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "model/ssh_wire.h"

/* Write the wire form of a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7; RFC 3279, 5480, 8410)
 * and of a PKCS#1 RSAPublicKey (RFC 8017, appendix A.1.1) into the empty blob.  DER is read
 * strictly: there is one encoding of each key, and nothing behind it.  The numbers and points are
 * not looked at, which is ssh_blob_check()'s work.
 *
 * Return true, or false with *reason: a sentence for the client, static. */
MUST_CHECK bool key_der_from_info(const unsigned char *der, size_t len, struct ssh_blob *blob,
                                  const char **reason);
MUST_CHECK bool key_der_from_pkcs1(const unsigned char *der, size_t len, struct ssh_blob *blob,
                                   const char **reason);

#endif
