/* SPDX-License-Identifier: MIT */
/* The state of a login that has begun, in a sealed cookie of the gate, and ways back. */
#ifndef ADIT_GATE_LOGIN_STATE_H
#define ADIT_GATE_LOGIN_STATE_H

#include <stdint.h>

#include "gate/sealed.h"

/* A login that has begun.  Lasts LOGIN_STATE_S seconds. */
#define LOGIN_STATE_S 600

/* Bytes of the longest way back: what nginx and Apache accept of a request line, unless they are
 * set up otherwise.  A cookie holds a shorter one; a longer one is in a row. */
#define LOGIN_WAY_BACK_MAX 8192
#define LOGIN_WAY_BACK_IN_COOKIE_MAX 1024

struct login_state {
    char id[23];            /* 16 random bytes as base64url: the parameter "state" */
    char code_verifier[44]; /* 32 random bytes as base64url (RFC 7636, 4.1) */
    int64_t issued;
    struct text way_back; /* path and query that the visitor asked for */
    bool is_in_row;       /* the way back is in the database, under the id; here it is "/" */
};

/* Makes a state with random id and verifier.  A way back that is not valid, or too long for a
 * cookie, becomes "/"; any other one is not copied.  Returns false if there are no random numbers.
 */
MUST_CHECK bool login_state_new(struct login_state *state, int64_t now, struct text way_back);

/* Returns whether the login may still end. */
MUST_CHECK bool login_state_lasts(const struct login_state *state, int64_t now);

/* Seal and open it as visitor_session_seal() and visitor_session_open() do.  A state and a session
 * never open as each other. */
MUST_CHECK bool login_state_seal(struct keyring *keyring, const struct sealed_place *place,
                                 const struct login_state *state, struct arena *arena,
                                 struct buf *out, struct error *err);
MUST_CHECK bool login_state_open(struct keyring *keyring, const struct sealed_place *place,
                                 struct text value, struct arena *arena, struct login_state *state,
                                 struct error *err);

/* Returns whether a text may be a way back: a path, perhaps with a query, that stays on the host
 * whatever a browser or another program makes of it.  It has printable ASCII without blanks and
 * backslashes, at most LOGIN_WAY_BACK_MAX bytes, and begins with '/'.  Percent-decoded, the path
 * does not begin with "//", and has no control characters, no backslashes, and no segments "." and
 * "..", which browsers never send: without them, "/..//host" becomes "//host". */
MUST_CHECK bool login_way_back_valid(struct text way_back);

#endif
