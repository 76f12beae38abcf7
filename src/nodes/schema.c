/* SPDX-License-Identifier: MIT */
/* The schema of a database on several nodes: whether it is one, and how a migration runs there. */
#include "store/schema.h"

#include <stdio.h>

#include "model/resource_table.h"
#include "nodes/nodes.h"
#include "store/migrations.h"
#include "store/script.h"

/* clang-format off */

/* Whether sql/optional/citus.sql was run. */
static const struct pg_statement nodes_statement = {
    .name = "schema_nodes",
    .types = PG_BOOL,
    .sql = "SELECT to_regproc('adit.keep_columns') IS NOT NULL",
};

#define MODULE_FUNCTIONS(with, NAME, table, ...) ",put_" #table ",delete_" #table

/* What sql/optional/distributed.sql makes, and whether citus.sql was run. */
static const struct pg_statement functions_statement = {
    .name = "schema_functions",
    .types = PG_TEXT PG_BOOL,
    .sql =
        "SELECT string_agg(n.name, ', ' ORDER BY n.name), to_regproc('adit.keep_columns') IS NOT NULL"
        " FROM unnest('{note_caller,meets,create_ssh_credential,update_ssh_credential,"
          "delete_ssh_credential" MODULES(MODULE_FUNCTIONS, _) ",note_key_uses}'::text[]) AS n (name)"
        " WHERE NOT EXISTS (SELECT FROM pg_proc AS p"
          " WHERE p.pronamespace = to_regnamespace('adit')"
          " AND p.proname = n.name"
          " AND has_function_privilege(p.oid, 'EXECUTE'))",
};

/* clang-format on */

static bool find_nodes(struct pg *pg, bool *is_there, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &nodes_statement, &params, &result, err))
        return false;
    *is_there = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}

/* Citus sends other nodes the text of whole messages, so each statement is one.  It must change one
 * shard after the other: parallel sessions would not see what this transaction did before. */
static bool run_statements(struct pg *pg, char *script, int timeout_ms, struct error *err)
{
    bool ok =
        pg_begin(pg, "BEGIN", err) &&
        pg_script(pg, "SET LOCAL citus.propagate_set_commands = 'local'", timeout_ms, err) &&
        pg_script(pg, "SET LOCAL citus.multi_shard_modify_mode = 'sequential'", timeout_ms, err);

    for (const char *one = script_next(&script); ok && one; one = script_next(&script))
        ok = pg_script(pg, one, timeout_ms, err);
    if (!ok)
        return false;
    /* The commit waits for every node.  The statements of pg_run(), before it, need not. */
    pg_set_timeout(pg, timeout_ms);
    return pg_commit(pg, err);
}

const struct schema_spread nodes_schema = {
    .is_there = find_nodes, .sql = migrations_optional_sql, .run = run_statements};

bool nodes_find_functions(struct pg *pg, char *missing, size_t size, bool *has_nodes,
                          struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &functions_statement, &params, &result, err))
        return false;
    snprintf(missing, size, "%s", pg_is_null(result, 0, 0) ? "" : pg_text(result, 0, 0).s);
    *has_nodes = pg_bool(result, 0, 1);
    pg_result_free(result);
    return true;
}
