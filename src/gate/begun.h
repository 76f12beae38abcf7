/* SPDX-License-Identifier: MIT */
/* Logins that have begun: each has a cookie, and a row if its way back does not fit into that.  The
 * cookie's name has a part of the login's id, so that several tabs may sign in at once. */
#ifndef ADIT_GATE_BEGUN_H
#define ADIT_GATE_BEGUN_H

#include "base/must_check.h"
#include "gate/gate_call.h"
#include "gate/login_state.h"

/* Cookies of logins that a browser is left with, and bytes of all of them: a page of another site
 * may begin as many logins as it likes. */
#define BEGUN_COOKIES_MAX 4
#define BEGUN_BYTES_MAX 4096

/* Begins a login that leads back to a page.  *set_cookie is the value of a Set-Cookie header, in
 * the arena.  A way back that is not valid becomes "/", and so does a long one that cannot be
 * stored.  Returns false with *err. */
MUST_CHECK bool begun_make(struct gate_call *call, struct text way_back, struct login_state *state,
                           struct text *set_cookie, struct error *err);

/* Removes the oldest cookies of logins that the request has: one more is to have room.  To be
 * called after the answer to a browser is made. */
void begun_make_room(struct gate_call *call, struct text set_cookie);

/* Finds the login that this browser began, by the id that came back.  Returns false with ERR_NONE
 * if there is none, or with the reason why nobody knows. */
MUST_CHECK bool begun_find(struct gate_call *call, struct text id, struct login_state *state,
                           struct error *err);

/* Uses the login up.  A copy of the cookie, or a second code, gets no further: no provider is asked
 * more than once for a login that has begun.  Returns false with *err; ERR_NONE: it was used. */
MUST_CHECK bool begun_use(struct gate_call *call, const struct login_state *state,
                          struct error *err);

/* Writes the value of a Set-Cookie header that removes a login's cookie, in the arena. */
struct text begun_removal(struct gate_call *call, const struct login_state *state);

#endif
