/* SPDX-License-Identifier: MIT */
/* Judging marked sessions. */
#include "gateway/marked.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/grant.h"
#include "gateway/judge.h"
#include "model/acl.h"
#include "model/ssh_decision.h"

/* One turn of judging. */
struct turn {
    struct gateway *gateway;
    const char *account_id; /* NULL: all */
    int64_t end_ms;         /* on the steady clock */
    struct error *err;
};

static bool is_over(const struct turn *turn)
{
    return clock_steady_ms() >= turn->end_ms;
}

static bool is_of_turn(const struct turn *turn, const struct session *session)
{
    return session->mark != SESSION_JUDGED && !session->is_ending &&
           (!turn->account_id || strcmp(session->account_id, turn->account_id) == 0);
}

static struct gateway_key key_of_session(const struct session *session)
{
    return (struct gateway_key){text_of(session->account_id), text_of(session->fingerprint)};
}

static bool is_of_key(const struct session *session, const struct gateway_key *key)
{
    return text_eq(text_of(session->fingerprint), key->fingerprint) &&
           text_eq(text_of(session->account_id), key->account_id);
}

static void end_one(const struct turn *turn, struct session *session, const char *why)
{
    session_end(session, &turn->gateway->conf.log, why, clock_steady_ms());
}

/* ---- what is late ---- */

/* Notes that a statement for these keys failed.  Many keys share the blame. */
static void note_late(const struct turn *turn, const struct gateway_key *keys, size_t n)
{
    struct sessions *sessions = &turn->gateway->sessions;

    if (turn->err->code != ERR_DATABASE_TIMEOUT)
        return;
    turn->gateway->glance_max = 1;
    for (size_t i = 0; n == 1 && i < sessions->n; i++) {
        if (is_of_key(sessions->items[i], keys))
            sessions->items[i]->n_strikes++;
    }
}

/* Returns whether the database answers for a key that has nothing. */
static bool answers(const struct turn *turn, const char *account_id)
{
    const struct gateway_key nobodys = {text_of(account_id), text_of("")};
    struct arena arena = {0};
    struct gateway_glance *glances;
    bool ok = store_gateway_glance(turn->gateway->pg, &arena, (struct gateway_keys){&nobodys, 1},
                                   &glances, turn->err);

    arena_free(&arena);
    return ok;
}

static void forgive_all(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->n; i++)
        sessions->items[i]->n_strikes = 0;
}

/* Ends the sessions of keys that are late again and again.  Returns false if it is the database
 * that is late. */
static bool end_late(const struct turn *turn)
{
    struct sessions *sessions = &turn->gateway->sessions;
    bool is_asked = false;

    for (size_t i = 0; i < sessions->n; i++) {
        struct session *session = sessions->items[i];

        if (!is_of_turn(turn, session) || session->n_strikes < MARKED_STRIKES_MAX)
            continue;
        if (!is_asked && !answers(turn, session->account_id)) {
            forgive_all(sessions);
            return false;
        }
        is_asked = true;
        end_one(turn, session, "its key cannot be judged in time");
    }
    return true;
}

/* ---- glances ---- */

static bool is_listed(const struct gateway_key *keys, size_t n, const struct session *session,
                      size_t *at)
{
    for (*at = 0; *at < n; (*at)++) {
        if (is_of_key(session, &keys[*at]))
            return true;
    }
    return false;
}

/* Lists keys with that mark, and of those the ones that were late least often. */
static size_t list_keys(const struct turn *turn, enum session_mark mark,
                        struct gateway_key keys[MARKED_GLANCE_MAX])
{
    const struct gateway *gateway = turn->gateway;
    int n_strikes = MARKED_STRIKES_MAX;
    size_t n = 0, at;

    for (size_t i = 0; i < gateway->sessions.n; i++) {
        const struct session *session = gateway->sessions.items[i];

        if (!is_of_turn(turn, session) || session->mark != mark || session->n_strikes > n_strikes)
            continue;
        if (session->n_strikes < n_strikes)
            n = 0;
        n_strikes = session->n_strikes;
        if (n < gateway->glance_max && !is_listed(keys, n, session, &at))
            keys[n++] = key_of_session(session);
        if (n == gateway->glance_max && n_strikes == 0)
            break;
    }
    return n;
}

static void take_glance(const struct turn *turn, struct session *session,
                        const struct gateway_glance *glance)
{
    session->n_strikes = 0;
    if (glance->n == 0)
        end_one(turn, session, "no credential has its key any more");
    else if (glance->n > SSH_GRANTS_MAX)
        end_one(turn, session, GRANT_OVER);
    else if (text_eq(text_of(session->digest), glance->digest))
        session->mark = SESSION_JUDGED;
    else
        session->mark = SESSION_CHANGED;
    session->n_found = glance->n;
}

/* Glances at some keys.  Sets *n to their number. */
static bool glance_at_some(const struct turn *turn, enum session_mark mark, size_t *n)
{
    struct gateway *gateway = turn->gateway;
    struct gateway_key keys[MARKED_GLANCE_MAX];
    struct gateway_glance *glances;
    struct arena arena = {0};
    bool ok;

    *n = list_keys(turn, mark, keys);
    if (*n == 0)
        return true;
    ok = store_gateway_glance(gateway->pg, &arena, (struct gateway_keys){keys, *n}, &glances,
                              turn->err);
    if (!ok)
        note_late(turn, keys, *n);
    else if (gateway->glance_max < MARKED_GLANCE_MAX)
        gateway->glance_max *= 2;
    for (size_t i = 0, at; ok && i < gateway->sessions.n; i++) {
        struct session *session = gateway->sessions.items[i];

        if (is_of_turn(turn, session) && session->mark == mark && is_listed(keys, *n, session, &at))
            take_glance(turn, session, &glances[at]);
    }
    arena_free(&arena);
    return ok;
}

static bool glance_at_all(const struct turn *turn, enum session_mark mark)
{
    size_t n;

    do {
        if (!glance_at_some(turn, mark, &n))
            return false;
    } while (n > 0 && !is_over(turn));
    return true;
}

/* ---- rules ---- */

/* Returns the changed session whose key was late least often.  Of those, the one whose key is read
 * soonest, or that was marked first.  NULL: there is none. */
static const struct session *pick_changed(const struct turn *turn, bool is_by_age)
{
    const struct sessions *sessions = &turn->gateway->sessions;
    const struct session *best = NULL;

    for (size_t i = 0; i < sessions->n; i++) {
        const struct session *session = sessions->items[i];

        if (!is_of_turn(turn, session) || session->mark != SESSION_CHANGED)
            continue;
        if (!best || session->n_strikes < best->n_strikes ||
            (session->n_strikes == best->n_strikes &&
             (is_by_age ? session->marked_ms < best->marked_ms : session->n_found < best->n_found)))
            best = session;
    }
    return best;
}

/* The last session whose rules were compared: others of its key mostly have the same. */
struct comparison {
    const struct session *session;
    bool covers;
};

static bool is_covered(const struct session *session, const struct judge_grant *grant,
                       struct comparison *last)
{
    if (session->granted.n == 0 || text_lists_equal(session->granted, grant->granted))
        return true;
    if (!last->session || !text_lists_equal(session->granted, last->session->granted))
        *last = (struct comparison){session, acl_covers(grant->rules, session->granted)};
    return last->covers;
}

/* Judges a session by its key's credentials as they are now. */
static void judge_session(const struct turn *turn, struct session *session,
                          const struct judge_grant *grant, struct comparison *last)
{
    session->mark = SESSION_JUDGED;
    session->n_strikes = 0;
    snprintf(session->digest, sizeof session->digest, "%.*s", (int)grant->digest.len,
             grant->digest.s);
    if (!is_covered(session, grant, last))
        end_one(turn, session, "its rules were narrowed");
    /* A session that lost track of its credentials would miss their changes. */
    else if (!text_lists_equal(session->credential_ids, grant->credential_ids) &&
             !session_set_lists(session, grant->credential_ids, session->granted))
        end_one(turn, session, "out of memory");
}

/* Judges all changed sessions of a key.  Returns false if memory runs out. */
static bool judge_key_sessions(const struct turn *turn, const struct gateway_key *key,
                               const struct gateway_credentials *found, struct arena *arena)
{
    struct sessions *sessions = &turn->gateway->sessions;
    struct comparison last = {0};
    struct judge_grant grant;
    const char *fault = found->is_over ? GRANT_OVER
                        : found->n > 0 ? NULL
                                       : "no credential has its key any more";

    if (!fault && !grant_unite(found, arena, &grant))
        return error_set(turn->err, ERR_OUT_OF_MEMORY);
    for (size_t i = 0; i < sessions->n; i++) {
        struct session *session = sessions->items[i];

        if (!is_of_turn(turn, session) || session->mark != SESSION_CHANGED ||
            !is_of_key(session, key))
            continue;
        if (fault)
            end_one(turn, session, fault);
        else
            judge_session(turn, session, &grant, &last);
    }
    return true;
}

/* Reads the rules of changed keys, one at least. */
static bool read_changed(const struct turn *turn)
{
    const struct session *session = pick_changed(turn, false);
    struct gateway *gateway = turn->gateway;
    bool ok = true;

    for (bool is_by_age = true; ok && session; is_by_age = !is_by_age) {
        const struct gateway_key key = key_of_session(session);
        struct gateway_credentials found;
        struct arena arena = {0};

        ok = store_gateway_look_up(gateway->pg, &arena, &key, &found, turn->err);
        if (!ok)
            note_late(turn, &key, 1);
        ok = ok && judge_key_sessions(turn, &key, &found, &arena);
        arena_free(&arena);
        session = ok && !is_over(turn) ? pick_changed(turn, is_by_age) : NULL;
    }
    return ok;
}

bool marked_judge(struct gateway *gateway, const char *account_id, bool *is_left, struct error *err)
{
    const struct turn turn = {.gateway = gateway,
                              .account_id = account_id,
                              .end_ms = clock_steady_ms() + JUDGE_TURN_MS,
                              .err = err};
    bool ok;

    *is_left = false;
    if (gateway->glance_max == 0)
        gateway->glance_max = MARKED_GLANCE_MAX;
    ok = end_late(&turn) && glance_at_all(&turn, SESSION_NAMED) && read_changed(&turn) &&
         glance_at_all(&turn, SESSION_SWEPT) && read_changed(&turn);
    for (size_t i = 0; ok && i < gateway->sessions.n && !*is_left; i++)
        *is_left = is_of_turn(&turn, gateway->sessions.items[i]);
    return ok;
}
