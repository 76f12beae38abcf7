/* SPDX-License-Identifier: MIT */
/* Migrations and grants. */
#include "store/schema.h"

#include "base/buf.h"
#include "store/migrations.h"

#define MIGRATE_TIMEOUT_MS (10 * 60 * 1000)
#define MAX_ROUNDS 5

static const struct pg_statement version_statement = {
    .name = "schema_version",
    .sql = "SELECT max(m.version) FROM adit.migration AS m",
};

/* What grants.sql gives, a row a right, and what a responder's role should not have.  Tables go by
 * their oids: to name one takes a right on the schema, which may be what is missing. */
static const struct pg_statement grants_statement = {
    .name = "schema_grants",
    .sql =
        "WITH t AS (SELECT c.oid, 'adit.' || c.relname AS name FROM pg_class AS c"
        " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'adit')"
        " SELECT g.name || ': ' || g.privilege, true FROM (VALUES"
        " ('adit.migration', 'SELECT'), ('adit.principal', 'SELECT'), ('adit.api_key', 'SELECT'),"
        " ('adit.ssh_credential', 'SELECT'), ('adit.ssh_credential', 'INSERT'),"
        " ('adit.ssh_credential', 'DELETE'), ('adit.oauth_module', 'SELECT'),"
        " ('adit.oauth_module', 'INSERT'), ('adit.oauth_module', 'UPDATE'),"
        " ('adit.oauth_module', 'DELETE'), ('adit.mutual_tls_module', 'SELECT'),"
        " ('adit.mutual_tls_module', 'INSERT'), ('adit.mutual_tls_module', 'UPDATE'),"
        " ('adit.mutual_tls_module', 'DELETE'), ('adit.idempotency_key', 'SELECT'),"
        " ('adit.idempotency_key', 'INSERT'), ('adit.idempotency_key', 'DELETE')) AS g (name, "
        "privilege) JOIN t USING (name)"
        " WHERE NOT has_table_privilege(t.oid, g.privilege)"
        " UNION ALL SELECT 'adit.ssh_credential: UPDATE of ' || g.name, true"
        " FROM (VALUES ('description'), ('metadata'), ('acl')) AS g (name), t"
        " WHERE t.name = 'adit.ssh_credential' AND NOT has_column_privilege(t.oid, g.name, "
        "'UPDATE')"
        " UNION ALL SELECT 'adit.' || p.proname || '(): EXECUTE', true FROM pg_proc AS p"
        " WHERE p.pronamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = 'adit')"
        " AND p.proname IN ('new_revision', 'is_rekeying') AND NOT has_function_privilege(p.oid, 'EXECUTE')"
        " UNION ALL SELECT 'schema adit: USAGE', true"
        " WHERE NOT has_schema_privilege('adit', 'USAGE')"
        " UNION ALL SELECT 'schema adit: CREATE', false"
        " WHERE has_schema_privilege('adit', 'CREATE')"
        " UNION ALL SELECT 'adit.api_key: INSERT', false FROM t"
        " WHERE t.name = 'adit.api_key' AND has_table_privilege(t.oid, 'INSERT')",
};

static const struct pg_statement responder_statement = {
    .name = "schema_responder",
    .sql = "SELECT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = 'adit_responder'"
           " AND has_schema_privilege(r.oid, 'adit', 'USAGE'))",
};

static const struct pg_statement clock_statement = {
    .name = "schema_clock",
    .sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
};

bool schema_version(struct pg *pg, int *version, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *version = 0;
    if (!pg_run(pg, &version_statement, &params, &result, err))
        return err->code == ERR_SCHEMA_MISMATCH;
    *version = (int)pg_int(result, 0, 0);
    pg_result_free(result);
    return true;
}

/* One script is one session's: a connection that is lost in between cannot leave half of it behind.
 * The version is compared again under the lock. */
static void write_script(struct buf *script, int version)
{
    buf_puts(script, "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '1min';\n"
                     "SELECT pg_advisory_xact_lock(1633970548);\n");
    buf_puts(script, migrations_schema_sql);
    buf_printf(script,
               "DO $$ BEGIN IF (SELECT coalesce(max(version), 0) FROM adit.migration) <> %d THEN"
               " RAISE 'the schema changed meanwhile' USING ERRCODE = '40001'; END IF; END $$;\n",
               version);
    for (int i = 0; i < migrations_n; i++) {
        if (migrations[i].version <= version)
            continue;
        buf_puts(script, migrations[i].sql);
        buf_printf(script, "INSERT INTO adit.migration (version, name) VALUES (%d, '%s');\n",
                   migrations[i].version, migrations[i].name);
    }
    buf_puts(script, migrations_grants_sql);
    buf_puts(script, "COMMIT;\n");
}

static bool run_migrations(struct pg *pg, int version, struct error *err)
{
    struct buf script = {0};
    bool ok;

    write_script(&script, version);
    ok = script.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                       : pg_script(pg, script.data, MIGRATE_TIMEOUT_MS, err);
    buf_free(&script);
    return ok;
}

bool schema_migrate(struct pg *pg, void (*applied)(const char *name), struct error *err)
{
    int version;
    int now;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        struct error ignored;

        if (!schema_version(pg, &version, err))
            return false;
        if (run_migrations(pg, version, err)) {
            for (int i = 0; i < migrations_n; i++) {
                if (migrations[i].version > version)
                    applied(migrations[i].name);
            }
            return true;
        }
        /* A failed script leaves its transaction open. */
        pg_script(pg, "ROLLBACK", 1000, &ignored);
        if (!schema_version(pg, &now, &ignored) || now == version)
            return false;
    }
    return false;
}

bool schema_check_grants(struct pg *pg,
                         void (*found)(void *context, const char *what, bool is_missing),
                         void *context, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &grants_statement, &params, &result, err))
        return false;
    for (int row = 0; row < pg_rows(result); row++)
        found(context, pg_text(result, row, 0).s, pg_bool(result, row, 1));
    pg_result_free(result);
    return true;
}

bool schema_has_responder(struct pg *pg, bool *has, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &responder_statement, &params, &result, err))
        return false;
    *has = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
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
