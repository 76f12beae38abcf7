/* SPDX-License-Identifier: MIT */
/* How much of the gate one address may take, and one visitor from many: lanes that wait for a
 * provider, or for another lane that asks one, rows that strangers cause, and questions about
 * visitors.  Some lanes stay for checks, and some for others. */
#ifndef ADIT_GATE_WAITING_H
#define ADIT_GATE_WAITING_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Why the next two may fail. */
extern const char waiting_fault[];

/* Returns a number for a visitor of the call's account and provider, of whatever address and
 * session, that tells most of them apart. */
uint64_t waiting_visitor(const struct gate_call *call, const struct identity *who);

/* session, in these, is that of a visitor who is signed in; NULL: somebody signs in.  Some lanes
 * are for nobody but those whom the lists have let in: also if the provider has said since, maybe
 * by mistake, that they would not now. */

/* Notes that this lane waits for another one that asks a provider.  Returns false if too many wait
 * already, so, in all, of the visitor or of the address; waiting_unfollow() ends it. */
MUST_CHECK bool waiting_follow(struct gate_call *call, const struct visitor_session *session);
void waiting_unfollow(struct gate_call *call);

/* Notes that this lane waits for a provider.  Returns a fetcher to ask it with, which
 * waiting_end_fetch() frees.  Returns NULL if too many lanes wait already, in all, of the visitor
 * or of the address, or memory is short; that needs no end. */
MUST_CHECK struct fetcher *waiting_begin_fetch(struct gate_call *call,
                                               const struct visitor_session *session);
void waiting_end_fetch(struct gate_call *call, struct fetcher *fetcher);

/* What one address may do in WAITING_STORED_MS, at each worker, a /64 of IPv6 as much as one, a /56
 * twice and a /48 four times as much: come back with logins, have providers asked about strangers,
 * and have long ways back stored.  Of the last, there are so many in all, and
 * an eighth of those that are left for an address. */
#define WAITING_STORED_MS ((int64_t)600 * 1000)
#define WAITING_LOGINS_MAX 1000
#define WAITING_CHECKS_MAX 1000
#define WAITING_WAYS_BACK_MAX 20
#define WAITING_WAYS_BACK_IN_ALL_MAX 200

/* What one visitor may do in that time, from however many addresses: leave rows for 30 days by
 * signing in to a route and out, and with however many sessions have providers asked. */
#define WAITING_VISITOR_ROWS_MAX 200
#define WAITING_VISITOR_CHECKS_MAX 3000

/* Count a row that a login which came back leaves behind for 10 minutes, and one for its way back.
 * Return false, and count nothing, if there are too many. */
MUST_CHECK bool waiting_may_use(struct gate_call *call);
MUST_CHECK bool waiting_may_keep(struct gate_call *call);

/* Counts a row for 30 days that a visitor leaves behind for a route: of a session that begins and
 * is too large for a cookie, or of the end of one that had none.  Returns false, and counts
 * nothing, if there are too many. */
MUST_CHECK bool waiting_may_leave_row(struct gate_call *call, const struct identity *who);

/* Returns NULL if a provider may be asked about a visitor who is signed in, or why it may not,
 * static: too often about the visitor, or about strangers from the address: a stranger's session is
 * never ended, and may be asked about as long as it lasts. */
MUST_CHECK const char *waiting_why_not_ask(struct gate_call *call,
                                           const struct visitor_session *session);

/* Counts such a question. */
void waiting_count_question(struct gate_call *call, const struct visitor_session *session);

#endif
