/* SPDX-License-Identifier: MIT */
/* Judging marked sessions. */
#include "gateway/marked.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/crowd.h"
#include "gateway/grant.h"
#include "gateway/outage.h"
#include "model/acl_cover.h"
#include "model/ssh_decision.h"

/* One turn of judging. */
struct turn {
    struct gateway *gateway;
    const char *account_id; /* NULL: all */
    int64_t end_ms;         /* on the steady clock */
    struct error *err;
};

int64_t marked_turn_end_ms(const struct gateway *gateway)
{
    return clock_steady_ms() + (gateway->turn_ms > 0 ? gateway->turn_ms : MARKED_TURN_MS);
}

static bool is_over(const struct turn *turn)
{
    return clock_steady_ms() >= turn->end_ms;
}

static bool is_of_turn(const struct turn *turn, const struct ssh_session *session)
{
    return session->mark != SSH_SESSION_JUDGED && !session->is_ending &&
           (!turn->account_id || strcmp(session->account_id, turn->account_id) == 0);
}

static struct gateway_key key_of_session(const struct ssh_session *session)
{
    return (struct gateway_key){.account_id = text_of(session->account_id),
                                .fingerprint = text_of(session->fingerprint)};
}

static bool is_of_key(const struct ssh_session *session, const struct gateway_key *key)
{
    return text_eq(text_of(session->fingerprint), key->fingerprint) &&
           text_eq(text_of(session->account_id), key->account_id);
}

static void end_one(const struct turn *turn, struct ssh_session *session,
                    enum ssh_session_cause cause)
{
    if (cause == SSH_SESSION_REVOKED)
        ssh_session_note_gone(session, (struct text_list){.n = 0});
    ssh_session_end(&turn->gateway->sessions, session, cause, &turn->gateway->conf.log,
                    clock_steady_ms());
}

/* ---- what is late ---- */

/* Notes that a statement for these keys failed.  Many keys share the blame.  A key that has it
 * alone goes behind all that are marked by now. */
static void note_late(const struct turn *turn, const struct gateway_key *keys, size_t n)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;

    if (turn->err->code != ERR_DATABASE_TIMEOUT)
        return;
    turn->gateway->glance_max = 1;
    for (size_t i = 0; n == 1 && i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (!is_of_key(session, keys))
            continue;
        session->n_strikes++;
        session->marked_ms = clock_steady_ms();
    }
}

bool marked_answers(struct gateway *gateway, struct text account_id, struct error *err)
{
    const struct gateway_key nobodys = {.account_id = account_id, .fingerprint = text_of("")};
    struct arena arena = {0};
    struct gateway_glance *glances;
    bool ok = store_gateway_glance(gateway->pg, &arena, (struct gateway_keys){&nobodys, 1},
                                   &glances, err);

    arena_free(&arena);
    return ok;
}

static void forgive_all(struct ssh_sessions *sessions)
{
    for (size_t i = 0; i < sessions->n; i++)
        sessions->items[i]->n_strikes = 0;
}

/* ---- glances ---- */

static bool is_listed(const struct gateway_key *keys, size_t n, const struct ssh_session *session,
                      size_t *at)
{
    for (*at = 0; *at < n; (*at)++) {
        if (is_of_key(session, &keys[*at]))
            return true;
    }
    return false;
}

static size_t find_youngest(const int64_t *marked_ms, size_t n)
{
    size_t youngest = 0;

    for (size_t i = 1; i < n; i++) {
        if (marked_ms[i] > marked_ms[youngest])
            youngest = i;
    }
    return youngest;
}

/* Lists keys with that mark, those that were marked first: what is marked again and again does not
 * keep the others from their turn. */
static size_t list_keys(const struct turn *turn, enum ssh_session_mark mark,
                        struct gateway_key keys[GLANCED_MAX])
{
    const struct gateway *gateway = turn->gateway;
    int64_t marked_ms[GLANCED_MAX] = {0};
    size_t n = 0, youngest = 0, at;

    for (size_t i = 0; i < gateway->sessions.n; i++) {
        const struct ssh_session *session = gateway->sessions.items[i];
        bool is_full = n == gateway->glance_max;

        if (!is_of_turn(turn, session) || session->mark != mark ||
            (is_full && session->marked_ms >= marked_ms[youngest]))
            continue;
        if (is_listed(keys, n, session, &at)) {
            marked_ms[at] = clock_earlier(marked_ms[at], session->marked_ms);
        } else {
            at = is_full ? youngest : n++;
            keys[at] = key_of_session(session);
            marked_ms[at] = session->marked_ms;
        }
        youngest = find_youngest(marked_ms, n);
    }
    return n;
}

static void keep_digest(struct ssh_session *session, struct text digest)
{
    snprintf(session->digest, sizeof session->digest, "%.*s", (int)digest.len, digest.s);
}

static void take_glance(const struct turn *turn, struct ssh_session *session,
                        const struct gateway_glance *glance)
{
    session->n_strikes = 0;
    session->n_found = glance->n;
    if (glance->n == 0) {
        end_one(turn, session, SSH_SESSION_REVOKED);
    } else if (text_eq(text_of(session->digest), glance->digest)) {
        ssh_session_note_judged(session);
    } else {
        session->mark = SSH_SESSION_CHANGED;
        keep_digest(session, glance->digest);
    }
}

/* Glances at some keys.  Sets *n to their number. */
static bool glance_at_some(const struct turn *turn, enum ssh_session_mark mark, size_t *n)
{
    struct gateway *gateway = turn->gateway;
    struct gateway_key keys[GLANCED_MAX];
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
    else if (gateway->glance_max < GLANCED_MAX)
        gateway->glance_max *= 2;
    for (size_t i = 0, at; ok && i < gateway->sessions.n; i++) {
        struct ssh_session *session = gateway->sessions.items[i];

        if (is_of_turn(turn, session) && session->mark == mark && is_listed(keys, *n, session, &at))
            take_glance(turn, session, &glances[at]);
    }
    arena_free(&arena);
    return ok;
}

static bool glance_at_all(const struct turn *turn, enum ssh_session_mark mark)
{
    size_t n;

    do {
        if (!glance_at_some(turn, mark, &n))
            return false;
    } while (n > 0 && !is_over(turn));
    return true;
}

/* ---- rules ---- */

static bool is_sooner(const struct ssh_session *a, const struct ssh_session *b, bool is_by_age)
{
    if (is_by_age)
        return a->marked_ms < b->marked_ms;
    return a->n_strikes != b->n_strikes ? a->n_strikes < b->n_strikes : a->n_found < b->n_found;
}

static bool is_changed(const struct turn *turn, const struct ssh_session *session)
{
    return is_of_turn(turn, session) && session->mark == SSH_SESSION_CHANGED;
}

/* Returns the changed session that was marked first, or the one whose key was late least often, and
 * of those the one whose key is read soonest.  NULL: there is none. */
static struct ssh_session *pick_changed(const struct turn *turn, bool is_by_age)
{
    const struct ssh_sessions *sessions = &turn->gateway->sessions;
    struct ssh_session *best = NULL;

    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (is_changed(turn, session) && (!best || is_sooner(session, best, is_by_age)))
            best = session;
    }
    return best;
}

/* Compares what the sessions of a key were granted with what the key is granted now. */
struct comparison {
    const struct judge_grant *grant;
    struct acl_cover cover; /* read for the first session that needs it */
    bool is_read;
    bool is_part;   /* the rules are a part of the key's */
    bool is_of_own; /* they are those of the credentials that sessions stand on */
    /* The last session that was compared: others of its key mostly have the same rules. */
    const struct ssh_session *session;
    bool covers;
    /* Those that the sessions of the key count among, as of the first whose list grows. */
    struct crowd crowd;
    bool is_counted;
    struct arena *arena;
};

/* Returns whether a comparison is not needed, with its outcome. */
static bool is_compared(const struct comparison *comparison, const struct ssh_session *session,
                        bool *covers)
{
    const struct ssh_session *last = comparison->session;

    *covers = true;
    if (session->granted.n == 0 || text_lists_equal(session->granted, comparison->grant->granted))
        return true;
    *covers = comparison->covers;
    return last && text_lists_equal(session->granted, last->granted);
}

static bool is_covered(struct comparison *comparison, const struct ssh_session *session)
{
    bool covers;

    if (is_compared(comparison, session, &covers))
        return covers;
    if (!comparison->is_read)
        comparison->is_read = acl_cover_read(comparison->grant->rules, &comparison->cover);
    comparison->session = session;
    comparison->covers =
        comparison->is_read && acl_cover_includes(&comparison->cover, session->granted);
    return comparison->covers;
}

/* Counts for all owners that the sessions of the key count for: each has room of their own. */
static bool count_crowd(const struct turn *turn, const struct ssh_session *session,
                        struct comparison *comparison)
{
    const struct ssh_sessions *sessions = &turn->gateway->sessions;
    const struct gateway_key key = key_of_session(session);
    struct text *items = arena_array(comparison->arena, sessions->n, sizeof *items);
    size_t n = 0;

    for (size_t i = 0; items && i < sessions->n; i++) {
        if (is_of_key(sessions->items[i], &key))
            items[n++] = text_of(sessions->items[i]->owner_id);
    }
    return items && crowd_count(sessions, session, (struct text_list){items, n, true},
                                comparison->arena, &comparison->crowd);
}

/* Returns whether the session may keep this list.  Whoever adds credentials to a key has all its
 * sessions take more. */
static bool may_keep(const struct turn *turn, const struct ssh_session *session,
                     struct text_list list, struct comparison *comparison)
{
    size_t before = ssh_session_list_bytes(session->credential_ids),
           after = ssh_session_list_bytes(list);

    if (after <= before)
        return true;
    if (!comparison->is_counted)
        comparison->is_counted = count_crowd(turn, session, comparison);
    if (!comparison->is_counted || !crowd_has_bytes(&comparison->crowd, session, after - before))
        return false;
    crowd_grow(&comparison->crowd, session, after - before);
    return true;
}

/* Has a session know its key by these credentials.  One that lost track of them all would miss
 * their changes; one that may not keep them all knows the former ones, and sweeps find the changes
 * of the others. */
static void keep_credentials(const struct turn *turn, struct ssh_session *session,
                             struct text_list ids, struct comparison *comparison)
{
    if (!text_lists_equal(session->credential_ids, ids) &&
        may_keep(turn, session, ids, comparison) &&
        !ssh_session_set_lists(session, ids, session->granted))
        end_one(turn, session, SSH_SESSION_NO_MEMORY);
}

/* Judges a session by its key's credentials as they are now, or by a part of them that was read:
 * grants add up, so what a part covers stays, whatever somebody adds.  What the part does not
 * cover is still to be judged by others, and at last by those that the session stands on. */
static void judge_session(const struct turn *turn, struct ssh_session *session,
                          struct comparison *comparison)
{
    const struct judge_grant *grant = comparison->grant;
    bool covers = is_covered(comparison, session);

    if (!covers && comparison->is_part && !comparison->is_of_own)
        return;
    session->n_strikes = 0;
    keep_digest(session, grant->digest);
    if (!covers) {
        ssh_session_note_gone(session, grant->credential_ids);
        end_one(turn, session, comparison->is_part ? SSH_SESSION_OVER_LIMIT : SSH_SESSION_NARROWED);
    } else {
        ssh_session_note_judged(session);
        keep_credentials(turn, session, grant->credential_ids, comparison);
    }
}

static bool is_judged_by(const struct turn *turn, const struct ssh_session *session,
                         const struct gateway_key *key)
{
    return is_changed(turn, session) && is_of_key(session, key) &&
           (!key->credential_ids.given ||
            text_lists_equal(session->credential_ids, key->credential_ids));
}

/* Judges the first session, and others like it.  Sessions that would have to be
 * compared after the end of the turn stay marked: each may have been granted something else. */
static void compare_sessions(const struct turn *turn, const struct gateway_key *key,
                             struct comparison *comparison, struct ssh_session *first)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;
    bool covers;

    judge_session(turn, first, comparison);
    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (session != first && is_judged_by(turn, session, key) &&
            (!is_over(turn) || is_compared(comparison, session, &covers)))
            judge_session(turn, session, comparison);
    }
}

static void end_sessions(const struct turn *turn, const struct gateway_key *key,
                         enum ssh_session_cause cause)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;

    for (size_t i = 0; i < sessions->n; i++) {
        if (is_judged_by(turn, sessions->items[i], key))
            end_one(turn, sessions->items[i], cause);
    }
}

/* Judges the changed sessions of a key, or those that stand on the credentials that it names: the
 * first one, and others until the end of the turn.  Returns false if memory runs out. */
static bool judge_key_sessions(const struct turn *turn, const struct gateway_key *key,
                               const struct gateway_credentials *found, struct ssh_session *first,
                               struct arena *arena)
{
    bool is_of_own = key->credential_ids.given;
    bool is_part = is_of_own || found->is_over || key->left_out.n > 0;
    struct judge_grant grant;
    struct comparison comparison = {
        .grant = &grant, .is_part = is_part, .is_of_own = is_of_own, .arena = arena};

    if (found->n == 0 && is_part && !is_of_own)
        return true; /* not even the first one was read */
    if (found->n == 0) {
        end_sessions(turn, key, is_of_own ? SSH_SESSION_OVER_LIMIT : SSH_SESSION_REVOKED);
        return true;
    }
    if (!grant_unite(found, arena, &grant))
        return error_set(turn->err, ERR_OUT_OF_MEMORY);
    compare_sessions(turn, key, &comparison, first);
    acl_cover_free(&comparison.cover);
    return true;
}

/* Judges the changed sessions of a key: the first one, and others.  While the key is over the
 * limits and the first one is not covered, it goes on without one owner more, as a login does.
 */
static bool judge_by_key(const struct turn *turn, struct gateway_key key, struct ssh_session *first,
                         struct arena *arena)
{
    int64_t end_ms = clock_steady_ms() + OUTAGE_TIMEOUT_MS;
    enum ssh_share_outcome outcome = SSH_SHARE_LEFT_OUT;
    struct gateway_credentials found;

    while (outcome == SSH_SHARE_LEFT_OUT) {
        if (!store_gateway_look_up(turn->gateway->pg, arena, &key, &found, turn->err) ||
            !judge_key_sessions(turn, &key, &found, first, arena))
            return false;
        if (!found.is_over || !is_changed(turn, first) || clock_steady_ms() >= end_ms)
            return true;
        outcome = ssh_share_read(found.items, found.n, &found.beyond, arena, &key.left_out);
    }
    return outcome != SSH_SHARE_NO_MEMORY || error_set(turn->err, ERR_OUT_OF_MEMORY);
}

/* Judges a session of a key that is over the limits, and those that stand on the same credentials,
 * by these: their rules were read when it began, and what others have is none of them. */
static bool judge_by_own(const struct turn *turn, struct ssh_session *session, struct arena *arena)
{
    struct gateway_key key = key_of_session(session);
    struct gateway_credentials found;

    /* Judging replaces the session's own list. */
    if (!ssh_session_copy_list(arena, session->credential_ids, &key.credential_ids))
        return error_set(turn->err, ERR_OUT_OF_MEMORY);
    key.credential_ids.given = true;
    return store_gateway_look_up(turn->gateway->pg, arena, &key, &found, turn->err) &&
           judge_key_sessions(turn, &key, &found, session, arena);
}

/* Judges a changed session by all that there is to read of its key. */
static bool judge_changed(const struct turn *turn, struct ssh_session *session)
{
    const struct gateway_key key = key_of_session(session);
    struct arena arena = {0};
    bool ok = judge_by_key(turn, key, session, &arena);

    if (ok && is_changed(turn, session))
        ok = judge_by_own(turn, session, &arena);
    arena_free(&arena);
    return ok;
}

/* Reads the rules of changed keys, one at least, in turn by age and not by age. */
static bool read_changed(const struct turn *turn, bool is_by_age)
{
    struct ssh_session *session = pick_changed(turn, is_by_age);
    bool ok = true;

    while (ok && session) {
        const struct gateway_key key = key_of_session(session);

        ok = judge_changed(turn, session);
        if (!ok)
            note_late(turn, &key, 1);
        is_by_age = !is_by_age;
        session = ok && !is_over(turn) ? pick_changed(turn, is_by_age) : NULL;
    }
    return ok;
}

/* ---- what was late again and again ---- */

static struct ssh_session *find_struck(const struct turn *turn)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;

    for (size_t i = 0; i < sessions->n; i++) {
        if (is_of_turn(turn, sessions->items[i]) &&
            sessions->items[i]->n_strikes >= MARKED_STRIKES_MAX)
            return sessions->items[i];
    }
    return NULL;
}

static void end_key(const struct turn *turn, const struct gateway_key *key,
                    enum ssh_session_cause cause)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;

    for (size_t i = 0; i < sessions->n; i++) {
        if (is_of_turn(turn, sessions->items[i]) && is_of_key(sessions->items[i], key))
            end_one(turn, sessions->items[i], cause);
    }
}

/* Has all marked sessions of a key judged by its rules. */
static void mark_key(const struct turn *turn, const struct gateway_key *key)
{
    struct ssh_sessions *sessions = &turn->gateway->sessions;

    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (!is_of_key(session, key))
            continue;
        session->n_strikes = 0;
        if (is_of_turn(turn, session))
            ssh_session_mark(session, SSH_SESSION_CHANGED);
    }
}

/* Judges a session, and with it its key, by all statements, or ends the key's sessions if one of
 * them is late. */
static bool judge_struck(const struct turn *turn, struct ssh_session *session)
{
    const struct gateway_key key = key_of_session(session);
    struct arena arena = {0};
    struct gateway_glance *glance;
    bool ok = store_gateway_glance(turn->gateway->pg, &arena, (struct gateway_keys){&key, 1},
                                   &glance, turn->err);

    if (ok) {
        mark_key(turn, &key);
        ok = judge_changed(turn, session);
    }
    if (!ok && turn->err->code == ERR_DATABASE_TIMEOUT)
        end_key(turn, &key, SSH_SESSION_LATE);
    arena_free(&arena);
    return ok;
}

/* Judges once more the keys that are late again and again.  The database answers for another key
 * first: while a lock or a slow disk keeps it from that, it is not the key that is late.  Returns
 * false if a statement failed. */
static bool judge_late(const struct turn *turn)
{
    struct ssh_session *session = find_struck(turn);
    bool ok = true;

    if (session && !marked_answers(turn->gateway, text_of(session->account_id), turn->err)) {
        forgive_all(&turn->gateway->sessions);
        return false;
    }
    while (ok && session) {
        ok = judge_struck(turn, session);
        session = ok && !is_over(turn) ? find_struck(turn) : NULL;
    }
    return ok;
}

bool marked_judge(struct gateway *gateway, const char *account_id, bool *is_left, struct error *err)
{
    const struct turn turn = {.gateway = gateway,
                              .account_id = account_id,
                              .end_ms = marked_turn_end_ms(gateway),
                              .err = err};
    bool ok;

    *is_left = false;
    if (gateway->glance_max == 0)
        gateway->glance_max = GLANCED_MAX;
    /* However long each statement takes, a turn reads one key by age. */
    ok = judge_late(&turn) && glance_at_all(&turn, SSH_SESSION_NAMED) &&
         read_changed(&turn, false) && glance_at_all(&turn, SSH_SESSION_SWEPT) &&
         read_changed(&turn, true);
    for (size_t i = 0; ok && i < gateway->sessions.n && !*is_left; i++)
        *is_left = is_of_turn(&turn, gateway->sessions.items[i]);
    return ok;
}
