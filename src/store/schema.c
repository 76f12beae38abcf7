/* SPDX-License-Identifier: MIT */
/* Migrations and grants. */
#include "store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/migrations.h"

#define TRY_TIMEOUT_MS 4000
#define MIGRATE_TIMEOUT_MS (10 * 60 * 1000)

/* Requests wait behind a migration that waits for a lock, and give up after 2 s (src/pg). */
#define LOCK_TIMEOUT_MS 1000
#define FIRST_PAUSE_MS 1000
#define LONGEST_PAUSE_MS 10000

/* PostgreSQL 14: the first with SQL functions of the form "RETURN ...". */
#define OLDEST_SERVER 140000

/* clang-format off */

static const struct pg_statement version_statement = {
    .name = "schema_version",
    .types = PG_INTEGER,
    .sql = "SELECT " SCHEMA_VERSION_SQL,
};

/* $1 migrations_rights, $2 role.
 * Rights of the role that the connection's role lacks (true), and rights that it should not have
 * (false).  Columns are compared only where the table has a list of them.  Tables go by their oids:
 * naming one takes USAGE on the schema, which the role may lack. */
static const struct pg_statement grants_statement = {
    .name = "schema_grants",
    .types = PG_TEXT PG_BOOL,
    .sql =
        "WITH r AS ("
            "SELECT r.*"
            " FROM jsonb_to_recordset($1::text::jsonb -> $2::text)"
              " AS r (\"table\" text, \"function\" text, may text[], \"select\" text[],"
                " \"update\" text[])"
        "), t AS ("
            "SELECT c.oid, 'adit.' || c.relname AS name, r.may, r.\"select\", r.\"update\""
            " FROM r"
            " JOIN pg_class AS c ON c.relname = r.\"table\""
            " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'adit'"
        "), u AS ("
            "SELECT t.name, p.privilege, a.attname = ANY (p.columns) AS is_due,"
              " string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns"
            " FROM t"
            " JOIN pg_attribute AS a ON a.attrelid = t.oid"
            " CROSS JOIN LATERAL (VALUES ('SELECT', t.\"select\"), ('UPDATE', t.\"update\"))"
              " AS p (privilege, columns)"
            " WHERE a.attnum > 0"
              " AND NOT a.attisdropped"
              " AND has_column_privilege(t.oid, a.attnum, p.privilege)"
                " <> (a.attname = ANY (p.columns))"
            " GROUP BY 1, 2, 3"
        ")"
        " SELECT t.name || ': ' || p.privilege, true"
        " FROM t, unnest(t.may) AS p (privilege)"
        " WHERE NOT has_table_privilege(t.oid, p.privilege)"
        " UNION ALL"
        " SELECT u.name || ': ' || u.privilege || ' of ' || u.columns, u.is_due"
        " FROM u"
        /* Where a trigger keeps columns, there are no rights to them (sql/optional/). */
        " WHERE u.is_due"
          " OR NOT EXISTS (SELECT FROM pg_proc AS p"
            " JOIN pg_namespace AS n ON n.oid = p.pronamespace"
            " WHERE n.nspname = 'adit'"
              " AND p.proname = 'keep_columns')"
        " UNION ALL"
        " SELECT 'adit.' || p.proname || '(): EXECUTE', true"
        " FROM r"
        " JOIN pg_proc AS p ON p.proname = r.\"function\""
        " JOIN pg_namespace AS n ON n.oid = p.pronamespace"
        " WHERE n.nspname = 'adit'"
          " AND NOT has_function_privilege(p.oid, 'EXECUTE')"
        " UNION ALL"
        " SELECT 'schema adit: USAGE', true"
        " WHERE NOT has_schema_privilege('adit', 'USAGE')"
        " UNION ALL"
        " SELECT 'schema adit: CREATE', false"
        " WHERE has_schema_privilege('adit', 'CREATE')"
        " UNION ALL"
        " SELECT t.name || ': INSERT', false"
        " FROM t"
        " WHERE t.name = 'adit.api_key'"
          " AND has_table_privilege(t.oid, 'INSERT')",
};

/* $1 role. */
static const struct pg_statement role_statement = {
    .name = "schema_role",
    .types = PG_BOOL,
    .sql =
        "SELECT EXISTS (SELECT FROM pg_roles AS r"
          " WHERE r.rolname = $1::text"
          " AND has_schema_privilege(r.oid, 'adit', 'USAGE'))",
};

/* $1 role: one of grants.sql.  A superuser has the rights of all. */
static const struct pg_statement members_statement = {
    .name = "schema_members",
    .types = PG_TEXT,
    .sql =
        "SELECT coalesce(string_agg(r.rolname, ', ' ORDER BY r.rolname), '')"
        " FROM pg_roles AS r"
        " WHERE r.rolname IN ('" SCHEMA_RESPONDER "', '" SCHEMA_GATEWAY "', '" SCHEMA_GATE "')"
          " AND r.rolname <> $1::text"
          " AND pg_has_role(r.oid, 'MEMBER')",
};

static const struct pg_statement server_statement = {
    .name = "schema_server",
    .types = PG_TEXT,
    .sql = "SELECT current_setting('server_version_num')",
};

static const struct pg_statement holder_statement = {
    .name = "schema_holder",
    .types = PG_TEXT,
    .sql = SCHEMA_HOLDER_SQL,
};

/* As the triggers of sql/schema.sql ask. */
static const struct pg_statement owner_statement = {
    .name = "schema_owner",
    .types = PG_BOOL,
    .sql =
        "SELECT pg_has_role(session_user, c.relowner, 'MEMBER')"
        " FROM pg_class AS c"
        " WHERE c.oid = 'adit.oauth_module'::regclass",
};

static const struct pg_statement clock_statement = {
    .name = "schema_clock",
    .types = PG_BIGINT,
    .sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
};

/* clang-format on */

bool schema_version(struct pg *pg, int *version, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *version = 0;
    if (!pg_run(pg, &version_statement, &params, &result, err))
        return strcmp(err->sqlstate, "42P01") == 0 || strcmp(err->sqlstate, "3F000") == 0;
    *version = (int)pg_int(result, 0, 0);
    pg_result_free(result);
    return true;
}

/* CREATE INDEX IF NOT EXISTS accepts an index that CREATE INDEX CONCURRENTLY left invalid:
 * PostgreSQL would keep it up to date and never read it.  Leftovers of REINDEX CONCURRENTLY replace
 * none of ours. */
static const char check_indexes_sql[] =
    "DO $$ DECLARE name text; BEGIN"
    " SELECT min(c.relname) INTO name FROM pg_catalog.pg_index AS i"
    " JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid"
    " WHERE c.relnamespace = 'adit'::pg_catalog.regnamespace AND NOT i.indisvalid"
    " AND c.relname !~ '_cc(new|old)[0-9]*$';"
    " IF name IS NOT NULL THEN"
    " RAISE 'nothing was changed: CREATE INDEX CONCURRENTLY failed or still builds adit.%;"
    " when it has ended, run DROP INDEX adit.%, then this again', name, name"
    " USING ERRCODE = '55000';"
    " END IF; END $$;\n";

/* Compares the version again under the lock.  A pooler may not run this on the session that the
 * driver has set up. */
static void write_script(struct buf *script, int version, const struct schema_spread *spread)
{
    buf_printf(script,
               "SET LOCAL search_path = pg_catalog, pg_temp;\n"
               "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d;\n"
               "SELECT pg_advisory_xact_lock(" SCHEMA_MIGRATION_LOCK ");\n",
               LOCK_TIMEOUT_MS);
    buf_printf(script,
               "DO $$ DECLARE version integer := 0; BEGIN"
               " IF to_regclass('adit.migration') IS NOT NULL THEN"
               " SELECT coalesce(max(m.version), 0) INTO version FROM adit.migration AS m; END IF;"
               " IF version <> %d THEN"
               " RAISE 'the schema has changed' USING ERRCODE = '40001'; END IF; END $$;\n",
               version);
    for (int i = 0; i < migrations_n; i++) {
        if (migrations[i].version <= version)
            continue;
        buf_puts(script, migrations[i].sql);
        buf_printf(script, "INSERT INTO adit.migration (version, name) VALUES (%d, '%s');\n",
                   migrations[i].version, migrations[i].name);
    }
    buf_puts(script, check_indexes_sql);
    buf_puts(script, spread ? spread->sql : migrations_grants_sql);
}

/* spread: where the accounts are spread; NULL: they are not. */
static bool run_migrations(struct pg *pg, int version, const struct schema_spread *spread,
                           struct error *err)
{
    struct buf script = {0};
    bool ok;

    /* One message, so that one session runs all of it: a lost connection leaves nothing behind. */
    if (!spread)
        buf_puts(&script, "BEGIN; ");
    write_script(&script, version, spread);
    if (!spread)
        buf_puts(&script, "COMMIT;\n");
    if (script.failed)
        ok = error_set(err, ERR_OUT_OF_MEMORY);
    else if (spread)
        ok = spread->run(pg, script.data, MIGRATE_TIMEOUT_MS, err);
    else
        ok = pg_script(pg, script.data, MIGRATE_TIMEOUT_MS, err);
    buf_free(&script);
    return ok;
}

/* Sets *spread to NULL where the accounts are not spread. */
static bool find_spread(struct pg *pg, const struct schema_spread **spread, struct error *err)
{
    bool is_there = false;

    if (*spread && !(*spread)->is_there(pg, &is_there, err))
        return false;
    *spread = is_there ? *spread : NULL;
    return true;
}

bool schema_check_server(struct pg *pg, int *version, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *version = 0;
    if (!pg_run(pg, &server_statement, &params, &result, err))
        return false;
    *version = (int)strtol(pg_text(result, 0, 0).s, NULL, 10);
    pg_result_free(result);
    return *version >= OLDEST_SERVER ||
           error_cause(err, ERR_INTERNAL,
                       "the database is PostgreSQL %d.%d; Adit needs %d or newer", *version / 10000,
                       *version % 10000, OLDEST_SERVER / 10000);
}

bool schema_may_act_as_owner(struct pg *pg, bool *may, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *may = false;
    if (!pg_run(pg, &owner_statement, &params, &result, err))
        return false;
    *may = pg_rows(result) == 1 && pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}

static void find_lock_holder(struct pg *pg, char *holder, size_t size)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error ignored;

    snprintf(holder, size, "a session that has since ended");
    if (!pg_run(pg, &holder_statement, &params, &result, &ignored))
        return;
    if (pg_rows(result) > 0)
        snprintf(holder, size, "%s", pg_text(result, 0, 0).s);
    pg_result_free(result);
}

static void sleep_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
}

struct lock_wait {
    const struct schema_migrating *how;
    int64_t deadline_ms;
    int64_t pause_ms; /* the next one */
};

/* Pauses, so that requests get the locks.  Returns false with *err after the deadline. */
static bool pause_for_locks(struct pg *pg, struct lock_wait *wait, struct error *err)
{
    int64_t left_ms = wait->deadline_ms - clock_steady_ms();
    char holder[400];

    find_lock_holder(pg, holder, sizeof holder);
    if (left_ms <= 0)
        return error_cause(
            err, ERR_DATABASE_TIMEOUT,
            "nothing was changed: another session held a lock for too long, probably "
            "%s; run this again when it has ended",
            holder);
    wait->how->waiting(wait->how->context, holder);
    sleep_ms(wait->pause_ms < left_ms ? wait->pause_ms : left_ms);
    wait->pause_ms *= 2;
    if (wait->pause_ms > LONGEST_PAUSE_MS)
        wait->pause_ms = LONGEST_PAUSE_MS;
    return true;
}

static void tell_applied(const struct schema_migrating *how, int version)
{
    for (int i = 0; i < migrations_n; i++) {
        if (migrations[i].version > version)
            how->applied(how->context, migrations[i].name);
    }
}

/* There is no way back to an older version. */
static bool check_known(int version, struct error *err)
{
    if (version == SCHEMA_BEFORE_RELEASE)
        return error_cause(err, ERR_INTERNAL,
                           "the schema is " SCHEMA_BEFORE_RELEASE_SAYS ": nothing was changed");
    return version <= migrations_latest ||
           error_cause(
               err, ERR_INTERNAL,
               "the schema is at version %d and this program knows versions up to %d: "
               "nothing was changed. Install the version of Adit that the schema is for, or "
               "restore the backup that was made before the upgrade",
               version, migrations_latest);
}

bool schema_migrate(struct pg *pg, const struct schema_migrating *how, struct error *err)
{
    struct lock_wait wait = {.how = how,
                             .deadline_ms = clock_steady_ms() + how->patience_ms,
                             .pause_ms = FIRST_PAUSE_MS};
    int server;
    int version;
    int now;
    const struct schema_spread *spread = how->spread;

    if (!schema_check_server(pg, &server, err) || !schema_version(pg, &version, err) ||
        !check_known(version, err) || !find_spread(pg, &spread, err))
        return false;
    while (!run_migrations(pg, version, spread, err)) {
        bool is_locked_out =
            strcmp(err->sqlstate, "55P03") == 0 || strcmp(err->sqlstate, "40P01") == 0;
        struct error ignored;

        /* A failed script leaves its transaction open. */
        pg_rollback(pg);
        if (is_locked_out && !pause_for_locks(pg, &wait, err))
            return false;
        if (!schema_version(pg, &now, &ignored) || (now == version && !is_locked_out))
            return false;
        version = now;
        if (!check_known(version, err))
            return false;
    }
    tell_applied(how, version);
    return true;
}

bool schema_check_grants(struct pg *pg, const struct schema_grants *grants, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(migrations_rights));
    pg_add_text(&params, text_of(grants->role));
    if (!pg_run(pg, &grants_statement, &params, &result, err))
        return false;
    for (int row = 0; row < pg_rows(result); row++)
        grants->found(grants->context, pg_text(result, row, 0).s, pg_bool(result, row, 1));
    pg_result_free(result);
    return true;
}

bool schema_has_role(struct pg *pg, const char *role, bool *has, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(role));
    if (!pg_run(pg, &role_statement, &params, &result, err))
        return false;
    *has = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}

bool schema_find_members(struct pg *pg, const char *role, char *others, size_t size,
                         struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(role));
    if (!pg_run(pg, &members_statement, &params, &result, err))
        return false;
    snprintf(others, size, "%s", pg_text(result, 0, 0).s);
    pg_result_free(result);
    return true;
}

/* A row larger than a page, so that a table without free space must grow. */
static const char try_write_sql[] =
    "BEGIN; INSERT INTO adit.mutual_tls_module"
    " (account_id, edge_id, enabled, certificate_authority_ids)"
    " SELECT p.account_id, 'adit-doctor-' || gen_random_uuid(), false,"
    " ARRAY(SELECT gen_random_uuid()::text FROM generate_series(1, 1000))"
    " FROM adit.principal AS p LIMIT 1; ROLLBACK";

bool schema_try_write(struct pg *pg, struct error *err)
{
    bool ok = pg_script(pg, try_write_sql, TRY_TIMEOUT_MS, err);

    if (!ok)
        pg_rollback(pg);
    return ok;
}

bool schema_clock(struct pg *pg, int64_t *ms, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &clock_statement, &params, &result, err))
        return false;
    *ms = pg_int(result, 0, 0);
    pg_result_free(result);
    return true;
}
