/* SPDX-License-Identifier: MIT */
/* Base64, base64url, and points on elliptic curves. */
#ifndef ADIT_CRYPT_KEY_H
#define ADIT_CRYPT_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

/* Bytes of room that decoding len base64 characters needs. */
#define CRYPT_KEY_DECODED_ROOM(len) ((len) / 4 * 3)

/* Bytes of the base64 of len bytes, with a NUL. */
#define CRYPT_KEY_ENCODED_SIZE(len) (((len) + 2) / 3 * 4 + 1)

/* Decodes len base64 characters (RFC 4648, section 4) into out, which has room for
 * CRYPT_KEY_DECODED_ROOM(len) bytes.  Strict: one or more whole groups of four, padding at the end
 * only, unused bits zero, no other characters.  Returns false for anything else; out may hold
 * decoded bytes then, which the caller wipes. */
MUST_CHECK bool crypt_key_base64_decode(const char *s, size_t len, unsigned char *out,
                                        size_t *out_len);

/* Writes len bytes (at most 1 GiB) as base64 with padding and a NUL: CRYPT_KEY_ENCODED_SIZE(len)
 * bytes. */
void crypt_key_base64_encode(const unsigned char *data, size_t len, char *out);

/* Bytes of the base64url of len bytes, with a NUL. */
#define CRYPT_KEY_BASE64URL_SIZE(len) (((len) * 4 + 2) / 3 + 1)

/* Bytes of room that decoding len characters of base64url needs. */
#define CRYPT_KEY_BASE64URL_ROOM(len) ((len) / 4 * 3 + 2)

/* The same for base64url (RFC 4648, section 5) without padding.  Decoding needs room for
 * CRYPT_KEY_BASE64URL_ROOM(len) bytes, and refuses an empty text. */
MUST_CHECK bool crypt_key_base64url_decode(const char *s, size_t len, unsigned char *out,
                                           size_t *out_len);
void crypt_key_base64url_encode(const unsigned char *data, size_t len, char *out);

/* Checks an elliptic curve point in the encoding of SEC 1, section 2.3.3.  The curve is "nistp256",
 * "nistp384" or "nistp521" (RFC 5656, section 10.1).  Returns true, and in *valid whether the point
 * is on the curve, or false if memory runs out or the curve is another one. */
MUST_CHECK bool crypt_key_point_check(const char *curve, const unsigned char *point, size_t len,
                                      bool *valid);

/* Bytes of a point of Ed25519 (RFC 8032, section 5.1.2). */
#define CRYPT_ED25519_LEN 32

/* Returns whether a point of Ed25519 is one of the eight of small order, in any of their encodings.
 * Whoever knows such a public key can sign under it. */
MUST_CHECK bool crypt_key_ed25519_is_small(const unsigned char point[CRYPT_ED25519_LEN]);

#endif
