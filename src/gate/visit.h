/* SPDX-License-Identifier: MIT */
/* The session that a request's cookies hold. */
#ifndef ADIT_GATE_VISIT_H
#define ADIT_GATE_VISIT_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Puts the ids of the sessions that the cookies name, unproven, into call->question. */
void visit_ask(struct gate_call *call);

enum visit_found {
    VISIT_UNKNOWN, /* nobody can know now; *err says why */
    VISIT_NONE,
    VISIT_FOUND
};

/* Sessions of one request that may count. */
#define VISITS_MAX 4

struct visits {
    struct visitor_session items[VISITS_MAX];
    size_t n;
};

/* Finds the session among the cookies: sealed for this place, not ended, with the application of
 * the module, and one that lasts.  To be called after stored_look_up().  The first counts.  If the
 * lists do not let it in, others follow that may come from another host: one of them counts if the
 * provider lets it in again. */
MUST_CHECK enum visit_found visit_find(struct gate_call *call, struct visits *visits,
                                       struct error *err);

/* Returns whether the session lets its visitor in now: the lists do, and it is no stranger's.
 * Nothing would tell that a stranger's has ended, or what the provider has said since, because
 * strangers fill no table. */
MUST_CHECK bool visit_lets_in(const struct gate_call *call, const struct visitor_session *session);

/* Returns the durations of the route's module. */
struct visitor_session_limits visit_limits(const struct gate_call *call);

enum visit_news {
    VISIT_SEEN,    /* only a time has moved */
    VISIT_ALLOWED, /* the provider was just asked, and the lists let the visitor in */
    VISIT_REFUSED  /* the same, and they do not */
};

/* Seals the session, and writes the value of a Set-Cookie header, in the arena.  A session that is
 * too large for a cookie goes into a row of the database if the visitor is let in.  That of others
 * loses its token, and has no cookie if it is still too large: they fill no table.  Returns false
 * with *err, also if it needs a row and the visitor has left too many lately. */
MUST_CHECK bool visit_keep(struct gate_call *call, struct visitor_session *session,
                           enum visit_news news, struct text *set_cookie, struct error *err);

/* Notes in a new session what it is valid for. */
void visit_bind(const struct gate_call *call, struct visitor_session *session);

enum visit_end {
    VISIT_END_FAILED, /* *err says why; some may have ended */
    VISIT_END_SOME,   /* the same, but only the sessions of visitors who have left too many rows
                       * lately have not ended; another host may have set their cookies */
    VISIT_END_ALL
};

/* Ends, and logs, all sessions that the request's cookies prove, whichever of them visit_find()
 * would find, and also those that do not last now: they may, once the module's durations are
 * longer. */
MUST_CHECK enum visit_end visit_end_all(struct gate_call *call, struct error *err);

/* Writes the value of a Set-Cookie header that removes the session's cookie, in the arena. */
struct text visit_removal(struct gate_call *call);

#endif
