/* SPDX-License-Identifier: MIT */
/* The daemon's drivers of the database. */
#include "gateway/drivers.h"

#include "gateway/judge.h"

static struct pg *make_driver(const struct gateway *gateway)
{
    struct pg *pg = pg_new(gateway->conf.gateway.conninfo, &wait_alone);

    if (!pg)
        return NULL;
    pg_set_distributed(pg, gateway->conf.is_distributed);
    pg_set_timeout(pg, JUDGE_TIMEOUT_MS);
    pg_refuse_nothing(pg); /* judging finds out who else is answered */
    return pg;
}

bool drivers_open(struct gateway *gateway)
{
    gateway->pg = make_driver(gateway);
    gateway->edges_pg = make_driver(gateway);
    if (!gateway->pg || !gateway->edges_pg)
        return false;
    gateway->late.most = 1; /* there is one lane */
    gateway->late.pause_ms = JUDGE_PAUSE_MS;
    if (gateway->conf.is_distributed)
        node_lane_open(&gateway->nodes, gateway->pg, &gateway->late);
    return true;
}

void drivers_close(struct gateway *gateway)
{
    pg_free(gateway->pg);
    pg_free(gateway->edges_pg);
}
