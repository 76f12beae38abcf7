/* SPDX-License-Identifier: MIT */
/* How much of the gate one address may take: lanes that wait for a provider, or for another lane
 * that asks one, rows that strangers cause, and questions about visitors whom no list lets in.
 * Some lanes stay for checks, and some for visitors of other addresses. */
#ifndef ADIT_GATE_WAITING_H
#define ADIT_GATE_WAITING_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Why the next two may fail. */
extern const char waiting_fault[];

/* is_admitted, in these four, is whether the call is a visitor's who is signed in and whom the
 * lists let in: some lanes are for nobody else. */

/* Notes that this lane waits for another one that asks a provider.  Returns false if too many wait
 * already, so, in all or of the visitor's address; waiting_unfollow() ends it. */
MUST_CHECK bool waiting_follow(struct gate_call *call, bool is_admitted);
void waiting_unfollow(struct gate_call *call, bool is_admitted);

/* Notes that this lane waits for a provider.  Returns a fetcher to ask it with, which
 * waiting_end_fetch() frees.  Returns NULL if too many lanes wait already, in all or of the
 * visitor's address, or memory is short; that needs no end. */
MUST_CHECK struct fetcher *waiting_begin_fetch(struct gate_call *call, bool is_admitted);
void waiting_end_fetch(struct gate_call *call, bool is_admitted, struct fetcher *fetcher);

/* What one address may do in WAITING_STORED_MS, at each worker, a /64 of IPv6 as much as one, a /56
 * twice and a /48 four times as much: come back with logins, have
 * providers asked about visitors whom no list lets in, and have long ways back stored, of which
 * there are so many in all. */
#define WAITING_STORED_MS ((int64_t)600 * 1000)
#define WAITING_LOGINS_MAX 1000
#define WAITING_CHECKS_MAX 1000
#define WAITING_WAYS_BACK_MAX 20
#define WAITING_WAYS_BACK_IN_ALL_MAX 200

/* Count a row that a login which came back leaves behind for 10 minutes, and one for its way back.
 * Return false, and count nothing, if there are too many. */
MUST_CHECK bool waiting_may_use(struct gate_call *call);
MUST_CHECK bool waiting_may_keep(struct gate_call *call);

/* Counts a question to a provider about a visitor who is signed in, but whom no list lets in: such
 * a session is never ended, and may be asked about as long as it lasts.  Returns false, and counts
 * nothing, if there are too many. */
MUST_CHECK bool waiting_may_ask(struct gate_call *call);

#endif
