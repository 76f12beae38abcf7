/* SPDX-License-Identifier: MIT */
/* Asking for one account after the other. */
#include "gateway/by_account.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/judge.h"
#include "gateway/judge_edges.h"
#include "gateway/marked.h"
#include "gateway/outage.h"
#include "store/gateway.h"

/* One line in this time counts the accounts that were lost, and one those that were found. */
#define NEWS_MS 10000
#define N_TEXT_SIZE 24

/* ---- one account ---- */

/* Notes how the statement of begin_account() has ended; log_accounts() logs it.  follow may be
 * NULL. Returns ok. */
static bool note_account(struct gateway *gateway, struct follow *follow, bool ok,
                         const struct error *err)
{
    pg_turn_end(gateway->pg, ok, err);
    if (ok || !follow)
        return ok;
    if (!follow->is_away && gateway->lost.n++ == 0) {
        memcpy(gateway->lost_id, follow->account_id, sizeof gateway->lost_id);
        gateway->lost_err = *err;
    }
    follow_note_failure(follow);
    return false;
}

/* Returns whether a line is due, and how many accounts it counts. */
static bool take_news(struct account_news *news, char n_text[N_TEXT_SIZE])
{
    int64_t now_ms = clock_steady_ms();

    if (news->n == 0 || now_ms < news->due_ms)
        return false;
    snprintf(n_text, N_TEXT_SIZE, "%zu", news->n);
    *news = (struct account_news){.due_ms = now_ms + NEWS_MS};
    return true;
}

/* Now and then: a place takes many accounts with it, and the entry to the places takes all. */
static void log_accounts(struct gateway *gateway)
{
    const struct log *log = &gateway->conf.log;
    char n_text[N_TEXT_SIZE];
    const struct log_pair lost[] = {{"accounts", n_text},
                                    {"account", gateway->lost_id},
                                    {"cause", error_reason(&gateway->lost_err)},
                                    {NULL, NULL}};
    const struct log_pair found[] = {{"accounts", n_text}, {NULL, NULL}};

    if (take_news(&gateway->lost, n_text))
        log_event(log, LOG_LEVEL_ERROR,
                  "cannot ask for accounts: their new logins are refused, their sessions go on",
                  lost);
    if (take_news(&gateway->found, n_text))
        log_event(log, LOG_LEVEL_INFO, "accounts can be asked for again", found);
}

/* Returns false with *err if the account's place does not answer. */
static bool begin_account(struct gateway *gateway, const char *account_id, struct error *err)
{
    bool is_patient;

    pg_set_timeout(gateway->pg, OUTAGE_IMPATIENT_MS); /* for the question which node it is */
    if (!pg_turn_to(gateway->pg, account_id, err))
        return false;
    is_patient = pg_turn_silent(gateway->pg) % OUTAGE_PATIENT_EVERY == 0;
    pg_set_timeout(gateway->pg, is_patient ? OUTAGE_TIMEOUT_MS : OUTAGE_IMPATIENT_MS);
    return true;
}

static bool ask_about_keys(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                           asking_statement *statement, void *out, const char **why)
{
    const struct text id = keys.items[0].account_id;
    char account_id[IDENT_SIZE];
    struct follow *follow;
    struct error err;
    bool ok;

    snprintf(account_id, sizeof account_id, "%.*s", (int)id.len, id.s);
    *why = "the account's node did not answer in time; it is asked again soon";
    if (!begin_account(gateway, account_id, &err))
        return false;
    ok = statement(gateway, arena, keys, out, &err);
    *why = "the account's node does not answer; see the log of adit-gateway";
    follow = follows_find(&gateway->follows, account_id);
    ok = note_account(gateway, follow, ok, &err);
    log_accounts(gateway);
    return ok;
}

/* ---- changes ---- */

static void mark_account(struct gateway *gateway, const struct follow *follow,
                         const struct gateway_changes *changes)
{
    if (changes->complete && changes->n <= GATEWAY_CHANGES_MAX) {
        judge_mark_changed(gateway, changes);
        return;
    }
    if (strcmp(gateway->conf.gateway.account, follow->account_id) == 0)
        gateway->edges_are_marked = true;
    for (size_t i = 0; i < gateway->sessions.n; i++) {
        struct ssh_session *session = gateway->sessions.items[i];

        if (strcmp(session->account_id, follow->account_id) == 0)
            ssh_session_mark(session, SSH_SESSION_SWEPT);
    }
}

/* Reads the changes of one account, and judges what they concern.  Returns whether sessions are
 * left to be judged soon. */
static bool judge_account(struct gateway *gateway, struct follow *follow)
{
    bool is_left = false;
    struct arena arena = {0};
    struct gateway_changes changes;
    struct text since = {0};
    struct error err;
    bool ok;

    if (follow->mark.len > 0)
        since = buf_text(&follow->mark);
    ok = store_gateway_account_changes(gateway->pg, &arena, text_of(follow->account_id), since,
                                       &changes, &err);
    if (note_account(gateway, follow, ok, &err)) {
        gateway->polled_ms = clock_steady_ms();
        gateway->found.n += follow->is_away;
        mark_account(gateway, follow, &changes);
        follow_note_answer(follow, changes.snapshot);
        ok = marked_judge(gateway, follow->account_id, &is_left, &err);
        if (note_account(gateway, follow, ok, &err) &&
            strcmp(gateway->conf.gateway.account, follow->account_id) == 0)
            is_left = judge_edges(gateway) || is_left;
    }
    arena_free(&arena);
    return is_left;
}

/* Without an account to ask for, asks whether the entry to the places answers. */
static void judge_nobody(struct gateway *gateway)
{
    const int64_t begun_ms = clock_steady_ms();
    struct error err;
    bool ok;

    if (outage_shuts(gateway))
        return;
    pg_set_timeout(gateway->pg, OUTAGE_TIMEOUT_MS);
    ok = store_gateway_ping(gateway->pg, &err);
    if (asking_note_outcome(gateway, ok, &err, begun_ms))
        gateway->polled_ms = clock_steady_ms();
}

/* Goes on where the last turn ended.  Nobody else waits longer than a turn and a statement. */
static bool judge_accounts(struct gateway *gateway)
{
    struct follows *follows = &gateway->follows;
    int64_t end_ms = marked_turn_end_ms(gateway);
    struct error err;
    size_t n_done = 0;
    bool is_left = false;

    if (!follows_renew(follows, &gateway->sessions, gateway->conf.gateway.account))
        log_event(&gateway->conf.log, LOG_LEVEL_ERROR, "no memory to ask for every account", NULL);
    if (follows->n == 0)
        judge_nobody(gateway);
    for (; n_done < follows->n && (n_done == 0 || clock_steady_ms() < end_ms); n_done++) {
        struct follow *follow = &follows->items[follows->at];

        follows->at = (follows->at + 1) % follows->n;
        if (begin_account(gateway, follow->account_id, &err))
            is_left = judge_account(gateway, follow) || is_left;
        else
            (void)note_account(gateway, follow, false, &err);
    }
    log_accounts(gateway);
    if (follows->n > 0)
        gateway->is_away = follows_count_away(follows) == follows->n;
    return n_done == follows->n && !is_left;
}

const struct by_account by_account = {.ask_about = ask_about_keys, .judge = judge_accounts};
