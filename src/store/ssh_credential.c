/* SPDX-License-Identifier: MIT */
/* The statements of SSH credentials, and the operations on them. */
#include "store/ssh_credential.h"

#include "store/executor.h"
#include "store/key_limits.h"
#include "store/member_row.h"
#include "store/sql.h"
#include "store/ssh_credential_list.h"

/* Tries to create: another request may claim the Idempotency-Key and roll back, and the time in the
 * identifier may be wrong. */
#define MAX_TRIES 4

/* Columns that only some statements have. */
enum create_column {
    COLUMN_MAY_OWN = SSH_CREDENTIAL_END,
    COLUMN_OWNER_IS_THERE,
    COLUMN_OWNER_IS_ENABLED,
    COLUMN_NOW,
    COLUMN_SAME_REQUEST
};
enum change_column { COLUMN_IS_THERE = SSH_CREDENTIAL_END };

/* clang-format off */

/* Parameters of both ways to create, in the order of add_create_params(): $1 digest, $2 account,
 * $3 request, those of the credential, and these.  The last two are for an Idempotency-Key.
 *
 * A caller who is no admin, or has a key for own credentials, may only name itself as owner, an
 * admin anyone in the account.  The responder estimates the database's time for the id: after days,
 * or after a clock was set, it may be wrong, and the statement writes nothing. */
#define ID_MS SSH_CREDENTIAL_PARAM_1 /* the time in the id */
#define ONCE_KEY SSH_CREDENTIAL_PARAM_2
#define ONCE_REQUEST_DIGEST SSH_CREDENTIAL_PARAM_3
#define OWNER_ID SSH_CREDENTIAL_OWNER
#define IS_TIMELY                                                                                  \
    "pg_catalog.abs(" ID_MS "::float8 - pg_catalog.date_part('epoch', pg_catalog.now()) * 1000) <= 1000"
#define OWNER_CTE                                                                                  \
    ", asked AS MATERIALIZED ("                                                                    \
        "SELECT caller.account_id, caller.read_only, caller.id, caller.scope,"                     \
          " caller.principal_id,"                                                                  \
          " coalesce(" OWNER_ID "::text COLLATE \"C\", caller.principal_id) AS owner_id,"                    \
          " " OWNER_ID "::text IS NULL"                                                                      \
            " OR " OWNER_ID "::text = caller.principal_id"                                                   \
            " OR (" CALLER_MAY_WRITE                                                               \
              " AND (SELECT p.is_admin FROM adit.principal AS p"                                   \
              " WHERE p.account_id = caller.account_id"                                            \
              " AND p.id = caller.principal_id)) AS may_own"                                       \
        " FROM caller"                                                                             \
    "), owner AS MATERIALIZED ("                                                                   \
        "SELECT asked.*,"                                                                          \
          " " OWNER_ID "::text IS NULL OR p.id IS NOT NULL AS is_there,"                                     \
          " " OWNER_ID "::text IS NULL OR " SQL_MAY_OWN("p") " AS is_enabled,"                               \
          " " IS_TIMELY " AS is_timely"                                                            \
        " FROM asked"                                                                              \
        " LEFT JOIN LATERAL ("                                                                     \
            "SELECT p.id, p.disabled_at"                                                           \
            " FROM adit.principal AS p"                                                            \
            " WHERE asked.may_own AND " KEY_SQL_MAY_WRITE_SOME("asked")                            \
              " AND p.account_id = asked.account_id"                                               \
              " AND p.id = " OWNER_ID "::text COLLATE \"C\""                                                 \
            " OFFSET 0"                                                                            \
        ") AS p ON true"                                                                           \
    ")"

#define MAY_CREATE                                                                                 \
    CALLER_MAY_WRITE_OF("owner.owner_id")                                                          \
    " AND owner.may_own AND owner.is_there AND owner.is_enabled AND owner.is_timely"
#define FROM_OWNER                                                                                 \
    " FROM caller"                                                                                 \
    " JOIN owner USING (account_id)"                                                               \
    " WHERE " MAY_CREATE

/* What each creation returns, beside the caller's columns. */
#define CREATED(may_own, is_there, is_enabled)                                                     \
    SSH_CREDENTIAL_COLUMNS("c.") ", " may_own ", " is_there ", " is_enabled ","                    \
    " pg_catalog.clock_timestamp()"
#define CREATED_FOR_OWNER CREATED("owner.may_own", "owner.is_there", "owner.is_enabled")
#define CREATES(more_types)                                                                        \
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES PG_BOOL PG_BOOL PG_BOOL PG_TIME more_types,         \
    .writes = true, KEY_LIMITS

/* The owner, the caller with conditions, of which IS_TIMELY is one, and the columns to return. */
#define CREATE_OF(owner, from, columns)                                                            \
    "INSERT INTO adit.ssh_credential AS c"                                                         \
      " (account_id, is_timely, " SSH_CREDENTIAL_WRITTEN("") ")"                                   \
    " SELECT caller.account_id, true, " SSH_CREDENTIAL_VALUES(owner)                               \
    from                                                                                           \
    " RETURNING " columns

static const struct pg_statement create_statement = {
    .name = "ssh_credential_create",
    CREATES(""),
    .sql = CALLER_WRITES(
        OWNER_CTE
        ", c AS (" CREATE_OF("owner.owner_id", FROM_OWNER, SSH_CREDENTIAL_COLUMNS("c.")) ")",
        "owner", CREATED_FOR_OWNER, "c"),
};

/* The same for a caller that names no owner. */
static const struct pg_statement quick_create_statement = {
    .name = "ssh_credential_quick_create",
    CREATES(""),
    .sql = CREATE_OF("caller.principal_id",
                     CALLER_QUICK KEY_SQL_MAY_WRITE_SOME("caller")
                       " AND " OWNER_ID "::text IS NULL AND " IS_TIMELY,
                     CALLER_COLUMNS_OF_NEW("c") ", " CREATED("true", "true", "true")),
};

/* The same with an Idempotency-Key, which keeps the row.  Of several requests at a time, one inserts
 * the claim.  The others wait for it; then their snapshot shows neither a claim of their own nor the
 * stored answer, so they run again. */
static const struct pg_statement create_once_statement = {
    .name = "ssh_credential_create_once",
    CREATES(PG_BOOL),
    .sql = CALLER_WRITES(
        OWNER_CTE
        ", earlier AS MATERIALIZED ("
            "SELECT i.request_digest, i.answer"
            " FROM owner"
            " JOIN adit.idempotency_key AS i"
              " ON i.account_id = owner.account_id"
              " AND i.principal_id = owner.principal_id"
              " AND i.key = " ONCE_KEY "::text COLLATE \"C\""
            " WHERE " CALLER_FIRST(KEY_SQL_MAY_WRITE_SOME("caller"))
              " AND (owner.may_own OR NOT " KEY_SQL_WRITES_ONLY_OWN("owner") ")"
        "), wanted AS MATERIALIZED ("
            "SELECT owner.account_id, " SSH_CREDENTIAL_WANTED("owner.owner_id") ","
              " pg_catalog.clock_timestamp() AS created_at, adit.new_revision() AS revision"
            FROM_OWNER
              " AND NOT EXISTS (SELECT FROM earlier)"
        "), claim AS ("
            "INSERT INTO adit.idempotency_key AS i"
              " (account_id, principal_id, key, request_digest, answer)"
            " SELECT owner.account_id, owner.principal_id, " ONCE_KEY "::text,"
              " " ONCE_REQUEST_DIGEST "::bytea, pg_catalog.to_jsonb(wanted)"
            " FROM owner"
            " JOIN wanted USING (account_id)"
            " ON CONFLICT DO NOTHING"
            " RETURNING i.request_digest, i.answer"
        "), made AS ("
            "INSERT INTO adit.ssh_credential"
              " (account_id, is_timely, " SSH_CREDENTIAL_WRITTEN("") ", created_at, revision)"
            " SELECT w.account_id, true, " SSH_CREDENTIAL_WRITTEN("w.") ", w.created_at, w.revision"
            " FROM wanted AS w"
            " WHERE EXISTS (SELECT FROM claim)"
        "), c AS ("
            "SELECT r.*, i.request_digest"
            " FROM (SELECT * FROM claim UNION ALL SELECT * FROM earlier) AS i"
            " CROSS JOIN LATERAL pg_catalog.jsonb_populate_record("
              "NULL::adit.ssh_credential, i.answer) AS r"
        ")",
        "owner", CREATED_FOR_OWNER ", c.request_digest = " ONCE_REQUEST_DIGEST "::bytea", "c"),
};

/* $1 digest, $2 account, $3 id. */
#define GET_SQL(in_account)                                                                        \
    "SELECT " CALLER_COLUMNS_OF("k") ", " SSH_CREDENTIAL_COLUMNS("c.")                                   \
    " FROM adit.api_key AS k"                                                                      \
    CALLER_JOINS("adit.ssh_credential", "c", "c.*",                                                       \
                 " AND c.id = $3::text COLLATE \"C\"" in_account)                                  \
    " WHERE " CALLER_KEY_IS_GOOD

static const struct pg_statement get_statement = {
    .name = "ssh_credential_get",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES,
    .is_short = true,
    .sql = GET_SQL(""),
    .by_account = GET_SQL(CALLER_AND_IN_ACCOUNT("c")),
};

/* A row of the caller's account, with a condition more. */
#define EXISTS_WITH(condition)                                                                     \
    "EXISTS (SELECT FROM adit.ssh_credential AS e"                                                 \
      " WHERE e.account_id = caller.account_id"                                                    \
      " AND e.id = $4::text COLLATE \"C\"" condition ")"

/* Whether a change or a deletion left the row that it was for, which did not meet its condition; and
 * whether the key may only change own credentials, and the row is another's. */
#define WHY_NOT                                                                                    \
    "c.id IS NULL AND " KEY_SQL_MAY_WRITE_SOME("caller") " AND " EXISTS_WITH("") ", "              \
    KEY_SQL_WRITES_ONLY_OWN("caller")                                                              \
      " AND " EXISTS_WITH(" AND e.owner_id <> caller.principal_id")

/* What a change or a deletion is for, behind whether the key may write at all. */
#define IS_OF_CALLER                                                                               \
    " AND " CALLER_MAY_WRITE_OF("c.owner_id")                                                      \
    " AND c.account_id = caller.account_id"                                                        \
    " AND c.id = $4::text COLLATE \"C\""
#define WHERE_OF_CALLER(match, none)                                                               \
    " WHERE " CALLER_FIRST(KEY_SQL_MAY_WRITE_SOME("caller"))                                       \
      IS_OF_CALLER                                                                                 \
      " AND " CALLER_CONDITION("c", match, none)

/* The caller with conditions, and the caller's columns. */
#define UPDATE_OF(from, columns)                                                                   \
    "UPDATE adit.ssh_credential AS c"                                                              \
    " SET " SSH_CREDENTIAL_CHANGED("c.")                                                           \
    from                                                                                           \
    " RETURNING " columns SSH_CREDENTIAL_COLUMNS("c.")

/* $1 digest, $2 account, $3 request, $4 id, what changes, If-Match, If-None-Match. */
static const struct pg_statement update_statement = {
    .name = "ssh_credential_update",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES PG_BOOL PG_BOOL,
    .writes = true, KEY_LIMITS,
    .sql = CALLER_WRITES(
        ", c AS ("
            UPDATE_OF(" FROM caller"
                      WHERE_OF_CALLER(SSH_CREDENTIAL_CHANGE_PARAM_1, SSH_CREDENTIAL_CHANGE_PARAM_2), "")
        ")",
        "caller", SSH_CREDENTIAL_COLUMNS("c.") ", " WHY_NOT, "c"),
};

/* The same without a condition. */
static const struct pg_statement quick_update_statement = {
    .name = "ssh_credential_quick_update",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES,
    .writes = true, KEY_LIMITS,
    .sql = UPDATE_OF(CALLER_QUICK KEY_SQL_MAY_WRITE_SOME("caller") IS_OF_CALLER,
                     CALLER_COLUMNS_OF_QUICK("caller.account_id", "caller.id") ", "),
};

/* $1 digest, $2 account, $3 request, $4 id, $5 If-Match, $6 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "ssh_credential_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true, KEY_LIMITS,
    .sql = CALLER_WRITES(
        ", c AS ("
            "DELETE FROM adit.ssh_credential AS c"
            " USING caller"
            WHERE_OF_CALLER("$5", "$6")
            " RETURNING c.id"
        ")",
        "caller", "c.id, " WHY_NOT, "c"),
};

/* clang-format on */

static bool read_one(struct pg_result *result, struct arena *arena,
                     struct ssh_credential_list *list, struct error *err)
{
    static const struct ssh_credential_page one = {.limit = 1, .most_bytes = SIZE_MAX};

    return ssh_credential_read_page(result, &one, arena, list, err) &&
           (list->n == 1 || error_set(err, ERR_CREDENTIAL_NOT_FOUND));
}

/* The same for a row that was just written: if there is no memory to show it, it is still there. */
static bool read_written(struct pg_result *result, struct arena *arena,
                         struct ssh_credential_list *list, struct error *err)
{
    if (read_one(result, arena, list, err))
        return true;
    if (err->code == ERR_OUT_OF_MEMORY)
        error_set(err, ERR_OUTCOME_UNKNOWN);
    return false;
}

/* Says why a creation created nothing.  of_others is what the key gets for credentials of others.
 */
static bool refuse_owner(const struct pg_result *result, enum error_code of_others,
                         struct error *err)
{
    enum error_code code = ERR_OWNER_UNKNOWN;

    if (!pg_bool(result, 0, COLUMN_MAY_OWN))
        code = of_others != ERR_NONE ? of_others : ERR_NOT_ADMIN;
    else if (pg_bool(result, 0, COLUMN_OWNER_IS_THERE))
        code = ERR_OWNER_DISABLED;

    return error_field(err, code, "owner_id", "%s", error_row(code)->text);
}

struct new_id {
    char id[IDENT_SIZE];
    int64_t ms; /* the time in it, in milliseconds since 1970 */
};

/* With is_once, also those of an Idempotency-Key, NULL if there is none. */
static void add_create_params(struct pg_params *params, const struct store_request *request,
                              const struct new_id *id, const struct ssh_credential *input,
                              bool is_once)
{
    const struct once *once = &request->once;

    struct ssh_credential made = *input;

    made.id = text_of(id->id);
    executor_write_params(params, request);
    member_params_add(params, ssh_credential_members, ssh_credential_n_members, &made,
                      request->arena);
    pg_add_int(params, id->ms);
    if (!is_once)
        return;
    pg_add_text(params, once->key);
    pg_add_bytes(params, once->request_digest, sizeof once->request_digest);
}

/* Reads the answer to a creation.  Takes over the result. */
static bool read_created(struct pg_result *result, const struct store_request *request,
                         struct ssh_credential_list *list, struct error *err)
{
    enum error_code of_others = executor_forbids(request, true, KEY_WHOSE_OTHERS, result);
    bool may_see = pg_bool(result, 0, COLUMN_MAY_OWN) || of_others == ERR_NONE;

    /* Another key of the principal may have used the same Idempotency-Key. */
    if (pg_is_null(result, 0, SSH_CREDENTIAL_ID) || !may_see)
        refuse_owner(result, of_others, err);
    else if (request->once.key.s && !pg_bool(result, 0, COLUMN_SAME_REQUEST))
        error_set(err, ERR_IDEMPOTENCY_KEY_REUSED);
    else
        return read_written(result, request->arena, list, err);
    pg_result_free(result);
    return false;
}

/* Whether nothing was created and another try may succeed: another request claimed the same
 * Idempotency-Key first and may roll back, or the time in the identifier was wrong. */
static bool may_try_again(const struct pg_result *result)
{
    return pg_is_null(result, 0, SSH_CREDENTIAL_ID) && pg_bool(result, 0, COLUMN_MAY_OWN) &&
           pg_bool(result, 0, COLUMN_OWNER_IS_THERE) && pg_bool(result, 0, COLUMN_OWNER_IS_ENABLED);
}

bool store_ssh_credential_create(struct store *store, const struct store_request *request,
                                 const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    bool has_key = request->once.key.s != NULL;
    /* Where each account has a place of its own, one function does both. */
    bool is_once = has_key || pg_is_by_account(store->pg);
    const struct pg_statement *statement = is_once ? &create_once_statement : &create_statement;

    for (int n_tries = 0; n_tries < MAX_TRIES; n_tries++) {
        struct pg_params params;
        struct pg_result *result = NULL;
        struct new_id id;

        if (!store_make_ident(store->pg, IDENT_CREDENTIAL, id.id, &id.ms, err))
            return false;
        add_create_params(&params, request, &id, input, is_once);
        if (n_tries == 0 && !is_once && !input->owner_id.s &&
            !executor_run_quick(store, &quick_create_statement, request, &params, &result, err))
            return false;
        if (!result && !executor_run(store, statement, request, &params, &result, err))
            return false;
        pg_note_time(store->pg, pg_time_us(result, 0, COLUMN_NOW));
        if (!may_try_again(result)) {
            bool ok = read_created(result, request, list, err);

            if (ok && has_key)
                list->is_replay = !text_eq(list->items[0].id, text_of(id.id));
            return ok;
        }
        pg_result_free(result);
    }
    return error_cause(err, ERR_DATABASE_TIMEOUT, "ssh credential: %d tries created nothing",
                       MAX_TRIES);
}

bool store_ssh_credential_get(struct store *store, const struct store_request *request,
                              struct text id, struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    executor_params(&params, request);
    pg_add_text(&params, id);
    return executor_run(store, &get_statement, request, &params, &result, err) &&
           read_one(result, request->arena, list, err);
}

bool store_ssh_credential_update(struct store *store, const struct store_request *request,
                                 struct text id, const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    static const struct executor_change change = {&update_statement, COLUMN_IS_THERE,
                                                  ERR_CREDENTIAL_NOT_FOUND};
    struct pg_params params;
    struct pg_result *result;

    executor_write_params(&params, request);
    pg_add_text(&params, id);
    member_params_add_changed(&params, ssh_credential_members, ssh_credential_n_members, input,
                              request->arena);
    if (!precondition_given(&request->condition)) {
        if (!executor_run_quick(store, &quick_update_statement, request, &params, &result, err))
            return false;
        if (result)
            return read_written(result, request->arena, list, err);
    }
    executor_add_condition(&params, request);
    return executor_run_change(store, &change, request, &params, &result, err) &&
           read_written(result, request->arena, list, err);
}

bool store_ssh_credential_delete(struct store *store, const struct store_request *request,
                                 struct text id, struct error *err)
{
    struct pg_params params;

    executor_write_params(&params, request);
    pg_add_text(&params, id);
    executor_add_condition(&params, request);
    return executor_delete(store, &delete_statement, request, &params, ERR_CREDENTIAL_NOT_FOUND,
                           err);
}
