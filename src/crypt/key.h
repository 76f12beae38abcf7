/* SPDX-License-Identifier: MIT */
/* What reading a public key needs of libcrypto: base64, and points on elliptic curves. */
#ifndef ADIT_CRYPT_KEY_H
#define ADIT_CRYPT_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

/* Bytes that decoding len base64 characters needs room for. */
#define CRYPT_KEY_DECODED_ROOM(len) ((len) / 4 * 3)

/* Characters that encoding len bytes makes, and their NUL. */
#define CRYPT_KEY_ENCODED_SIZE(len) (((len) + 2) / 3 * 4 + 1)

/* Decodes len base64 characters (RFC 4648, section 4) into out, which has room for
 * CRYPT_KEY_DECODED_ROOM(len) bytes.  Strict: whole groups of four, padding at the end and nowhere
 * else, unused bits zero, no other character, not empty.  Returns false for anything else; what is
 * in out then is the caller's to wipe. */
MUST_CHECK bool crypt_key_base64_decode(const char *s, size_t len, unsigned char *out,
                                        size_t *out_len);

/* Writes len bytes (at most 1 GiB) as base64 with its padding and a NUL, which is
 * CRYPT_KEY_ENCODED_SIZE(len) characters. */
void crypt_key_base64_encode(const unsigned char *data, size_t len, char *out);

/* Checks an elliptic curve point in the encoding of SEC 1, section 2.3.3, on the curve with that
 * name: "nistp256", "nistp384" or "nistp521" (RFC 5656, section 10.1).  Returns true and whether it
 * is a point of the curve in *valid, or false for a lack of memory and for another curve. */
MUST_CHECK bool crypt_key_point_check(const char *curve, const unsigned char *point, size_t len,
                                      bool *valid);

#endif
