/* SPDX-License-Identifier: MIT */
/* The rows of visitors' sessions. */
#include "gate/session_row.h"

#include "gate/row.h"

/* ---- reading ---- */

/* Returns whether the row holds the rest of the session.  Sets *err if nobody knows. */
static bool open_row(struct gate_call *call, const struct gate_row *row,
                     struct visitor_session *session, struct error *err)
{
    struct text opened;

    return row_open(call, ROW_OF_SESSION, row, &opened, err) &&
           visitor_session_read_identity(opened, &call->lane->arena, session);
}

/* Takes over what the session's row has.  A row holds what the provider said last, whatever times a
 * cookie has: copies of older cookies hold what it has taken away since, and the clocks of hosts
 * differ.  But the time of a check that told nothing new is in the cookie only, and so may newer
 * tokens be. */
bool session_row_take_over(struct gate_call *call, const struct gate_row *row,
                           struct visitor_session *session, struct error *err)
{
    struct visitor_session *held = arena_alloc(&call->lane->arena, sizeof *held);

    if (!held)
        return error_set(err, ERR_OUT_OF_MEMORY);
    *held = *session;
    if (!open_row(call, row, held, err))
        return false;
    /* Of tokens that workers have got at the same time, the row has those that all use. */
    if (session->is_in_row || held->n_renewed == session->n_renewed) {
        session->asked = held->asked;
        session->token = held->token;
        session->refresh = held->refresh;
        session->n_renewed = held->n_renewed;
    }
    visitor_session_take_over(session, held);
    session->is_unconfirmed = held->is_unconfirmed;
    session->row = held;
    session->row_sealed = row->sealed;
    return true;
}

bool session_row_find_tokens(struct gate_call *call, struct visitor_session *session,
                             struct error *err)
{
    const struct visitor_session own = *session;
    const struct gate_row *row = NULL;
    char id[VISITOR_SESSION_ID_SIZE];

    if (!row_find(call, visitor_session_id_text(session, id), &row, err) || !row ||
        row->has_ended || !session_row_take_over(call, row, session, err))
        return false;
    /* The row may not have taken the session's own. */
    visitor_session_take_tokens(session, &own);
    return session->n_renewed > own.n_renewed;
}

/* ---- writing ---- */

/* The database's clock says when the row goes, and the gate's how long the session lasts. */
#define CLOCKS_DIFFER_S 86400

static int64_t ends_at(const struct visitor_session *session)
{
    return session->issued + VISITOR_SESSION_LASTS_MAX + CLOCKS_DIFFER_S;
}

/* Writes the row in place of the one that the session knows.  *sealed: as row_keep() says. */
static bool write_row(struct gate_call *call, const struct visitor_session *session,
                      struct text *sealed, struct error *err)
{
    char id[VISITOR_SESSION_ID_SIZE];
    struct buf content = {0};
    bool ok = false;

    visitor_session_write_identity(&content, session);
    if (content.failed)
        (void)error_set(err, ERR_OUT_OF_MEMORY);
    else if (content.len > VISITOR_SESSION_ROW_MAX)
        (void)error_cause(err, ERR_INTERNAL, "the session is too large for a row");
    else
        ok = row_keep(call,
                      &(struct row_write){.purpose = ROW_OF_SESSION,
                                          .id = visitor_session_id_text(session, id),
                                          .content = buf_text(&content),
                                          .before = session->row_sealed,
                                          .ends_at = ends_at(session)},
                      sealed, err);
    buf_free(&content);
    return ok;
}

static bool note_row(struct gate_call *call, struct visitor_session *session, struct text sealed,
                     struct error *err)
{
    struct visitor_session *held = arena_alloc(&call->lane->arena, sizeof *held);

    if (!held)
        return error_set(err, ERR_OUT_OF_MEMORY);
    *held = *session;
    session->row = held;
    session->row_sealed = sealed;
    return true;
}

/* Takes over what is in the row, if others have written it since it was read.  The session may have
 * newer tokens. */
enum session_row_outcome session_row_look(struct gate_call *call, struct visitor_session *session,
                                          struct error *err)
{
    const struct visitor_session own = *session;
    const struct gate_row *row;
    char id[VISITOR_SESSION_ID_SIZE];

    if (!row_find(call, visitor_session_id_text(session, id), &row, err))
        return SESSION_ROW_FAILED;
    if (!row && !session->row_sealed.s)
        return SESSION_ROW_SAME;
    if (!row || row->has_ended)
        return SESSION_ROW_ENDED;
    if (text_eq(row->sealed, session->row_sealed))
        return SESSION_ROW_SAME;
    if (!session_row_take_over(call, row, session, err))
        return SESSION_ROW_FAILED;
    visitor_session_take_tokens(session, &own);
    return SESSION_ROW_OVERTAKEN;
}

enum session_row_outcome session_row_store(struct gate_call *call, struct visitor_session *session,
                                           struct error *err)
{
    struct text sealed;
    enum session_row_outcome found;

    if (session->row && session->row->is_unconfirmed == session->is_unconfirmed &&
        !visitor_session_differs(session->row, session))
        return SESSION_ROW_SAME;
    if (!write_row(call, session, &sealed, err))
        return SESSION_ROW_FAILED;
    if (sealed.s)
        return note_row(call, session, sealed, err) ? SESSION_ROW_WRITTEN : SESSION_ROW_FAILED;
    found = session_row_look(call, session, err);
    if (found != SESSION_ROW_SAME)
        return found;
    (void)error_cause(err, ERR_INTERNAL, "the database does not take the session's row");
    return SESSION_ROW_FAILED;
}

/* How often others may write a row while one waits to. */
#define STORE_TRIES 5

bool session_row_store_tokens(struct gate_call *call, struct visitor_session *session,
                              struct error *err)
{
    for (int i = 0; i < STORE_TRIES; i++) {
        enum session_row_outcome outcome = session_row_store(call, session, err);

        if (outcome != SESSION_ROW_OVERTAKEN)
            return outcome != SESSION_ROW_FAILED;
    }
    return error_cause(err, ERR_INTERNAL, "others write the session's row all the time");
}

bool session_row_end(struct gate_call *call, const struct visitor_session *session,
                     struct error *err)
{
    struct gate_lane *lane = call->lane;
    struct pg *pg = database_take(lane->worker->database, &lane->wait, call->place.account_id, err);
    char id[VISITOR_SESSION_ID_SIZE];
    bool ok;

    if (!pg)
        return false;
    ok = store_gate_end(pg, call->place.account_id, visitor_session_id_text(session, id),
                        ends_at(session), err);
    database_give(lane->worker->database, pg, ok, err);
    return ok;
}
