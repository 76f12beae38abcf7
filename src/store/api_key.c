/* SPDX-License-Identifier: MIT */
/* Issuing, listing and revoking API keys. */
#include "store/api_key.h"

#include <stdio.h>

#include "crypt/crypt.h"
#include "store/principal.h"
#include "store/sql.h"
#include "store/store.h"

/* clang-format off */

/* $1 principal_id, $2 id, $3 digest, $4 description, $5 read_only, $6 seconds to expiry or NULL,
 * $7 scope, $8 account_id.
 * A schema that is about to be migrated lacks disabled_digest, but not as a member of JSON. */
static const struct pg_statement issue_statement = {
    .name = "api_key_issue",
    .types = PG_TEXT PG_BOOL,
    .writes = true,
    .sql =
        "INSERT INTO adit.api_key AS k"
          " (account_id, id, principal_id, digest,"
          " description, read_only, expires_at,"
          " scope)"
        " SELECT p.account_id, $2::text, p.id, $3::bytea,"
          " coalesce($4::text, ''), $5::boolean, now() + $6::bigint * interval '1 second',"
          " $7::text"
        " FROM adit.principal AS p"
        " WHERE p.account_id = $8::text COLLATE \"C\""
          " AND p.id = $1::text COLLATE \"C\""
        " RETURNING k.id, to_jsonb(k) ->> 'disabled_digest' IS NOT NULL",
};

/* $1 id, $2 account_id or NULL. */
static const struct pg_statement find_statement = {
    .name = "api_key_find",
    .types = PG_TEXT PG_TEXT,
    .sql =
        "SELECT k.account_id, " SQL_RFC3339("k.revoked_at")
        " FROM adit.api_key AS k"
        " WHERE k.id = $1::text COLLATE \"C\""
          " AND k.account_id = coalesce($2::text COLLATE \"C\", k.account_id)",
};

/* $1 id, $2 account_id.  Where tables are spread by account, one node must be enough to revoke. */
static const struct pg_statement revoke_statement = {
    .name = "api_key_revoke",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.api_key"
        " SET revoked_at = now()"
        " WHERE account_id = $2::text COLLATE \"C\""
          " AND id = $1::text COLLATE \"C\""
          " AND revoked_at IS NULL"
        " RETURNING id",
};

/* $1 principal_id, $2 account_id. */
static const struct pg_statement revoke_all_statement = {
    .name = "api_key_revoke_all",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.api_key"
        " SET revoked_at = now()"
        " WHERE account_id = $2::text COLLATE \"C\""
          " AND principal_id = $1::text COLLATE \"C\""
          " AND revoked_at IS NULL"
        " RETURNING id",
};

/* $1 principal_id or NULL. */
static const struct pg_statement list_statement = {
    .name = "api_key_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT k.id, k.account_id, k.principal_id,"
          " CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked'"
            " WHEN k.expires_at <= now() THEN 'expired'"
            " WHEN k.disabled_digest IS NOT NULL THEN 'disabled' ELSE 'active' END,"
          " CASE WHEN k.scope <> 'account' THEN k.scope"
            " WHEN k.read_only THEN 'read-only' ELSE 'read-write' END,"
          " " SQL_RFC3339("k.created_at") ", " SQL_RFC3339("k.expires_at") ","
          " " SQL_RFC3339("u.used_at") ", host(u.client_address), k.description"
        " FROM adit.api_key AS k"
        " LEFT JOIN adit.api_key_use AS u"
          " ON u.account_id = k.account_id"
          " AND u.api_key_id = k.id"
        " WHERE $1::text IS NULL"
          " OR k.principal_id = $1::text COLLATE \"C\""
        " ORDER BY k.id",
};

/* clang-format on */

static bool store_key(struct pg *pg, const struct api_key_order *order, struct text account_id,
                      struct api_key_issued *issued, struct error *err)
{
    unsigned char digest[CRYPT_SHA256_LEN];
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!crypt_sha256(issued->key, API_KEY_SIZE - 1, digest))
        return error_set(err, ERR_OUT_OF_MEMORY);
    pg_add_text(&params, order->principal_id);
    pg_add_text(&params, text_of(issued->id));
    pg_add_bytes(&params, digest, sizeof digest);
    pg_add_text(&params, order->description);
    pg_add_bool(&params, key_kind_is_read_only(order->kind));
    if (order->expires_s > 0)
        pg_add_int(&params, order->expires_s);
    else
        pg_add_null(&params);
    pg_add_text(&params, text_of(key_kind_row(order->kind)->scope));
    pg_add_text(&params, account_id);
    if (!pg_run(pg, &issue_statement, &params, &result, err))
        return false;
    issued->is_disabled = pg_rows(result) > 0 && pg_bool(result, 0, 1);
    if (pg_rows(result) == 0)
        issued->id[0] = '\0';
    pg_result_free(result);
    return true;
}

bool api_key_issue(struct pg *pg, const struct api_key_order *order, struct api_key_issued *issued,
                   struct error *err)
{
    char account_id[IDENT_SIZE];

    *issued = (struct api_key_issued){.id = ""};
    if (!principal_find_account(pg, order->principal_id, order->account_id, account_id, err))
        return false;
    if (!account_id[0])
        return true;
    if (!store_make_ident(pg, IDENT_API_KEY, issued->id, NULL, err))
        return false;
    if (!api_key_make(issued->key, text_of(account_id)))
        return error_cause(err, ERR_INTERNAL, "the system has no random numbers");
    return store_key(pg, order, text_of(account_id), issued, err);
}

/* Runs a statement that revokes.  Sets *n to the number of keys that it revoked. */
static bool revoke(struct pg *pg, const struct pg_statement *statement, struct text id,
                   struct text account_id, int64_t *n, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, id);
    pg_add_text(&params, account_id);
    if (!pg_run(pg, statement, &params, &result, err))
        return false;
    *n = pg_rows(result);
    pg_result_free(result);
    return true;
}

bool api_key_revoke(struct pg *pg, struct text id, struct text account_id,
                    struct api_key_revoked *revoked, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    int64_t n;
    bool ok = true;

    *revoked = (struct api_key_revoked){.found = false};
    pg_add_text(&params, id);
    pg_add_text(&params, account_id);
    if (!pg_run(pg, &find_statement, &params, &result, err))
        return false;
    revoked->found = pg_rows(result) > 0;
    if (revoked->found && !pg_is_null(result, 0, 1))
        snprintf(revoked->earlier, sizeof revoked->earlier, "%s", pg_text(result, 0, 1).s);
    else if (revoked->found)
        ok = revoke(pg, &revoke_statement, id, pg_text(result, 0, 0), &n, err);
    pg_result_free(result);
    return ok;
}

bool api_key_revoke_all(struct pg *pg, struct text principal_id, struct text account_id,
                        bool *found, int64_t *n, struct error *err)
{
    char own_account_id[IDENT_SIZE];

    *n = 0;
    if (!principal_find_account(pg, principal_id, account_id, own_account_id, err))
        return false;
    *found = own_account_id[0] != '\0';
    return !*found ||
           revoke(pg, &revoke_all_statement, principal_id, text_of(own_account_id), n, err);
}

bool api_key_list(struct pg *pg, struct text principal_id, struct pg_result **result,
                  struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, principal_id);
    return pg_run(pg, &list_statement, &params, result, err);
}
