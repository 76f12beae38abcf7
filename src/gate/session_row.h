/* SPDX-License-Identifier: MIT */
/* The row of a visitor's session, which has what does not fit into its cookie, what the provider
 * has said since the visitor signed in, and its end.  All cookies of the session obey it.  A worker
 * writes a row only over what it has read there: what another one has heard meanwhile is not lost.
 */
#ifndef ADIT_GATE_SESSION_ROW_H
#define ADIT_GATE_SESSION_ROW_H

#include "base/must_check.h"
#include "gate/gate_call.h"
#include "gate/visitor_session.h"

/* Takes over what the session's row has.  Returns false with *err if nobody knows. */
MUST_CHECK bool session_row_take_over(struct gate_call *call, const struct gate_row *row,
                                      struct visitor_session *session, struct error *err);

/* Looks whether the session's row has newer tokens by now, and takes it over.  Returns whether it
 * had; false with *err also if nobody knows. */
MUST_CHECK bool session_row_find_tokens(struct gate_call *call, struct visitor_session *session,
                                        struct error *err);

enum session_row_outcome {
    SESSION_ROW_FAILED,    /* *err says why */
    SESSION_ROW_SAME,      /* nobody has written it since it was read, nor has this */
    SESSION_ROW_WRITTEN,   /* nobody has written it since it was read, but this has */
    SESSION_ROW_OVERTAKEN, /* another worker has written it: the session has what is there */
    SESSION_ROW_ENDED      /* the session has ended meanwhile */
};

/* Puts a session with an answer of the provider into its row, whatever its cookie holds, unless the
 * row holds the same. */
enum session_row_outcome session_row_store(struct gate_call *call, struct visitor_session *session,
                                           struct error *err);

/* Reads the row again, if there is one by now. */
enum session_row_outcome session_row_look(struct gate_call *call, struct visitor_session *session,
                                          struct error *err);

/* Puts a session with new tokens into its row.  It brings no answer: it takes over what is there.
 * Returns false with *err. */
MUST_CHECK bool session_row_store_tokens(struct gate_call *call, struct visitor_session *session,
                                         struct error *err);

/* Notes that the session has ended.  Returns false with *err. */
MUST_CHECK bool session_row_end(struct gate_call *call, const struct visitor_session *session,
                                struct error *err);

#endif
