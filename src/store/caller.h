/* SPDX-License-Identifier: MIT */
/* For the rooms of this floor: the SQL that knows API keys, and the executor that enforces them. */
#ifndef ADIT_STORE_CALLER_H
#define ADIT_STORE_CALLER_H

#include "store/store.h"

/* Every caller's statement takes the digest as $1 and begins its rows with these columns, which
 * CALLER_COLUMNS_OF names for reads and CALLER_CTE for writes.  No row: the key is not good. */
enum caller_column { CALLER_ACCOUNT_ID, CALLER_READ_ONLY, CALLER_N_COLUMNS };

#define CALLER_COLUMNS_OF(table) table ".account_id, " table ".read_only"

#define CALLER_KEY_IS_GOOD                                                                         \
    "k.digest = $1::bytea AND k.revoked_at IS NULL"                                                \
    " AND (k.expires_at IS NULL OR k.expires_at > pg_catalog.now())"

/* "WITH caller AS (...)", to go on with the statement that writes.  What it changes must join
 * caller and stand under CALLER_MAY_WRITE, or a read-only key would change it. */
#define CALLER_CTE                                                                                 \
    "WITH caller AS MATERIALIZED ("                                                                \
    "SELECT k.account_id, k.read_only, k.principal_id FROM adit.api_key AS k"                      \
    " WHERE " CALLER_KEY_IS_GOOD ")"
#define CALLER_MAY_WRITE "NOT caller.read_only"

struct store {
    struct pg *pg;
    const struct keyring *keyring;
    struct account_hints *hints;
};

/* Begins the parameters of a caller's statement. */
void caller_params(struct pg_params *params, const struct bearer *bearer);

/* Runs a caller's statement.  Returns true with *result, which the caller frees, in which the key
 * was good and may do what the statement does; else false as pg_run(), or with ERR_KEY_UNKNOWN or
 * ERR_KEY_READ_ONLY. */
bool caller_run(struct store *store, const struct pg_statement *statement,
                const struct bearer *bearer, const struct pg_params *params,
                struct pg_result **result, struct error *err);

/* Returns the account that a key was last seen to belong to, which never changes for a key, or a
 * text that is not given.  It decides nothing: a statement that relies on it compares it again. */
struct text caller_account_hint(const struct store *store, const struct bearer *bearer);

#endif
