/* SPDX-License-Identifier: MIT */
/* The keys that seal secrets, and sealing a secret for one place. */
#ifndef ADIT_KEYRING_KEYRING_H
#define ADIT_KEYRING_KEYRING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

#define KEYRING_ID_MAX 64

/* The functions below that read a replaced file again do so at most once a second as long as it
 * cannot be read and does not change. */
struct keyring;

/* Reads a key file: a line "<key id> <64 hexadecimal digits>" for each key.  The first key seals;
 * the others open what they sealed.  Skips empty lines and lines that begin with '#'.  A key id is
 * 1 to 64 letters, digits, '.', '_' and '-'.  Refuses a file that others than its owner and group
 * may read.  Returns a keyring, which the caller frees with keyring_free(), or NULL with a reason
 * that names the file and line and quotes nothing of it. */
MUST_CHECK struct keyring *keyring_load(const char *path, char *reason, size_t size);

/* Returns whether the text, without a line end, is the line of a key in such a file. */
MUST_CHECK bool keyring_is_line(const char *line);

/* Returns whether there is no file at the path. */
bool keyring_is_missing(const char *path);

/* Wipes and frees a keyring.  NULL is fine. */
void keyring_free(struct keyring *keyring);

/* Creates a key file with one new key, mode 0600.  Returns false with a reason, also if the file
 * exists. */
MUST_CHECK bool keyring_create(const char *path, char *reason, size_t size);

/* Adds a new key as the first of a key file: it seals from then on.  Replaces the file by rename();
 * owner, group and mode stay.  Returns false with a reason. */
MUST_CHECK bool keyring_add(const char *path, char *reason, size_t size);

/* Returns the id of the key that seals, owned by the keyring. */
const char *keyring_first(const struct keyring *keyring);

/* Returns whether the keyring has a key of that id. */
bool keyring_has(const struct keyring *keyring, struct text id);

/* Sets *has to whether the key file has a key of that id now: if the file was replaced or changed,
 * reads it first.  Returns false with ERR_SECRET_UNREADABLE and a cause if there is no file, or
 * none that can be read. */
MUST_CHECK bool keyring_look_up(struct keyring *keyring, struct text id, bool *has,
                                struct error *err);

#define KEYRING_SALT_LEN 16

/* The place that a sealed secret is bound to.  It opens in no other place.
 *
 * A key may seal 2^32 times under random nonces (NIST SP 800-38D, 8.3).  Writing client secrets
 * never comes near that.  A seal for every request of a visitor would in days: such a place has a
 * salt, so that each seal has a key of its own. */
struct keyring_place {
    const char *column; /* "<table>.<column>" */
    struct text account_id;
    struct text ids[2];        /* the rest of the row's key; not given: it has fewer columns */
    int position;              /* tells the secrets of a column apart, such as by provider */
    const unsigned char *salt; /* KEYRING_SALT_LEN random bytes, kept beside the seal; NULL: none */
};

/* Seals a text for its place under the first key.  Sets *key_id, and *sealed to any bytes, all in
 * the arena.  If the key file was replaced, reads it first.  Returns false with
 * ERR_SECRET_NOT_SEALED and a cause if it cannot read the new file, which may lack the old key; or
 * with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool keyring_seal(struct keyring *keyring, const struct keyring_place *place,
                             struct text secret, struct arena *arena, struct text *key_id,
                             struct text *sealed, struct error *err);

/* Room for a digest: a key's id, ':', 32 hexadecimal digits, NUL. */
#define KEYRING_DIGEST_SIZE (KEYRING_ID_MAX + 1 + 32 + 1)

/* Writes a digest of a secret in its place.  It is the same as long as the secret, the place and
 * the key are.  Without the key file, nobody can try out what the secret is.  The key is that of
 * the given id; if it is absent, the last key of the file, since new keys come first.  Returns
 * false with ERR_SECRET_UNREADABLE and a cause if the keyring lacks the key, or with
 * ERR_OUT_OF_MEMORY. */
MUST_CHECK bool keyring_digest(const struct keyring *keyring, const struct keyring_place *place,
                               struct text key_id, struct text secret,
                               char digest[KEYRING_DIGEST_SIZE], struct error *err);

/* Opens a secret that keyring_seal() sealed for the same place.  Sets *secret, in the arena.  If
 * the key file was replaced or changed, reads it first: a key that was taken out opens nothing.
 * While the file is away or cannot be read, the keys that were read last do.  Returns false with
 * ERR_SECRET_UNREADABLE and a cause, or with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool keyring_open(struct keyring *keyring, const struct keyring_place *place,
                             struct text key_id, struct text sealed, struct arena *arena,
                             struct text *secret, struct error *err);

#endif
