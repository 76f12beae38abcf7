/* SPDX-License-Identifier: MIT */
/* Reading a public SSH key in any accepted form. */
#ifndef ADIT_MODEL_PUBLIC_KEY_H
#define ADIT_MODEL_PUBLIC_KEY_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* Bytes of the longest accepted text. */
#define PUBLIC_KEY_MAX 16384

#define PUBLIC_KEY_FINGERPRINT_PREFIX "SHA256:"

/* The prefix, 43 base64 characters without padding, and a NUL, as `ssh-keygen -l -E sha256` prints.
 */
#define PUBLIC_KEY_FINGERPRINT_SIZE 51

struct public_key {
    const char *type; /* SSH's name of the type, such as "ssh-ed25519"; static */
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
};

/* Returns whether a text has the form of a fingerprint. */
MUST_CHECK bool public_key_fingerprint_valid(struct text text);

/* Reads the one public key in a text.  Ignores white space (space, tab, CR, LF) around it.  Lines
 * end in LF or CRLF.  The text needs no NUL at its end.  Accepted forms:
 *   - PEM "PUBLIC KEY" (SubjectPublicKeyInfo, RFC 5280),
 *   - PEM "RSA PUBLIC KEY" (PKCS#1, RFC 8017),
 *   - "SSH2 PUBLIC KEY" (RFC 4716),
 *   - OpenSSH's line "<type> <base64> [comment]" (RFC 4253, 5656, 8709; PROTOCOL.u2f of OpenSSH).
 *     No other key may begin in the comment.
 *
 * Refuses a text with the marks of a private key anywhere, even in a comment.  Overwrites all
 * decoded bytes before it returns.
 *
 * Returns true and fills *key, or false with *reason, as in model/key_reason.h, static, which
 * quotes nothing of the text.  *reason is NULL if memory ran out. */
MUST_CHECK bool public_key_read(struct text text, struct public_key *key, const char **reason);

#endif
