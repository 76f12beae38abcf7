/* SPDX-License-Identifier: MIT */
/* Judging keys and sessions by what the database holds. */
#include "gateway/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/asking.h"
#include "gateway/by_account.h"
#include "gateway/glanced.h"
#include "gateway/judge_edges.h"
#include "gateway/marked.h"
#include "gateway/outage.h"
#include "model/ssh_options.h"
#include "store/gateway.h"

#define CREDENTIAL_EVENT "ssh_credential_"
#define MUTUAL_TLS_EVENT "mutual_tls_module_"

#define JUDGE_OWNER_LATE                                                                           \
    "reading keys with many rules of the same owner took too long; it is read again soon"

/* ---- keys ---- */

/* What was read of a key: all that it has, but for the owners that are left out. */
struct reading_of_key {
    struct gateway_key key; /* with those owners */
    struct gateway_credentials found;
    bool holds_for_now; /* an owner is left out who may be read later */
    char payer_id[IDENT_SIZE];
};

static bool has_much(const struct reading_of_key *reading, size_t least)
{
    const struct gateway_credentials *found = &reading->found;
    size_t n = found->n;

    for (size_t i = 0; i < found->n; i++)
        n += found->items[i].acl.n;
    return found->is_over || reading->key.left_out.n > 0 || n >= least;
}

static void forget_in(struct heavy_keys *keys, const struct gateway_key *key)
{
    struct heavy_key *known = heavy_keys_find(keys, key);

    if (known)
        heavy_key_forget(keys, known);
}

/* Keeps what was found about a key.  The digest is that of the glance before it was read: good
 * enough for a refusal. */
static void keep_found(struct gateway *gateway, const struct reading_of_key *reading,
                       struct text digest, const struct judge_grant *grant, const char *why)
{
    const struct gateway_credentials *found = &reading->found;
    const bool is_heavy = has_much(reading, HEAVY_KEY_LEAST);
    struct heavy_keys *keys = is_heavy ? &gateway->heavy_keys : &gateway->light_keys;
    const bool is_kept = why != ssh_options_no_memory && (why || found->digest.s);
    struct heavy_key *known;

    if (reading->holds_for_now)
        return;
    forget_in(is_heavy ? &gateway->light_keys : &gateway->heavy_keys, &reading->key);
    known = heavy_keys_renew(keys, &reading->key,
                             is_kept ? found->digest.s ? found->digest : digest : text_of(""));
    memcpy(known->payer_id, reading->payer_id, sizeof known->payer_id);
    if (is_kept)
        known->why = why;
    if (is_kept && !why)
        (void)heavy_key_grant(keys, known, grant);
}

/* Reads what a key has, without some owners if that is over the limits.  Returns false with the
 * reason if it cannot be read in time. */
static bool read_shared(struct gateway *gateway, struct arena *arena,
                        struct reading_of_key *reading, const char **why)
{
    int64_t end_ms = clock_steady_ms() + OUTAGE_TIMEOUT_MS;
    struct gateway_credentials *found = &reading->found;
    enum ssh_share_outcome outcome = SSH_SHARE_LEFT_OUT;

    while (outcome == SSH_SHARE_LEFT_OUT) {
        if (!asking_about(gateway, arena, (struct gateway_keys){&reading->key, 1}, asking_look_up,
                          found, why))
            return false;
        if (reading->key.left_out.n == 0)
            reading_find_payer(found, arena, reading->payer_id);
        if (!found->is_over)
            return true;
        if (clock_steady_ms() >= end_ms) {
            *why = asking_note_late_key(gateway, &reading->key);
            return false;
        }
        outcome =
            ssh_share_read(found->items, found->n, &found->beyond, arena, &reading->key.left_out);
    }
    *why = ssh_options_no_memory;
    return outcome != SSH_SHARE_NO_MEMORY;
}

/* Reads what others have of a key whose owner of most has no time left: less than what counts for
 * theirs, so that of these, too, some may be left out. */
static bool read_others(struct gateway *gateway, struct arena *arena, struct text owner_id,
                        struct reading_of_key *reading, const char **why)
{
    reading->holds_for_now = true;
    reading->key.left_out = (struct ssh_left_out){.owner_ids = {owner_id}, .n = 1};
    reading->key.most_rules = READING_LEAST;
    if (!read_shared(gateway, arena, reading, why))
        return false;
    *why = JUDGE_OWNER_LATE;
    return reading->found.n > 0 && !reading->found.is_over;
}

/* Reads a key whose owner of most has no time left, as far as it has little: strangers may have
 * used the time, with other keys of that owner. */
static bool read_little(struct gateway *gateway, struct arena *arena,
                        struct reading_of_key *reading, const char **why)
{
    reading->key.most_rules = HEAVY_KEY_LEAST;
    return asking_about(gateway, arena, (struct gateway_keys){&reading->key, 1}, asking_look_up,
                        &reading->found, why);
}

/* Reads a key in turn: where that takes long, it counts for the owner of most.  A glance knows only
 * how much is stored, where rules that repeat take little, so what the last reading showed goes
 * first. */
static bool read_in_turn(struct gateway *gateway, struct arena *arena,
                         const struct gateway_glance *seen, struct reading_of_key *reading,
                         const char **why)
{
    const struct heavy_key *known = heavy_keys_find(&gateway->heavy_keys, &reading->key);
    const bool may_have_little = !known && seen->n < HEAVY_KEY_LEAST;
    int64_t begun_ms = clock_steady_ms();
    int64_t now_ms;
    bool ok;

    if (known && known->payer_id[0])
        reading_name(reading->payer_id, text_of(known->payer_id));
    else if (seen->owner_id.s)
        reading_name(reading->payer_id, seen->owner_id);
    if (!reading_is_due(&gateway->readings, text_of(reading->payer_id), begun_ms)) {
        if (may_have_little && !read_little(gateway, arena, reading, why))
            return false;
        return (may_have_little && !reading->found.is_over) ||
               read_others(gateway, arena, text_of(reading->payer_id), reading, why);
    }
    ok = read_shared(gateway, arena, reading, why);
    now_ms = clock_steady_ms();
    if (reading->payer_id[0] && (!ok || has_much(reading, READING_LEAST)))
        reading_note(&gateway->readings, text_of(reading->payer_id), now_ms - begun_ms, now_ms);
    return ok;
}

/* Strangers may offer the key again and again. */
static void log_owners_left_out(const struct gateway *gateway, const struct gateway_key *key,
                                const struct judge_grant *grant)
{
    const struct log_source source = log_source_of(LOG_PARTY_KNOWN, grant->account_id);
    char account[IDENT_SIZE], fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE], owner[IDENT_SIZE];
    const struct log_pair pairs[] = {
        {"account", account}, {"fingerprint", fingerprint}, {"owner", owner}, {NULL, NULL}};

    for (size_t i = 0; i < key->left_out.n; i++) {
        struct text owner_id = key->left_out.owner_ids[i];

        snprintf(account, sizeof account, "%.*s", (int)grant->account_id.len, grant->account_id.s);
        snprintf(fingerprint, sizeof fingerprint, "%.*s", (int)key->fingerprint.len,
                 key->fingerprint.s);
        snprintf(owner, sizeof owner, "%.*s", (int)owner_id.len, owner_id.s);
        log_often(&gateway->conf.log, LOG_LEVEL_WARNING,
                  "an owner's credentials were left out: the key has too many or too much", &source,
                  pairs);
    }
}

static enum judge_verdict read_key(struct gateway *gateway, struct arena *arena,
                                   const struct gateway_key *key, const struct gateway_glance *seen,
                                   struct judge_grant *grant, const char **why)
{
    struct reading_of_key reading = {.key = *key};
    struct gateway_credentials *found = &reading.found;
    bool ok;

    if (!read_in_turn(gateway, arena, seen, &reading, why))
        return *why == ssh_options_no_memory ? JUDGE_FAULT : JUDGE_AWAY;
    *why = asking_account_fault(found->n_accounts);
    if (*why)
        return JUDGE_FAULT;
    if (found->n == 0 && !found->is_over && reading.key.left_out.n == 0)
        return JUDGE_NONE;
    ok = grant_make(found, &gateway->conf.gateway.domain_ports, &reading.key.left_out, arena, grant,
                    why);
    keep_found(gateway, &reading, seen->digest, grant, ok ? NULL : *why);
    if (ok) {
        log_owners_left_out(gateway, &reading.key, grant);
        return JUDGE_PERMITTED;
    }
    return *why == ssh_options_no_memory ? JUDGE_FAULT : JUDGE_OVER;
}

/* Several logins may have asked at once. */
static bool glance_at_one(struct gateway *gateway, struct arena *arena,
                          const struct gateway_key *key, struct gateway_glance *seen,
                          const char **why)
{
    const struct gateway_glance *glances = glanced_find(gateway, key);
    const struct gateway_keys keys = {key, 1};

    if (!glances && !asking_about(gateway, arena, keys, asking_glance, &glances, why))
        return false;
    *seen = glances[0];
    return true;
}

struct gateway_key judge_key_named(const struct gateway *gateway, struct text account_id,
                                   struct text fingerprint)
{
    const struct text standard = text_of(gateway->conf.gateway.account);

    return (struct gateway_key){.account_id = text_present(account_id) ? account_id : standard,
                                .fingerprint = fingerprint};
}

enum judge_verdict judge_key(struct gateway *gateway, struct arena *arena, struct text account_id,
                             struct text fingerprint, struct judge_grant *grant, const char **why)
{
    const struct gateway_key key = judge_key_named(gateway, account_id, fingerprint);
    const struct heavy_key *known = heavy_keys_find(&gateway->heavy_keys, &key);
    struct gateway_glance seen;

    *why = gateway->unnamed_fault;
    if (*why && !ident_assigned(key.account_id, IDENT_ACCOUNT))
        return JUDGE_FAULT;
    *why = ASKING_KEY_LATE;
    if (known && clock_steady_ms() < known->late_until_ms)
        return JUDGE_AWAY;
    if (!glance_at_one(gateway, arena, &key, &seen, why))
        return JUDGE_AWAY;
    *why = asking_account_fault(seen.n_accounts);
    if (*why)
        return JUDGE_FAULT;
    /* Strangers offer any key: each costs one statement. */
    if (seen.n == 0)
        return JUDGE_NONE;
    known = known ? known : heavy_keys_find(&gateway->light_keys, &key);
    /* Only a glance is read while that stays the same. */
    if (!known || !text_eq(text_of(known->digest), seen.digest))
        return read_key(gateway, arena, &key, &seen, grant, why);
    *why = known->why;
    if (known->why)
        return JUDGE_OVER;
    *grant = heavy_key_granted(known);
    return JUDGE_PERMITTED;
}

/* ---- changes ---- */

static void mark_all(struct gateway *gateway)
{
    gateway->edges_are_marked = true;
    for (size_t i = 0; i < gateway->sessions.n; i++)
        ssh_session_mark(gateway->sessions.items[i], SSH_SESSION_SWEPT);
}

void judge_mark_changed(struct gateway *gateway, const struct gateway_changes *changes)
{
    if (!changes->complete || changes->n > GATEWAY_CHANGES_MAX) {
        mark_all(gateway);
        return;
    }
    for (size_t i = 0; i < changes->n; i++) {
        if (text_begins(changes->items[i].event, CREDENTIAL_EVENT))
            ssh_sessions_mark(&gateway->sessions, changes->items[i].resource);
        else if (text_begins(changes->items[i].event, MUTUAL_TLS_EVENT))
            gateway->edges_are_marked = true;
    }
}

static bool read_feed(struct gateway *gateway, struct error *err)
{
    struct arena arena = {0};
    struct gateway_changes changes;
    bool ok = store_gateway_changes(gateway->pg, &arena, feed_since(&gateway->feed), &changes, err);

    if (ok) {
        judge_mark_changed(gateway, &changes);
        feed_note_answer(&gateway->feed, &changes, &gateway->conf.log);
    } else {
        feed_forget(&gateway->feed);
    }
    arena_free(&arena);
    return ok;
}

/* In place of reading the feed.  Returns false with *err if the database does not answer. */
static bool mark_anew(struct gateway *gateway, struct error *err)
{
    gateway->feed.anew_from_ms = clock_steady_ms() + FEED_ANEW_MS;
    if (!asking_for_others(gateway, text_of(gateway->conf.gateway.account), err))
        return false;
    mark_all(gateway);
    return true;
}

/* Marks what may have changed.  A feed that is late alone shuts out no login: they do not need it.
 */
static bool poll_database(struct gateway *gateway, struct error *err)
{
    struct error others;

    if (!feed_is_due(&gateway->feed, clock_steady_ms()))
        return mark_anew(gateway, err);
    if (read_feed(gateway, err))
        return true;
    if (err->code != ERR_DATABASE_TIMEOUT || !mark_anew(gateway, &others))
        return false;
    gateway->textfile.polls_failed++;
    feed_note_late(&gateway->feed, err, clock_steady_ms(), &gateway->conf.log);
    return true;
}

/* Returns whether a poll is due.  While the database is away, each finds out whether it is back. */
static bool is_poll_due(const struct gateway *gateway)
{
    int64_t now_ms = clock_steady_ms();

    return gateway->is_away || feed_is_due(&gateway->feed, now_ms) ||
           now_ms >= gateway->feed.anew_from_ms;
}

/* Where all accounts are in one database.  Returns whether sessions are left to be judged soon. */
static bool judge_feed(struct gateway *gateway)
{
    const int64_t begun_ms = clock_steady_ms();
    bool is_left = false;
    struct error err;
    bool ok;

    if (outage_shuts(gateway))
        return false;
    if (is_poll_due(gateway)) {
        ok = outage_is_over(gateway, &err) && poll_database(gateway, &err);
        if (!asking_note_outcome(gateway, ok, &err, begun_ms))
            return false;
        gateway->polled_ms = clock_steady_ms();
    }
    /* Marks stay until a statement has judged them. */
    ok = marked_judge(gateway, NULL, &is_left, &err);
    (void)asking_note_outcome(gateway, ok, &err, begun_ms);
    return judge_edges(gateway) || is_left;
}

bool judge_changes(struct gateway *gateway)
{
    const int64_t begun_us = clock_steady_us();
    const bool asks = !outage_shuts(gateway);
    bool is_done;

    gateway->n_polls++;
    is_done = gateway->by_account ? gateway->by_account->judge(gateway) : !judge_feed(gateway);

    if (asks)
        textfile_count_poll(&gateway->textfile, !gateway->is_away, begun_us);
    return is_done;
}

void judge_sweep(struct gateway *gateway)
{
    mark_all(gateway);
}
