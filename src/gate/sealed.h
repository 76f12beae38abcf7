/* SPDX-License-Identifier: MIT */
/* Sealed values of cookies: bytes that open for one purpose and place. */
#ifndef ADIT_GATE_SEALED_H
#define ADIT_GATE_SEALED_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"
#include "keyring/keyring.h"

/* What a sealed cookie is bound to.  It opens for no other.  The ids have no NUL. */
struct sealed_place {
    struct text account_id;
    struct text edge_id;
    struct text route_id;
    int provider; /* position */
};

/* Bytes of the largest cookie: name, '=', value (RFC 6265, 6.1: 4096).  No larger value opens. */
#define SEALED_COOKIE_MAX 4000

/* What was sealed more than this many seconds ahead does not last: the clock was set back, and
 * nobody knows its age. */
#define SEALED_CLOCK_S 60

struct sealing {
    struct keyring *keyring;
    const struct sealed_place *place;
    const char *purpose; /* the "column" of the keyring's place */
    struct arena *arena;
};

/* Appends the bytes, sealed, as base64url.  Returns false with *err as keyring_seal(). */
MUST_CHECK bool sealed_write(const struct sealing *sealing, struct text bytes, struct buf *out,
                             struct error *err);

/* Returns whether a value has the form of what sealed_write() writes, with a key of the key file as
 * it is now, or if that cannot be read.  Nothing else proves what it is. */
MUST_CHECK bool sealed_may_have_key(struct keyring *keyring, struct text value);

/* Returns whether a value has the form and the length of what sealed_write() writes. */
MUST_CHECK bool sealed_looks_good(struct text value);

/* Opens a value that sealed_write() wrote for the same purpose and place.  Sets *bytes, in the
 * arena.  Returns false with *err: ERR_NONE if it is none, also if its key was removed;
 * ERR_SECRET_UNREADABLE if the key file cannot be read; or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool sealed_read(const struct sealing *sealing, struct text value, struct text *bytes,
                            struct error *err);

#endif
