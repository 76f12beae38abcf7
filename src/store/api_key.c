/* SPDX-License-Identifier: MIT */
/* Issuing, listing and revoking API keys. */
#include "store/api_key.h"

#include "crypt/crypt.h"
#include "store/sql.h"
#include "store/store.h"

/* clang-format off */

/* $1 principal_id, $2 id, $3 digest, $4 description, $5 read_only, $6 seconds to expiry or NULL,
 * $7 is_gateway. */
static const struct pg_statement issue_statement = {
    .name = "api_key_issue",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "INSERT INTO adit.api_key"
          " (account_id, id, principal_id, digest,"
          " description, read_only, expires_at,"
          " scope)"
        " SELECT p.account_id, $2::text, p.id, $3::bytea,"
          " coalesce($4::text, ''), $5::boolean, now() + $6::bigint * interval '1 second',"
          " CASE WHEN $7::boolean THEN 'gateway' ELSE 'account' END"
        " FROM adit.principal AS p"
        " WHERE p.id = $1::text COLLATE \"C\""
        " RETURNING id",
};

/* $1 id. */
static const struct pg_statement revoke_statement = {
    .name = "api_key_revoke",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.api_key"
        " SET revoked_at = coalesce(revoked_at, now())"
        " WHERE id = $1::text COLLATE \"C\""
        " RETURNING id",
};

static const struct pg_statement list_statement = {
    .name = "api_key_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT id, account_id, principal_id,"
          " CASE WHEN revoked_at IS NOT NULL THEN 'revoked'"
            " WHEN expires_at <= now() THEN 'expired' ELSE 'active' END,"
          " CASE WHEN scope = 'gateway' THEN 'gateway'"
            " WHEN read_only THEN 'read-only' ELSE 'read-write' END,"
          " " SQL_RFC3339("created_at") ", " SQL_RFC3339("expires_at") ", description"
        " FROM adit.api_key"
        " ORDER BY id",
};

/* clang-format on */

bool api_key_issue(struct pg *pg, const struct api_key_order *order, char id[IDENT_SIZE],
                   char key[API_KEY_SIZE], struct error *err)
{
    unsigned char digest[CRYPT_SHA256_LEN];
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!store_make_ident(pg, IDENT_API_KEY, id, NULL, err))
        return false;
    if (!api_key_make(key))
        return error_cause(err, ERR_INTERNAL, "the system has no random numbers");
    if (!crypt_sha256(key, API_KEY_SIZE - 1, digest))
        return error_set(err, ERR_OUT_OF_MEMORY);
    pg_add_text(&params, order->principal_id);
    pg_add_text(&params, text_of(id));
    pg_add_bytes(&params, digest, sizeof digest);
    pg_add_text(&params, order->description);
    pg_add_bool(&params, order->read_only || order->is_gateway);
    if (order->expires_s > 0)
        pg_add_int(&params, order->expires_s);
    else
        pg_add_null(&params);
    pg_add_bool(&params, order->is_gateway);
    if (!pg_run(pg, &issue_statement, &params, &result, err))
        return false;
    if (pg_rows(result) == 0)
        id[0] = '\0';
    pg_result_free(result);
    return true;
}

bool api_key_revoke(struct pg *pg, struct text id, bool *found, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, id);
    if (!pg_run(pg, &revoke_statement, &params, &result, err))
        return false;
    *found = pg_rows(result) > 0;
    pg_result_free(result);
    return true;
}

bool api_key_list(struct pg *pg, struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    return pg_run(pg, &list_statement, &params, result, err);
}
