/* SPDX-License-Identifier: MIT */
/* The session that a request's cookies hold. */
#include "gate/visit.h"

#include <string.h>

#include "crypt/key.h"
#include "gate/row.h"
#include "gate/rules.h"
#include "gate/session_row.h"
#include "gate/waiting.h"

static bool has_id(const struct text_list *ids, struct text id)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (text_eq(ids->items[i], id))
            return true;
    }
    return false;
}

/* Returns whether the id was asked for: a row that was not would be missed. */
static bool was_asked(const struct gate_call *call, struct text id)
{
    return has_id(&call->question.session_ids, id);
}

/* Appends a copy of an id to a list that has room for it. */
static void list_id(struct gate_call *call, struct text_list *ids,
                    const char id[VISITOR_SESSION_ID_SIZE])
{
    const char *kept = arena_copy(&call->lane->arena, id, VISITOR_SESSION_ID_SIZE - 1);

    if (kept)
        ids->items[ids->n++] = (struct text){kept, VISITOR_SESSION_ID_SIZE - 1};
}

static void add_id(struct gate_call *call, struct text value)
{
    struct text_list *ids = &call->question.session_ids;
    char id[VISITOR_SESSION_ID_SIZE];

    if (ids->n < STORE_GATE_SESSIONS_MAX && visitor_session_peek(value, id) &&
        !was_asked(call, text_of(id)))
        list_id(call, ids, id);
}

/* A module's prefix is known only after the look-up: until then, every cookie whose name ends like
 * ours may be a session.  Those of the default prefix come first. */
void visit_ask(struct gate_call *call)
{
    struct text_list *ids = &call->question.session_ids;
    size_t place = 0;
    struct buf name = {0};
    struct text value;

    ids->given = true;
    ids->items = arena_array(&call->lane->arena, STORE_GATE_SESSIONS_MAX, sizeof *ids->items);
    if (!ids->items)
        return;
    buf_puts(&name, call->lane->worker->gate->names.cookie_prefix);
    buf_puts(&name, COOKIE_SESSION);
    while (!name.failed && (value = cookie_next(&call->cookies, &place, buf_text(&name))).s)
        add_id(call, value);
    place = 0;
    while ((value = cookie_next_ending(&call->cookies, &place, text_of(COOKIE_SESSION))).s)
        add_id(call, value);
    buf_free(&name);
}

struct visitor_session_limits visit_limits(const struct gate_call *call)
{
    const struct oauth_module *module = &call->stored.module;

    return (struct visitor_session_limits){.inactivity_timeout = module->inactivity_timeout,
                                           .maximum_duration = module->maximum_duration,
                                           .auth_check_interval = module->auth_check_interval};
}

static const struct gate_row *find_session_row(const struct gate_call *call, struct text id)
{
    for (size_t i = 0; i < call->stored.n_rows; i++) {
        if (text_eq(call->stored.rows[i].id, id))
            return &call->stored.rows[i];
    }
    return NULL;
}

/* The application that signs visitors of the route in. */
static struct text client_id(const struct gate_call *call)
{
    const struct conf *conf = &call->lane->worker->gate->conf;

    if (call->stored.module.config.client_id.s)
        return call->stored.module.config.client_id;
    return text_of(conf->oauth_providers[call->place.provider - 1].client_id);
}

void visit_bind(const struct gate_call *call, struct visitor_session *session)
{
    session->client_id = client_id(call);
    session->incarnation = call->stored.incarnation;
    session->prefix = call->cookie_prefix;
}

/* A module that was deleted and made anew, another application and another cookie_prefix begin
 * without sessions. */
static bool is_bound(const struct gate_call *call, const struct visitor_session *session)
{
    return text_eq(session->client_id, client_id(call)) &&
           session->incarnation == call->stored.incarnation &&
           text_eq(session->prefix, call->cookie_prefix);
}

static struct text session_cookie_name(struct gate_call *call)
{
    struct buf name = {0};

    gate_call_cookie_name(call, &name, COOKIE_SESSION);
    return gate_call_keep(call, &name);
}

/* Sessions that a request may prove.  More do not fit into headers that web servers accept. */
#define PROVEN_MAX 512

static bool begin_ids(struct gate_call *call, struct text_list *ids, struct error *err)
{
    *ids = (struct text_list){.given = true};
    ids->items = arena_array(&call->lane->arena, PROVEN_MAX, sizeof *ids->items);
    return ids->items || error_set(err, ERR_OUT_OF_MEMORY);
}

static bool lasts_now(const struct gate_call *call, const struct visitor_session *session)
{
    const struct visitor_session_limits limits = visit_limits(call);

    return visitor_session_lasts(session, &limits, call->now);
}

/* Lists an id behind those of the sessions that were seen no earlier.  seen has their times. */
static void list_by_time(struct gate_call *call, struct text_list *ids, int64_t seen[PROVEN_MAX],
                         const struct visitor_session *session)
{
    char id[VISITOR_SESSION_ID_SIZE];
    size_t at = ids->n;
    struct text listed;

    (void)visitor_session_id_text(session, id);
    list_id(call, ids, id);
    if (ids->n == at)
        return;
    listed = ids->items[at];
    for (; at > 0 && seen[at - 1] < session->seen; at--) {
        ids->items[at] = ids->items[at - 1];
        seen[at] = seen[at - 1];
    }
    ids->items[at] = listed;
    seen[at] = session->seen;
}

/* Lists the sessions of the cookies that were not asked for, and are good but for their rows: so no
 * other host has made them up.  Those come first that were seen last: of these, the answer has what
 * the rows hold. */
static bool list_others(struct gate_call *call, bool must_live, struct text_list *ids,
                        struct error *err)
{
    struct text name = session_cookie_name(call);
    int64_t *seen = arena_array(&call->lane->arena, PROVEN_MAX, sizeof *seen);
    size_t place = 0;
    struct text value;

    if (!name.s || !seen || !begin_ids(call, ids, err))
        return error_set(err, ERR_OUT_OF_MEMORY);
    while (ids->n < PROVEN_MAX && (value = cookie_next(&call->cookies, &place, name)).s) {
        struct visitor_session session;
        char id[VISITOR_SESSION_ID_SIZE];

        if (visitor_session_open(call->lane->worker->gate->keyring, &call->place, value,
                                 &call->lane->arena, &session, err)) {
            if (is_bound(call, &session) && (!must_live || lasts_now(call, &session)) &&
                !was_asked(call, visitor_session_id_text(&session, id)) &&
                !has_id(ids, text_of(id)))
                list_by_time(call, ids, seen, &session);
        } else if (err->code != ERR_NONE) {
            return false;
        }
    }
    return true;
}

static bool join_ids(struct arena *arena, struct text_list *ids, const struct text_list *more)
{
    struct text *items = arena_array(arena, ids->n + more->n, sizeof *items);

    for (size_t i = 0; items && i < ids->n + more->n; i++)
        items[i] = i < ids->n ? ids->items[i] : more->items[i - ids->n];
    ids->items = items;
    ids->n = items ? ids->n + more->n : 0;
    return items;
}

static bool join_rows(struct arena *arena, struct gate_answer *stored,
                      const struct gate_answer *more)
{
    struct gate_row *rows = arena_array(arena, stored->n_rows + more->n_rows, sizeof *rows);

    for (size_t i = 0; rows && i < stored->n_rows + more->n_rows; i++)
        rows[i] = i < stored->n_rows ? stored->rows[i] : more->rows[i - stored->n_rows];
    stored->rows = rows;
    stored->n_rows = rows ? stored->n_rows + more->n_rows : 0;
    return rows;
}

/* The cookies name too many to ask for all before any is opened.  Whoever has many that are good
 * makes the gate ask once more, and not for each. */
static bool ask_for_others(struct gate_call *call, bool must_live, struct error *err)
{
    struct arena *arena = &call->lane->arena;
    struct text_list ids = {.n = 0};
    const struct gate_answer *answer;

    if (!list_others(call, must_live, &ids, err) || !row_find_all(call, ids, &answer, err))
        return false;
    return (join_ids(arena, &call->question.session_ids, &ids) &&
            join_rows(arena, &call->stored, answer)) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Looks for the end of a session, and for what its row holds.  Of very many, who signs out ends
 * each without that. */
static enum visit_found judge_found(struct gate_call *call, bool must_live,
                                    struct visitor_session *session, struct error *err)
{
    char id[VISITOR_SESSION_ID_SIZE];
    const struct gate_row *row;

    (void)visitor_session_id_text(session, id);
    if (!is_bound(call, session))
        return VISIT_NONE;
    if (!was_asked(call, text_of(id)) && !ask_for_others(call, must_live, err))
        return VISIT_UNKNOWN;
    if (!was_asked(call, text_of(id))) {
        (void)error_cause(err, ERR_INTERNAL, "the request has too many sessions");
        return VISIT_UNKNOWN;
    }
    row = find_session_row(call, text_of(id));
    if ((row && row->has_ended) || (!row && session->is_in_row))
        return VISIT_NONE;
    if (!row)
        return VISIT_FOUND;
    if (!row->sealed.s)
        return must_live ? VISIT_NONE : VISIT_FOUND;
    if (session_row_take_over(call, row, session, err))
        return must_live && !lasts_now(call, session) ? VISIT_NONE : VISIT_FOUND;
    if (err->code == ERR_OUT_OF_MEMORY)
        return VISIT_UNKNOWN;
    *err = (struct error){.code = ERR_NONE};
    /* Nobody knows what the row holds.  Who signs out needs not know it. */
    return must_live ? VISIT_NONE : VISIT_FOUND;
}

bool visit_lets_in(const struct gate_call *call, const struct visitor_session *session)
{
    return !session->is_stranger && rules_admit(&call->stored.module.config, &session->identity);
}

/* Returns whether the provider would have to be asked about a session that has no token. */
static bool lacks_token(const struct gate_call *call, const struct visitor_session *session)
{
    const struct visitor_session_limits limits = visit_limits(call);

    return visitor_session_needs_check(session, &limits, call->now) &&
           !text_present(session->token);
}

/* One visitor has one place: the newest session counts.  Returns whether this one may be put. */
static bool make_place(struct visits *visits, const struct visitor_session *session)
{
    size_t at = 0;

    while (at < visits->n &&
           !text_eq(visits->items[at].identity.subject, session->identity.subject))
        at++;
    if (at == visits->n)
        return true;
    if (visits->items[at].issued >= session->issued)
        return false;
    visits->n--;
    for (; at < visits->n; at++)
        visits->items[at] = visits->items[at + 1];
    return true;
}

/* Puts one behind the first, newest first.  If there are too many, the oldest goes. */
static void put_behind(struct visits *visits, const struct visitor_session *session)
{
    size_t at = visits->n;

    while (at > 1 && visits->items[at - 1].issued < session->issued)
        at--;
    if (at == VISITS_MAX)
        return;
    visits->n += visits->n < VISITS_MAX;
    for (size_t i = visits->n - 1; i > at; i--)
        visits->items[i] = visits->items[i - 1];
    visits->items[at] = *session;
}

/* Keeps a session that the lists do not let in: the newest, so that an older one sends nobody to
 * sign in again and again, and of others those about whom the provider may say something else. */
static void keep_refused(struct visits *visits, const struct visitor_session *session)
{
    struct visitor_session other = *session;

    if (!make_place(visits, session))
        return;
    if (visits->n == 0) {
        visits->items[visits->n++] = *session;
        return;
    }
    if (session->issued > visits->items[0].issued) {
        other = visits->items[0];
        visits->items[0] = *session;
    }
    if (!other.is_stranger)
        put_behind(visits, &other);
}

/* Looks for the session of a cookie.  Keeps one that the lists do not let in. */
static enum visit_found try_cookie(struct gate_call *call, struct text value,
                                   struct visitor_session *session, struct visits *refused,
                                   struct error *err)
{
    struct keyring *keyring = call->lane->worker->gate->keyring;
    char id[VISITOR_SESSION_ID_SIZE];
    enum visit_found found;

    *err = (struct error){.code = ERR_NONE};
    if (!visitor_session_open(keyring, &call->place, value, &call->lane->arena, session, err))
        return err->code == ERR_NONE ? VISIT_NONE : VISIT_UNKNOWN;
    /* First: for one that only leads to a new sign-in, nobody reads a row. */
    if (!lasts_now(call, session))
        return VISIT_NONE;
    /* What a row says counts, and not what the cookie does. */
    if (session->is_in_row || find_session_row(call, visitor_session_id_text(session, id)) ||
        visit_lets_in(call, session)) {
        found = judge_found(call, true, session, err);
        if (found != VISIT_FOUND || lacks_token(call, session))
            return found == VISIT_UNKNOWN ? found : VISIT_NONE;
        if (visit_lets_in(call, session))
            return found;
    }
    if (is_bound(call, session))
        keep_refused(refused, session);
    return VISIT_NONE;
}

/* Leaves those that have not ended. */
static enum visit_found judge_refused(struct gate_call *call, struct visits *visits,
                                      struct error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < visits->n; i++) {
        struct visitor_session session = visits->items[i];
        enum visit_found found = judge_found(call, true, &session, err);

        if (found == VISIT_UNKNOWN)
            return found;
        if (found == VISIT_FOUND && !lacks_token(call, &session))
            visits->items[n++] = session;
    }
    visits->n = n;
    return n > 0 ? VISIT_FOUND : VISIT_NONE;
}

/* Another host of the same domain may have set a cookie of this name.  So a session that has ended,
 * or that the lists do not let in, hides none that they do, unless there are very many in rows. */
enum visit_found visit_find(struct gate_call *call, struct visits *visits, struct error *err)
{
    size_t place = 0;
    struct text name = session_cookie_name(call);
    struct text value;
    struct visitor_session session = {.issued = 0};
    enum visit_found found = VISIT_NONE;

    visits->n = 0;
    if (!name.s) {
        (void)error_set(err, ERR_OUT_OF_MEMORY);
        return VISIT_UNKNOWN;
    }
    while (found == VISIT_NONE && (value = cookie_next(&call->cookies, &place, name)).s)
        found = try_cookie(call, value, &session, visits, err);
    if (found == VISIT_NONE)
        return judge_refused(call, visits, err);
    *visits = (struct visits){.items[0] = session, .n = found == VISIT_FOUND};
    return found;
}

/* ---- keeping ---- */

static bool too_many_rows(struct error *err)
{
    return error_cause(err, ERR_INTERNAL,
                       "too many sign-ins or sign-outs of this visitor in 10 minutes");
}

/* A row that is there already is only written again. */
static bool may_have_row(struct gate_call *call, const struct visitor_session *session,
                         struct error *err)
{
    return session->row || waiting_may_leave_row(call, &session->identity) || too_many_rows(err);
}

/* Writes a Set-Cookie header's value for the session's cookie. */
static struct text write_cookie(struct gate_call *call, struct text value, int64_t max_age_s)
{
    struct buf name = {0};
    struct buf out = {0};

    gate_call_cookie_name(call, &name, COOKIE_SESSION);
    cookie_write(&out, &(struct cookie){.name = buf_text(&name),
                                        .value = value,
                                        .path = "/",
                                        .max_age_s = max_age_s,
                                        .is_secure = gate_call_is_secure(call)});
    out.failed = out.failed || name.failed;
    buf_free(&name);
    return gate_call_keep(call, &out);
}

static bool seal_session(struct gate_call *call, const struct visitor_session *session,
                         struct buf *value, struct error *err)
{
    buf_clear(value);
    if (!visitor_session_seal(call->lane->worker->gate->keyring, &call->place, session,
                              &call->lane->arena, value, err))
        return false;
    return !value->failed || error_set(err, ERR_OUT_OF_MEMORY);
}

static bool is_too_large(const struct gate_call *call, const struct buf *value)
{
    return value->len > SEALED_COOKIE_MAX - call->cookie_prefix.len;
}

static bool keep_row(struct gate_call *call, struct visitor_session *session, struct error *err)
{
    const struct identity judged = session->identity;
    enum session_row_outcome outcome = session_row_store(call, session, err);

    if (outcome == SESSION_ROW_SAME || outcome == SESSION_ROW_WRITTEN ||
        (outcome == SESSION_ROW_OVERTAKEN && !session->is_unconfirmed &&
         !rules_differ(&session->identity, &judged)))
        return true;
    if (outcome != SESSION_ROW_FAILED)
        (void)error_cause(err, ERR_INTERNAL, "another worker has written the session's row");
    return false;
}

bool visit_keep(struct gate_call *call, struct visitor_session *session, enum visit_news news,
                struct text *set_cookie, struct error *err)
{
    struct buf value = {0};
    bool ok;

    *set_cookie = (struct text){.s = NULL};
    if (news != VISIT_SEEN)
        session->is_in_row = false;
    ok = seal_session(call, session, &value, err);
    if (ok && is_too_large(call, &value)) {
        session->is_in_row = news != VISIT_REFUSED;
        if (news == VISIT_REFUSED)
            session->token = session->refresh = (struct text){.s = NULL};
        ok = (news == VISIT_REFUSED ||
              (may_have_row(call, session, err) && keep_row(call, session, err))) &&
             seal_session(call, session, &value, err);
    }
    if (ok && !is_too_large(call, &value)) {
        *set_cookie = write_cookie(call, buf_text(&value), -1);
        ok = set_cookie->s || error_set(err, ERR_OUT_OF_MEMORY);
    }
    buf_free(&value);
    return ok;
}

enum ended { ENDED, ENDED_TOO_MANY, ENDED_NOT };

/* Ends a session that a cookie holds, and lists it among the ids.  A stranger's lets nobody in. */
static enum ended end_and_log(struct gate_call *call, const struct visitor_session *session,
                              struct text_list *ids, struct error *err)
{
    char id[VISITOR_SESSION_ID_SIZE];
    bool is_stored = find_session_row(call, visitor_session_id_text(session, id));

    if (!session->is_stranger) {
        if (!is_stored && !waiting_may_leave_row(call, &session->identity))
            return ENDED_TOO_MANY;
        if (!session_row_end(call, session, err))
            return ENDED_NOT;
        if (ids->n < PROVEN_MAX)
            list_id(call, ids, id);
    }
    gate_call_log(call, LOG_LEVEL_INFO, "signed out", NULL, &session->identity);
    return ENDED;
}

/* The same for a cookie, if it holds one that is not among the ids yet. */
static enum ended end_cookie(struct gate_call *call, struct text value, struct text_list *ids,
                             struct error *err)
{
    struct visitor_session session;
    enum visit_found found = VISIT_NONE;
    char id[VISITOR_SESSION_ID_SIZE];

    *err = (struct error){.code = ERR_NONE};
    if (visitor_session_open(call->lane->worker->gate->keyring, &call->place, value,
                             &call->lane->arena, &session, err))
        found = judge_found(call, false, &session, err);
    if (found == VISIT_UNKNOWN || err->code != ERR_NONE)
        return ENDED_NOT;
    if (found == VISIT_NONE || has_id(ids, visitor_session_id_text(&session, id)))
        return ENDED;
    return end_and_log(call, &session, ids, err);
}

enum visit_end visit_end_all(struct gate_call *call, struct error *err)
{
    size_t place = 0;
    struct text name = session_cookie_name(call);
    struct text_list ids;
    struct text value;
    size_t n_kept = 0;

    if (!name.s || !begin_ids(call, &ids, err)) {
        (void)error_set(err, ERR_OUT_OF_MEMORY);
        return VISIT_END_FAILED;
    }
    while ((value = cookie_next(&call->cookies, &place, name)).s) {
        enum ended ended = end_cookie(call, value, &ids, err);

        if (ended == ENDED_NOT)
            return VISIT_END_FAILED;
        n_kept += ended == ENDED_TOO_MANY;
    }
    if (n_kept == 0)
        return VISIT_END_ALL;
    (void)too_many_rows(err);
    return ids.n > 0 ? VISIT_END_SOME : VISIT_END_FAILED;
}

struct text visit_removal(struct gate_call *call)
{
    return write_cookie(call, text_of(""), 0);
}
