/* SPDX-License-Identifier: MIT */
/* Judging keys and sessions by what the database holds. */
#include "gateway/judge.h"

#include "base/clock.h"
#include "model/acl.h"
#include "store/gateway.h"

/* After a statement that was not answered in time, nothing is asked for so long: each would keep
 * the loop as long again. */
#define PAUSE_MS 500

/* With more changes than this, judging all sessions costs less than finding those concerned. */
#define CHANGES_MAX 256

#define CREDENTIAL_EVENT "ssh_credential_"
#define MUTUAL_TLS_EVENT "mutual_tls_module_"

/* ---- the database ---- */

static bool is_shut(const struct gateway *gateway)
{
    return clock_steady_ms() < gateway->shut_until_ms;
}

/* After a statement that was given up, nothing is asked for PAUSE_MS. */
static void note_timeout(struct gateway *gateway, bool ok, const struct error *err)
{
    if (!ok)
        gateway->shut_until_ms =
            err->code == ERR_DATABASE_TIMEOUT ? clock_steady_ms() + PAUSE_MS : 0;
}

/* Notes how a statement ended, and logs when the database goes away and comes back. */
static bool note_outcome(struct gateway *gateway, bool ok, const struct error *err)
{
    const struct log *log = &gateway->conf.log;
    const struct log_pair pairs[] = {{"cause", ok ? NULL : err->cause}, {NULL, NULL}};

    note_timeout(gateway, ok, err);
    if (!ok && !gateway->is_away)
        log_event(log, LOG_LEVEL_ERROR,
                  "cannot ask the database: new logins are refused, sessions go on", pairs);
    if (ok && gateway->is_away)
        log_event(log, LOG_LEVEL_INFO, "the database answers again", NULL);
    gateway->is_away = !ok;
    return ok;
}

/* Returns why an account cannot be obeyed, or NULL. */
static const char *account_fault(int n_accounts)
{
    if (n_accounts == 0)
        return "the account does not exist; correct the setting account of [gateway], or --account";
    return n_accounts == 1 ? NULL
                           : "there are several accounts; name one in the setting account of "
                             "[gateway], or with --account";
}

/* ---- keys ---- */

/* Whoever writes with psql can store any text as a rule. */
static bool keep_valid(struct judge_grant *grant, struct arena *arena)
{
    struct text_list *granted = &grant->granted;
    const char *why;

    *granted = (struct text_list){.given = true};
    granted->items = arena_array(arena, grant->rules.n + 1, sizeof *granted->items);
    for (size_t i = 0; granted->items && i < grant->rules.n; i++) {
        if (acl_rule_valid(grant->rules.items[i], &why))
            granted->items[granted->n++] = grant->rules.items[i];
    }
    return granted->items != NULL;
}

/* Unites the grants of n credentials of one key. */
static bool unite(const struct gateway_credential *credentials, size_t n, struct arena *arena,
                  struct judge_grant *grant)
{
    struct text_list *lists = arena_array(arena, n, sizeof *lists);
    struct text *ids = arena_array(arena, n, sizeof *ids);

    if (!lists || !ids)
        return false;
    for (size_t i = 0; i < n; i++) {
        lists[i] = credentials[i].acl;
        ids[i] = credentials[i].id;
    }
    grant->account_id = credentials[0].account_id;
    grant->credential_ids = (struct text_list){.items = ids, .n = n, .given = true};
    return acl_unite(lists, n, arena, &grant->rules) && keep_valid(grant, arena);
}

enum judge_verdict judge_key(struct gateway *gateway, struct arena *arena, struct text account_id,
                             struct text fingerprint, struct judge_grant *grant, const char **why)
{
    struct text standard = text_of(gateway->conf.gateway.account);
    const struct gateway_key key = {.account_id = text_present(account_id) ? account_id : standard,
                                    .fingerprint = fingerprint};
    struct gateway_credentials found;
    struct error err;
    bool ok;

    *why = "the database did not answer in time; it is asked again soon";
    if (is_shut(gateway))
        return JUDGE_AWAY;
    ok = store_gateway_look_up(gateway->pg, arena, (struct gateway_keys){&key, 1}, &found, &err);
    *why = "the database does not answer; see the log of adit-gateway";
    if (!note_outcome(gateway, ok, &err))
        return JUDGE_AWAY;
    *why = account_fault(found.n_accounts);
    if (*why)
        return JUDGE_AWAY;
    if (found.n == 0)
        return JUDGE_NONE;
    *why = "out of memory";
    return unite(found.items, found.n, arena, grant) ? JUDGE_PERMITTED : JUDGE_AWAY;
}

/* ---- sessions ---- */

/* Judges a session by its key's credentials as they are now. */
static void judge_session(struct gateway *gateway, struct session *session,
                          const struct gateway_credential *credentials, size_t n,
                          struct arena *arena)
{
    const struct log *log = &gateway->conf.log;
    struct judge_grant grant;

    session->is_marked = false;
    if (n == 0)
        session_end(session, log, "no credential has its key any more", clock_steady_ms());
    else if (!unite(credentials, n, arena, &grant))
        session->is_marked = true;
    else if (session->granted.n > 0 && !acl_covers(grant.rules, session->granted))
        session_end(session, log, "its rules were narrowed", clock_steady_ms());
    /* A session that lost track of its credentials would miss their changes. */
    else if (!session_set_lists(session, grant.credential_ids, session->granted))
        session_end(session, log, "out of memory", clock_steady_ms());
}

/* Judges the marked sessions, with one statement. */
static void judge_marked(struct gateway *gateway)
{
    struct sessions *sessions = &gateway->sessions;
    struct arena arena = {0};
    struct gateway_key *keys = arena_array(&arena, sessions->n + 1, sizeof *keys);
    struct session **judged = arena_array(&arena, sessions->n + 1, sizeof *judged);
    struct gateway_credentials found = {0};
    size_t n_keys = 0, at = 0;
    struct error err;

    for (size_t i = 0; keys && judged && i < sessions->n; i++) {
        struct session *session = sessions->items[i];

        if (!session->is_marked || session->is_ending)
            continue;
        keys[n_keys] =
            (struct gateway_key){text_of(session->account_id), text_of(session->fingerprint)};
        judged[n_keys++] = session;
    }
    if (n_keys > 0 &&
        note_outcome(gateway,
                     store_gateway_look_up(gateway->pg, &arena, (struct gateway_keys){keys, n_keys},
                                           &found, &err),
                     &err)) {
        for (size_t i = 0; i < n_keys; i++) {
            size_t first = at;

            while (at < found.n && found.items[at].key == i)
                at++;
            judge_session(gateway, judged[i], found.items + first, at - first, &arena);
        }
    }
    arena_free(&arena);
}

/* ---- edges ---- */

/* Logs the first of several failures of one kind. */
static void note_edges(struct gateway *gateway, const char *cause)
{
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    if (cause && !gateway->edges_are_unread)
        log_event(&gateway->conf.log, LOG_LEVEL_ERROR,
                  "cannot read mutual TLS modules: the edges' files stay", pairs);
    if (!cause && gateway->edges_are_unread)
        log_event(&gateway->conf.log, LOG_LEVEL_INFO, "mutual TLS modules are read again", NULL);
    gateway->edges_are_unread = cause != NULL;
}

/* Reads the modules of all edges, with one statement.  Without its account, an edge that has a
 * module would seem to have none, and be opened to everybody. */
static void judge_edges(struct gateway *gateway)
{
    struct text_list ids = edges_ids(gateway->edges);
    struct arena arena = {0};
    struct gateway_edges modules;
    struct error err;
    bool ok;

    if (!gateway->edges_are_marked || ids.n == 0 || is_shut(gateway))
        return;
    ok = store_gateway_mutual_tls(gateway->pg, &arena, text_of(gateway->conf.gateway.account), ids,
                                  &modules, &err);
    note_timeout(gateway, ok, &err);
    gateway->account_fault = ok ? account_fault(modules.n_accounts) : NULL;
    note_edges(gateway, ok ? gateway->account_fault : err.cause);
    ok = ok && !gateway->account_fault && edges_put(gateway->edges, &modules);
    gateway->edges_are_marked = !ok;
    arena_free(&arena);
}

/* ---- changes ---- */

static void mark_all(struct gateway *gateway)
{
    gateway->edges_are_marked = true;
    for (size_t i = 0; i < gateway->sessions.n; i++)
        gateway->sessions.items[i]->is_marked = true;
}

static void mark_changed(struct gateway *gateway, const struct gateway_changes *changes)
{
    if (!changes->complete || changes->n > CHANGES_MAX) {
        mark_all(gateway);
        return;
    }
    for (size_t i = 0; i < changes->n; i++) {
        if (text_begins(changes->items[i].event, CREDENTIAL_EVENT))
            sessions_mark(&gateway->sessions, changes->items[i].resource);
        else if (text_begins(changes->items[i].event, MUTUAL_TLS_EVENT))
            gateway->edges_are_marked = true;
    }
}

void judge_changes(struct gateway *gateway)
{
    struct arena arena = {0};
    struct gateway_changes changes;
    struct text since = {0};
    struct error err;
    bool ok;

    if (is_shut(gateway))
        return;
    if (gateway->snapshot.len > 0)
        since = buf_text(&gateway->snapshot);
    ok = store_gateway_changes(gateway->pg, &arena, since, &changes, &err);
    if (note_outcome(gateway, ok, &err)) {
        gateway->polled_ms = clock_steady_ms();
        mark_changed(gateway, &changes);
        buf_clear(&gateway->snapshot);
        buf_add(&gateway->snapshot, changes.snapshot.s, changes.snapshot.len);
        if (gateway->snapshot.failed)
            buf_clear(&gateway->snapshot);
    }
    arena_free(&arena);
    /* Marks stay until a statement has judged them. */
    if (ok) {
        judge_marked(gateway);
        judge_edges(gateway);
    }
}

void judge_all(struct gateway *gateway)
{
    mark_all(gateway);
    if (!is_shut(gateway)) {
        judge_marked(gateway);
        judge_edges(gateway);
    }
}
