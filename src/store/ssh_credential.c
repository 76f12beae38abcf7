/* SPDX-License-Identifier: MIT */
/* The statements of SSH credentials, and the operations on them. */
#include "store/ssh_credential.h"

#include "store/caller.h"

/* In the order of enum column, behind the caller's. */
#define COLUMNS "c.id, c.created_at, c.description, c.metadata, c.public_key, c.acl, c.owner_id"

enum column {
    COLUMN_ID = CALLER_N_COLUMNS,
    COLUMN_CREATED_AT,
    COLUMN_DESCRIPTION,
    COLUMN_METADATA,
    COLUMN_PUBLIC_KEY,
    COLUMN_ACL,
    COLUMN_OWNER_ID,
    N_COLUMNS
};

/* Columns that only create_statement has. */
enum create_column { COLUMN_MAY_OWN = N_COLUMNS };

/* A place in the order of identifiers behind all of them: 0x7F follows '~'. */
#define AFTER_ALL "\x7F"

/* Whoever is no admin may only name itself; an admin anybody of the account. */
static const struct pg_statement create_statement = {
    .name = "ssh_credential_create",
    .writes = true,
    .on_unique = ERR_PUBLIC_KEY_EXISTS,
    .sql = CALLER_CTE
    ", owner AS MATERIALIZED ("
    "SELECT caller.account_id, caller.read_only,"
    " coalesce($3::text COLLATE \"C\", caller.principal_id) AS id,"
    " $3::text IS NULL OR $3::text = caller.principal_id"
    " OR (SELECT p.is_admin FROM adit.principal AS p WHERE p.account_id = caller.account_id"
    " AND p.id = caller.principal_id) AS may_own"
    " FROM caller"
    "), c AS ("
    "INSERT INTO adit.ssh_credential AS c (account_id, id, owner_id, public_key, key_type,"
    " fingerprint, description, metadata, acl)"
    " SELECT owner.account_id, $2::text, owner.id, $4::text, $5::text, $6::text,"
    " coalesce($7::text, ''), coalesce($8::text, ''), coalesce($9::text[], '{}')"
    " FROM caller JOIN owner USING (account_id)"
    " WHERE " CALLER_MAY_WRITE " AND owner.may_own"
    " AND ($3::text IS NULL OR EXISTS (SELECT FROM adit.principal AS p"
    " WHERE p.account_id = owner.account_id AND p.id = owner.id))"
    " RETURNING " COLUMNS ") SELECT " CALLER_COLUMNS_OF("owner") ", " COLUMNS ", owner.may_own"
                                                                 " FROM owner LEFT JOIN c ON true",
};

static const struct pg_statement get_statement = {
    .name = "ssh_credential_get",
    .sql = "SELECT " CALLER_COLUMNS_OF(
        "k") ", " COLUMNS " FROM adit.api_key AS k"
             " LEFT JOIN adit.ssh_credential AS c"
             " ON c.account_id = k.account_id AND c.id = $2::text COLLATE \"C\""
             " WHERE " CALLER_KEY_IS_GOOD,
};

static const struct pg_statement update_statement = {
    .name = "ssh_credential_update",
    .writes = true,
    .sql = CALLER_CTE
    ", c AS ("
    "UPDATE adit.ssh_credential AS c SET description = coalesce($3::text, c.description),"
    " metadata = coalesce($4::text, c.metadata), acl = coalesce($5::text[], c.acl)"
    " FROM caller WHERE " CALLER_MAY_WRITE
    " AND c.account_id = caller.account_id AND c.id = $2::text COLLATE \"C\""
    " RETURNING " COLUMNS
    ") SELECT " CALLER_COLUMNS_OF("caller") ", " COLUMNS " FROM caller LEFT JOIN c ON true",
};

static const struct pg_statement delete_statement = {
    .name = "ssh_credential_delete",
    .writes = true,
    .sql =
        CALLER_CTE ", c AS ("
                   "DELETE FROM adit.ssh_credential AS c USING caller WHERE " CALLER_MAY_WRITE
                   " AND c.account_id = caller.account_id AND c.id = $2::text COLLATE \"C\""
                   " RETURNING c.id"
                   ") SELECT " CALLER_COLUMNS_OF("caller") ", c.id FROM caller LEFT JOIN c ON true",
};

/* A condition that always compares, for the generic plan to walk the index from the right place. */
static const struct pg_statement list_statement = {
    .name = "ssh_credential_list",
    .sql = "SELECT " CALLER_COLUMNS_OF(
        "k") ", " COLUMNS " FROM adit.api_key AS k"
             " LEFT JOIN LATERAL (SELECT * FROM adit.ssh_credential AS c"
             " WHERE c.account_id = k.account_id AND c.id < $2::text COLLATE \"C\""
             " ORDER BY c.id DESC LIMIT $3::bigint) AS c ON true"
             " WHERE " CALLER_KEY_IS_GOOD " ORDER BY c.id DESC",
};

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    pg_result_free(list->result);
    *list = (struct ssh_credential_list){0};
}

static bool read_row(const struct pg_result *result, int row, struct arena *arena,
                     struct ssh_credential *credential)
{
    *credential = (struct ssh_credential){
        .id = pg_text(result, row, COLUMN_ID),
        .created_at = pg_time(result, row, COLUMN_CREATED_AT),
        .description = pg_text(result, row, COLUMN_DESCRIPTION),
        .metadata = pg_text(result, row, COLUMN_METADATA),
        .public_key = pg_text(result, row, COLUMN_PUBLIC_KEY),
        .owner_id = pg_text(result, row, COLUMN_OWNER_ID),
    };
    return pg_texts(result, row, COLUMN_ACL, arena, &credential->acl);
}

/* Reads at most limit rows into the list, which takes the result over, also where it fails. */
static bool read_rows(struct pg_result *result, int limit, struct arena *arena,
                      struct ssh_credential_list *list, struct error *err)
{
    int n = pg_is_null(result, 0, COLUMN_ID) ? 0 : pg_rows(result);

    *list = (struct ssh_credential_list){.result = result, .more = n > limit};
    if (n > limit)
        n = limit;
    list->items = arena_array(arena, (size_t)n, sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < (size_t)n; list->n++) {
        if (!read_row(result, (int)list->n, arena, &list->items[list->n]))
            return error_set(err, ERR_OUT_OF_MEMORY);
    }
    return true;
}

static bool read_one(struct pg_result *result, struct arena *arena,
                     struct ssh_credential_list *list, struct error *err)
{
    return read_rows(result, 1, arena, list, err) &&
           (list->n == 1 || error_set(err, ERR_CREDENTIAL_NOT_FOUND));
}

/* The same for what was written just now: where there is no memory to show it, it is there. */
static bool read_written(struct pg_result *result, struct arena *arena,
                         struct ssh_credential_list *list, struct error *err)
{
    if (read_one(result, arena, list, err))
        return true;
    if (err->code == ERR_OUT_OF_MEMORY)
        error_set(err, ERR_OUTCOME_UNKNOWN);
    return false;
}

static bool owner_refused(bool may_own, struct error *err)
{
    enum error_code code = may_own ? ERR_OWNER_UNKNOWN : ERR_NOT_ADMIN;

    return error_field(err, code, "owner_id", "%s", error_row(code)->text);
}

bool store_ssh_credential_create(struct store *store, const struct bearer *bearer, const char *id,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, text_of(id));
    pg_add_text(&params, input->owner_id);
    pg_add_text(&params, input->public_key);
    pg_add_text(&params, text_of(input->parsed_key.type));
    pg_add_text(&params, text_of(input->parsed_key.fingerprint));
    pg_add_text(&params, input->description);
    pg_add_text(&params, input->metadata);
    pg_add_texts(&params, input->acl, arena);
    if (!caller_run(store, &create_statement, bearer, &params, &result, err))
        return false;
    if (pg_is_null(result, 0, COLUMN_ID))
        owner_refused(pg_bool(result, 0, COLUMN_MAY_OWN), err);
    else if (read_written(result, arena, list, err))
        return true;
    else
        result = NULL;
    pg_result_free(result);
    return false;
}

bool store_ssh_credential_get(struct store *store, const struct bearer *bearer, struct text id,
                              struct arena *arena, struct ssh_credential_list *list,
                              struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, id);
    return caller_run(store, &get_statement, bearer, &params, &result, err) &&
           read_one(result, arena, list, err);
}

bool store_ssh_credential_update(struct store *store, const struct bearer *bearer, struct text id,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, id);
    pg_add_text(&params, input->description);
    pg_add_text(&params, input->metadata);
    pg_add_texts(&params, input->acl, arena);
    return caller_run(store, &update_statement, bearer, &params, &result, err) &&
           read_written(result, arena, list, err);
}

bool store_ssh_credential_delete(struct store *store, const struct bearer *bearer, struct text id,
                                 struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool gone;

    caller_params(&params, bearer);
    pg_add_text(&params, id);
    if (!caller_run(store, &delete_statement, bearer, &params, &result, err))
        return false;
    gone = !pg_is_null(result, 0, COLUMN_ID);
    pg_result_free(result);
    return gone || error_set(err, ERR_CREDENTIAL_NOT_FOUND);
}

bool store_ssh_credential_list(struct store *store, const struct bearer *bearer,
                               struct text before_id, int limit, struct arena *arena,
                               struct ssh_credential_list *list, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, before_id.s ? before_id : text_of(AFTER_ALL));
    pg_add_int(&params, limit + 1);
    return caller_run(store, &list_statement, bearer, &params, &result, err) &&
           read_rows(result, limit, arena, list, err);
}
