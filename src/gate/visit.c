/* SPDX-License-Identifier: MIT */
/* The session that a request's cookies hold. */
#include "gate/visit.h"

#include <string.h>

#include "crypt/key.h"

/* The column that a row's seal is bound to. */
#define ROW_COLUMN "gate_session.sealed"

static struct text id_text(const struct session *session, char id[SESSION_ID_SIZE])
{
    crypt_key_base64url_encode(session->id, SESSION_ID_LEN, id);
    return (struct text){id, SESSION_ID_SIZE - 1};
}

/* A module's prefix is known only after the look-up: until then, every cookie whose name ends like
 * ours may be a session. */
void visit_ask(struct call *call)
{
    struct text rest = call_variable(call, GATE_COOKIE);
    struct text_list *ids = &call->question.session_ids;
    struct text value;
    char id[SESSION_ID_SIZE];

    ids->given = true;
    ids->items = arena_array(&call->lane->arena, STORE_GATE_SESSIONS_MAX, sizeof *ids->items);
    while (ids->items && ids->n < STORE_GATE_SESSIONS_MAX &&
           (value = cookie_next_ending(&rest, text_of(COOKIE_SESSION))).s) {
        const char *kept = session_peek(value, id)
                               ? arena_copy(&call->lane->arena, id, SESSION_ID_SIZE - 1)
                               : NULL;

        if (kept)
            ids->items[ids->n++] = (struct text){kept, SESSION_ID_SIZE - 1};
    }
}

/* Returns whether the id was asked for: a row that was not would be missed. */
static bool was_asked(const struct call *call, struct text id)
{
    for (size_t i = 0; i < call->question.session_ids.n; i++) {
        if (text_eq(call->question.session_ids.items[i], id))
            return true;
    }
    return false;
}

static const struct gate_row *find_session_row(const struct call *call, struct text id)
{
    for (size_t i = 0; i < call->stored.n_rows; i++) {
        if (text_eq(call->stored.rows[i].id, id))
            return &call->stored.rows[i];
    }
    return NULL;
}

static struct keyring_place place_of_row(const struct call *call, struct text id)
{
    return (struct keyring_place){.column = ROW_COLUMN,
                                  .account_id = call->place.account_id,
                                  .ids = {call->place.edge_id, id},
                                  .position = call->place.provider};
}

/* Returns whether the row holds the rest of the session.  Sets *err if nobody knows. */
static bool open_row(struct call *call, const struct gate_row *row, struct session *session,
                     struct error *err)
{
    const struct keyring_place place = place_of_row(call, row->id);
    struct arena *arena = &call->lane->arena;
    struct text opened;

    return keyring_open(call->lane->worker->gate->keyring, &place, row->key_id,
                        (const unsigned char *)row->sealed.s, row->sealed.len, arena, &opened,
                        err) &&
           session_read_identity(opened, arena, session);
}

/* The application that signs visitors of the route in. */
static struct text client_id(const struct call *call)
{
    const struct conf *conf = &call->lane->worker->gate->conf;

    if (call->stored.module.config.client_id.s)
        return call->stored.module.config.client_id;
    return text_of(conf->oauth_providers[call->place.provider - 1].client_id);
}

static enum visit_found judge_found(struct call *call, struct session *session, struct error *err)
{
    char id[SESSION_ID_SIZE];
    const struct gate_row *row = find_session_row(call, id_text(session, id));

    if (!was_asked(call, text_of(id)) || (row && row->has_ended) || (!row && session->is_in_row) ||
        !text_eq(session->client_id, client_id(call)))
        return VISIT_NONE;
    if (!session->is_in_row || open_row(call, row, session, err))
        return VISIT_FOUND;
    return err->code == ERR_OUT_OF_MEMORY ? VISIT_UNKNOWN : VISIT_NONE;
}

enum visit_found visit_find(struct call *call, struct session *session, struct error *err)
{
    struct keyring *keyring = call->lane->worker->gate->keyring;
    struct text rest = call_variable(call, GATE_COOKIE);
    struct buf name = {0};
    struct text value;
    enum visit_found found = VISIT_NONE;

    call_cookie_name(call, &name, COOKIE_SESSION);
    while (found == VISIT_NONE && !name.failed && (value = cookie_next(&rest, buf_text(&name))).s) {
        *err = (struct error){.code = ERR_NONE};
        if (session_open(keyring, &call->place, value, &call->lane->arena, session, err))
            found = judge_found(call, session, err);
        else if (err->code != ERR_NONE)
            found = VISIT_UNKNOWN;
    }
    if (name.failed) {
        (void)error_set(err, ERR_OUT_OF_MEMORY);
        found = VISIT_UNKNOWN;
    }
    buf_free(&name);
    return found;
}

/* ---- keeping ---- */

static int64_t ends_at(const struct session *session)
{
    return session->issued + SESSION_LASTS_MAX;
}

static bool store_row(struct call *call, const struct session *session, struct error *err)
{
    struct gate_lane *lane = call->lane;
    char id[SESSION_ID_SIZE];
    struct gate_row row = {.id = id_text(session, id)};
    const struct keyring_place place = place_of_row(call, row.id);
    const unsigned char *sealed;
    struct buf content = {0};
    struct pg *pg = NULL;
    bool ok = false;

    session_write_identity(&content, session);
    if (content.failed)
        (void)error_set(err, ERR_OUT_OF_MEMORY);
    else if (keyring_seal(lane->worker->gate->keyring, &place, buf_text(&content), &lane->arena,
                          &row.key_id, &sealed, &row.sealed.len, err)) {
        row.sealed.s = (const char *)sealed;
        pg = database_take(lane->worker->database, &lane->wait, call->place.account_id, err);
        ok = pg && store_gate_keep(pg, call->place.account_id, &row, ends_at(session), err);
    }
    if (pg)
        database_give(lane->worker->database, pg, ok, err);
    buf_free(&content);
    return ok;
}

/* Writes a Set-Cookie header's value for the session's cookie. */
static struct text write_cookie(struct call *call, struct text value, int64_t max_age_s)
{
    struct buf name = {0};
    struct buf out = {0};

    call_cookie_name(call, &name, COOKIE_SESSION);
    cookie_write(&out, &(struct cookie){.name = buf_text(&name),
                                        .value = value,
                                        .path = "/",
                                        .max_age_s = max_age_s,
                                        .is_secure = call_is_secure(call)});
    out.failed = out.failed || name.failed;
    buf_free(&name);
    return call_keep(call, &out);
}

static bool seal_session(struct call *call, const struct session *session, struct buf *value,
                         struct error *err)
{
    buf_clear(value);
    if (!session_seal(call->lane->worker->gate->keyring, &call->place, session, &call->lane->arena,
                      value, err))
        return false;
    return !value->failed || error_set(err, ERR_OUT_OF_MEMORY);
}

bool visit_keep(struct call *call, struct session *session, bool is_new, struct text *set_cookie,
                struct error *err)
{
    struct buf value = {0};
    bool ok;

    if (is_new)
        session->is_in_row = false;
    ok = seal_session(call, session, &value, err);
    if (ok && !session->is_in_row && value.len > SESSION_COOKIE_MAX - call->cookie_prefix.len) {
        session->is_in_row = true;
        ok = store_row(call, session, err) && seal_session(call, session, &value, err);
    }
    if (ok) {
        *set_cookie = write_cookie(call, buf_text(&value), -1);
        ok = set_cookie->s || error_set(err, ERR_OUT_OF_MEMORY);
    }
    buf_free(&value);
    return ok;
}

bool visit_end(struct call *call, const struct session *session, struct error *err)
{
    struct gate_lane *lane = call->lane;
    struct pg *pg = database_take(lane->worker->database, &lane->wait, call->place.account_id, err);
    char id[SESSION_ID_SIZE];
    bool ok;

    if (!pg)
        return false;
    ok = store_gate_end(pg, call->place.account_id, id_text(session, id), ends_at(session), err);
    database_give(lane->worker->database, pg, ok, err);
    return ok;
}

struct text visit_removal(struct call *call)
{
    return write_cookie(call, text_of(""), 0);
}
