/* SPDX-License-Identifier: MIT */
/* Calls the functions of the test. */
#include "gateway/fake_store.h"

#include <check.h>

#include "gateway/outage.h"

struct fake_store fake_store;

void pg_set_timeout(struct pg *pg, int timeout_ms)
{
    (void)pg;
    ck_assert_int_le(timeout_ms, OUTAGE_TIMEOUT_MS);
    fake_store.timeout_ms = timeout_ms;
}

/* Without a function, the database answers. */
bool store_gateway_ping(struct pg *pg, struct error *err)
{
    (void)pg;
    return !fake_store.ping || fake_store.ping(err);
}

bool store_gateway_changes(struct pg *pg, struct arena *arena, struct text snapshot,
                           struct gateway_changes *out, struct error *err)
{
    (void)pg;
    *out = (struct gateway_changes){.n = 0};
    return fake_store.changes(arena, snapshot, out, err);
}

bool store_gateway_glance(struct pg *pg, struct arena *arena, struct gateway_keys keys,
                          struct gateway_glance **out, struct error *err)
{
    (void)pg;
    *out = arena_array(arena, keys.n, sizeof **out);
    ck_assert_ptr_nonnull(*out);
    return fake_store.glance(arena, keys, *out, err);
}

bool store_gateway_look_up(struct pg *pg, struct arena *arena, const struct gateway_key *key,
                           struct gateway_credentials *out, struct error *err)
{
    (void)pg;
    *out = (struct gateway_credentials){.n = 0};
    return fake_store.look_up(arena, key, out, err);
}

bool store_gateway_edge_revisions(struct pg *pg, struct arena *arena, struct text account_id,
                                  struct text_list edge_ids, struct gateway_edges *out,
                                  struct error *err)
{
    (void)pg, (void)account_id;
    *out = (struct gateway_edges){.n_accounts = 1};
    return fake_store.edges(arena, edge_ids, false, out, err);
}

bool store_gateway_mutual_tls(struct pg *pg, struct arena *arena, struct text account_id,
                              struct text_list edge_ids, struct gateway_edges *out,
                              struct error *err)
{
    (void)pg, (void)account_id;
    *out = (struct gateway_edges){.n_accounts = 1};
    return fake_store.edges(arena, edge_ids, true, out, err);
}
