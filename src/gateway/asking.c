/* SPDX-License-Identifier: MIT */
/* Statements, and what their outcome means. */
#include "gateway/asking.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/judge.h"
#include "gateway/marked.h"
#include "gateway/outage.h"

/* One line in this time counts the accounts that were lost, and one those that were found. */
#define NEWS_MS 10000
#define N_TEXT_SIZE 24

/* ---- the database ---- */

bool asking_note_outcome(struct gateway *gateway, bool ok, const struct error *err,
                         int64_t begun_ms)
{
    const struct log *log = &gateway->conf.log;
    const struct log_pair pairs[] = {{"cause", ok ? NULL : error_reason(err)}, {NULL, NULL}};

    outage_note(gateway, ok, err, begun_ms);
    if (!ok && !gateway->is_away)
        log_event(log, LOG_LEVEL_ERROR,
                  "cannot ask the database: new logins are refused, sessions go on", pairs);
    if (ok && gateway->is_away)
        log_event(log, LOG_LEVEL_INFO, "the database answers again", NULL);
    gateway->is_away = !ok;
    return ok;
}

bool asking_note_account(struct gateway *gateway, struct follow *follow, bool ok,
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

void asking_log_accounts(struct gateway *gateway)
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

bool asking_begin_account(struct gateway *gateway, const char *account_id, struct error *err)
{
    bool is_patient;

    pg_set_timeout(gateway->pg, JUDGE_IMPATIENT_MS); /* for the question which node it is */
    if (!pg_turn_to(gateway->pg, account_id, err))
        return false;
    is_patient = pg_turn_silent(gateway->pg) % JUDGE_PATIENT_EVERY == 0;
    pg_set_timeout(gateway->pg, is_patient ? JUDGE_TIMEOUT_MS : JUDGE_IMPATIENT_MS);
    return true;
}

/* ---- keys ---- */

bool asking_look_up(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                    void *out, struct error *err)
{
    return store_gateway_look_up(gateway->pg, arena, keys.items, out, err);
}

bool asking_glance(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                   void *out, struct error *err)
{
    if (!store_gateway_glance(gateway->pg, arena, keys, out, err))
        return false;
    if (keys.n == glanced_most(gateway))
        gateway->glanced.most = keys.n < GLANCED_MAX ? 2 * keys.n : 0;
    return true;
}

/* Where accounts are on several nodes. */
static bool ask_on_node(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                        asking_statement *statement, void *out, const char **why)
{
    const struct text id = keys.items[0].account_id;
    char account_id[IDENT_SIZE];
    struct follow *follow;
    struct error err;
    bool ok;

    snprintf(account_id, sizeof account_id, "%.*s", (int)id.len, id.s);
    *why = "the account's node did not answer in time; it is asked again soon";
    if (!asking_begin_account(gateway, account_id, &err))
        return false;
    ok = statement(gateway, arena, keys, out, &err);
    *why = "the account's node does not answer; see the log of adit-gateway";
    follow = follows_find(&gateway->follows, account_id);
    ok = asking_note_account(gateway, follow, ok, &err);
    asking_log_accounts(gateway);
    return ok;
}

bool asking_for_others(struct gateway *gateway, struct text account_id, struct error *err)
{
    bool ok;

    pg_set_timeout(gateway->pg, JUDGE_IMPATIENT_MS);
    ok = marked_answers(gateway, account_id, err);
    pg_set_timeout(gateway->pg, JUDGE_TIMEOUT_MS);
    return ok;
}

const char *asking_note_late_key(struct gateway *gateway, const struct gateway_key *key)
{
    heavy_keys_renew(&gateway->heavy_keys, key, text_of(""))->late_until_ms =
        clock_steady_ms() + JUDGE_KEY_PAUSE_MS;
    return ASKING_KEY_LATE;
}

/* Many keys share the blame, and are then asked for one by one, until it is known whose it is. */
static const char *note_late_keys(struct gateway *gateway, struct gateway_keys keys)
{
    gateway->glanced.most = keys.n > 1 ? 1 : 0;
    return keys.n > 1 ? ASKING_KEY_LATE : asking_note_late_key(gateway, keys.items);
}

bool asking_about(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                  asking_statement *statement, void *out, const char **why)
{
    const int64_t begun_ms = clock_steady_ms();
    struct error err, others;
    bool is_there, ok;

    if (pg_is_by_account(gateway->pg))
        return ask_on_node(gateway, arena, keys, statement, out, why);
    *why = "the database did not answer in time; it is asked again soon";
    if (judge_is_shut(gateway))
        return false;
    is_there = outage_is_over(gateway, &err);
    ok = is_there && statement(gateway, arena, keys, out, &err);
    if (is_there && !ok && err.code == ERR_DATABASE_TIMEOUT &&
        asking_for_others(gateway, keys.items[0].account_id, &others)) {
        *why = note_late_keys(gateway, keys);
        return false;
    }
    *why = "the database does not answer; see the log of adit-gateway";
    return asking_note_outcome(gateway, ok, &err, begun_ms);
}
