/* SPDX-License-Identifier: MIT */
/* For the rooms of this folder: the SQL that looks up an API key, and the executor of the
 * statements that begin with it. */
#ifndef ADIT_STORE_EXECUTOR_H
#define ADIT_STORE_EXECUTOR_H

#include "base/must_check.h"
#include "store/store.h"

/* A caller's statement takes the digest as $1 and begins its rows with these columns.
 * CALLER_COLUMNS_OF lists them for statements that read, CALLER_CTE for those that write.  No row:
 * the key is unknown, revoked or expired. */
enum caller_column {
    CALLER_ACCOUNT_ID,
    CALLER_READ_ONLY,
    CALLER_KEY_ID,
    CALLER_IS_GATEWAY,
    CALLER_N_COLUMNS
};

#define CALLER_COLUMNS_OF(table)                                                                   \
    table ".account_id, " table ".read_only, " table ".id, " table ".scope = 'gateway'"
#define CALLER_TYPES PG_TEXT PG_BOOL PG_TEXT PG_BOOL /* as in struct pg_statement */

/* clang-format off */

#define CALLER_KEY_IS_GOOD                                                                         \
    "k.digest = $1::bytea"                                                                         \
    " AND k.revoked_at IS NULL"                                                                    \
    " AND (k.expires_at IS NULL OR k.expires_at > pg_catalog.now())"

/* "WITH caller AS (...)", which a statement that writes continues.  $2 is the operation's id.  What
 * the statement changes must join caller and have CALLER_MAY_WRITE among its conditions, or a
 * read-only key would change it.  A gateway's key is read-only too.  adit.caller tells the trigger
 * that records changes who makes them (sql/003_audit.sql). */
#define CALLER_CTE                                                                                 \
    "WITH caller AS MATERIALIZED ("                                                                \
        "SELECT k.account_id, k.read_only, k.id, k.scope, k.principal_id,"                         \
          " pg_catalog.set_config('adit.caller',"                                                  \
            " pg_catalog.concat_ws(' ', k.principal_id, k.id, $2::text), true)"                    \
        " FROM adit.api_key AS k"                                                                  \
        " WHERE " CALLER_KEY_IS_GOOD                                                               \
    ")"
#define CALLER_MAY_WRITE "NOT caller.read_only"

/* Whether a row meets If-Match and If-None-Match, the two parameters of executor_add_condition().
 * The statement that changes the row has it among its conditions: if another request changed the
 * row first, the server compares again. */
#define CALLER_CONDITION(row, match, none)                                                         \
    "(" match "::bigint[] IS NULL"                                                                 \
      " OR ARRAY[-1, " row ".revision] && " match "::bigint[])"                                    \
    " AND (" none "::bigint[] IS NULL"                                                             \
      " OR NOT ARRAY[-1, " row ".revision] && " none "::bigint[])"

/* clang-format on */

/* The account that an API key belonged to when a statement last found it.  Accounts of keys never
 * change. */
struct account_hint {
    unsigned char digest[CRYPT_SHA256_LEN];
    char account_id[IDENT_MAX + 1]; /* "": free */
};

/* Direct-mapped by the digest's first byte: a hint replaces the one in its place. */
#define STORE_N_HINTS 64

struct store {
    struct pg *pg;
    struct keyring *keyring;
    struct crypt_hasher *hasher;
    struct account_hint hints[STORE_N_HINTS];
};

/* Start the parameters of a caller's statement: $1, the digest; and if the statement writes, $2,
 * the operation's id. */
void executor_params(struct pg_params *params, const struct store_request *request);
void executor_write_params(struct pg_params *params, const struct store_request *request);

/* Appends two parameters: the revisions of If-Match and those of If-None-Match, each NULL if the
 * request has no such header. */
void executor_add_condition(struct pg_params *params, const struct store_request *request);

/* Returns the error of a statement under CALLER_CONDITION that changed no row.  is_there: the row
 * exists.  missing: the error if it does not exist; ERR_NONE: that is no error. */
enum error_code executor_missed(const struct store_request *request, bool is_there,
                                enum error_code missing);

/* Runs a statement that looks an API key up and changes nothing.  Returns true with *result, of at
 * least one row, which the caller frees: the key is good, whatever it may do.  Returns false with
 * *err as pg_run(), or with ERR_KEY_UNKNOWN. */
MUST_CHECK bool executor_find(struct store *store, const struct pg_statement *statement,
                              const struct store_request *request, const struct pg_params *params,
                              struct pg_result **result, struct error *err);

/* Returns the error of a good key that may not do what the request asks, or ERR_NONE:
 * ERR_KEY_GATEWAY or, if the request writes, ERR_KEY_READ_ONLY.  The result has the key's row. */
enum error_code executor_forbids(const struct store_request *request, bool writes,
                                 const struct pg_result *result);

/* Runs a caller's statement.  Returns true with *result, of at least one row, which the caller
 * frees.  Returns false with *err as pg_run(), with ERR_KEY_UNKNOWN or as executor_forbids(): the
 * statement has changed nothing. */
MUST_CHECK bool executor_run(struct store *store, const struct pg_statement *statement,
                             const struct store_request *request, const struct pg_params *params,
                             struct pg_result **result, struct error *err);

/* A statement that deletes a row returns, after the caller's columns, the key of the row, NULL if
 * it deleted none, and whether it left the row there because the condition did not hold. */
#define EXECUTOR_DELETE_TYPES PG_TEXT PG_BOOL

/* Runs a statement that deletes a row.  Returns true if the row is gone, or false with *err: as
 * executor_run(), ERR_PRECONDITION_FAILED, or missing if there was no such row.  missing ERR_NONE:
 * no such row is no error. */
MUST_CHECK bool executor_delete(struct store *store, const struct pg_statement *statement,
                                const struct store_request *request, const struct pg_params *params,
                                enum error_code missing, struct error *err);

/* Returns the account that the key last belonged to, owned by the store until the next statement
 * runs, or an absent value.  It grants no access: a statement that uses it compares it again. */
struct text executor_account_hint(const struct store *store, const struct caller *caller);

#endif
