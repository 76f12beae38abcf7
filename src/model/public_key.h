/* SPDX-License-Identifier: MIT */
/* Reading a public SSH key in any of the forms that are accepted, down to its wire blob. */
#ifndef ADIT_MODEL_PUBLIC_KEY_H
#define ADIT_MODEL_PUBLIC_KEY_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* Bytes of the longest text that is looked at. */
#define PUBLIC_KEY_MAX 16384

/* "SHA256:", 43 base64 characters without padding, NUL: what `ssh-keygen -l -E sha256` prints. */
#define PUBLIC_KEY_FINGERPRINT_SIZE 51

struct public_key {
    const char *type; /* the SSH name of the key's type, such as "ssh-ed25519"; static */
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
};

/* Reads one public key out of the text, around which white space (space, tab, CR, LF) is ignored.
 * Lines end in LF or CRLF.  Accepted forms: PEM "PUBLIC KEY" (SubjectPublicKeyInfo, RFC 5280) and
 * "RSA PUBLIC KEY" (PKCS#1, RFC 8017), "SSH2 PUBLIC KEY" (RFC 4716), and OpenSSH's line "<type>
 * <base64> [comment]" (RFC 4253, 5656, 8709; PROTOCOL.u2f of OpenSSH).
 *
 * The comment of the line may be any text in that line, unless another key begins in it.
 *
 * A text with the marks of a private key anywhere in it, be it a comment, is refused, and what was
 * decoded of any text is overwritten before this returns.  The text need not have a NUL behind it.
 *
 * Returns true and fills *key, or false with *reason: a sentence for the client, static, with
 * nothing of the text in it.  *reason is NULL where the failure is a lack of memory. */
MUST_CHECK bool public_key_read(struct text text, struct public_key *key, const char **reason);

#endif
