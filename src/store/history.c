/* SPDX-License-Identifier: MIT */
/* Reading the record of changes. */
#include "store/history.h"

#include "model/resource_table.h"
#include "store/change_sql.h"
#include "store/resource_sql.h"
#include "store/sql.h"

/* The session's limits are those of requests.  A record may have millions of events.  Without
 * statistics, reading all of it and a sort look cheap for each page, which is quadratic: an index
 * scan has the order. */
#define BEGIN_SQL                                                                                  \
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '60s';"        \
    " SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL TimeZone = 'UTC';"                  \
    " SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"

/* A little more than the server's limit. */
#define TIMEOUT_MS 65000

/* clang-format off */

static const struct pg_statement start_statement = {
    .name = "history_start",
    .types = PG_BOOL PG_BIGINT PG_TIME,
    .sql =
        "SELECT EXISTS (SELECT FROM adit.audit_pruned AS p WHERE p.transaction IS NOT NULL),"
          " coalesce(e.id, 0), coalesce(e.at, '1970-01-01Z')"
        " FROM (VALUES (1)) AS o"
        " LEFT JOIN LATERAL (SELECT f.id, f.at"
          " FROM adit.audit_event AS f"
          " ORDER BY f.id"
          " LIMIT 1) AS e ON true",
};

/* The account $2 or, if that is NULL, all.  An account may be gone: the index has the accounts of the
 * events, which are read one by one. */
#define ACCOUNTS                                                                                   \
    "seen (id) AS ("                                                                               \
        "(SELECT e.account_id FROM adit.audit_event AS e ORDER BY e.account_id LIMIT 1)"           \
        " UNION ALL"                                                                               \
        " SELECT (SELECT e.account_id FROM adit.audit_event AS e"                                  \
          " WHERE e.account_id > s.id ORDER BY e.account_id LIMIT 1)"                              \
        " FROM seen AS s WHERE s.id IS NOT NULL"                                                   \
    "), accounts AS ("                                                                             \
        "SELECT s.id FROM seen AS s WHERE s.id IS NOT NULL AND $2::text IS NULL"                   \
        " UNION SELECT a.id FROM adit.account AS a WHERE $2::text IS NULL"                         \
        " UNION SELECT $2::text COLLATE \"C\" WHERE $2::text IS NOT NULL"                          \
    ")"

/* A row for each kind of module, and for each that is of routes. */
#define FIND_MODULE(with, NAME, table, place, ...)                                                 \
    " UNION SELECT '" #table "', m.account_id, $1::text"                                           \
    " FROM accounts AS a"                                                                          \
    " JOIN adit." #table " AS m ON m.account_id = a.id" PLACE_IS_RESOURCE_##place("m", "$1::text")
#define ROUTES_OF(with, NAME, table, place, ...) ROUTES_OF_##place(#table)
#define ROUTES_OF_EDGE(table)
#define ROUTES_OF_ROUTE(table)                                                                     \
    " UNION SELECT '" table "', m.account_id, m.edge_id || '/' || m.route_id"                      \
    " FROM accounts AS a"                                                                          \
    " JOIN adit." table " AS m ON m.account_id = a.id"                                             \
      " AND m.edge_id = $1::text COLLATE \"C\""

/* $1 resource, $2 account_id or NULL. */
static const struct pg_statement find_statement = {
    .name = "history_find",
    .types = PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "WITH RECURSIVE " ACCOUNTS ", place (kind, account_id, resource) AS ("
            "SELECT " CHANGE_KIND("e.event") ", e.account_id, e.resource"
            " FROM accounts AS a"
            " JOIN adit.audit_event AS e ON e.account_id = a.id"
              " AND e.resource = $1::text COLLATE \"C\""
            " UNION SELECT 'account', a.id, a.id"
            " FROM adit.account AS a WHERE a.id = $1::text COLLATE \"C\""
            " UNION SELECT 'principal', p.account_id, p.id"
            " FROM adit.principal AS p WHERE p.id = $1::text COLLATE \"C\""
            " UNION SELECT 'api_key', k.account_id, k.id"
            " FROM accounts AS a"
            " JOIN adit.api_key AS k ON k.account_id = a.id AND k.id = $1::text COLLATE \"C\""
            " UNION SELECT 'ssh_credential', c.account_id, c.id"
            " FROM accounts AS a"
            " JOIN adit.ssh_credential AS c ON c.account_id = a.id AND c.id = $1::text COLLATE \"C\""
            MODULES(FIND_MODULE, _)
        ")"
        " SELECT p.kind, p.account_id, p.resource"
        " FROM place AS p"
        " WHERE $2::text IS NULL OR p.account_id = $2::text COLLATE \"C\""
        " ORDER BY p.account_id COLLATE \"C\", p.kind COLLATE \"C\""
        " LIMIT 10",
};

/* $1 edge_id, $2 account_id or NULL.  Of the bytes after '/', '0' is the first. */
static const struct pg_statement find_routes_statement = {
    .name = "history_find_routes",
    .types = PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "WITH RECURSIVE " ACCOUNTS
        " SELECT r.kind, r.account_id, r.resource"
        " FROM (SELECT " CHANGE_KIND("e.event") ", e.account_id, e.resource"
            " FROM accounts AS a"
            " JOIN adit.audit_event AS e ON e.account_id = a.id"
              " AND e.resource > ($1::text || '/') COLLATE \"C\""
              " AND e.resource < ($1::text || '0') COLLATE \"C\""
            MODULES(ROUTES_OF, _) ") AS r (kind, account_id, resource)"
        " ORDER BY r.account_id COLLATE \"C\", r.resource COLLATE \"C\", r.kind COLLATE \"C\""
        " LIMIT 10",
};

/* $1 name. */
static const struct pg_statement has_operator_statement = {
    .name = "history_has_operator",
    .types = PG_BOOL,
    .sql =
        "SELECT EXISTS (SELECT 1 FROM adit.audit_event AS e"
          " WHERE e.operator IS NOT NULL AND " CHANGE_IS_BY("e", "$1::text") ")",
};

/* $1 account_id, $2 ids. */
static const struct pg_statement find_deleted_statement = {
    .name = "history_find_deleted",
    .types = PG_TEXT PG_TEXT,
    .sql =
        "SELECT DISTINCT ON (e.resource) e.resource, " SQL_RFC3339("e.at")
        " FROM adit.audit_event AS e"
        " WHERE e.account_id = $1::text COLLATE \"C\""
          " AND e.resource = ANY ($2::text[] COLLATE \"C\")"
          " AND e.event = 'principal_deleted'"
        " ORDER BY e.resource, e.id DESC",
};

/* $1 account_id, $2 resources, $3 owners, $4 milliseconds. */
static const struct pg_statement find_latest_statement = {
    .name = "history_find_latest",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT e.event, e.resource,"
          " coalesce(e.principal_id, e.operator || ' (aditctl)', e.database_user || ' (database)'),"
          " e.api_key_id"
        " FROM (SELECT f.*"
          " FROM adit.audit_event AS f"
          " WHERE f.account_id = $1::text COLLATE \"C\""
          " ORDER BY f.id DESC"
          " LIMIT 1000) AS e"
        " WHERE e.at >= pg_catalog.now() - $4::bigint * interval '1 ms'"
          " AND (e.resource = ANY ($2::text[] COLLATE \"C\")"
            " OR coalesce(e.after, e.before) ->> 'owner_id' = ANY ($3::text[]))"
        " ORDER BY e.id DESC"
        " LIMIT 1",
};

/* $1 id. */
static const struct pg_statement find_event_statement = {
    .name = "history_find_event",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT " CHANGE_KIND("e.event") ", e.account_id, e.resource, e.event"
        " FROM adit.audit_event AS e"
        " WHERE e.id = $1::bigint",
};

/* $1 kind, $2 account_id, $3 resource, each or NULL, $4 since, $5 by or NULL, $6 after id, $7 limit,
 * $8 names of the providers.
 * The record of a deletion has the name of who is gone.  That of a key whose digest was put aside or
 * back does not say which: its holder's, in the same transaction, does. */
static const struct pg_statement list_statement = {
    .name = "history_list",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT
             PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT e.id::text, " SQL_RFC3339("e.at") ", e.event, e.resource,"
          " coalesce(nullif(coalesce(p.name, (SELECT d.before ->> 'name' FROM adit.audit_event AS d"
              " WHERE d.account_id = e.account_id AND d.resource = e.principal_id"
                " AND d.event = 'principal_deleted' ORDER BY d.id DESC LIMIT 1)), '')"
              " || ' (' || e.principal_id || ')', e.principal_id,"
            " e.operator || ' (aditctl)', e.database_user || ' (database)'),"
          " e.api_key_id, e.client_address,"
          " concat_ws('; ', " CHANGE_TEXT("e.shown_before", "e.shown_after") ","
            " CASE WHEN 'client_secret' = ANY (e.changed) THEN 'client_secret: '"
              " || CASE WHEN e.after ->> 'client_secret_key_id' IS NULL THEN 'removed'"
                " ELSE 'set' END END,"
            " CASE WHEN e.event = 'api_key_updated' AND 'disabled_digest' = ANY (e.changed) THEN"
              " (SELECT CASE WHEN h.after ->> 'disabled_at' IS NULL THEN 'enabled'"
                  " ELSE 'disabled' END || ' with its holder'"
                " FROM adit.audit_event AS h"
                " WHERE h.account_id = e.account_id AND h.resource = e.after ->> 'principal_id'"
                  " AND h.event = 'principal_updated' AND h.transaction = e.transaction"
                " ORDER BY h.id DESC LIMIT 1) END),"
          " e.account_id, e.principal_id, e.operator, e.database_user, e.operation_id,"
          " to_json(e.changed)::text, e.before::text, e.after::text"
        " FROM (SELECT e.*, " CHANGE_NAMED("e.before", "$8::text[]") " AS shown_before,"
          " " CHANGE_NAMED("e.after", "$8::text[]") " AS shown_after"
          " FROM adit.audit_event AS e) AS e"
        " LEFT JOIN adit.principal AS p ON p.account_id = e.account_id"
          " AND p.id = e.principal_id"
        " WHERE ($2::text IS NULL OR e.account_id = $2::text COLLATE \"C\")"
          " AND ($3::text IS NULL OR e.resource = $3::text COLLATE \"C\")"
          " AND ($1::text IS NULL OR " CHANGE_KIND("e.event") " = $1::text)"
          " AND e.at >= '1970-01-01Z'::timestamptz + $4::bigint * interval '1 us'"
          " AND ($5::text IS NULL OR " CHANGE_IS_BY("e", "$5::text") ")"
          " AND e.id > $6::bigint"
        " ORDER BY e.id"
        " LIMIT $7::bigint",
};

/* clang-format on */

bool history_begin(struct pg *pg, struct error *err)
{
    pg_set_timeout(pg, TIMEOUT_MS);
    return pg_begin(pg, BEGIN_SQL, err);
}

bool history_read_start(struct pg *pg, struct history_start *start, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &start_statement, &params, &result, err))
        return false;
    *start = (struct history_start){.is_pruned = pg_bool(result, 0, 0),
                                    .first_id = pg_int(result, 0, 1),
                                    .first_us = pg_time_us(result, 0, 2)};
    pg_result_free(result);
    return true;
}

bool history_find(struct pg *pg, struct text resource, struct text account_id,
                  struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, resource);
    pg_add_text(&params, account_id);
    return pg_run(pg, &find_statement, &params, result, err);
}

bool history_find_routes(struct pg *pg, struct text edge_id, struct text account_id,
                         struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, edge_id);
    pg_add_text(&params, account_id);
    return pg_run(pg, &find_routes_statement, &params, result, err);
}

bool history_has_operator(struct pg *pg, struct text name, bool *is_known, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, name);
    if (!pg_run(pg, &has_operator_statement, &params, &result, err))
        return false;
    *is_known = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}

bool history_find_deleted(struct pg *pg, struct text account_id, struct text_list ids,
                          struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct arena arena = {0};
    bool ok;

    pg_add_text(&params, account_id);
    pg_add_texts(&params, ids, &arena);
    ok = pg_run(pg, &find_deleted_statement, &params, result, err);
    arena_free(&arena);
    return ok;
}

bool history_find_latest(struct pg *pg, const struct history_suspects *suspects, int64_t last_ms,
                         struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct arena arena = {0};
    bool ok;

    pg_add_text(&params, suspects->account_id);
    pg_add_texts(&params, suspects->resources, &arena);
    pg_add_texts(&params, suspects->owners, &arena);
    pg_add_int(&params, last_ms);
    ok = pg_run(pg, &find_latest_statement, &params, result, err);
    arena_free(&arena);
    return ok;
}

bool history_find_event(struct pg *pg, int64_t id, struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_int(&params, id);
    return pg_run(pg, &find_event_statement, &params, result, err);
}

bool history_list(struct pg *pg, const struct history_page *page, struct pg_result **result,
                  struct error *err)
{
    struct pg_params params = {.n = 0};
    struct arena arena = {0};
    bool ok;

    pg_add_text(&params, page->kind);
    pg_add_text(&params, page->account_id);
    pg_add_text(&params, page->resource);
    pg_add_int(&params, page->since_us);
    pg_add_text(&params, page->by);
    pg_add_int(&params, page->after_id);
    pg_add_int(&params, HISTORY_PAGE_SIZE);
    pg_add_texts(&params, page->providers, &arena);
    ok = pg_run(pg, &list_statement, &params, result, err);
    arena_free(&arena);
    return ok;
}
