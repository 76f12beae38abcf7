/* SPDX-License-Identifier: MIT */
/* Users and Bots. */
#include "store/principal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/long_work.h"
#include "store/sql.h"
#include "store/store.h"

/* A User or Bot may own a million credentials, and each change of one is recorded. */
#define BEGIN_SQL LONG_WORK_BEGIN "; SET LOCAL lock_timeout = '10s'"
#define WRITERS_TIMEOUT_MS 10000

/* clang-format off */

/* The keys of a User or Bot that are neither revoked nor expired. */
#define KEY_OF(k, p)                                                                               \
    k ".account_id = " p ".account_id"                                                             \
    " AND " k ".principal_id = " p ".id"                                                           \
    " AND " k ".revoked_at IS NULL"                                                                \
    " AND (" k ".expires_at > now()) IS NOT FALSE"

#define CREDENTIAL_OF(c, p)                                                                        \
    c ".account_id = " p ".account_id"                                                             \
    " AND " c ".owner_id = " p ".id"

/* Whether no other admin of the account, a parameter, is enabled. */
#define IS_LAST_ADMIN(p, account)                                                                  \
    p ".is_admin"                                                                                  \
    " AND NOT EXISTS (SELECT FROM adit.principal AS o"                                             \
      " WHERE o.account_id = " account "::text COLLATE \"C\""                                      \
      " AND o.id <> " p ".id"                                                                      \
      " AND o.is_admin"                                                                            \
      " AND o.disabled_at IS NULL)"

/* $1 id, $2 account_id or NULL. */
static const struct pg_statement account_statement = {
    .name = "principal_account",
    .types = PG_TEXT,
    .sql =
        "SELECT p.account_id"
        " FROM adit.principal AS p"
        " WHERE p.id = $1::text COLLATE \"C\""
          " AND p.account_id = coalesce($2::text COLLATE \"C\", p.account_id)",
};

/* $1 account_id, $2 id, $3 kind, $4 name, $5 is_admin. */
static const struct pg_statement create_statement = {
    .name = "principal_create",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "INSERT INTO adit.principal AS p (account_id, id, kind, name, is_admin)"
        " SELECT a.id, $2::text, $3::text, $4::text, $5::boolean"
        " FROM adit.account AS a"
        " WHERE a.id = $1::text COLLATE \"C\""
        " RETURNING p.id",
};

/* $1 account_id, $2 name, $3 id of one to leave out. */
static const struct pg_statement find_named_statement = {
    .name = "principal_find_named",
    .types = PG_TEXT,
    .sql =
        "SELECT p.id"
        " FROM adit.principal AS p"
        " WHERE p.account_id = $1::text COLLATE \"C\""
          " AND p.name = $2::text"
          " AND p.id <> $3::text COLLATE \"C\""
        " ORDER BY p.id"
        " LIMIT 1",
};

/* $1 account, or NULL. */
static const struct pg_statement find_only_statement = {
    .name = "principal_find_only",
    .types = PG_TEXT,
    .sql =
        "SELECT p.id FROM adit.principal AS p"
        " WHERE $1::text IS NULL OR p.account_id = $1::text COLLATE \"C\""
        " ORDER BY p.id"
        " LIMIT 2",
};

/* $1 kind. */
static const struct pg_statement list_statement = {
    .name = "principal_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT p.id, p.account_id,"
          " CASE WHEN p.is_admin THEN 'yes' ELSE 'no' END,"
          " (SELECT count(*)::text FROM adit.api_key AS k"
            " WHERE " KEY_OF("k", "p")
            " AND k.disabled_digest IS NULL),"
          " " SQL_RFC3339("p.created_at") ", " SQL_RFC3339("p.disabled_at") ", p.name"
        " FROM adit.principal AS p"
        " WHERE p.kind = $1::text"
        " ORDER BY p.id",
};

/* $1 id, $2 kind. */
static const struct pg_statement show_statement = {
    .name = "principal_show",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT p.id, p.name, p.account_id, a.name,"
          " CASE WHEN p.is_admin THEN 'yes' ELSE 'no' END,"
          " " SQL_RFC3339("p.created_at") ", " SQL_RFC3339("p.disabled_at") ","
          " (SELECT count(*)::text FROM adit.ssh_credential AS c"
            " WHERE " CREDENTIAL_OF("c", "p") "),"
          " (SELECT count(*)::text FROM adit.api_key AS k"
            " WHERE " KEY_OF("k", "p")
            " AND k.disabled_digest IS NULL)"
        " FROM adit.principal AS p"
        " JOIN adit.account AS a"
          " ON a.id = p.account_id"
        " WHERE p.id = $1::text COLLATE \"C\""
          " AND p.kind = $2::text",
};

/* $1 id, $2 kind, $3 name, $4 account_id. */
static const struct pg_statement rename_statement = {
    .name = "principal_rename",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.principal"
        " SET name = $3::text"
        " WHERE account_id = $4::text COLLATE \"C\""
          " AND id = $1::text COLLATE \"C\""
          " AND kind = $2::text"
        " RETURNING id",
};

/* $1 id, $2 kind, $3 whether to disable, $4 account_id.
 * The trigger follow_holder (sql/schema.sql) makes the keys follow. */
static const struct pg_statement disable_statement = {
    .name = "principal_disable",
    .types = PG_TEXT PG_BIGINT PG_BIGINT PG_BOOL PG_BOOL,
    .writes = true,
    .sql =
        "WITH was AS MATERIALIZED ("
            "SELECT p.disabled_at"
            " FROM adit.principal AS p"
            " WHERE p.account_id = $4::text COLLATE \"C\""
              " AND p.id = $1::text COLLATE \"C\""
              " AND p.kind = $2::text"
        "), p AS ("
            "UPDATE adit.principal AS p"
            " SET disabled_at = CASE WHEN $3::boolean THEN coalesce(p.disabled_at, n.at) END"
            " FROM (SELECT now() AS at) AS n"
            " WHERE p.account_id = $4::text COLLATE \"C\""
              " AND p.id = $1::text COLLATE \"C\""
              " AND p.kind = $2::text"
            " RETURNING p.*"
        ")"
        " SELECT " SQL_RFC3339("p.disabled_at") ","
          " (SELECT count(*) FROM adit.api_key AS k"
            " WHERE k.account_id = $4::text COLLATE \"C\""
            " AND " KEY_OF("k", "p") "),"
          " (SELECT count(*) FROM adit.ssh_credential AS c"
            " WHERE c.account_id = $4::text COLLATE \"C\""
            " AND " CREDENTIAL_OF("c", "p") "),"
          " " IS_LAST_ADMIN("p", "$4") ","
          " p.disabled_at IS NOT DISTINCT FROM (SELECT was.disabled_at FROM was)"
        " FROM p",
};

/* $1 those of an earlier run that are to be looked for, or NULL: all.
 * The transactions that write credentials.  A statement locks its tables before it takes its
 * snapshot. */
static const struct pg_statement writers_statement = {
    .name = "principal_writers",
    .types = PG_TEXT PG_BOOL,
    .sql =
        "SELECT array_agg(l.virtualtransaction)::text, true"
        " FROM pg_catalog.pg_locks AS l"
        " WHERE l.locktype = 'relation'"
          " AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d"
            " WHERE d.datname = pg_catalog.current_database())"
          " AND l.relation = 'adit.ssh_credential'::pg_catalog.regclass"
          " AND l.mode = 'RowExclusiveLock'"
          " AND l.granted"
          " AND ($1::text IS NULL OR l.virtualtransaction = ANY ($1::text::text[]))",
};

/* $1 id, $2 account_id, $3 the most that are deleted.
 * The second column is absent while there may be more.  The third has some of others' credentials
 * with the same public keys, or none.  Its count still sees what the statement
 * deletes.  It does not look each of them up among those that are gone: without statistics that is
 * quadratic. */
const struct pg_statement principal_end_credentials_statement = {
    .name = "principal_end_credentials",
    .types = PG_BIGINT PG_BIGINT PG_TEXT,
    .writes = true,
    .sql =
        "WITH gone AS ("
            "DELETE FROM adit.ssh_credential AS c"
            " WHERE c.account_id = $2::text COLLATE \"C\""
              " AND c.id = ANY (ARRAY("
                "SELECT c.id FROM adit.ssh_credential AS c"
                " JOIN adit.principal AS p"
                  " ON " CREDENTIAL_OF("c", "p")
                " WHERE p.account_id = $2::text COLLATE \"C\""
                  " AND p.id = $1::text COLLATE \"C\""
                  " AND c.account_id = $2::text COLLATE \"C\""
                " LIMIT $3::bigint"
              "))"
            " RETURNING c.id, c.fingerprint"
        ")"
        " SELECT g.n,"
          " CASE WHEN g.n < $3::bigint THEN"
          " (SELECT count(*) FROM adit.ssh_credential AS c"
            " JOIN adit.principal AS p"
              " ON " CREDENTIAL_OF("c", "p")
            " WHERE p.account_id = $2::text COLLATE \"C\""
              " AND p.id = $1::text COLLATE \"C\""
              " AND c.account_id = $2::text COLLATE \"C\") - g.n END,"
          " (SELECT string_agg(o.id, ' ') FROM ("
            "SELECT o.id FROM adit.ssh_credential AS o"
            " WHERE o.account_id = $2::text COLLATE \"C\""
              " AND o.owner_id <> $1::text COLLATE \"C\""
              " AND o.fingerprint IN (SELECT gone.fingerprint FROM gone)"
            " ORDER BY o.id"
            " LIMIT 3) AS o)"
        " FROM (SELECT count(*) AS n FROM gone) AS g",
};

/* $1 id, $2 account_id. */
static const struct pg_statement lock_statement = {
    .name = "principal_lock",
    .types = PG_TEXT,
    .sql =
        "SELECT p.id"
        " FROM adit.principal AS p"
        " WHERE p.account_id = $2::text COLLATE \"C\""
          " AND p.id = $1::text COLLATE \"C\""
        " FOR UPDATE",
};

/* $1 id, $2 kind, $3 heir's id or NULL, $4 whether to delete the credentials,
 * $5 account_id.
 * The foreign keys are checked at the end: what others make of the User or Bot meanwhile makes this
 * statement fail with SQLSTATE 23503, or theirs. */
static const struct pg_statement delete_statement = {
    .name = "principal_delete",
    .types = PG_BIGINT PG_BIGINT PG_BOOL PG_BOOL,
    .writes = true,
    .sql =
        "WITH p AS MATERIALIZED ("
            "SELECT p.account_id, p.id,"
              " " IS_LAST_ADMIN("p", "$5") " AS is_last_admin,"
              " (SELECT count(*) FROM adit.ssh_credential AS c"
                " WHERE c.account_id = $5::text COLLATE \"C\""
                " AND " CREDENTIAL_OF("c", "p") ") AS credentials,"
              " (SELECT count(*) FROM adit.api_key AS k"
                " WHERE k.account_id = $5::text COLLATE \"C\""
                " AND k.principal_id = p.id) AS keys,"
              " EXISTS (SELECT FROM adit.principal AS o"
                " WHERE o.account_id = $5::text COLLATE \"C\""
                " AND o.id = $3::text COLLATE \"C\""
                " AND o.id <> p.id"
                " AND " SQL_MAY_OWN("o") ") AS has_heir"
            " FROM adit.principal AS p"
            " WHERE p.account_id = $5::text COLLATE \"C\""
              " AND p.id = $1::text COLLATE \"C\""
              " AND p.kind = $2::text"
        "), d AS MATERIALIZED ("
            "SELECT p.account_id, p.id"
            " FROM p"
            " WHERE p.has_heir"
              " OR ($3::text IS NULL AND ($4::boolean OR p.credentials = 0))"
        "), given AS ("
            "UPDATE adit.ssh_credential AS c"
            " SET owner_id = $3::text"
            " FROM d"
            " WHERE $3::text IS NOT NULL"
              " AND c.account_id = $5::text COLLATE \"C\""
              " AND " CREDENTIAL_OF("c", "d")
        "), ended AS ("
            "DELETE FROM adit.ssh_credential AS c"
            " USING d"
            " WHERE $3::text IS NULL"
              " AND c.account_id = $5::text COLLATE \"C\""
              " AND " CREDENTIAL_OF("c", "d")
        "), answers AS ("
            "DELETE FROM adit.idempotency_key AS i"
            " USING d"
            " WHERE i.account_id = $5::text COLLATE \"C\""
              " AND i.principal_id = d.id"
        "), keys AS ("
            "DELETE FROM adit.api_key AS k"
            " USING d"
            " WHERE k.account_id = $5::text COLLATE \"C\""
              " AND k.principal_id = d.id"
        "), gone AS ("
            "DELETE FROM adit.principal AS g"
            " USING d"
            " WHERE g.account_id = $5::text COLLATE \"C\""
              " AND g.id = d.id"
        ")"
        " SELECT p.keys, p.credentials, p.is_last_admin,"
          " EXISTS (SELECT FROM d)"
        " FROM p",
};

/* clang-format on */

bool principal_find_account(struct pg *pg, struct text id, struct text within,
                            char account_id[IDENT_SIZE], struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, id);
    pg_add_text(&params, within);
    return store_find_id(pg, &account_statement, &params, account_id, err);
}

bool principal_find_named(struct pg *pg, struct text account_id, struct text name,
                          struct text but_id, char id[IDENT_SIZE], struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, account_id);
    pg_add_text(&params, name);
    pg_add_text(&params, but_id);
    return store_find_id(pg, &find_named_statement, &params, id, err);
}

bool principal_find_only(struct pg *pg, struct text account_id, char id[IDENT_SIZE], int *n,
                         struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, account_id);
    return store_find_only(pg, &find_only_statement, &params, id, n, err);
}

bool principal_create(struct pg *pg, const struct principal_new *made, char id[IDENT_SIZE],
                      struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!store_make_ident(pg, strcmp(made->kind, "bot") == 0 ? IDENT_BOT : IDENT_USER, id, NULL,
                          err))
        return false;
    pg_add_text(&params, made->account_id);
    pg_add_text(&params, text_of(id));
    pg_add_text(&params, text_of(made->kind));
    pg_add_text(&params, made->name);
    pg_add_bool(&params, made->is_admin);
    if (!pg_run(pg, &create_statement, &params, &result, err))
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
    return pg_run(pg, &list_statement, &params, result, err);
}

/* Starts the parameters of a statement about one User or Bot. */
static struct pg_params params_of(const struct principal *principal)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, principal->id);
    pg_add_text(&params, text_of(principal->kind));
    return params;
}

bool principal_show(struct pg *pg, const struct principal *principal, struct pg_result **result,
                    struct error *err)
{
    struct pg_params params = params_of(principal);

    return pg_run(pg, &show_statement, &params, result, err);
}

bool principal_rename(struct pg *pg, const struct principal *principal, struct text name,
                      bool *found, struct error *err)
{
    struct pg_params params = params_of(principal);
    char account_id[IDENT_SIZE];
    struct pg_result *result;

    pg_add_text(&params, name);
    if (!principal_find_account(pg, principal->id, text_of(NULL), account_id, err))
        return false;
    pg_add_text(&params, text_of(account_id));
    if (!pg_run(pg, &rename_statement, &params, &result, err))
        return false;
    *found = pg_rows(result) > 0;
    pg_result_free(result);
    return true;
}

bool principal_disable(struct pg *pg, const struct principal *principal, bool disable,
                       struct principal_end *end, struct error *err)
{
    struct pg_params params = params_of(principal);
    struct pg_result *result;

    *end = (struct principal_end){.found = false};
    if (!principal_find_account(pg, principal->id, text_of(NULL), end->account_id, err))
        return false;
    pg_add_bool(&params, disable);
    pg_add_text(&params, text_of(end->account_id));
    if (!pg_run(pg, &disable_statement, &params, &result, err))
        return false;
    end->found = pg_rows(result) > 0;
    if (end->found) {
        snprintf(end->disabled_at, sizeof end->disabled_at, "%s",
                 pg_is_null(result, 0, 0) ? "" : pg_text(result, 0, 0).s);
        end->n_keys = pg_int(result, 0, 1);
        end->n_credentials = pg_int(result, 0, 2);
        end->is_last_admin = pg_bool(result, 0, 3);
        end->is_as_before = pg_bool(result, 0, 4);
    }
    pg_result_free(result);
    return true;
}

bool principal_begin(struct pg *pg, struct error *err)
{
    pg_set_timeout(pg, LONG_WORK_TIMEOUT_MS);
    return pg_begin(pg, BEGIN_SQL, err);
}

static bool read_writers(struct pg *pg, struct text wanted, const char *account_id,
                         struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, wanted);
    pg_add_place(&params, text_of(account_id));
    if (!pg_run(pg, &writers_statement, &params, result, err))
        return false;
    if (pg_rows(*result) == 1 && pg_bool(*result, 0, 1))
        return true;
    error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: the node of %s does not answer: %s",
                account_id,
                pg_rows(*result) == 0       ? "it is not known"
                : pg_is_null(*result, 0, 0) ? "it gives no reason"
                                            : pg_text(*result, 0, 0).s);
    pg_result_free(*result);
    return false;
}

/* Waits until no statement runs that may have found a User or Bot enabled, and creates a credential
 * of it.  Does not lock the table, since other requests would wait behind that. */
static bool wait_for_writers(struct pg *pg, const char *account_id, struct error *err)
{
    static const struct timespec pause = {.tv_nsec = 10 * 1000000L};
    int64_t deadline_ms = clock_steady_ms() + WRITERS_TIMEOUT_MS;
    struct pg_result *writers;
    bool ok = read_writers(pg, text_of(NULL), account_id, &writers, err);

    while (ok && !pg_is_null(writers, 0, 0)) {
        struct pg_result *earlier = writers;

        writers = NULL;
        nanosleep(&pause, NULL);
        ok = clock_steady_ms() < deadline_ms
                 ? read_writers(pg, pg_text(earlier, 0, 0), account_id, &writers, err)
                 : error_cause(err, ERR_DATABASE_TIMEOUT,
                               "another session has been changing SSH credentials for %d s",
                               WRITERS_TIMEOUT_MS / 1000);
        pg_result_free(earlier);
    }
    if (ok)
        pg_result_free(writers);
    return ok;
}

/* Credentials that are deleted before a commit, on which gateways end their sessions: a row with
 * all that it may hold takes some 2 ms. */
#define END_AT_ONCE 200

bool principal_end_credentials(struct pg *pg, struct text id, struct principal_end *end,
                               struct error *err)
{
    struct pg_params params = {.n = 0};
    char account_id[IDENT_SIZE];
    struct pg_result *result;
    bool is_done = false;

    if (!principal_find_account(pg, id, text_of(NULL), account_id, err) ||
        !wait_for_writers(pg, account_id, err))
        return false;
    pg_add_text(&params, id);
    pg_add_text(&params, text_of(account_id));
    pg_add_int(&params, END_AT_ONCE);
    while (!is_done) {
        if (!long_work_run(pg, BEGIN_SQL, &principal_end_credentials_statement, &params, &result,
                           err))
            return false;
        end->n_ended += pg_int(result, 0, 0);
        if (!end->same_keys[0] && !pg_is_null(result, 0, 2))
            snprintf(end->same_keys, sizeof end->same_keys, "%s", pg_text(result, 0, 2).s);
        is_done = !pg_is_null(result, 0, 1);
        if (is_done)
            end->n_credentials = pg_int(result, 0, 1);
        pg_result_free(result);
    }
    return true;
}

/* Waits for whoever else changes the User or Bot: a statement does not see what others have done
 * since it began. */
static bool lock(struct pg *pg, struct text id, const char *account_id, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, id);
    pg_add_text(&params, text_of(account_id));
    if (!pg_run(pg, &lock_statement, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

bool principal_delete(struct pg *pg, const struct principal *principal, struct text heir_id,
                      bool with_credentials, struct principal_end *end, struct error *err)
{
    struct pg_params params = params_of(principal);
    struct pg_result *result;

    *end = (struct principal_end){.found = false};
    pg_add_text(&params, heir_id);
    pg_add_bool(&params, with_credentials);
    if (!principal_find_account(pg, principal->id, text_of(NULL), end->account_id, err))
        return false;
    pg_add_text(&params, text_of(end->account_id));
    if (!lock(pg, principal->id, end->account_id, err))
        return false;
    if (!pg_run(pg, &delete_statement, &params, &result, err))
        return false;
    end->found = pg_rows(result) > 0;
    if (end->found) {
        end->n_keys = pg_int(result, 0, 0);
        end->n_credentials = pg_int(result, 0, 1);
        end->is_last_admin = pg_bool(result, 0, 2);
        end->is_deleted = pg_bool(result, 0, 3);
    }
    pg_result_free(result);
    return true;
}
