/* SPDX-License-Identifier: MIT */
/* Reading the modules of mutual TLS. */
#include "gateway/judge_edges.h"

#include "gateway/judge.h"
#include "store/gateway.h"

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
void judge_edges(struct gateway *gateway)
{
    struct text_list ids = edges_ids(gateway->edges);
    struct arena arena = {0};
    struct gateway_edges modules;
    struct error err;
    bool ok;

    if (!gateway->edges_are_marked || ids.n == 0 || judge_is_shut(gateway))
        return;
    ok = store_gateway_mutual_tls(gateway->pg, &arena, text_of(gateway->conf.gateway.account), ids,
                                  &modules, &err);
    judge_note_timeout(gateway, ok, &err);
    gateway->account_fault = ok ? judge_account_fault(modules.n_accounts) : NULL;
    note_edges(gateway, ok ? gateway->account_fault : error_reason(&err));
    ok = ok && !gateway->account_fault && edges_put(gateway->edges, &modules);
    gateway->edges_are_marked = !ok;
    arena_free(&arena);
}
