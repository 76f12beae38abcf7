/* SPDX-License-Identifier: MIT */
/* The executor of callers' statements, and what needs no resource. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "store/caller.h"
#include "store/migrations.h"

/* Direct-mapped by the digest's first byte; what falls on a taken place replaces it. */
#define N_HINTS 64

struct account_hint {
    unsigned char digest[CRYPT_SHA256_LEN];
    char account_id[IDENT_MAX + 1]; /* "": free */
};

struct account_hints {
    struct account_hint slots[N_HINTS];
};

/* clang-format off */

/* $1 digest. */
static const struct pg_statement authenticate_statement = {
    .name = "authenticate",
    .types = CALLER_TYPES,
    .is_short = true,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k")
        " FROM adit.api_key AS k"
        " WHERE " CALLER_KEY_IS_GOOD,
};

static const struct pg_statement ready_statement = {
    .name = "ready",
    .types = PG_BOOL PG_INTEGER,
    .sql =
        "SELECT pg_catalog.current_setting('transaction_read_only') = 'on',"
          " (SELECT max(m.version) FROM adit.migration AS m)",
};

/* clang-format on */

struct store *store_new(struct pg *pg, struct keyring *keyring)
{
    struct store *store = calloc(1, sizeof *store);

    if (!store)
        return NULL;
    store->pg = pg;
    store->keyring = keyring;
    store->hints = calloc(1, sizeof *store->hints);
    store->hasher = crypt_hasher_new();
    if (store->hints && store->hasher)
        return store;
    store_free(store);
    return NULL;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    crypt_hasher_free(store->hasher);
    free(store->hints);
    free(store);
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

bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err)
{
    return crypt_hasher_sha256(store->hasher, key.s, key.len, caller->digest) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

static struct account_hint *hint_slot(const struct store *store, const struct caller *caller)
{
    return &store->hints->slots[caller->digest[0] % N_HINTS];
}

static bool copy_id(char out[IDENT_MAX + 1], struct text id)
{
    if (!id.s || id.len > IDENT_MAX)
        return false;
    memcpy(out, id.s, id.len);
    out[id.len] = '\0';
    return true;
}

/* Keeps what a row says of the key that it was found for. */
static void learn_identity(struct store *store, const struct caller *caller,
                           const struct pg_result *result)
{
    struct text account_id = pg_text(result, 0, CALLER_ACCOUNT_ID);
    struct account_hint *slot = hint_slot(store, caller);

    if (copy_id(slot->account_id, account_id))
        memcpy(slot->digest, caller->digest, sizeof slot->digest);
    if (!caller->identity)
        return;
    copy_id(caller->identity->account_id, account_id);
    copy_id(caller->identity->key_id, pg_text(result, 0, CALLER_KEY_ID));
}

struct text caller_account_hint(const struct store *store, const struct caller *caller)
{
    const struct account_hint *slot = hint_slot(store, caller);

    if (!slot->account_id[0] || memcmp(slot->digest, caller->digest, sizeof slot->digest) != 0)
        return (struct text){0};
    return text_of(slot->account_id);
}

void caller_params(struct pg_params *params, const struct caller *caller)
{
    params->n = 0;
    params->failed = false;
    pg_add_bytes(params, caller->digest, sizeof caller->digest);
}

void caller_write_params(struct pg_params *params, const struct caller *caller)
{
    caller_params(params, caller);
    pg_add_text(params, text_of(caller->operation_id));
}

void caller_add_condition(struct pg_params *params, const struct caller *caller,
                          struct arena *arena)
{
    const struct revisions *match = &caller->condition.match;
    const struct revisions *none = &caller->condition.none_match;

    pg_add_ints(params, match->items, match->n, match->given, arena);
    pg_add_ints(params, none->items, none->n, none->given, arena);
}

enum error_code caller_missed(const struct caller *caller, bool is_there, enum error_code missing)
{
    const struct precondition *condition = &caller->condition;

    if (!is_there && missing != ERR_NONE)
        return missing;
    if (is_there ? precondition_given(condition) : condition->match.given)
        return ERR_PRECONDITION_FAILED;
    return missing;
}

bool caller_run(struct store *store, const struct pg_statement *statement,
                const struct caller *caller, const struct pg_params *params,
                struct pg_result **result, struct error *err)
{
    if (!pg_run(store->pg, statement, params, result, err))
        return false;
    err->code = ERR_NONE;
    if (pg_rows(*result) == 0) {
        error_set(err, ERR_KEY_UNKNOWN);
    } else {
        learn_identity(store, caller, *result);
        if (statement->writes && pg_bool(*result, 0, CALLER_READ_ONLY))
            error_set(err, ERR_KEY_READ_ONLY);
    }
    if (err->code == ERR_NONE)
        return true;
    pg_result_free(*result);
    *result = NULL;
    return false;
}

bool store_authenticate(struct store *store, const struct caller *caller, bool writes,
                        struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    caller_params(&params, caller);
    if (!caller_run(store, &authenticate_statement, caller, &params, &result, err))
        return false;
    ok = !writes || !pg_bool(result, 0, CALLER_READ_ONLY);
    pg_result_free(result);
    return ok || error_set(err, ERR_KEY_READ_ONLY);
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
        error_cause(err, ERR_SCHEMA_MISMATCH, "database: the schema is at version %d, not %d",
                    (int)pg_int(result, 0, 1), migrations_latest);
    else
        ok = true;
    pg_result_free(result);
    return ok;
}
