/* SPDX-License-Identifier: MIT */
/* The statements that lock the rows that a document changes. */
#include "store/document_lock.h"

#include "store/resource_sql.h"

/* clang-format off */

/* What refers to accounts and principals can be created while they are updated. */
static const struct pg_statement row_statements[DOCUMENT_N_KINDS] = {
    /* $1 account_id, $2 ids. */
    [DOCUMENT_ACCOUNT] = {
        .name = "document_lock_accounts",
        .types = PG_TEXT,
        .sql =
            "SELECT a.id"
            " FROM adit.account AS a"
            " WHERE a.id = $1::text COLLATE \"C\""
              " AND a.id = ANY ($2::text[] COLLATE \"C\")"
            " ORDER BY a.id"
            " FOR NO KEY UPDATE",
    },
    /* $1 account_id, $2 ids. */
    [DOCUMENT_PRINCIPAL] = {
        .name = "document_lock_principals",
        .types = PG_TEXT,
        .sql =
            "SELECT p.id"
            " FROM adit.principal AS p"
            " WHERE p.account_id = $1::text COLLATE \"C\""
              " AND p.id = ANY ($2::text[] COLLATE \"C\")"
            " ORDER BY p.id"
            " FOR NO KEY UPDATE",
    },
    /* $1 account_id, $2 ids. */
    [DOCUMENT_CREDENTIAL] = {
        .name = "document_lock_credentials",
        .types = PG_TEXT,
        .sql =
            "SELECT c.id"
            " FROM adit.ssh_credential AS c"
            " WHERE c.account_id = $1::text COLLATE \"C\""
              " AND c.id = ANY ($2::text[] COLLATE \"C\")"
            " ORDER BY c.id"
            " FOR UPDATE",
    },
    /* $1 account_id, $2 edge_ids and maybe $3 route_ids. */
#define LOCK_EDGE " FOR UPDATE"
#define LOCK_ROUTE " FOR UPDATE OF m"
#define LOCK_MODULES(with, NAME, table, place, form, path, missing, brief, title)                         \
    [DOCUMENT_##NAME] = {                                                                          \
        .name = "document_lock_" brief,                                                            \
        .types = PG_TEXT,                                                                          \
        .sql = "SELECT m.edge_id" PLACE_FOUND_##place(#table) LOCK_##place},
    MODULES(LOCK_MODULES, _)
};

/* $1 account_id, $2 ids. */
static const struct pg_statement leavers_statement = {
    .name = "document_lock_leavers",
    .types = PG_TEXT,
    .sql =
        "SELECT p.id"
        " FROM adit.principal AS p"
        " WHERE p.account_id = $1::text COLLATE \"C\""
          " AND p.id = ANY ($2::text[] COLLATE \"C\")"
        " ORDER BY p.id"
        " FOR UPDATE",
};

/* $1 account_id, $2 ids. */
static const struct pg_statement owned_statement = {
    .name = "document_lock_owned",
    .types = PG_TEXT,
    .sql =
        "SELECT c.id"
        " FROM adit.ssh_credential AS c"
        " WHERE c.account_id = $1::text COLLATE \"C\""
          " AND c.owner_id = ANY ($2::text[] COLLATE \"C\")"
        " ORDER BY c.id"
        " FOR UPDATE",
};

/* clang-format on */

/* Runs one of these.  second: the third parameter, if it is given. */
static bool lock_with(struct pg *pg, const struct pg_statement *statement, struct text account_id,
                      struct text_list ids, struct text_list second, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result = NULL;
    struct arena arena = {0};
    bool ok;

    pg_add_text(&params, account_id);
    pg_add_texts(&params, ids, &arena);
    if (second.given)
        pg_add_texts(&params, second, &arena);
    ok = pg_run(pg, statement, &params, &result, err);
    if (ok)
        pg_result_free(result);
    arena_free(&arena);
    return ok;
}

bool document_lock_rows(struct pg *pg, enum document_kind kind, struct text account_id,
                        const struct document_keys *keys, struct error *err)
{
    struct text_list routes =
        document_of_route(kind) ? keys->second : (struct text_list){.given = false};

    return lock_with(pg, &row_statements[kind], account_id, keys->ids, routes, err);
}

bool document_lock_leavers(struct pg *pg, struct text account_id, struct text_list ids,
                           struct error *err)
{
    struct text_list none = {.given = false};

    return lock_with(pg, &leavers_statement, account_id, ids, none, err) &&
           lock_with(pg, &owned_statement, account_id, ids, none, err);
}
