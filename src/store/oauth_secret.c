/* SPDX-License-Identifier: MIT */
/* Sealed client secrets. */
#include "store/oauth_secret.h"

#include <string.h>

/* Modules per statement, in the order of their key.  Every module counts, whether or not its secret
 * matches: finding the next match among ten million rows could take any time. */
#define BATCH 1000
#define COUNT_BATCH 10000

/* clang-format off */

/* $2 account_id, $3 edge_id, $4 route_id of the last module before these, $5 how many. */
#define BEHIND_LAST                                                                                \
    " FROM adit.oauth_module AS m"                                                                 \
    " WHERE (m.account_id, m.edge_id, m.route_id)"                                                 \
      " > ($2::text COLLATE \"C\", $3::text COLLATE \"C\", $4::text COLLATE \"C\")"               \
    " ORDER BY m.account_id, m.edge_id, m.route_id"                                                \
    " LIMIT $5::bigint"

/* $1 the first key's id, $2 to $5 as in BEHIND_LAST.
 * Only a secret under another key has a value. */
static const struct pg_statement list_statement = {
    .name = "oauth_secret_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_SMALLINT PG_TEXT PG_BYTEA,
    .sql =
        "SELECT m.account_id, m.edge_id, m.route_id, m.provider, m.client_secret_key_id,"
          " CASE WHEN m.client_secret_key_id <> $1::text COLLATE \"C\""
          " THEN m.client_secret_sealed END"
        BEHIND_LAST,
};

enum list_column {
    COLUMN_ACCOUNT_ID,
    COLUMN_EDGE_ID,
    COLUMN_ROUTE_ID,
    COLUMN_PROVIDER,
    COLUMN_KEY_ID,
    COLUMN_SEALED
};

/* $1 account_id, $2 edge_id, $3 route_id, $4 sealed secret as read, $5 new key's id, $6 new sealed
 * secret.  It may run twice, because the first run changes what the second one would look for.
 * adit.rekey tells the triggers that nothing else changes (sql/schema.sql). */
static const struct pg_statement seal_statement = {
    .name = "oauth_secret_seal",
    .types = PG_TEXT,
    .writes = true,
    .is_repeatable = true,
    .sql =
        "WITH mark AS MATERIALIZED ("
            "SELECT pg_catalog.set_config('adit.rekey', 'on', true)"
        ")"
        " UPDATE adit.oauth_module AS m"
        " SET client_secret_key_id = $5::text, client_secret_sealed = $6::bytea"
        " FROM mark"
        " WHERE m.account_id = $1::text COLLATE \"C\""
          " AND m.edge_id = $2::text COLLATE \"C\""
          " AND m.route_id = $3::text COLLATE \"C\""
          " AND m.client_secret_sealed = $4::bytea"
        " RETURNING m.edge_id",
};

/* $1 a key's id to leave out, or "" for none, $2 to $5 as in BEHIND_LAST.
 * Every row begins with the last module that was looked at. */
static const struct pg_statement count_statement = {
    .name = "oauth_secret_count",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_BIGINT,
    .sql =
        "WITH w AS MATERIALIZED ("
            "SELECT m.account_id, m.edge_id, m.route_id, m.client_secret_key_id"
            BEHIND_LAST
        ")"
        " SELECT l.account_id, l.edge_id, l.route_id, k.id, k.n"
        " FROM ("
            "SELECT w.account_id, w.edge_id, w.route_id"
            " FROM w"
            " ORDER BY w.account_id DESC, w.edge_id DESC, w.route_id DESC"
            " LIMIT 1"
        ") AS l"
        " LEFT JOIN ("
            "SELECT w.client_secret_key_id AS id, count(*) AS n"
            " FROM w"
            " WHERE w.client_secret_key_id <> $1::text COLLATE \"C\""
            " GROUP BY 1"
        ") AS k ON true",
};

enum count_column { COLUMN_COUNTED_KEY_ID = COLUMN_ROUTE_ID + 1, COLUMN_COUNT };

/* clang-format on */

struct keyring_place oauth_secret_place(struct text account_id, const struct module_place *route,
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
    const struct oauth_secret_calls *calls;
    struct oauth_secret_rekeying *done;
};

/* A sealed secret as a row holds it. */
struct found {
    struct keyring_place place;
    struct text key_id;
    struct text sealed;
};

static struct found read_found(const struct pg_result *result, int row)
{
    struct module_place route = {.edge_id = pg_text(result, row, COLUMN_EDGE_ID),
                                 .route_id = pg_text(result, row, COLUMN_ROUTE_ID)};
    struct found found = {.place =
                              oauth_secret_place(pg_text(result, row, COLUMN_ACCOUNT_ID), &route,
                                                 (int)pg_int(result, row, COLUMN_PROVIDER)),
                          .key_id = pg_text(result, row, COLUMN_KEY_ID)};

    found.sealed = pg_text(result, row, COLUMN_SEALED);
    return found;
}

static bool write_sealed(const struct rekeying *rekeying, const struct found *found,
                         struct text secret, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text key_id;
    struct text sealed;

    if (!keyring_seal(rekeying->keyring, &found->place, secret, rekeying->arena, &key_id, &sealed,
                      err))
        return false;
    pg_add_text(&params, found->place.account_id);
    pg_add_text(&params, found->place.ids[0]);
    pg_add_text(&params, found->place.ids[1]);
    pg_add_bytes(&params, found->sealed.s, found->sealed.len);
    pg_add_text(&params, key_id);
    pg_add_bytes(&params, sealed.s, sealed.len);
    if (!pg_run(rekeying->pg, &seal_statement, &params, &result, err))
        return false;
    rekeying->done->n_sealed += pg_rows(result);
    pg_result_free(result);
    return true;
}

static bool seal_row(const struct rekeying *rekeying, const struct pg_result *result, int row,
                     struct error *err)
{
    struct found found = read_found(result, row);
    struct text secret;

    if (keyring_open(rekeying->keyring, &found.place, found.key_id, found.sealed, rekeying->arena,
                     &secret, err))
        return write_sealed(rekeying, &found, secret, err);
    if (err->code != ERR_SECRET_UNREADABLE)
        return false;
    rekeying->done->n_damaged += keyring_has(rekeying->keyring, found.key_id);
    rekeying->calls->unreadable(rekeying->calls->context, &found.place, err->cause);
    return true;
}

/* Runs the statement for the modules after the last one in *batch (NULL: from the first on), and
 * replaces *batch by its rows.  Without a keyring, the key's id is "", which no key has. */
static bool next_batch(struct pg *pg, const struct pg_statement *statement,
                       const struct keyring *keyring, int64_t limit, struct pg_result **batch,
                       struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(keyring ? keyring_first(keyring) : ""));
    for (int column = COLUMN_ACCOUNT_ID; column <= COLUMN_ROUTE_ID; column++)
        pg_add_text(&params, *batch ? pg_text(*batch, pg_rows(*batch) - 1, column) : text_of(""));
    pg_add_int(&params, limit);
    if (!pg_run(pg, statement, &params, &result, err))
        return false;
    pg_result_free(*batch);
    *batch = result;
    return true;
}

static bool seal_batch(const struct rekeying *rekeying, const struct pg_result *batch,
                       struct error *err)
{
    for (int row = 0; row < pg_rows(batch); row++) {
        bool ok = pg_is_null(batch, row, COLUMN_SEALED) || seal_row(rekeying, batch, row, err);

        arena_reset(rekeying->arena);
        if (!ok)
            return false;
    }
    return true;
}

/* Copies an id from the database, where anyone may have written it: it may hold any bytes. */
static void read_key_id(char key_id[KEYRING_ID_MAX + 1], struct text id)
{
    size_t len = id.len < KEYRING_ID_MAX ? id.len : KEYRING_ID_MAX;

    for (size_t i = 0; i < len; i++)
        key_id[i] = id.s[i] > ' ' && id.s[i] <= '~' ? id.s[i] : '?';
    key_id[len] = '\0';
}

static void add_count(struct oauth_secret_counts *counts, struct text id, int64_t n)
{
    char key_id[KEYRING_ID_MAX + 1];
    size_t row = 0;

    read_key_id(key_id, id);
    while (row < counts->n_rows && strcmp(counts->rows[row].key_id, key_id) != 0)
        row++;
    if (row == OAUTH_SECRET_ROWS) {
        row--;
    } else if (row == counts->n_rows) {
        memcpy(counts->rows[row].key_id, key_id, sizeof key_id);
        counts->n_rows++;
    }
    counts->rows[row].n += n;
}

bool oauth_secret_count(struct pg *pg, const struct keyring *keyring,
                        struct oauth_secret_counts *counts, struct error *err)
{
    struct pg_result *batch = NULL;
    bool ok;

    *counts = (struct oauth_secret_counts){.n_rows = 0};
    while ((ok = next_batch(pg, &count_statement, keyring, COUNT_BATCH, &batch, err)) &&
           pg_rows(batch) > 0) {
        for (int row = 0; row < pg_rows(batch); row++) {
            if (!pg_is_null(batch, row, COLUMN_COUNTED_KEY_ID))
                add_count(counts, pg_text(batch, row, COLUMN_COUNTED_KEY_ID),
                          pg_int(batch, row, COLUMN_COUNT));
        }
    }
    pg_result_free(batch);
    return ok;
}

bool oauth_secret_rekey(struct pg *pg, struct keyring *keyring,
                        const struct oauth_secret_calls *calls, struct oauth_secret_rekeying *done,
                        struct error *err)
{
    struct arena arena = {0};
    const struct rekeying rekeying = {
        .pg = pg, .keyring = keyring, .arena = &arena, .calls = calls, .done = done};
    struct pg_result *batch = NULL;
    bool ok;

    *done = (struct oauth_secret_rekeying){.n_sealed = 0};
    do {
        ok = next_batch(pg, &list_statement, keyring, BATCH, &batch, err) &&
             seal_batch(&rekeying, batch, err);
        calls->sealed(calls->context, done->n_sealed);
    } while (ok && pg_rows(batch) > 0);
    pg_result_free(batch);
    arena_free(&arena);
    return ok;
}

/* Opens the secrets of a batch. */
static bool try_batch(struct keyring *keyring, const struct pg_result *batch,
                      const struct oauth_secret_calls *calls, struct oauth_secret_trial *done,
                      struct error *err)
{
    struct arena arena = {0};
    bool ok = true;

    for (int row = 0; ok && row < pg_rows(batch); row++) {
        struct found found = read_found(batch, row);
        struct text secret;

        if (!found.sealed.s)
            continue;
        done->n_tried++;
        if (!keyring_open(keyring, &found.place, found.key_id, found.sealed, &arena, &secret,
                          err)) {
            ok = err->code == ERR_SECRET_UNREADABLE;
            done->n_unreadable++;
            if (ok)
                calls->unreadable(calls->context, &found.place, err->cause);
        }
        arena_reset(&arena);
    }
    arena_free(&arena);
    return ok;
}

bool oauth_secret_try(struct pg *pg, struct keyring *keyring,
                      const struct oauth_secret_calls *calls, struct oauth_secret_trial *done,
                      struct error *err)
{
    struct pg_result *batch = NULL;
    int64_t n_looked_at = 0;
    bool ok = true;

    *done = (struct oauth_secret_trial){.n_tried = 0};
    while (ok && !done->is_whole && n_looked_at < OAUTH_SECRET_TRIES) {
        ok = next_batch(pg, &list_statement, NULL, BATCH, &batch, err) &&
             try_batch(keyring, batch, calls, done, err);
        n_looked_at += BATCH;
        done->is_whole = ok && pg_rows(batch) < BATCH;
    }
    pg_result_free(batch);
    return ok;
}
