/* SPDX-License-Identifier: MIT */
/* For the rooms of this floor: the SQL that knows API keys, and the executor that enforces them. */
#ifndef ADIT_STORE_CALLER_H
#define ADIT_STORE_CALLER_H

#include "store/store.h"

/* Every caller's statement takes the digest as $1 and begins its rows with these columns, which
 * CALLER_COLUMNS_OF names for reads and CALLER_CTE for writes.  No row: the key is not good. */
enum caller_column { CALLER_ACCOUNT_ID, CALLER_READ_ONLY, CALLER_KEY_ID, CALLER_N_COLUMNS };

#define CALLER_COLUMNS_OF(table) table ".account_id, " table ".read_only, " table ".id"
#define CALLER_TYPES PG_TEXT PG_BOOL PG_TEXT /* as in struct pg_statement */

/* clang-format off */

#define CALLER_KEY_IS_GOOD                                                                         \
    "k.digest = $1::bytea"                                                                         \
    " AND k.revoked_at IS NULL"                                                                    \
    " AND (k.expires_at IS NULL OR k.expires_at > pg_catalog.now())"

/* "WITH caller AS (...)", which a statement that writes continues.  $2 is the operation's id.  What
 * the statement changes must join caller and have CALLER_MAY_WRITE among its conditions, or a
 * read-only key would change it.  adit.caller tells the trigger that records changes who makes them
 * (sql/003_audit.sql). */
#define CALLER_CTE                                                                                 \
    "WITH caller AS MATERIALIZED ("                                                                \
        "SELECT k.account_id, k.read_only, k.id, k.principal_id,"                                  \
          " pg_catalog.set_config('adit.caller',"                                                  \
            " pg_catalog.concat_ws(' ', k.principal_id, k.id, $2::text), true)"                    \
        " FROM adit.api_key AS k"                                                                  \
        " WHERE " CALLER_KEY_IS_GOOD                                                               \
    ")"
#define CALLER_MAY_WRITE "NOT caller.read_only"

/* Whether a row meets If-Match and If-None-Match, the two parameters of caller_add_condition().  It
 * stands in the statement that changes the row: if another request changed the row first, the
 * server compares again. */
#define CALLER_CONDITION(row, match, none)                                                         \
    "(" match "::bigint[] IS NULL"                                                                 \
      " OR ARRAY[-1, " row ".revision] && " match "::bigint[])"                                    \
    " AND (" none "::bigint[] IS NULL"                                                             \
      " OR NOT ARRAY[-1, " row ".revision] && " none "::bigint[])"

/* clang-format on */

struct store {
    struct pg *pg;
    struct keyring *keyring;
    struct account_hints *hints;
    struct crypt_hasher *hasher;
};

/* Begins the parameters of a caller's statement that reads, and of one that writes. */
void caller_params(struct pg_params *params, const struct caller *caller);
void caller_write_params(struct pg_params *params, const struct caller *caller);

/* Appends the revisions of If-Match and of If-None-Match. */
void caller_add_condition(struct pg_params *params, const struct caller *caller,
                          struct arena *arena);

/* Returns what it means that a statement under CALLER_CONDITION changed nothing: is_there says
 * whether there is such a row, missing what it amounts to that there is none. */
enum error_code caller_missed(const struct caller *caller, bool is_there, enum error_code missing);

/* Runs a caller's statement.  Returns true with *result, which the caller frees, in which the key
 * was good and may do what the statement does; else false as pg_run(), or with ERR_KEY_UNKNOWN or
 * ERR_KEY_READ_ONLY. */
bool caller_run(struct store *store, const struct pg_statement *statement,
                const struct caller *caller, const struct pg_params *params,
                struct pg_result **result, struct error *err);

/* Returns the account that a key was last seen to belong to, which never changes for a key, or a
 * text that is not given.  It decides nothing: a statement that relies on it compares it again. */
struct text caller_account_hint(const struct store *store, const struct caller *caller);

#endif
