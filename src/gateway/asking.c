/* SPDX-License-Identifier: MIT */
/* Statements, and what their outcome means. */
#include "gateway/asking.h"

#include "base/clock.h"
#include "gateway/by_account.h"
#include "gateway/marked.h"
#include "gateway/outage.h"

/* A key that was not read in time is not read again for so long, if the database answers for
 * others. */
#define KEY_PAUSE_MS 10000

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

const char *asking_account_fault(int n_accounts)
{
    if (n_accounts == 0)
        return "the account does not exist; correct the setting account of [gateway], or --account";
    return n_accounts == 1 ? NULL
                           : "there are several accounts; name one in the setting account of "
                             "[gateway], or with --account";
}

/* ---- keys ---- */

bool asking_look_up(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                    void *out, struct error *err)
{
    return store_gateway_look_up(gateway->pg, arena, keys.items, out, err);
}

size_t asking_glance_most(const struct gateway *gateway)
{
    return gateway->glanced.most > 0 ? gateway->glanced.most : GLANCED_MAX;
}

bool asking_glance(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                   void *out, struct error *err)
{
    if (!store_gateway_glance(gateway->pg, arena, keys, out, err))
        return false;
    if (keys.n == asking_glance_most(gateway))
        gateway->glanced.most = keys.n < GLANCED_MAX ? 2 * keys.n : 0;
    return true;
}

bool asking_for_others(struct gateway *gateway, struct text account_id, struct error *err)
{
    bool ok;

    pg_set_timeout(gateway->pg, OUTAGE_IMPATIENT_MS);
    ok = marked_answers(gateway, account_id, err);
    pg_set_timeout(gateway->pg, OUTAGE_TIMEOUT_MS);
    return ok;
}

const char *asking_note_late_key(struct gateway *gateway, const struct gateway_key *key)
{
    heavy_keys_renew(&gateway->heavy_keys, key, text_of(""))->late_until_ms =
        clock_steady_ms() + KEY_PAUSE_MS;
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

    if (gateway->by_account)
        return gateway->by_account->ask_about(gateway, arena, keys, statement, out, why);
    *why = "the database did not answer in time; it is asked again soon";
    if (outage_shuts(gateway))
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
