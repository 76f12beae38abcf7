/* SPDX-License-Identifier: MIT */
/* For the rooms of this folder: the SQL that looks up an API key, and the executor of the
 * statements that begin with it. */
#ifndef ADIT_STORE_EXECUTOR_H
#define ADIT_STORE_EXECUTOR_H

#include "base/must_check.h"
#include "model/key_kind.h"
#include "store/key_kind_sql.h"
#include "store/store.h"

/* A caller's statement takes the digest as $1 and the account that the key names as $2, NULL if it
 * names none.  It begins its rows with these columns.  CALLER_COLUMNS_OF lists them for statements
 * that read, CALLER_CTE for those that write.  No row: the key is unknown, revoked or expired, or
 * belongs to another account. */
enum caller_column {
    CALLER_ACCOUNT_ID,
    CALLER_READ_ONLY,
    CALLER_KEY_ID,
    CALLER_SCOPE, /* with CALLER_READ_ONLY, the kind of the key */
    CALLER_N_COLUMNS
};

#define CALLER_COLUMNS_OF(table)                                                                   \
    table ".account_id, " table ".read_only, " table ".id, " table ".scope"
/* In their place where another row has them. */
#define CALLER_NO_COLUMNS "NULL::text, NULL::boolean, NULL::text, NULL::text"
#define CALLER_TYPES PG_TEXT PG_BOOL PG_TEXT PG_TEXT /* as in struct pg_statement */

/* clang-format off */

/* Where each account has a place of its own, the planner finds it from $2.  coalesce() is no
 * condition for an index, so one PostgreSQL plans as without it. */
#define CALLER_IN_ACCOUNT(row)                                                                     \
    row ".account_id = coalesce($2::text COLLATE \"C\", " row ".account_id)"
#define CALLER_KEY_IS_GOOD_OF(key)                                                                 \
    key ".digest = $1::bytea"                                                                      \
    " AND " CALLER_IN_ACCOUNT(key)                                                                 \
    " AND " key ".revoked_at IS NULL"                                                              \
    " AND (" key ".expires_at IS NULL OR " key ".expires_at > pg_catalog.now())"                   \
    KEY_SQL_AND_IS_KNOWN(key)
#define CALLER_KEY_IS_GOOD CALLER_KEY_IS_GOOD_OF("k")

/* Joins the only row of a resource to that of the key k.  OFFSET keeps PostgreSQL from looking at the
 * key after it has read the row, as it may in a plain LEFT JOIN. */
#define CALLER_JOINS(table, row, columns, condition)                                                        \
    " LEFT JOIN LATERAL ("                                                                         \
        "SELECT " columns                                                                         \
        " FROM " table " AS " row                                                                  \
        " WHERE " row ".account_id = k.account_id"                                                 \
          KEY_SQL_AND_MAY_READ("k")                                                                \
          condition                                                                                \
        " OFFSET 0"                                                                                \
    ") AS " row " ON true"

/* The caller's account, NULL if the key is not good or may not read.  A list's statement has a row
 * with the caller's columns alone, and then a row for each item: so no row repeats the caller.  Both
 * parts come in their order, so PostgreSQL sorts nothing. */
#define CALLER_ACCOUNT                                                                             \
    "(SELECT k.account_id FROM adit.api_key AS k"                                                  \
      " WHERE " CALLER_KEY_IS_GOOD KEY_SQL_AND_MAY_READ("k") ")"

/* A condition more for .by_account: the planner looks for the account of each table.  One
 * PostgreSQL knows it already, and would expect fewer rows. */
#define CALLER_AND_IN_ACCOUNT(row) " AND " CALLER_IN_ACCOUNT(row)

/* Tells the trigger that records changes who makes them. */
#define CALLER_NOTED(key)                                                                          \
    "pg_catalog.set_config('adit.caller',"                                                         \
      " pg_catalog.concat_ws(' ', " key ".principal_id, " key ".id, $3::text), true)"

/* Writes an empty record to the log, so that the COMMIT waits for the synchronous standby even if the
 * statement changes nothing.  Otherwise a repeated write would be acknowledged because of what only
 * this server has: the first attempt, whose wait for the standby was given up. */
#define CALLER_COMMITS(key)                                                                        \
    "CASE WHEN " KEY_SQL_MAY_WRITE_SOME(key)                                                       \
      " THEN pg_catalog.pg_logical_emit_message(true, 'adit', '') END"

/* "WITH caller AS (...)", which a statement that writes continues.  $3 tells of the request: the
 * operation's id and, if it is known, the client's address.  What the statement changes must join
 * caller and have CALLER_MAY_WRITE among its conditions, or a read-only key would change it.  A
 * gateway's key and one for own credentials are read-only too: a credential has CALLER_MAY_WRITE_OF
 * instead, with its owner.  CALLER_FIRST keeps it from reading a row to refuse a key that may write
 * none. */
#define CALLER_CTE                                                                                 \
    "WITH caller AS MATERIALIZED ("                                                                \
        "SELECT k.account_id, k.read_only, k.id, k.scope, k.principal_id,"                         \
          " " CALLER_NOTED("k") ","                                                                \
          " " CALLER_COMMITS("k")                                                                  \
        " FROM adit.api_key AS k"                                                                  \
        " WHERE " CALLER_KEY_IS_GOOD                                                               \
    ")"
#define CALLER_MAY_WRITE KEY_SQL_MAY_WRITE("caller")

/* The whole of such a statement: what it writes, ", row AS (...)", and the columns that it returns
 * beside the caller's, which are those of caller or of a row made of it. */
#define CALLER_WRITES(written, caller, columns, row)                                               \
    CALLER_CTE                                                                                     \
    written                                                                                        \
    " SELECT " CALLER_COLUMNS_OF(caller) ", " columns                                              \
    " FROM " caller                                                                                \
    " LEFT JOIN " row " ON true"

/* The same, known before any row is read: PostgreSQL looks once a statement, and first. */
#define CALLER_FIRST(condition) "(SELECT " condition " FROM caller)"
#define CALLER_MAY_WRITE_OF(owner)                                                                 \
    "(" CALLER_MAY_WRITE                                                                           \
      " OR (" KEY_SQL_WRITES_ONLY_OWN("caller") " AND " owner " = caller.principal_id))"

/* A quick statement is one INSERT or UPDATE with the key in its FROM: PostgreSQL sets up fewer plan
 * nodes than for one with CALLER_CTE.  It only does what the key may do, and returns no row if it
 * changed nothing; the statement with CALLER_CTE runs then and tells why.  Both are made of one
 * macro, the _OF() of its resource, to which the quick one hands CALLER_QUICK with CALLER_MAY_WRITE
 * or CALLER_MAY_WRITE_OF behind it.  Each function and operator costs PostgreSQL some 1,000
 * instructions before it runs. */
#define CALLER_QUICK                                                                               \
    " FROM adit.api_key AS caller"                                                                 \
    " WHERE " CALLER_KEY_IS_GOOD_OF("caller") " AND " CALLER_NOTED("caller") " IS NOT NULL AND "

/* The caller's columns in RETURNING: the key may do what it did.  INSERT shows only the new row. */
#define CALLER_COLUMNS_OF_QUICK(account_id, key_id) account_id ", false, " key_id ", 'account'"
#define CALLER_COLUMNS_OF_NEW(row)                                                                 \
    CALLER_COLUMNS_OF_QUICK(                                                                       \
        row ".account_id",                                                                         \
        "pg_catalog.split_part(pg_catalog.current_setting('adit.caller'), ' ', 2)")

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
    struct key_uses *uses;         /* NULL: not noted */
    struct store_filters *filters; /* that run in the worker; NULL: not counted */
    struct page_rows *page_rows;   /* of the worker; NULL: not learnt */
};

/* Runs a statement for an account ("": any), unless its place does not answer.  Returns true with
 * *result, or false with *err as pg_run(). */
MUST_CHECK bool executor_run_for(struct store *store, const char *account_id,
                                 const struct pg_statement *statement,
                                 const struct pg_params *params, struct pg_result **result,
                                 struct error *err);

/* Start the parameters of a caller's statement: $1, the digest; $2, the account; and if the
 * statement writes, $3, the operation's id and the client's address. */
void executor_params(struct pg_params *params, const struct store_request *request);
void executor_write_params(struct pg_params *params, const struct store_request *request);

/* Appends two parameters: the revisions of If-Match and those of If-None-Match, each NULL if the
 * request has no such header. */
void executor_add_condition(struct pg_params *params, const struct store_request *request);

/* Runs a statement that looks an API key up and changes nothing.  Returns true with *result, of at
 * least one row, which the caller frees: the key is good, whatever it may do.  Returns false with
 * *err as pg_run(), or with ERR_KEY_UNKNOWN. */
MUST_CHECK bool executor_find(struct store *store, const struct pg_statement *statement,
                              const struct store_request *request, const struct pg_params *params,
                              struct pg_result **result, struct error *err);

/* Returns the error of a good key that may not do what the request asks, or ERR_NONE, as
 * key_kind_forbids().  The result has the key's row. */
enum error_code executor_forbids(const struct store_request *request, bool writes,
                                 enum key_whose whose, const struct pg_result *result);

/* Runs a caller's statement.  Returns true with *result, of at least one row, which the caller
 * frees.  Returns false with *err as pg_run(), with ERR_KEY_UNKNOWN or as executor_forbids(): the
 * statement has changed nothing. */
MUST_CHECK bool executor_run(struct store *store, const struct pg_statement *statement,
                             const struct store_request *request, const struct pg_params *params,
                             struct pg_result **result, struct error *err);

/* Runs a quick statement, unless each account has a place of its own: there, functions write.
 * Returns true with *result, which the caller frees: NULL if the statement changed nothing, or at
 * least one row.  Returns false with *err as pg_run(). */
MUST_CHECK bool executor_run_quick(struct store *store, const struct pg_statement *statement,
                                   const struct store_request *request,
                                   const struct pg_params *params, struct pg_result **result,
                                   struct error *err);

/* A statement that changes or deletes a row returns, after the caller's columns, the row's key,
 * NULL if it changed none.  Its last two columns are whether it left the row there, and whether it
 * did so because the key may not change it. */
struct executor_change {
    const struct pg_statement *statement;
    int is_there;            /* the last column but one */
    enum error_code missing; /* the error if there is no such row; ERR_NONE: that is no error */
};

/* Runs such a statement.  Returns true with *result, of one row, which the caller frees.  Returns
 * false with *err: as executor_run(), ERR_KEY_OWN, ERR_PRECONDITION_FAILED or change->missing. */
MUST_CHECK bool executor_run_change(struct store *store, const struct executor_change *change,
                                    const struct store_request *request,
                                    const struct pg_params *params, struct pg_result **result,
                                    struct error *err);

/* The columns of a statement that deletes a row. */
#define EXECUTOR_DELETE_TYPES PG_TEXT PG_BOOL PG_BOOL

/* Runs a statement that deletes a row.  Returns true if the row is gone, or false with *err as
 * executor_run_change(). */
MUST_CHECK bool executor_delete(struct store *store, const struct pg_statement *statement,
                                const struct store_request *request, const struct pg_params *params,
                                enum error_code missing, struct error *err);

/* Returns the account that the key last belonged to, owned by the store until the next statement
 * runs, or an absent value.  It grants no access: a statement that uses it compares it again. */
struct text executor_account_hint(const struct store *store, const struct caller *caller);

#endif
