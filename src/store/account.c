/* SPDX-License-Identifier: MIT */
/* Accounts. */
#include "store/account.h"

#include <stdio.h>
#include <string.h>

#include "store/sql.h"
#include "store/store.h"

/* clang-format off */

/* $1 id, $2 name. */
static const struct pg_statement create_statement = {
    .name = "account_create",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "INSERT INTO adit.account (id, name)"
        " VALUES ($1::text, $2::text)"
        " RETURNING id",
};

static const struct pg_statement find_only_statement = {
    .name = "account_find_only",
    .types = PG_TEXT,
    .sql = "SELECT id FROM adit.account ORDER BY id LIMIT 2",
};

/* $1 name, $2 id of one to leave out. */
static const struct pg_statement find_named_statement = {
    .name = "account_find_named",
    .types = PG_TEXT,
    .sql =
        "SELECT a.id"
        " FROM adit.account AS a"
        " WHERE a.name = $1::text"
          " AND a.id <> $2::text COLLATE \"C\""
        " ORDER BY a.id"
        " LIMIT 1",
};

static const struct pg_statement list_statement = {
    .name = "account_list",
    .types = PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT id, " SQL_RFC3339("created_at") ", name"
        " FROM adit.account"
        " ORDER BY id",
};

/* $1 id, $2 name. */
static const struct pg_statement rename_statement = {
    .name = "account_rename",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.account"
        " SET name = $2::text"
        " WHERE id = $1::text COLLATE \"C\""
        " RETURNING id",
};

#define MODULE_TYPE(with, NAME, table, ...) PG_BIGINT
#define COUNT_MODULES(with, NAME, table, ...)                                                      \
    ", (SELECT count(*) FROM adit." #table " AS m"                                                 \
      " WHERE m.account_id = a.id) AS " #table "s"
#define ADD_MODULES(with, NAME, table, ...) " + a." #table "s"
#define ALSO_MODULES(with, NAME, table, ...) ", a." #table "s"

/* $1 id. */
static const struct pg_statement delete_statement = {
    .name = "account_delete",
    .types = PG_BIGINT MODULES(MODULE_TYPE, _),
    .writes = true,
    .sql =
        "WITH a AS MATERIALIZED ("
            "SELECT a.id,"
              " (SELECT count(*) FROM adit.principal AS p"
                " WHERE p.account_id = a.id) AS principals"
              MODULES(COUNT_MODULES, _)
            " FROM adit.account AS a"
            " WHERE a.id = $1::text COLLATE \"C\""
        "), gone AS ("
            "DELETE FROM adit.account AS g"
            " USING a"
            " WHERE g.id = a.id"
              " AND a.principals" MODULES(ADD_MODULES, _) " = 0"
        ")"
        " SELECT a.principals" MODULES(ALSO_MODULES, _)
        " FROM a",
};

/* clang-format on */

bool account_create(struct pg *pg, struct text name, char id[IDENT_SIZE], struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!store_make_ident(pg, IDENT_ACCOUNT, id, NULL, err))
        return false;
    pg_add_text(&params, text_of(id));
    pg_add_text(&params, name);
    if (!pg_run(pg, &create_statement, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

bool account_list(struct pg *pg, struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    return pg_run(pg, &list_statement, &params, result, err);
}

bool account_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err)
{
    const struct pg_params params = {.n = 0};

    return store_find_only(pg, &find_only_statement, &params, id, n, err);
}

bool account_find_named(struct pg *pg, struct text name, struct text but_id, char id[IDENT_SIZE],
                        struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, name);
    pg_add_text(&params, but_id);
    return store_find_id(pg, &find_named_statement, &params, id, err);
}

bool account_rename(struct pg *pg, struct text id, struct text name, bool *found, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, id);
    pg_add_text(&params, name);
    if (!pg_run(pg, &rename_statement, &params, &result, err))
        return false;
    *found = pg_rows(result) > 0;
    pg_result_free(result);
    return true;
}

bool account_delete(struct pg *pg, struct text id, struct account_rest *rest, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, id);
    if (!pg_run(pg, &delete_statement, &params, &result, err))
        return false;
    *rest = (struct account_rest){.found = pg_rows(result) > 0};
    if (rest->found) {
        rest->principals = pg_int(result, 0, 0);
        for (int kind = 0; kind < RESOURCE_N_KINDS; kind++)
            rest->modules[kind] = pg_int(result, 0, 1 + kind);
    }
    pg_result_free(result);
    return true;
}
