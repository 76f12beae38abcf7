/* SPDX-License-Identifier: MIT */
/* Functions in place of the database. */
#include "gateway/fake_keys.h"

#include <check.h>
#include <stdio.h>

#include "base/clock.h"
#include "gateway/fake_store.h"
#include "gateway/judge.h"
#include "gateway/marked.h"
#include "gateway/monitor.h"
#include "gateway/proc.h"
#include "model/ssh_decision.h"

struct fake_key fake_keys[N_KEYS];
struct fake_database fake_database;

static struct monitor monitors[8];
static size_t n_monitors;

/* The steady clock, as long as it stands; 0: it goes. */
static int64_t stands_at_us;

int64_t __real_clock_steady_us(void);
int64_t __wrap_clock_steady_us(void);
int64_t __wrap_clock_steady_us(void)
{
    return stands_at_us ? stands_at_us : __real_clock_steady_us();
}

int64_t __wrap_clock_steady_ms(void);
int64_t __wrap_clock_steady_ms(void)
{
    return clock_steady_us() / 1000;
}

void fake_clock_go(int64_t ms)
{
    stands_at_us += ms * 1000;
}

static void take_time(void)
{
    if (fake_database.takes_a_turn)
        fake_clock_go(MARKED_TURN_MS);
}

static struct fake_key *find_key(const struct gateway_key *asked)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (text_eq(asked->fingerprint, text_of(fake_keys[i].fingerprint)) &&
            text_eq(asked->account_id, text_of(fake_keys[i].account_id)))
            return &fake_keys[i];
    }
    return NULL;
}

/* The pause of OUTAGE_PAUSE_MS is not what is tested. */
static bool is_late(struct error *err)
{
    return error_cause(err, ERR_DATABASE_TIMEOUT, "database: no answer");
}

static bool changes(struct arena *arena, struct text snapshot, struct gateway_changes *out,
                    struct error *err)
{
    fake_database.n_polls++;
    if (fake_database.feed_is_late)
        return is_late(err);
    out->snapshot = text_of(fake_database.snapshot);
    out->complete = fake_database.is_complete && snapshot.len > 0;
    out->items = arena_array(arena, 1, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    if (out->complete && fake_database.named)
        out->items[out->n++] = (struct gateway_change){text_of("ssh_credential_deleted"),
                                                       text_of(fake_database.named->account_id),
                                                       text_of(fake_database.named->credential_id)};
    fake_database.named = NULL;
    return true;
}

static bool glance(struct arena *arena, struct gateway_keys asked, struct gateway_glance *out,
                   struct error *err)
{
    (void)arena;
    fake_database.n_glances++;
    take_time();
    if (asked.items[0].fingerprint.len == 0)
        fake_database.lock_is_held = false;
    ck_assert_uint_le(asked.n, GLANCED_MAX);
    for (size_t i = 0; i < asked.n; i++) {
        const struct fake_key *key = find_key(&asked.items[i]);
        const char *owner_id = key && key->seen_owner_id ? key->seen_owner_id
                               : key                     ? key->owner_id
                                                         : NULL;

        if (fake_database.table_is_late || fake_database.lock_is_held || (key && key->is_late))
            return is_late(err);
        for (size_t j = 0; j < i; j++)
            ck_assert_ptr_ne(find_key(&asked.items[j]), key);
        out[i] = (struct gateway_glance){.n = key ? key->n : 0,
                                         .digest = text_of(key ? key->digest : ""),
                                         .owner_id = text_of(owner_id),
                                         .n_accounts = 1};
    }
    return true;
}

static void read_one(struct arena *arena, const char *id, const char *owner_id, const char *rule,
                     size_t n_rules, struct gateway_credentials *out)
{
    struct text *rules = arena_array(arena, n_rules, sizeof *rules);

    ck_assert_ptr_nonnull(rules);
    for (size_t i = 0; i < n_rules; i++)
        rules[i] = text_of(rule);
    out->items[out->n++] = (struct ssh_grant){
        text_of(id), text_of(owner_id), {.items = rules, .n = n_rules, .given = true}};
}

/* The owner has all of the key but its rest. */
static bool look_up(struct arena *arena, const struct gateway_key *asked,
                    struct gateway_credentials *out, struct error *err)
{
    struct fake_key *key = find_key(asked);
    bool is_rest = asked->left_out.n > 0;
    const char *rule;

    ck_assert_ptr_nonnull(key);
    key->n_look_ups += !asked->credential_ids.given && !is_rest && asked->most_rules == 0;
    take_time();
    out->n_accounts = 1;
    if (fake_database.table_is_late || fake_database.lock_is_held || key->is_late ||
        (asked->credential_ids.given ? key->own_is_late : key->whole_is_late))
        return is_late(err);
    out->account_id = text_of(key->account_id);
    out->digest = text_of(key->digest);
    out->items = arena_array(arena, 2, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    if (is_rest) {
        ck_assert(text_eq(asked->left_out.owner_ids[0], text_of(key->owner_id)));
        out->is_over = asked->most_rules > 0 &&
                       (key->rest_is_much || (key->rest_owner_id && asked->left_out.n == 1));
        out->beyond = (struct ssh_beyond){text_of(key->rest_owner_id), asked->most_rules, 1,
                                          asked->most_rules};
        if (asked->left_out.n > 1 && key->rest_owner_id)
            ck_assert(text_eq(asked->left_out.owner_ids[1], text_of(key->rest_owner_id)));
        if (key->rest_is_hidden)
            out->digest = text_of(NULL);
        if (key->rest)
            read_one(arena, REST_ID, "usr_rest", key->rest, 1, out);
        return true;
    }
    out->is_over = key->is_over || key->n > SSH_GRANTS_MAX ||
                   (asked->most_rules > 0 && key->n_rules > asked->most_rules);
    if (out->is_over)
        out->beyond = (struct ssh_beyond){text_of(key->owner_id), 2 * SSH_GRANT_RULES_MAX,
                                          2 * SSH_GRANT_BYTES_MAX, 0};
    rule = asked->credential_ids.given && key->own ? key->own : key->rule;
    if (key->n > 0 && rule)
        read_one(arena, key->credential_id, key->owner_id, rule, key->n_rules, out);
    return true;
}

void fake_keys_start(struct gateway *gateway)
{
    static char none[] = "";
    static const struct conf_mutual_tls no_edges = {none, none, none, none, none};

    for (int i = 0; i < N_KEYS; i++) {
        struct fake_key *key = &fake_keys[i];

        *key =
            (struct fake_key){.n = 1, .n_rules = 1, .rule = "bind:a:1", .owner_id = "usr_others"};
        snprintf(key->account_id, sizeof key->account_id, "%s", i % N_ACCOUNTS ? B : A);
        snprintf(key->fingerprint, sizeof key->fingerprint, "SHA256:%043d", i);
        snprintf(key->credential_id, sizeof key->credential_id, "sshcr_%d", i);
        snprintf(key->digest, sizeof key->digest, "digest of %d", i);
    }
    n_monitors = 0;
    stands_at_us = clock_steady_us();
    fake_database = (struct fake_database){.is_complete = true, .snapshot = "snapshot"};
    fake_store = (struct fake_store){.changes = changes, .glance = glance, .look_up = look_up};
    *gateway = (struct gateway){.conf.log.level = LOG_LEVEL_ERROR,
                                .conf.gateway.account = none,
                                .conf.gateway.metrics = none};
    gateway->edges = edges_new(&no_edges, &gateway->conf.log);
    ck_assert_ptr_nonnull(gateway->edges);
}

void fake_keys_stop(struct gateway *gateway)
{
    stands_at_us = 0;
    for (size_t i = 0; i < n_monitors; i++)
        monitor_stop(&monitors[i]);
    ssh_sessions_free(&gateway->sessions);
    heavy_keys_free(&gateway->heavy_keys);
    heavy_keys_free(&gateway->light_keys);
    buf_free(&gateway->feed.snapshot);
    edges_free(gateway->edges);
}

struct ssh_session *fake_keys_add_session(struct gateway *gateway, size_t i, bool ends)
{
    struct text id = text_of(fake_keys[i].credential_id), rule = text_of(fake_keys[i].rule);
    struct proc proc = {.pid = 1};
    struct ssh_session *session;
    int fd = -1;

    if (ends) {
        struct monitor *monitor = &monitors[n_monitors++];

        monitor_start(monitor, "sshd", false);
        ck_assert(proc_read(monitor->pid, &proc));
        fd = proc_open(monitor->pid, proc.started);
        ck_assert_int_ge(fd, 0);
    }
    session = ssh_sessions_add(&gateway->sessions, proc.pid, proc.started, fd);
    ck_assert_ptr_nonnull(session);
    snprintf(session->account_id, sizeof session->account_id, "%s", fake_keys[i].account_id);
    snprintf(session->fingerprint, sizeof session->fingerprint, "%s", fake_keys[i].fingerprint);
    snprintf(session->digest, sizeof session->digest, "%s", fake_keys[i].digest);
    ck_assert(ssh_session_set_lists(session, (struct text_list){&id, 1, true},
                                    (struct text_list){&rule, 1, true}));
    return session;
}

void fake_key_exceed(struct fake_key *key, bool has_many)
{
    snprintf(key->digest, sizeof key->digest, "another");
    if (has_many)
        key->n = SSH_GRANTS_MAX + 1;
    else
        key->is_over = true;
}
