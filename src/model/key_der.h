/* SPDX-License-Identifier: MIT */
/* Turning public keys in DER into their wire form. */
#ifndef ADIT_MODEL_KEY_DER_H
#define ADIT_MODEL_KEY_DER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "model/ssh_wire.h"

/* Write the wire form of a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7; RFC 3279, 5480, 8410)
 * and of a PKCS#1 RSAPublicKey (RFC 8017, appendix A.1.1) into the empty blob.  They accept one
 * encoding of each key, with nothing after it.  They do not check the numbers and points; call
 * ssh_blob_check() for that.
 *
 * Return false with *reason, as in model/key_reason.h, static. */
MUST_CHECK bool key_der_from_info(const unsigned char *der, size_t len, struct ssh_blob *blob,
                                  const char **reason);
MUST_CHECK bool key_der_from_pkcs1(const unsigned char *der, size_t len, struct ssh_blob *blob,
                                   const char **reason);

#endif
