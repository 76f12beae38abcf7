/* SPDX-License-Identifier: MIT */
/* The keys under which secrets are sealed, and sealing a secret for its one place. */
#ifndef ADIT_STORE_KEYRING_H
#define ADIT_STORE_KEYRING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

#define KEYRING_ID_MAX 64

struct keyring;

/* Reads a key file: a line "<key id> <64 hexadecimal digits>" for each key, the first of which
 * seals; the others open what was sealed before.  Empty lines and lines that begin with '#' are
 * skipped. A key id is 1 to 64 letters, digits, '.', '_' and '-'.  A file that others than its
 * owner and group may read is refused.  Returns the keyring, or NULL with the reason, which names
 * the file and line and quotes nothing of it. */
MUST_CHECK struct keyring *keyring_load(const char *path, char *reason, size_t size);

/* Returns whether there is no file at the path, so that keyring_load() cannot read it. */
bool keyring_is_missing(const char *path);

/* Wipes and frees it.  NULL is fine. */
void keyring_free(struct keyring *keyring);

/* Makes a key file with one new key, mode 0600; a file that exists is left alone.  Returns false
 * with the reason. */
MUST_CHECK bool keyring_create(const char *path, char *reason, size_t size);

/* Puts a new key in front of those of a key file, whose owner, group and mode stay: it is the one
 * that seals from then on.  The file is whole at any moment.  Returns false with the reason. */
MUST_CHECK bool keyring_add(const char *path, char *reason, size_t size);

/* Returns the id of the key that seals, which belongs to the keyring. */
const char *keyring_first(const struct keyring *keyring);

/* Returns whether the keyring has a key of that id. */
bool keyring_has(const struct keyring *keyring, struct text id);

/* The place that a sealed secret is bound to: moved anywhere else, it cannot be opened. */
struct keyring_place {
    const char *column; /* "<table>.<column>" */
    struct text account_id;
    struct text ids[2]; /* the rest of the row's key; not given where it has less */
    int position;       /* what else the secret belongs to within the row */
};

/* Seals a text for its place under the first key: sets *key_id, *sealed and *len, which belong to
 * the arena.  The keyring reads its file first where that was replaced; where it cannot, nobody
 * knows which key is still kept.  Returns false with ERR_SECRET_NOT_SEALED and a cause for the log,
 * or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool keyring_seal(struct keyring *keyring, const struct keyring_place *place,
                             struct text secret, struct arena *arena, struct text *key_id,
                             const unsigned char **sealed, size_t *len, struct error *err);

/* Opens what keyring_seal() made for the same place into *secret, which belongs to the arena.  For
 * a key that it has not, the keyring reads its file again where that was replaced.
 * Returns false with ERR_SECRET_UNREADABLE and a cause for the log, or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool keyring_open(struct keyring *keyring, const struct keyring_place *place,
                             struct text key_id, const unsigned char *sealed, size_t len,
                             struct arena *arena, struct text *secret, struct error *err);

#endif
