/* SPDX-License-Identifier: MIT */
/* The statements of SSH credentials, and the operations on them. */
#include "store/ssh_credential.h"

#include "store/executor.h"

/* Tries to create: another request may claim the Idempotency-Key and roll back, and the time in the
 * identifier may be wrong. */
#define MAX_TRIES 4

/* In the order of enum column, after the caller's. */
#define COLUMNS                                                                                    \
    "c.id, c.created_at, c.description, c.metadata, c.public_key, c.acl, c.owner_id, c.revision"
#define TYPES PG_TEXT PG_TIME PG_TEXT PG_TEXT PG_TEXT PG_TEXTS PG_TEXT PG_BIGINT

enum column {
    COLUMN_ID = CALLER_N_COLUMNS,
    COLUMN_CREATED_AT,
    COLUMN_DESCRIPTION,
    COLUMN_METADATA,
    COLUMN_PUBLIC_KEY,
    COLUMN_ACL,
    COLUMN_OWNER_ID,
    COLUMN_REVISION,
    N_COLUMNS
};

/* Columns that only some statements have. */
enum create_column {
    COLUMN_MAY_OWN = N_COLUMNS,
    COLUMN_OWNER_IS_THERE,
    COLUMN_NOW,
    COLUMN_SAME_REQUEST,
    COLUMN_BASE_URL
};
enum change_column { COLUMN_IS_THERE = N_COLUMNS };

/* Sorts after every identifier: 0x7F follows '~'. */
#define AFTER_ALL "\x7F"

/* clang-format off */

/* Parameters of both ways to create, in the order of add_create_params():
 *  $1 digest         $2 operation_id   $3 id             $4 owner_id       $5 public_key
 *  $6 key_type       $7 fingerprint    $8 description    $9 metadata      $10 acl
 * $11 time in the id (ms)
 * and with an Idempotency-Key: $12 key, $13 request_digest, $14 base_url.
 *
 * A caller who is no admin may only name itself as owner, an admin anyone in the account.  The
 * responder estimates the database's time for the id: after days, or after a clock was set, it may
 * be wrong, and the statement writes nothing. */
#define OWNER_CTE                                                                                  \
    ", owner AS MATERIALIZED ("                                                                    \
        "SELECT caller.account_id, caller.read_only, caller.id, caller.scope,"                     \
          " caller.principal_id,"                                                                  \
          " coalesce($4::text COLLATE \"C\", caller.principal_id) AS owner_id,"                    \
          " $4::text IS NULL"                                                                      \
            " OR $4::text = caller.principal_id"                                                   \
            " OR (SELECT p.is_admin FROM adit.principal AS p"                                      \
              " WHERE p.account_id = caller.account_id"                                            \
              " AND p.id = caller.principal_id) AS may_own,"                                       \
          " $4::text IS NULL"                                                                      \
            " OR EXISTS (SELECT FROM adit.principal AS p"                                          \
              " WHERE p.account_id = caller.account_id"                                            \
              " AND p.id = $4::text COLLATE \"C\") AS is_there,"                                   \
          " $11::bigint - extract(epoch FROM pg_catalog.now()) * 1000"                             \
            " BETWEEN -1000 AND 1000 AS is_timely"                                                 \
        " FROM caller"                                                                             \
    ")"

#define MAY_CREATE CALLER_MAY_WRITE " AND owner.may_own AND owner.is_there AND owner.is_timely"
#define OWNER_COLUMNS "owner.may_own, owner.is_there, pg_catalog.clock_timestamp()"
#define OWNER_TYPES PG_BOOL PG_BOOL PG_TIME

/* The index of sql/optional/unique_public_keys.sql. */
#define UNIQUE_KEY "ssh_credential_unique_public_key"

static const struct pg_statement create_statement = {
    .name = "ssh_credential_create",
    .types = CALLER_TYPES TYPES OWNER_TYPES,
    .writes = true,
    .unique = UNIQUE_KEY,
    .on_unique = ERR_PUBLIC_KEY_EXISTS,
    .sql =
        CALLER_CTE
        OWNER_CTE
        ", c AS ("
            "INSERT INTO adit.ssh_credential AS c"
              " (account_id, id, owner_id,"
              " public_key, key_type, fingerprint,"
              " description, metadata, acl)"
            " SELECT owner.account_id, $3::text, owner.owner_id,"
              " $5::text, $6::text, $7::text,"
              " coalesce($8::text, ''), coalesce($9::text, ''), coalesce($10::text[], '{}')"
            " FROM caller"
            " JOIN owner USING (account_id)"
            " WHERE " MAY_CREATE
            " RETURNING " COLUMNS
        ")"
        " SELECT " CALLER_COLUMNS_OF("owner") ", " COLUMNS ", " OWNER_COLUMNS
        " FROM owner"
        " LEFT JOIN c ON true",
};

/* The same with an Idempotency-Key.  Of several requests at a time, one inserts the claim.  The
 * others wait for it; then their snapshot shows neither a claim of their own nor the stored answer,
 * so they run again. */
static const struct pg_statement create_once_statement = {
    .name = "ssh_credential_create_once",
    .types = CALLER_TYPES TYPES OWNER_TYPES PG_BOOL PG_TEXT,
    .writes = true,
    .unique = UNIQUE_KEY,
    .on_unique = ERR_PUBLIC_KEY_EXISTS,
    .sql =
        CALLER_CTE
        OWNER_CTE
        ", earlier AS MATERIALIZED ("
            "SELECT i.*"
            " FROM owner"
            " JOIN adit.idempotency_key AS i"
              " ON i.account_id = owner.account_id"
              " AND i.principal_id = owner.principal_id"
              " AND i.key = $12::text COLLATE \"C\""
        "), claim AS ("
            "INSERT INTO adit.idempotency_key AS i"
              " (account_id, principal_id, key,"
              " request_digest, base_url,"
              " id, revision, owner_id,"
              " description, metadata, acl,"
              " public_key)"
            " SELECT owner.account_id, owner.principal_id, $12::text,"
              " $13::bytea, $14::text,"
              " $3::text, adit.new_revision(), owner.owner_id,"
              " coalesce($8::text, ''), coalesce($9::text, ''), coalesce($10::text[], '{}'),"
              " $5::text"
            " FROM caller"
            " JOIN owner USING (account_id)"
            " WHERE " MAY_CREATE
              " AND NOT EXISTS (SELECT FROM earlier)"
            " ON CONFLICT DO NOTHING"
            " RETURNING i.*"
        "), made AS ("
            "INSERT INTO adit.ssh_credential"
              " (account_id, id, owner_id,"
              " public_key, key_type, fingerprint,"
              " description, metadata, acl,"
              " created_at, revision)"
            " SELECT i.account_id, i.id, i.owner_id,"
              " i.public_key, $6::text, $7::text,"
              " i.description, i.metadata, i.acl,"
              " i.created_at, i.revision"
            " FROM claim AS i"
        "), c AS ("
            "SELECT * FROM claim UNION ALL SELECT * FROM earlier"
        ")"
        " SELECT " CALLER_COLUMNS_OF("owner") ", " COLUMNS ", " OWNER_COLUMNS ","
          " c.request_digest = $13::bytea, c.base_url"
        " FROM owner"
        " LEFT JOIN c ON true",
};

/* $1 digest, $2 id. */
static const struct pg_statement get_statement = {
    .name = "ssh_credential_get",
    .types = CALLER_TYPES TYPES,
    .is_short = true,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k") ", " COLUMNS
        " FROM adit.api_key AS k"
        " LEFT JOIN adit.ssh_credential AS c"
          " ON c.account_id = k.account_id"
          " AND c.id = $2::text COLLATE \"C\""
        " WHERE " CALLER_KEY_IS_GOOD,
};

/* Whether a change or a deletion left the row that it was for, which did not meet its condition. */
#define IS_THERE                                                                                   \
    "c.id IS NULL"                                                                                 \
    " AND EXISTS (SELECT FROM adit.ssh_credential AS e"                                            \
      " WHERE e.account_id = caller.account_id"                                                    \
      " AND e.id = $3::text COLLATE \"C\")"

/* $1 digest, $2 operation_id, $3 id, $4 description, $5 metadata, $6 acl, $7 If-Match,
 * $8 If-None-Match. */
static const struct pg_statement update_statement = {
    .name = "ssh_credential_update",
    .types = CALLER_TYPES TYPES PG_BOOL,
    .writes = true,
    .sql =
        CALLER_CTE
        ", c AS ("
            "UPDATE adit.ssh_credential AS c"
            " SET description = coalesce($4::text, c.description),"
              " metadata = coalesce($5::text, c.metadata),"
              " acl = coalesce($6::text[], c.acl)"
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND c.account_id = caller.account_id"
              " AND c.id = $3::text COLLATE \"C\""
              " AND " CALLER_CONDITION("c", "$7", "$8")
            " RETURNING " COLUMNS
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", " COLUMNS ", " IS_THERE
        " FROM caller"
        " LEFT JOIN c ON true",
};

/* $1 digest, $2 operation_id, $3 id, $4 If-Match, $5 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "ssh_credential_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true,
    .sql =
        CALLER_CTE
        ", c AS ("
            "DELETE FROM adit.ssh_credential AS c"
            " USING caller"
            " WHERE " CALLER_MAY_WRITE
              " AND c.account_id = caller.account_id"
              " AND c.id = $3::text COLLATE \"C\""
              " AND " CALLER_CONDITION("c", "$4", "$5")
            " RETURNING c.id"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", c.id, " IS_THERE
        " FROM caller"
        " LEFT JOIN c ON true",
};

/* $1 digest, $2 before_id (never NULL), $3 limit.
 * The comparison with $2 is always there, so that the generic plan starts in the right place of the
 * index. */
static const struct pg_statement list_statement = {
    .name = "ssh_credential_list",
    .types = CALLER_TYPES TYPES,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k") ", " COLUMNS
        " FROM adit.api_key AS k"
        " LEFT JOIN LATERAL ("
            "SELECT *"
            " FROM adit.ssh_credential AS c"
            " WHERE c.account_id = k.account_id"
              " AND c.id < $2::text COLLATE \"C\""
            " ORDER BY c.id DESC"
            " LIMIT $3::bigint"
        ") AS c ON true"
        " WHERE " CALLER_KEY_IS_GOOD
        " ORDER BY c.id DESC",
};

/* clang-format on */

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    pg_result_free(list->result);
    *list = (struct ssh_credential_list){0};
}

static bool read_credential(const struct pg_result *result, int row, struct arena *arena,
                            struct ssh_credential *credential)
{
    *credential = (struct ssh_credential){
        .id = pg_text(result, row, COLUMN_ID),
        .created_at = pg_time(result, row, COLUMN_CREATED_AT),
        .description = pg_text(result, row, COLUMN_DESCRIPTION),
        .metadata = pg_text(result, row, COLUMN_METADATA),
        .public_key = pg_text(result, row, COLUMN_PUBLIC_KEY),
        .owner_id = pg_text(result, row, COLUMN_OWNER_ID),
        .revision = pg_int(result, row, COLUMN_REVISION),
    };
    return pg_texts(result, row, COLUMN_ACL, arena, &credential->acl);
}

static size_t text_bytes(const struct ssh_credential *credential)
{
    size_t sum =
        credential->description.len + credential->metadata.len + credential->public_key.len;

    for (size_t i = 0; i < credential->acl.n; i++)
        sum += credential->acl.items[i].len;
    return sum;
}

/* Reads at most page->limit rows into the list, and stops after page->most_bytes of text.  The list
 * takes over the result, also on failure. */
static bool read_page(struct pg_result *result, const struct ssh_credential_page *page,
                      struct arena *arena, struct ssh_credential_list *list, struct error *err)
{
    size_t bytes = 0;
    int n = pg_is_null(result, 0, COLUMN_ID) ? 0 : pg_rows(result);

    *list = (struct ssh_credential_list){.result = result, .more = n > page->limit};
    if (list->more)
        n = page->limit;
    list->items = arena_array(arena, (size_t)n, sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < (size_t)n && bytes < page->most_bytes; list->n++) {
        if (!read_credential(result, (int)list->n, arena, &list->items[list->n]))
            return error_set(err, ERR_OUT_OF_MEMORY);
        bytes += text_bytes(&list->items[list->n]);
    }
    list->more = list->more || list->n < (size_t)n;
    return true;
}

static bool read_one(struct pg_result *result, struct arena *arena,
                     struct ssh_credential_list *list, struct error *err)
{
    static const struct ssh_credential_page one = {.limit = 1, .most_bytes = SIZE_MAX};

    return read_page(result, &one, arena, list, err) &&
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

/* Says why a creation created nothing. */
static bool refuse_owner(bool may_own, struct error *err)
{
    enum error_code code = may_own ? ERR_OWNER_UNKNOWN : ERR_NOT_ADMIN;

    return error_field(err, code, "owner_id", "%s", error_row(code)->text);
}

struct new_id {
    char id[IDENT_SIZE];
    int64_t ms; /* the time in it, in milliseconds since 1970 */
};

static void add_create_params(struct pg_params *params, const struct store_request *request,
                              const struct new_id *id, const struct ssh_credential_input *input)
{
    const struct once *once = &request->once;

    executor_write_params(params, request);
    pg_add_text(params, text_of(id->id));
    pg_add_text(params, input->owner_id);
    pg_add_text(params, input->public_key);
    pg_add_text(params, text_of(input->parsed_key.type));
    pg_add_text(params, text_of(input->parsed_key.fingerprint));
    pg_add_text(params, input->description);
    pg_add_text(params, input->metadata);
    pg_add_texts(params, input->acl, request->arena);
    pg_add_int(params, id->ms);
    if (!once->key.s)
        return;
    pg_add_text(params, once->key);
    pg_add_bytes(params, once->request_digest, sizeof once->request_digest);
    pg_add_text(params, once->base_url);
}

/* Reads the answer to a creation.  Takes over the result. */
static bool read_created(struct pg_result *result, const struct store_request *request,
                         struct ssh_credential_list *list, struct error *err)
{
    if (pg_is_null(result, 0, COLUMN_ID))
        refuse_owner(pg_bool(result, 0, COLUMN_MAY_OWN), err);
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
    return pg_is_null(result, 0, COLUMN_ID) && pg_bool(result, 0, COLUMN_MAY_OWN) &&
           pg_bool(result, 0, COLUMN_OWNER_IS_THERE);
}

bool store_ssh_credential_create(struct store *store, const struct store_request *request,
                                 const struct ssh_credential_input *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    bool is_once = request->once.key.s != NULL;
    const struct pg_statement *statement = is_once ? &create_once_statement : &create_statement;

    for (int n_tries = 0; n_tries < MAX_TRIES; n_tries++) {
        struct pg_params params;
        struct pg_result *result;
        struct new_id id;

        if (!store_make_ident(store->pg, IDENT_CREDENTIAL, id.id, &id.ms, err))
            return false;
        add_create_params(&params, request, &id, input);
        if (!executor_run(store, statement, request, &params, &result, err))
            return false;
        pg_note_time(store->pg, pg_time_us(result, 0, COLUMN_NOW));
        if (!may_try_again(result)) {
            bool ok = read_created(result, request, list, err);

            if (ok && is_once) {
                list->base_url = pg_text(list->result, 0, COLUMN_BASE_URL);
                list->is_replay = !text_eq(list->items[0].id, text_of(id.id));
            }
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
                                 struct text id, const struct ssh_credential_input *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool is_there;

    executor_write_params(&params, request);
    pg_add_text(&params, id);
    pg_add_text(&params, input->description);
    pg_add_text(&params, input->metadata);
    pg_add_texts(&params, input->acl, request->arena);
    executor_add_condition(&params, request);
    if (!executor_run(store, &update_statement, request, &params, &result, err))
        return false;
    if (!pg_is_null(result, 0, COLUMN_ID))
        return read_written(result, request->arena, list, err);
    is_there = pg_bool(result, 0, COLUMN_IS_THERE);
    pg_result_free(result);
    return error_set(err, executor_missed(request, is_there, ERR_CREDENTIAL_NOT_FOUND));
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

bool store_ssh_credential_list(struct store *store, const struct store_request *request,
                               const struct ssh_credential_page *page,
                               struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    executor_params(&params, request);
    pg_add_text(&params, page->before_id.s ? page->before_id : text_of(AFTER_ALL));
    pg_add_int(&params, page->limit + 1);
    return executor_run(store, &list_statement, request, &params, &result, err) &&
           read_page(result, page, request->arena, list, err);
}
