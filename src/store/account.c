/* SPDX-License-Identifier: MIT */
/* Accounts and principals. */
#include "store/account.h"

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

static const struct pg_statement list_statement = {
    .name = "account_list",
    .types = PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT id, " SQL_RFC3339("created_at") ", name"
        " FROM adit.account"
        " ORDER BY id",
};

/* $1 account_id, $2 id, $3 kind, $4 name, $5 is_admin. */
static const struct pg_statement principal_create_statement = {
    .name = "principal_create",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "INSERT INTO adit.principal (account_id, id, kind, name, is_admin)"
        " SELECT a.id, $2::text, $3::text, $4::text, $5::boolean"
        " FROM adit.account AS a"
        " WHERE a.id = $1::text COLLATE \"C\""
        " RETURNING id",
};

static const struct pg_statement principal_find_only_statement = {
    .name = "principal_find_only",
    .types = PG_TEXT,
    .sql = "SELECT id FROM adit.principal ORDER BY id LIMIT 2",
};

/* $1 kind. */
static const struct pg_statement principal_list_statement = {
    .name = "principal_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT p.id, p.account_id,"
          " CASE WHEN p.is_admin THEN 'yes' ELSE 'no' END,"
          " (SELECT count(*)::text FROM adit.api_key AS k"
            " WHERE k.account_id = p.account_id"
            " AND k.principal_id = p.id"
            " AND k.revoked_at IS NULL"
            " AND (k.expires_at > now()) IS NOT FALSE),"
          " " SQL_RFC3339("p.created_at") ", p.name"
        " FROM adit.principal AS p"
        " WHERE p.kind = $1::text"
        " ORDER BY p.id",
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

static bool find_only(struct pg *pg, const struct pg_statement *statement, char id[IDENT_SIZE],
                      int *n, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *n = 0;
    if (!pg_run(pg, statement, &params, &result, err))
        return false;
    *n = pg_rows(result);
    if (*n == 1) {
        struct text found = pg_text(result, 0, 0);

        memcpy(id, found.s, found.len < IDENT_SIZE ? found.len + 1 : 0);
    }
    pg_result_free(result);
    return *n == 1;
}

bool account_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err)
{
    return find_only(pg, &find_only_statement, id, n, err);
}

bool principal_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err)
{
    return find_only(pg, &principal_find_only_statement, id, n, err);
}

bool principal_create(struct pg *pg, struct text account_id, const char *kind, struct text name,
                      bool is_admin, char id[IDENT_SIZE], struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!store_make_ident(pg, strcmp(kind, "bot") == 0 ? IDENT_BOT : IDENT_USER, id, NULL, err))
        return false;
    pg_add_text(&params, account_id);
    pg_add_text(&params, text_of(id));
    pg_add_text(&params, text_of(kind));
    pg_add_text(&params, name);
    pg_add_bool(&params, is_admin);
    if (!pg_run(pg, &principal_create_statement, &params, &result, err))
        return false;
    if (pg_rows(result) == 0)
        id[0] = '\0';
    pg_result_free(result);
    return true;
}

bool principal_list(struct pg *pg, const char *kind, struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, text_of(kind));
    return pg_run(pg, &principal_list_statement, &params, result, err);
}
