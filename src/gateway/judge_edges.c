/* SPDX-License-Identifier: MIT */
/* Reading the modules of mutual TLS. */
#include "gateway/judge_edges.h"

#include "base/clock.h"
#include "gateway/asking.h"
#include "gateway/outage.h"
#include "store/gateway.h"

/* Modules that one statement reads: at most 2 MB, of 1,000 authorities each. */
#define MODULES_MAX 8

/* After so many late statements, a module is read by itself, in all the time that a statement may
 * take.  Before, less has to do: it keeps the loop, and with it logins. */
#define LATE_MAX 3
#define SHORT_MS 300

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

/* Notes why a statement failed.  One that is late does not shut out logins: they do not need it. */
static void note_unread(struct gateway *gateway, const struct error *err, int64_t begun_ms)
{
    note_edges(gateway, error_reason(err));
    if (err->code != ERR_DATABASE_TIMEOUT && clock_steady_ms() < begun_ms + OUTAGE_LONG_MS)
        return;
    gateway->edges_late += gateway->edges_late < LATE_MAX;
    gateway->edges_read_at_ms = clock_steady_ms() + (OUTAGE_PAUSE_MS << gateway->edges_late);
}

typedef bool edges_statement(struct pg *pg, struct arena *arena, struct text account_id,
                             struct text_list edge_ids, struct gateway_edges *out,
                             struct error *err);

/* Without its account, an edge that has a module would seem to have none, and be opened to
 * everybody: nothing counts then. */
static bool ask_about_edges(struct gateway *gateway, edges_statement *statement,
                            struct arena *arena, struct text_list ids, struct gateway_edges *out)
{
    struct error err;
    struct pg *pg = gateway->edges_pg;
    int64_t begun_ms = clock_steady_ms();
    bool ok;

    pg_set_timeout(pg, gateway->edges_late < LATE_MAX ? SHORT_MS : OUTAGE_TIMEOUT_MS);
    ok = statement(pg, arena, text_of(gateway->conf.gateway.account), ids, out, &err);
    gateway->account_fault = ok ? asking_account_fault(out->n_accounts) : NULL;
    if (!ok)
        note_unread(gateway, &err, begun_ms);
    else if (gateway->account_fault)
        note_edges(gateway, gateway->account_fault);
    return ok && !gateway->account_fault;
}

static bool note_stored(struct gateway *gateway)
{
    struct arena arena = {0};
    struct gateway_edges stored;
    bool ok = ask_about_edges(gateway, store_gateway_edge_revisions, &arena,
                              edges_ids(gateway->edges), &stored) &&
              edges_note(gateway->edges, &stored);

    gateway->edges_are_marked = !ok;
    arena_free(&arena);
    return ok;
}

static bool read_modules(struct gateway *gateway, struct text_list ids)
{
    struct arena arena = {0};
    struct gateway_edges stored;
    bool ok = ask_about_edges(gateway, store_gateway_mutual_tls, &arena, ids, &stored) &&
              edges_put(gateway->edges, ids, &stored);

    gateway->edges_late -= ok && gateway->edges_late > 0;
    arena_free(&arena);
    return ok;
}

bool judge_edges(struct gateway *gateway)
{
    struct text items[MODULES_MAX];
    struct text_list ids;
    size_t most = (size_t)(MODULES_MAX >> gateway->edges_late);

    if (edges_ids(gateway->edges).n == 0 || outage_shuts(gateway) ||
        clock_steady_ms() < gateway->edges_read_at_ms)
        return false;
    if (gateway->edges_are_marked && !note_stored(gateway))
        return false;
    ids = edges_stale(gateway->edges, items, most);
    if (ids.n > 0 && !read_modules(gateway, ids))
        return false;
    if (edges_stale(gateway->edges, items, 1).n > 0)
        return true;
    note_edges(gateway, NULL);
    return false;
}
