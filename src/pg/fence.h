/* SPDX-License-Identifier: MIT */
/* The fence: ends the session that was given up, before the next one runs a statement. */
#ifndef ADIT_PG_FENCE_H
#define ADIT_PG_FENCE_H

#include "pg/own.h"

/* How long the server may take to end a session; after a write, connecting included. */
#define PG_FENCE_TIMEOUT_MS 700

/* Terminates the session in own->session.given_up, over the lane's own session, which is set up and
 * fencing.  If the answer is lost, or does not come by the deadline, leaves the server: the session
 * is closed and the next one tries again. */
void pg_fence(struct pg_own *own, int64_t deadline_ms);

#endif
