/* SPDX-License-Identifier: MIT */
/* Asking the provider again about visitors who are signed in. */
#ifndef ADIT_GATE_RECHECK_H
#define ADIT_GATE_RECHECK_H

#include <stdint.h>

#include "base/buf.h"
#include "gate/provider.h"
#include "gate/visitor_session.h"

/* A page's many requests come with the same old cookie: one of them asks, and all use its answer.
 */
#define RECHECKS_MAX 256

/* ... of which the sessions of one visitor have at most so many. */
#define RECHECKS_OF_VISITOR_MAX 32

struct recheck {
    unsigned char id[VISITOR_SESSION_ID_LEN];
    uint64_t visitor; /* see waiting_visitor() */
    bool is_asking;
    int64_t begun_ms; /* when the first question began, on the steady clock */
    enum provider_outcome outcome;
    int64_t checked;   /* seconds since 1970 */
    int64_t until_ms;  /* how long the outcome holds, on the steady clock; 0: it is unused */
    uint64_t rows[2];  /* visitor_session_row(), before the question and with the answer */
    struct buf answer; /* visitor_session_write_identity() */
};

/* All zero: empty. */
struct rechecks {
    struct recheck items[RECHECKS_MAX];
};

/* Wipes and frees what it holds. */
void rechecks_free(struct rechecks *rechecks);

struct gate_call;

/* Asks the provider about the session, and puts its answer into it.  PROVIDER_REFUSED: the session
 * is not good any more. */
enum provider_outcome recheck(struct gate_call *call, struct visitor_session *session);

#endif
