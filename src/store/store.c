/* SPDX-License-Identifier: MIT */
/* The store itself, and the operations that need no resource. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/executor.h"
#include "store/migrations.h"
#include "store/schema.h"

/* clang-format off */

/* $1 digest, $2 account. */
static const struct pg_statement authenticate_statement = {
    .name = "authenticate",
    .types = CALLER_TYPES,
    .is_short = true,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k")
        " FROM adit.api_key AS k"
        " WHERE " CALLER_KEY_IS_GOOD,
};

/* $1 digest.  Asks every node. */
static const struct pg_statement find_account_statement = {
    .name = "api_key_account",
    .types = PG_TEXT,
    .sql =
        "SELECT k.account_id"
        " FROM adit.api_key AS k"
        " WHERE k.digest = $1::bytea",
};

static const struct pg_statement ready_statement = {
    .name = "ready",
    .types = PG_BOOL PG_INTEGER,
    .sql =
        "SELECT pg_catalog.current_setting('transaction_read_only') = 'on',"
          " " SCHEMA_VERSION_SQL,
};

/* clang-format on */

struct store *store_new(struct pg *pg, struct keyring *keyring)
{
    struct store *store = calloc(1, sizeof *store);

    if (!store)
        return NULL;
    store->pg = pg;
    store->keyring = keyring;
    store->hasher = crypt_hasher_new();
    if (store->hasher)
        return store;
    store_free(store);
    return NULL;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    crypt_hasher_free(store->hasher);
    free(store);
}

void store_note_uses(struct store *store, struct key_uses *uses)
{
    store->uses = uses;
}

void store_share_page_rows(struct store *store, struct page_rows *rows)
{
    store->page_rows = rows;
}

void store_share_filters(struct store *store, struct store_filters *filters)
{
    store->filters = filters;
}

bool store_make_ident(struct pg *pg, const char *prefix, char id[IDENT_SIZE], int64_t *ms,
                      struct error *err)
{
    int64_t now_ms;

    if (!pg_clock(pg, &now_ms, err))
        return false;
    if (ms)
        *ms = now_ms;
    return ident_make(id, prefix, now_ms) ||
           error_cause(err, ERR_INTERNAL, "the system has no random numbers");
}

bool store_begin(struct pg *pg, struct error *err)
{
    return pg_begin(pg, "BEGIN", err);
}

bool store_find_id(struct pg *pg, const struct pg_statement *statement,
                   const struct pg_params *params, char id[IDENT_SIZE], struct error *err)
{
    struct pg_result *result;

    id[0] = '\0';
    if (!pg_run(pg, statement, params, &result, err))
        return false;
    if (pg_rows(result) > 0)
        snprintf(id, IDENT_SIZE, "%s", pg_text(result, 0, 0).s);
    pg_result_free(result);
    return true;
}

bool store_find_only(struct pg *pg, const struct pg_statement *statement,
                     const struct pg_params *params, char id[IDENT_SIZE], int *n, struct error *err)
{
    struct pg_result *result;

    *n = 0;
    if (!pg_run(pg, statement, params, &result, err))
        return false;
    *n = pg_rows(result);
    if (*n == 1) {
        struct text found = pg_text(result, 0, 0);

        memcpy(id, found.s, found.len < IDENT_SIZE ? found.len + 1 : 0);
    }
    pg_result_free(result);
    return *n == 1;
}

bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err)
{
    (void)api_key_account(key, caller->account_id);
    return crypt_hasher_sha256(store->hasher, key.s, key.len, caller->digest) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

bool store_find_account(struct store *store, struct caller *caller, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text account_id;

    if (caller->account_id[0] || !pg_is_by_account(store->pg))
        return true;
    account_id = executor_account_hint(store, caller);
    if (account_id.s && account_id.len < sizeof caller->account_id) {
        memcpy(caller->account_id, account_id.s, account_id.len + 1);
        return true;
    }
    pg_add_bytes(&params, caller->digest, sizeof caller->digest);
    if (!executor_run_for(store, "", &find_account_statement, &params, &result, err))
        return false;
    if (pg_rows(result) > 0)
        snprintf(caller->account_id, sizeof caller->account_id, "%s", pg_text(result, 0, 0).s);
    pg_result_free(result);
    return true;
}

bool store_authenticate(struct store *store, const struct store_request *request, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    executor_params(&params, request);
    if (!executor_find(store, &authenticate_statement, request, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

bool store_authorize(struct store *store, const struct store_request *request, bool writes,
                     struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    enum error_code code;

    executor_params(&params, request);
    if (!executor_find(store, &authenticate_statement, request, &params, &result, err))
        return false;
    code = executor_forbids(request, writes, KEY_WHOSE_UNKNOWN, result);
    pg_result_free(result);
    return code == ERR_NONE || error_set(err, code);
}

static void say_mismatch(int version, struct error *err)
{
    if (version == SCHEMA_BEFORE_RELEASE)
        error_cause(err, ERR_SCHEMA_MISMATCH,
                    "database: the schema is " SCHEMA_BEFORE_RELEASE_SAYS);
    else
        error_cause(err, ERR_SCHEMA_MISMATCH, "database: the schema is at version %d, not %d",
                    version, migrations_latest);
}

bool store_ready(struct store *store, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok = false;

    if (!pg_run(store->pg, &ready_statement, &params, &result, err))
        return false;
    if (pg_bool(result, 0, 0))
        error_set(err, ERR_DATABASE_READ_ONLY);
    else if (pg_int(result, 0, 1) < migrations_latest)
        say_mismatch((int)pg_int(result, 0, 1), err);
    else
        ok = true;
    pg_result_free(result);
    return ok;
}
