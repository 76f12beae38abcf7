/* SPDX-License-Identifier: MIT */
/* The daemon's drivers of the database. */
#include "gateway/drivers.h"

#include <stdlib.h>

#include "gateway/by_account.h"
#include "gateway/outage.h"
#include "nodes/nodes.h"

static struct pg *make_driver(const struct gateway *gateway)
{
    struct pg *pg = pg_new(gateway->conf.gateway.conninfo, &wait_alone);

    if (!pg)
        return NULL;
    nodes_place(pg, gateway->conf.is_by_account);
    pg_set_timeout(pg, OUTAGE_TIMEOUT_MS);
    pg_refuse_nothing(pg); /* judging finds out who else is answered */
    return pg;
}

const char *drivers_fault(const struct conf *conf)
{
    return conf->is_by_account && conf->mutual_tls.edges[0] && !conf->gateway.account[0]
               ? "edges in [mutual_tls] need the setting account of [gateway], because accounts "
                 "are "
                 "on several nodes"
               : NULL;
}

bool drivers_open(struct gateway *gateway)
{
    gateway->pg = make_driver(gateway);
    gateway->edges_pg = make_driver(gateway);
    gateway->nodes = calloc(1, sizeof *gateway->nodes);
    if (!gateway->pg || !gateway->edges_pg || !gateway->nodes)
        return false;
    nodes_join(gateway->nodes, gateway->pg, 1, OUTAGE_PAUSE_MS); /* there is one lane */
    if (!pg_is_by_account(gateway->pg))
        return true;
    gateway->by_account = &by_account;
    /* Finding the only one would ask all nodes. */
    gateway->unnamed_fault =
        "accounts are on several nodes; name one in the setting account of [gateway], or with "
        "--account";
    return true;
}

void drivers_close(struct gateway *gateway)
{
    pg_free(gateway->pg);
    pg_free(gateway->edges_pg);
    free(gateway->nodes);
}
