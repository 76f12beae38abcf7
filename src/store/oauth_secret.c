/* SPDX-License-Identifier: MIT */
/* Client secrets under seal. */
#include "store/oauth_secret.h"

#define BATCH 100

static const struct pg_statement list_statement = {
    .name = "oauth_secret_list",
    .sql = "SELECT m.account_id, m.edge_id, m.route_id, m.provider, m.client_secret_key_id,"
           " m.client_secret_sealed FROM adit.oauth_module AS m"
           " WHERE m.client_secret_key_id <> $1::text COLLATE \"C\""
           " AND (m.account_id, m.edge_id, m.route_id)"
           " > ($2::text COLLATE \"C\", $3::text COLLATE \"C\", $4::text COLLATE \"C\")"
           " ORDER BY m.account_id, m.edge_id, m.route_id LIMIT $5::bigint",
};

enum list_column {
    COLUMN_ACCOUNT_ID,
    COLUMN_EDGE_ID,
    COLUMN_ROUTE_ID,
    COLUMN_PROVIDER,
    COLUMN_KEY_ID,
    COLUMN_SEALED
};

/* The triggers on the table know this from a change of the module (sql/002_revision.sql). */
static const struct pg_statement seal_statement = {
    .name = "oauth_secret_seal",
    .sql = "WITH mark AS MATERIALIZED (SELECT pg_catalog.set_config('adit.rekey', 'on', true))"
           " UPDATE adit.oauth_module AS m"
           " SET client_secret_key_id = $5::text, client_secret_sealed = $6::bytea FROM mark"
           " WHERE m.account_id = $1::text COLLATE \"C\" AND m.edge_id = $2::text COLLATE \"C\""
           " AND m.route_id = $3::text COLLATE \"C\" AND m.client_secret_sealed = $4::bytea"
           " RETURNING m.edge_id",
};

static const struct pg_statement count_statement = {
    .name = "oauth_secret_count_left",
    .sql = "SELECT count(*) FROM adit.oauth_module AS m"
           " WHERE m.client_secret_key_id <> $1::text COLLATE \"C\"",
};

struct keyring_place oauth_secret_place(struct text account_id, const struct oauth_route *route,
                                        int provider)
{
    return (struct keyring_place){
        .column = "oauth_module.client_secret_sealed",
        .account_id = account_id,
        .ids = {route->edge_id, route->route_id},
        .position = provider,
    };
}

struct rekeying {
    struct pg *pg;
    struct keyring *keyring;
    struct arena *arena;
    void (*unreadable)(struct text edge_id, struct text route_id, const char *cause);
    struct oauth_secret_rekeying *done;
};

/* A secret under seal, as a row holds it. */
struct found {
    struct keyring_place place;
    struct text key_id;
    const unsigned char *sealed;
    size_t len;
};

static struct found read_row(const struct pg_result *result, int row)
{
    struct oauth_route route = {.edge_id = pg_text(result, row, COLUMN_EDGE_ID),
                                .route_id = pg_text(result, row, COLUMN_ROUTE_ID)};
    struct found found = {.place =
                              oauth_secret_place(pg_text(result, row, COLUMN_ACCOUNT_ID), &route,
                                                 (int)pg_int(result, row, COLUMN_PROVIDER)),
                          .key_id = pg_text(result, row, COLUMN_KEY_ID)};

    found.sealed = pg_bytes(result, row, COLUMN_SEALED, &found.len);
    return found;
}

static bool write_sealed(const struct rekeying *rekeying, const struct found *found,
                         struct text secret, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text key_id;
    const unsigned char *sealed;
    size_t len;

    if (!keyring_seal(rekeying->keyring, &found->place, secret, rekeying->arena, &key_id, &sealed,
                      &len, err))
        return false;
    pg_add_text(&params, found->place.account_id);
    pg_add_text(&params, found->place.ids[0]);
    pg_add_text(&params, found->place.ids[1]);
    pg_add_bytes(&params, found->sealed, found->len);
    pg_add_text(&params, key_id);
    pg_add_bytes(&params, sealed, len);
    if (!pg_run(rekeying->pg, &seal_statement, &params, &result, err))
        return false;
    rekeying->done->n_sealed += pg_rows(result);
    pg_result_free(result);
    return true;
}

static bool seal_row(const struct rekeying *rekeying, const struct pg_result *result, int row,
                     struct error *err)
{
    struct found found = read_row(result, row);
    struct text secret;

    if (keyring_open(rekeying->keyring, &found.place, found.key_id, found.sealed, found.len,
                     rekeying->arena, &secret, err))
        return write_sealed(rekeying, &found, secret, err);
    if (err->code != ERR_SECRET_UNREADABLE)
        return false;
    rekeying->unreadable(found.place.ids[0], found.place.ids[1], err->cause);
    return true;
}

/* Seals the rows behind the one that *last names, and moves it on; its text belongs to *kept.  Sets
 * *n to their number. */
static bool seal_batch(const struct rekeying *rekeying, struct pg_result **last, int *n,
                       struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(keyring_first(rekeying->keyring)));
    for (int column = COLUMN_ACCOUNT_ID; column <= COLUMN_ROUTE_ID; column++)
        pg_add_text(&params, *last ? pg_text(*last, *n - 1, column) : text_of(""));
    pg_add_int(&params, BATCH);
    if (!pg_run(rekeying->pg, &list_statement, &params, &result, err))
        return false;
    pg_result_free(*last);
    *last = result;
    *n = pg_rows(result);
    for (int row = 0; row < *n; row++) {
        bool ok = seal_row(rekeying, result, row, err);

        arena_reset(rekeying->arena);
        if (!ok)
            return false;
    }
    return true;
}

static bool count_left(const struct rekeying *rekeying, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(keyring_first(rekeying->keyring)));
    if (!pg_run(rekeying->pg, &count_statement, &params, &result, err))
        return false;
    rekeying->done->n_left = (int)pg_int(result, 0, 0);
    pg_result_free(result);
    return true;
}

bool oauth_secret_rekey(struct pg *pg, struct keyring *keyring,
                        void (*unreadable)(struct text edge_id, struct text route_id,
                                           const char *cause),
                        struct oauth_secret_rekeying *done, struct error *err)
{
    struct arena arena = {0};
    const struct rekeying rekeying = {
        .pg = pg, .keyring = keyring, .arena = &arena, .unreadable = unreadable, .done = done};
    struct pg_result *last = NULL;
    int n = 0;
    bool ok;

    *done = (struct oauth_secret_rekeying){.n_sealed = 0};
    do
        ok = seal_batch(&rekeying, &last, &n, err);
    while (ok && n > 0);
    pg_result_free(last);
    arena_free(&arena);
    return ok && count_left(&rekeying, err);
}
