/* SPDX-License-Identifier: MIT */
/* Asking the provider again about visitors who are signed in. */
#include "gate/recheck.h"

#include <string.h>

#include "base/clock.h"
#include "gate/application.h"
#include "gate/rules.h"
#include "gate/session_row.h"
#include "gate/visit.h"
#include "gate/waiting.h"

/* After a provider did not answer or refused, it is asked again about the visitor only then. */
#define REPEAT_MS 2000

/* How often a lane looks whether another one has the provider's answer. */
#define LOOK_MS 10

/* How long a lane waits for another one's answer: as long as that may take. */
#define FOLLOW_MS (PROVIDER_MS + 1000)

/* A worker that has used a refresh token has stored the next one by then, unless the provider is
 * slow; and how often another one looks for it.  It holds a lane meanwhile. */
#define RENEWED_MS 1000
#define RENEWED_LOOK_MS 100

/* How often tokens are renewed for one question. */
#define RENEW_TRIES 2

void rechecks_free(struct rechecks *rechecks)
{
    for (size_t i = 0; i < RECHECKS_MAX; i++)
        buf_free(&rechecks->items[i].answer);
}

static struct recheck *find_recheck(struct rechecks *rechecks,
                                    const struct visitor_session *session)
{
    for (size_t i = 0; i < RECHECKS_MAX; i++) {
        struct recheck *item = &rechecks->items[i];

        if (item->until_ms > 0 && memcmp(item->id, session->id, VISITOR_SESSION_ID_LEN) == 0)
            return item;
    }
    return NULL;
}

static bool has_all_places(const struct rechecks *rechecks, uint64_t visitor)
{
    int n = 0;

    for (size_t i = 0; i < RECHECKS_MAX; i++)
        n += rechecks->items[i].visitor == visitor;
    return n >= RECHECKS_OF_VISITOR_MAX;
}

/* Returns the place that has held its answer longest: of the visitor's, if that has as many as one
 * may have.  NULL: all are asking. */
static struct recheck *find_oldest(struct rechecks *rechecks, uint64_t visitor)
{
    const bool must_be_own = has_all_places(rechecks, visitor);
    struct recheck *oldest = NULL;

    for (size_t i = 0; i < RECHECKS_MAX; i++) {
        struct recheck *item = &rechecks->items[i];

        if (!item->is_asking && (!must_be_own || item->visitor == visitor) &&
            (!oldest || item->until_ms < oldest->until_ms))
            oldest = item;
    }
    return oldest;
}

/* Another worker that was told something else has written another row, before or after. */
static bool knows_row(const struct recheck *item, const struct visitor_session *session)
{
    uint64_t row = visitor_session_row(session);

    return row == item->rows[0] || row == item->rows[1];
}

/* Returns whether somebody's answer serves this session, which asks since since_ms: one that was
 * asked for later does, however long the provider took.  One that is ahead of the clock does not:
 * the clock was set back, and nobody knows its age.  Without an interval, the provider is asked for
 * lists that have come, and once for a page. */
static bool is_fresh(const struct gate_call *call, const struct recheck *item,
                     const struct visitor_session *session, int64_t since_ms)
{
    int64_t interval = call->stored.module.auth_check_interval;
    int64_t age = call->now - item->checked;
    bool is_of_this_page = clock_steady_ms() < item->until_ms;

    if (item->outcome != PROVIDER_ANSWERED)
        return is_of_this_page;
    return knows_row(item, session) && item->checked >= session->checked &&
           age >= -SEALED_CLOCK_S &&
           (item->begun_ms > since_ms || (interval > 0 ? age < interval : is_of_this_page));
}

/* Reads a kept answer, as if it were the session's row, with newer tokens that the session has.
 * NULL: memory is short. */
static const struct visitor_session *read_answer(struct gate_call *call, const struct recheck *item,
                                                 const struct visitor_session *session)
{
    struct arena *arena = &call->lane->arena;
    struct visitor_session *kept = arena_alloc(arena, sizeof *kept);
    /* The place may be another visitor's before this call ends. */
    const char *copy = arena_copy(arena, item->answer.data, item->answer.len);

    if (!kept || !copy)
        return NULL;
    *kept = *session;
    if (!visitor_session_read_identity((struct text){copy, item->answer.len}, arena, kept))
        return NULL;
    visitor_session_take_tokens(kept, session);
    return kept;
}

/* Puts the kept answer into the session.  Returns whether it serves: it may have been asked for
 * other lists, and lack what they name now.  Then only its tokens count, unless a row holds it. */
static bool take_answer(struct gate_call *call, const struct recheck *item,
                        struct visitor_session *session, enum provider_outcome *outcome)
{
    const struct visitor_session *kept;
    bool may_lack;

    *outcome = item->outcome;
    if (item->answer.len == 0)
        return true;
    kept = read_answer(call, item, session);
    if (!kept) {
        *outcome = PROVIDER_AWAY;
        return true;
    }
    visitor_session_take_tokens(session, kept);
    if (*outcome != PROVIDER_ANSWERED)
        return true;
    may_lack = rules_may_lack(&call->stored.module.config, &kept->identity);
    if (item->rows[1])
        session->row = kept;
    else if (may_lack)
        return false;
    visitor_session_take_over(session, kept);
    session->is_unconfirmed = false;
    return !may_lack;
}

static void log_no_answer(struct gate_call *call, const char *why,
                          const struct visitor_session *session)
{
    gate_call_log(call, LOG_LEVEL_WARNING, "the provider does not answer", why, &session->identity);
}

/* A provider that gives another refresh token may have ended the one before.  So the new one is
 * kept before anything else can fail, and not only in the cookie of an answer, which may be another
 * session's.  A stranger gets no row. */
static void keep_tokens(struct gate_call *call, struct visitor_session *session)
{
    struct error err = {.code = ERR_NONE};

    if ((session->row || !session->is_stranger) && !session_row_store_tokens(call, session, &err))
        gate_call_log(call, LOG_LEVEL_WARNING, "cannot keep the provider's new tokens",
                      error_reason(&err), &session->identity);
}

/* Takes over new tokens.  A row that is there has the newest ones. */
static void renew_tokens(struct gate_call *call, struct visitor_session *session,
                         const struct provider_tokens *tokens)
{
    bool is_rotated = !text_eq(tokens->refresh, session->refresh);

    session->token = tokens->access;
    session->refresh = tokens->refresh;
    session->n_renewed++;
    if (is_rotated || session->row)
        keep_tokens(call, session);
}

/* Returns whether the application's secret can be sent to the provider. */
static bool can_renew(struct gate_call *call, struct provider_client *client, const char **why)
{
    struct error err = {.code = ERR_NONE};
    const char *reason;

    if (application_open_secret(call, client, &err))
        return true;
    /* It outlives this call. */
    reason = error_reason(&err);
    *why = arena_copy(&call->lane->arena, reason, strlen(reason));
    if (!*why)
        *why = "memory is short";
    return false;
}

/* Another worker may have used the refresh token just now: it stores what it got in a moment.
 * Returns PROVIDER_REFUSED if nothing comes in most_ms. */
static enum provider_outcome await_tokens(struct gate_call *call, struct visitor_session *session,
                                          int most_ms, const char **why)
{
    const struct wait *wait = &call->lane->wait;
    int64_t deadline_ms = clock_steady_ms() + most_ms;
    struct error err = {.code = ERR_NONE};

    /* No row is made for a stranger's. */
    if (session->is_stranger)
        return PROVIDER_REFUSED;
    while (!session_row_find_tokens(call, session, &err)) {
        if (err.code != ERR_NONE) {
            *why = "the database does not say whether there is a newer token";
            return PROVIDER_AWAY;
        }
        if (clock_steady_ms() >= deadline_ms)
            return PROVIDER_REFUSED;
        (void)wait->until(wait->context, -1, 0, clock_steady_ms() + RENEWED_LOOK_MS);
    }
    return PROVIDER_ANSWERED;
}

/* Gets new tokens.  Another worker may have got some while the provider was asked with the ones
 * before: a refresh token that is used twice may end everything. */
static enum provider_outcome get_tokens(struct gate_call *call, struct provider_asking *asking,
                                        struct visitor_session *session)
{
    struct provider_tokens tokens;
    enum provider_outcome outcome = await_tokens(call, session, 0, &asking->why);

    if (outcome != PROVIDER_REFUSED)
        return outcome;
    outcome = provider_refresh(asking, session->refresh, &tokens);
    if (outcome == PROVIDER_ANSWERED)
        renew_tokens(call, session, &tokens);
    else if (outcome == PROVIDER_REFUSED)
        outcome = await_tokens(call, session, RENEWED_MS, &asking->why);
    return outcome;
}

/* Gets new tokens, and asks with them.  A token ends by itself, and a provider may keep only the
 * one that it gave last, maybe to another worker: that says nothing of the visitor. */
static enum provider_outcome ask_anew(struct gate_call *call, struct provider_asking *asking,
                                      struct visitor_session *session, struct identity *identity)
{
    enum provider_outcome outcome = PROVIDER_REFUSED;

    for (int i = 0; outcome == PROVIDER_REFUSED && i < RENEW_TRIES; i++) {
        outcome = get_tokens(call, asking, session);
        if (outcome != PROVIDER_ANSWERED)
            return outcome;
        outcome = provider_identify(asking, session->token, identity);
    }
    return outcome;
}

/* The application knows a visitor by an address, or by the provider's identifier.  A list of
 * addresses that comes or goes, because a permission does, must not make another visitor of the
 * same person.  Returns what becomes of an answer that would. */
static enum provider_outcome judge_name(const struct visitor_session *session,
                                        const struct identity *identity, const char **why)
{
    bool was_given = session->identity.known & IDENTITY_EMAILS;
    bool is_given = identity->known & IDENTITY_EMAILS;

    if (was_given && !is_given && session->identity.emails.n > 0)
        return PROVIDER_NOT_SET_UP; /* *why names the endpoint */
    if (!was_given && is_given && identity->emails.n > 0) {
        *why = "the provider gives an address now, so the visitor would have another name";
        return PROVIDER_REFUSED;
    }
    return PROVIDER_ANSWERED;
}

/* Ends the session: its other cookies are not due yet, and a longer interval may come. */
static bool end_session(struct gate_call *call, const struct visitor_session *session)
{
    struct error err = {.code = ERR_NONE};

    if (session->is_stranger || session_row_end(call, session, &err))
        return true;
    gate_call_log(call, LOG_LEVEL_WARNING, "cannot end the visitor's session", error_reason(&err),
                  &session->identity);
    return false;
}

/* Keeps the provider's answer in the row of a session that has one, and of one that held something
 * else before.  So without a row, all cookies of a session hold the same.  What one of them is told
 * counts for the others, too, even if a longer interval, or none, comes.
 *
 * Of two answers that come at the same time, no clock says which one is later: the clocks of hosts
 * differ, and an answer may be on its way for long.  So one that tells something new is not
 * confirmed, and whoever reads its row asks.  One that says what the row does confirms it, if
 * nobody has written the row since before the question. */
static enum session_row_outcome keep_answer(struct gate_call *call,
                                            const struct visitor_session *before,
                                            struct visitor_session *session, struct error *err)
{
    enum session_row_outcome found;

    if (session->is_stranger)
        return SESSION_ROW_SAME;
    if (session->row ? visitor_session_differs(session->row, session)
                     : rules_differ(&session->identity, &before->identity)) {
        session->is_unconfirmed = true;
        return session_row_store(call, session, err);
    }
    found = session_row_look(call, session, err);
    if (found != SESSION_ROW_SAME || !session->is_unconfirmed)
        return found;
    session->is_unconfirmed = false;
    return session_row_store(call, session, err);
}

/* Takes over the provider's answer.  *counts: it is confirmed. */
static enum provider_outcome take_over(struct gate_call *call, struct visitor_session *session,
                                       const struct identity *identity, bool *counts,
                                       const char **why)
{
    const struct visitor_session before = *session;
    struct error err = {.code = ERR_NONE};

    session->identity = *identity;
    switch (keep_answer(call, &before, session, &err)) {
    case SESSION_ROW_SAME:
    case SESSION_ROW_WRITTEN:
        *counts = !session->is_unconfirmed;
        if (*counts && session->checked < call->now)
            session->checked = call->now;
        return PROVIDER_ANSWERED;
    case SESSION_ROW_OVERTAKEN:
        return PROVIDER_ANSWERED;
    case SESSION_ROW_ENDED:
        *why = "the session has ended meanwhile";
        return PROVIDER_REFUSED;
    case SESSION_ROW_FAILED:
        break;
    }
    gate_call_log(call, LOG_LEVEL_WARNING, "cannot keep the provider's answer", error_reason(&err),
                  &session->identity);
    session->identity = before.identity;
    *why = "the database does not keep the provider's answer";
    return PROVIDER_AWAY;
}

/* Asks with the session's token, or with another one that a refresh token gets. */
static enum provider_outcome ask_with_tokens(struct gate_call *call, struct provider_client *client,
                                             struct provider_asking *asking,
                                             struct visitor_session *session,
                                             struct identity *identity)
{
    int64_t begun_us = clock_steady_us();
    enum provider_outcome said, outcome;

    waiting_count_question(call, session);
    said = outcome = provider_identify(asking, session->token, identity);
    if (outcome == PROVIDER_REFUSED && text_present(session->refresh)) {
        outcome = PROVIDER_AWAY;
        if (can_renew(call, client, &asking->why))
            outcome = said = ask_anew(call, asking, session, identity);
    }
    counts_question(call->lane->worker->counts, said, begun_us);
    return outcome;
}

/* Returns what becomes of an answer.  Puts it into the session if it is the same visitor's. */
static enum provider_outcome judge_answer(struct gate_call *call, struct visitor_session *session,
                                          struct identity *identity, bool *counts, const char **why)
{
    enum provider_outcome outcome;

    if (!text_eq(identity->subject, session->identity.subject)) {
        *why = "the token is another user's now";
        return PROVIDER_REFUSED;
    }
    outcome = judge_name(session, identity, why);
    if (outcome != PROVIDER_ANSWERED)
        return outcome;
    rules_narrow(&call->stored.module.config, identity);
    return take_over(call, session, identity, counts, why);
}

/* How often the provider is asked until an answer counts. */
#define ASK_TRIES 8

static enum provider_outcome ask_until_it_counts(struct gate_call *call,
                                                 struct provider_client *client,
                                                 struct provider_asking *asking,
                                                 struct visitor_session *session)
{
    struct identity identity;
    bool counts = false;

    for (int i = 0; !counts && i < ASK_TRIES; i++) {
        enum provider_outcome outcome;

        client->wants |= session->identity.emails.n > 0 ? IDENTITY_EMAILS : 0;
        outcome = ask_with_tokens(call, client, asking, session, &identity);
        if (outcome == PROVIDER_ANSWERED)
            outcome = judge_answer(call, session, &identity, &counts, &asking->why);
        if (outcome != PROVIDER_ANSWERED)
            return outcome;
    }
    if (counts)
        return PROVIDER_ANSWERED;
    asking->why = "the provider says something else each time";
    return PROVIDER_AWAY;
}

static enum provider_outcome ask_provider(struct gate_call *call, struct visitor_session *session,
                                          struct fetcher *fetcher)
{
    struct provider_client client;
    struct provider_asking asking = {
        .client = &client, .arena = &call->lane->arena, .fetcher = fetcher};
    enum provider_outcome outcome;

    if (!application_fill(call, &client))
        return PROVIDER_REFUSED;
    outcome = ask_until_it_counts(call, &client, &asking, session);
    if (outcome == PROVIDER_AWAY)
        log_no_answer(call, asking.why, session);
    else if (outcome == PROVIDER_NOT_SET_UP)
        gate_call_log(call, LOG_LEVEL_ERROR, "cannot sign in", asking.why, &session->identity);
    else if (outcome == PROVIDER_REFUSED) {
        gate_call_log(call, LOG_LEVEL_INFO, "the provider does not know the visitor any more",
                      asking.why, &session->identity);
        if (!end_session(call, session))
            outcome = PROVIDER_AWAY;
    }
    return outcome;
}

/* Asks, and keeps the answer for the requests that come with the same cookie: also new tokens, if
 * there is nothing else. */
static enum provider_outcome ask_and_keep(struct gate_call *call, struct recheck *item,
                                          struct visitor_session *session, struct fetcher *fetcher)
{
    uint64_t row_before = visitor_session_row(session);

    *item = (struct recheck){.visitor = waiting_visitor(call, &session->identity),
                             .is_asking = true,
                             .begun_ms = clock_steady_ms(),
                             .until_ms = INT64_MAX,
                             .answer = item->answer};
    memcpy(item->id, session->id, VISITOR_SESSION_ID_LEN);
    item->outcome = ask_provider(call, session, fetcher);
    buf_clear(&item->answer);
    if (item->outcome == PROVIDER_ANSWERED || text_present(session->refresh))
        visitor_session_write_identity(&item->answer, session);
    if (item->answer.failed)
        item->outcome = PROVIDER_AWAY;
    item->checked = item->outcome == PROVIDER_ANSWERED ? session->checked : call->now;
    item->rows[0] = row_before;
    item->rows[1] = visitor_session_row(session);
    item->until_ms = clock_steady_ms() + REPEAT_MS;
    item->is_asking = false;
    return item->outcome;
}

/* Who has followed a question may have read a row that it has written since.  Returns false with
 * *outcome if the session cannot go on. */
static bool read_row_again(struct gate_call *call, struct visitor_session *session,
                           enum provider_outcome *outcome)
{
    struct error err = {.code = ERR_NONE};

    if (session->is_stranger)
        return true;
    switch (session_row_look(call, session, &err)) {
    case SESSION_ROW_ENDED:
        *outcome = PROVIDER_REFUSED;
        return false;
    case SESSION_ROW_FAILED:
        log_no_answer(call, error_reason(&err), session);
        *outcome = PROVIDER_AWAY;
        return false;
    default:
        return true;
    }
}

/* Waits until no lane asks about the session, or FOLLOW_MS long.  Returns false with *outcome if
 * the session cannot go on. */
static bool follow(struct gate_call *call, struct visitor_session *session,
                   enum provider_outcome *outcome)
{
    const struct wait *wait = &call->lane->wait;
    int64_t deadline_ms = clock_steady_ms() + FOLLOW_MS;
    const struct recheck *item;

    do {
        do {
            (void)wait->until(wait->context, -1, 0, clock_steady_ms() + LOOK_MS);
            item = find_recheck(&call->lane->worker->rechecks, session);
        } while (item && item->is_asking && clock_steady_ms() < deadline_ms);
        if (!read_row_again(call, session, outcome))
            return false;
        item = find_recheck(&call->lane->worker->rechecks, session);
    } while (item && item->is_asking && clock_steady_ms() < deadline_ms);
    return true;
}

/* Tokens that no row could take are in the worker's answer alone, however old that is. */
static void take_kept_tokens(struct gate_call *call, const struct recheck *item,
                             struct visitor_session *session)
{
    const struct visitor_session *kept =
        item->answer.len > 0 ? read_answer(call, item, session) : NULL;

    if (kept)
        visitor_session_take_tokens(session, kept);
}

enum provider_outcome recheck(struct gate_call *call, struct visitor_session *session)
{
    const int64_t since_ms = clock_steady_ms();
    struct rechecks *rechecks = &call->lane->worker->rechecks;
    struct recheck *item = find_recheck(rechecks, session);
    enum provider_outcome outcome;
    struct fetcher *fetcher;
    const char *why;
    bool can_go_on;

    if (!text_present(session->token))
        return PROVIDER_REFUSED;
    if (item && item->is_asking) {
        if (!waiting_follow(call, session)) {
            log_no_answer(call, waiting_fault, session);
            return PROVIDER_AWAY;
        }
        can_go_on = follow(call, session, &outcome);
        waiting_unfollow(call);
        if (!can_go_on)
            return outcome;
        item = find_recheck(rechecks, session);
    }
    if (item && item->is_asking)
        return PROVIDER_AWAY;
    if (item && is_fresh(call, item, session, since_ms) &&
        take_answer(call, item, session, &outcome))
        return outcome;
    if (item)
        take_kept_tokens(call, item, session);
    why = waiting_why_not_ask(call, session);
    if (why) {
        log_no_answer(call, why, session);
        return PROVIDER_AWAY;
    }
    if (!item)
        item = find_oldest(rechecks, waiting_visitor(call, &session->identity));
    if (!item)
        return PROVIDER_AWAY;
    /* One lane for all questions: a follower who took it in between would have this one fail.  That
     * there is none is no answer to keep. */
    fetcher = waiting_begin_fetch(call, session);
    if (!fetcher) {
        log_no_answer(call, waiting_fault, session);
        return PROVIDER_AWAY;
    }
    outcome = ask_and_keep(call, item, session, fetcher);
    waiting_end_fetch(call, fetcher);
    return outcome;
}
