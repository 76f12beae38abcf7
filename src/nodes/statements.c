/* SPDX-License-Identifier: MIT */
/* The statements that are others where accounts are on several nodes. */
#include <string.h>

#include "model/resource_table.h"
#include "nodes/nodes.h"
#include "store/change_sql.h"
#include "store/member_sql.h"
#include "store/resource_sql.h"
#include "store/schema.h"
#include "store/sql.h"

/* Citus sends on what SET LOCAL sets, each by itself, and only after the transaction's first
 * setting. */
static const char *const rekey_settings[] = {"SET LOCAL citus.propagate_set_commands = 'local'",
                                             "SET LOCAL adit.rekey = 'on'", NULL};

/* A node's sessions would wait for each other at the row of adit.audit_pruned, so there is one on
 * each node. */
static const char *const purge_settings[] = {
    "SET LOCAL citus.multi_shard_modify_mode = 'sequential'", NULL};

/* A statement of the store, which has the parameters and returns the columns of that one. */
struct node_form {
    const char *name;
    const char *sql;
    int skips; /* the first parameters that it does not take */
    const char *const *settings;
};

/* clang-format off */

/* What a put and a deletion of a module call. */
#define SEALED_FOR_PLAIN(NAME)
#define SEALED_FOR_PROVIDER(NAME) " " NAME##_PARAM_1 "::text,"
#define PARAMS_CALL(place, match, none) place ", " match "::bigint[], " none "::bigint[]"
#define PUT_CALL(NAME, table, form)                                                                \
    "SELECT * FROM adit.put_" table "("                                                            \
      "$2::text, $1::bytea, $3::text, " NAME##_PARAMS "," SEALED_FOR_##form(NAME)                  \
      " " IF_MATCH_##form(NAME) "::bigint[], " IF_NONE_MATCH_##form(NAME) "::bigint[])"
#define DELETE_CALL(table, place)                                                                  \
    "SELECT * FROM adit.delete_" table "("                                                         \
      "$2::text, $1::bytea, $3::text, " DELETE_PARAMS_##place(PARAMS_CALL) ")"
#define MODULE_WRITES(with, NAME, table, place, form, ...)                                         \
    {.name = #table "_put", .sql = PUT_CALL(NAME, #table, form)},                                  \
    {.name = #table "_delete", .sql = DELETE_CALL(#table, place)},

/* Rows for each kind of module, and for each that is of routes. */
#define FIND_ANYWHERE(with, NAME, table, place, ...)                                               \
    " UNION ALL SELECT '" #table "', m.account_id, $1::text COLLATE \"C\""                         \
    " FROM adit." #table " AS m WHERE true" PLACE_IS_RESOURCE_##place("m", "$1::text")
#define ROUTES_ANYWHERE(with, NAME, table, place, ...) ROUTES_ANYWHERE_##place(#table)
#define ROUTES_ANYWHERE_EDGE(table)
#define ROUTES_ANYWHERE_ROUTE(table)                                                               \
    " UNION ALL SELECT '" table "', m.account_id, m.edge_id || '/' || m.route_id"                  \
    " FROM adit." table " AS m"                                                                    \
    " WHERE m.edge_id = $1::text COLLATE \"C\""

static const struct node_form forms[] = {
    /* ---- writes of callers: functions of sql/optional/distributed.sql ---- */

    {.name = "ssh_credential_create_once",
     .sql =
        "SELECT * FROM adit.create_ssh_credential("
          "$2::text, $1::bytea, $3::text, " SSH_CREDENTIAL_PARAMS ","
          " " SSH_CREDENTIAL_PARAM_1 "::float8, " SSH_CREDENTIAL_PARAM_2 "::text, " SSH_CREDENTIAL_PARAM_3 "::bytea)"},
    {.name = "ssh_credential_update",
     .sql =
        "SELECT * FROM adit.update_ssh_credential("
          "$2::text, $1::bytea, $3::text, $4::text, " SSH_CREDENTIAL_CHANGE_PARAMS ","
          " " SSH_CREDENTIAL_CHANGE_PARAM_1 "::bigint[], " SSH_CREDENTIAL_CHANGE_PARAM_2 "::bigint[])"},
    {.name = "ssh_credential_delete",
     .sql =
        "SELECT * FROM adit.delete_ssh_credential("
          "$2::text, $1::bytea, $3::text, $4::text, $5::bigint[], $6::bigint[])"},
    MODULES(MODULE_WRITES, _)
    /* $1 is the account. */
    {.name = "api_key_use_write",
     .sql =
        "SELECT * FROM adit.note_key_uses($1::text, $2::text[], $3::bigint[], $4::text[])"},

    /* ---- visitors' sessions: their rows have the account of the route ---- */

    {.name = "gate_keep",
     .sql =
        "INSERT INTO adit.gate_session AS s (id, key_id, sealed, ends_at, account_id)"
        " VALUES ($1, $2, $3, to_timestamp($4::bigint), $6)"
        " ON CONFLICT (account_id, id) DO UPDATE SET key_id = excluded.key_id,"
          " sealed = excluded.sealed, ends_at = excluded.ends_at WHERE s.sealed = $5::bytea"
        " RETURNING true"},
    {.name = "gate_end",
     .sql =
        "INSERT INTO adit.gate_session (id, ends_at, account_id)"
        " VALUES ($1, to_timestamp($2::bigint), $3)"
        " ON CONFLICT (account_id, id) DO UPDATE SET key_id = NULL, sealed = NULL,"
          " ends_at = excluded.ends_at"
        " RETURNING true"},
    {.name = "gate_use",
     .sql =
        "INSERT INTO adit.gate_session AS s (id, ends_at, account_id)"
        " VALUES ($1, to_timestamp($2::bigint), $3)"
        " ON CONFLICT (account_id, id) DO UPDATE SET key_id = NULL, sealed = NULL"
          " WHERE s.key_id IS NOT NULL"
        " RETURNING true"},
    /* On all nodes.  Citus knows no locks here: a row that two delete at once goes once. */
    {.name = "gate_purge",
     .sql =
        "WITH due AS MATERIALIZED ("
          "SELECT account_id, id FROM adit.gate_session WHERE ends_at < now()"
          " ORDER BY ends_at LIMIT $1"
        ")"
        " DELETE FROM adit.gate_session AS s USING due"
        " WHERE s.account_id = due.account_id AND s.id = due.id AND s.ends_at < now()"
        " RETURNING true"},
    {.name = "gate_count_ended",
     .sql =
        "SELECT count(*) FROM adit.gate_session WHERE ends_at < now() - interval '1 hour'"},

    /* ---- long work: on all nodes ---- */

    /* $1 days to keep.  Each node reads its tables once; a step would read them all, since no index
     * has the events of all accounts in order. */
    {.name = "audit_event_purge",
     .skips = 1,
     .settings = purge_settings,
     .sql =
        "WITH gone AS ("
            "DELETE FROM adit.audit_event AS e"
            " WHERE e.at < now() - $1::bigint * interval '1 day'"
            " RETURNING e.id"
        ")"
        " SELECT false, 0::bigint, count(*)"
        " FROM gone"},
    /* One statement cannot count the pages of several nodes.  A row for each. */
    {.name = "idempotency_key_purge",
     .skips = 2,
     .sql =
        "DELETE FROM adit.idempotency_key AS i"
        " WHERE i.created_at < now() - interval '24 hours'"
        " RETURNING 1::bigint, 0::bigint"},
    /* The triggers run on the row's node. */
    {.name = "oauth_secret_seal",
     .settings = rekey_settings,
     .sql =
        "UPDATE adit.oauth_module AS m"
        " SET client_secret_key_id = $5::text, client_secret_sealed = $6::bytea"
        " WHERE m.account_id = $1::text COLLATE \"C\""
          " AND m.edge_id = $2::text COLLATE \"C\""
          " AND m.route_id = $3::text COLLATE \"C\""
          " AND m.client_secret_sealed = $4::bytea"
        " RETURNING m.edge_id"},

    /* ---- what aditctl asks ---- */

    {.name = "schema_holder",
     .sql =
        "SELECT format('%s, on %s:%s', r.result, n.nodename, n.nodeport)"
        " FROM run_command_on_all_nodes($holder$" SCHEMA_HOLDER_SQL "$holder$) AS r"
        " JOIN pg_dist_node AS n USING (nodeid)"
        " WHERE r.success"
          " AND r.result <> ''"
        " LIMIT 1"},
    /* $2 account_id.  On the account's node: a function of sql/optional/distributed.sql finds the
     * API key before it locks the table of credentials, so all transactions that look for keys. */
    {.name = "principal_writers",
     .sql =
        "SELECT nullif(r.result, ''), r.success"
        " FROM pg_dist_placement AS p"
        " JOIN pg_dist_node AS n USING (groupid)"
        " CROSS JOIN LATERAL master_run_on_worker(ARRAY[n.nodename], ARRAY[n.nodeport],"
          " ARRAY[format($writers$"
            "SELECT array_agg(DISTINCT l.virtualtransaction)::text"
            " FROM pg_catalog.pg_locks AS l"
            " JOIN pg_catalog.pg_class AS c ON c.oid = l.relation"
            " WHERE l.locktype = 'relation'"
              " AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d"
                " WHERE d.datname = pg_catalog.current_database())"
              " AND c.relnamespace = 'adit'::pg_catalog.regnamespace"
              " AND c.relname ~ '^api_key(_[0-9]+)?$'"
              " AND l.granted"
              " AND (%1$L IS NULL OR l.virtualtransaction = ANY (%1$L::text[]))"
          "$writers$, $1::text)], false) AS r"
        " WHERE p.shardid = get_shard_id_for_distribution_column('adit.account', $2::text)"
          " AND n.noderole = 'primary'"},
    /* Citus locks no rows of several nodes. */
    {.name = "document_hold_owners",
     .sql =
        "SELECT DISTINCT p.id, " SQL_MAY_OWN("p")
        " FROM adit.principal AS p"
        " JOIN jsonb_to_recordset($1::text::jsonb)"
          " AS r (account_id text COLLATE \"C\", owner_id text COLLATE \"C\")"
          " ON r.account_id = p.account_id"
          " AND r.owner_id = p.id"},
    /* Each node knows for itself what was removed there. */
    {.name = "history_start",
     .sql =
        "SELECT true, coalesce(min(e.id), 0), coalesce(min(e.at), '1970-01-01Z')"
        " FROM adit.audit_event AS e"},
    {.name = "history_find",
     .sql =
        "SELECT DISTINCT p.kind, p.account_id, p.resource"
        " FROM (SELECT " CHANGE_KIND("e.event") " AS kind, e.account_id, e.resource"
            " FROM adit.audit_event AS e WHERE e.resource = $1::text COLLATE \"C\""
            " UNION ALL SELECT 'account', a.id, a.id"
            " FROM adit.account AS a WHERE a.id = $1::text COLLATE \"C\""
            " UNION ALL SELECT 'principal', p.account_id, p.id"
            " FROM adit.principal AS p WHERE p.id = $1::text COLLATE \"C\""
            " UNION ALL SELECT 'api_key', k.account_id, k.id"
            " FROM adit.api_key AS k WHERE k.id = $1::text COLLATE \"C\""
            " UNION ALL SELECT 'ssh_credential', c.account_id, c.id"
            " FROM adit.ssh_credential AS c WHERE c.id = $1::text COLLATE \"C\""
            MODULES(FIND_ANYWHERE, _)
        ") AS p (kind, account_id, resource)"
        " WHERE $2::text IS NULL OR p.account_id = $2::text COLLATE \"C\""
        " ORDER BY p.account_id, p.kind"
        " LIMIT 10"},
    {.name = "history_find_routes",
     .sql =
        "SELECT DISTINCT r.kind, r.account_id, r.resource"
        " FROM (SELECT " CHANGE_KIND("e.event") ", e.account_id, e.resource"
            " FROM adit.audit_event AS e"
            " WHERE e.resource > ($1::text || '/') COLLATE \"C\""
              " AND e.resource < ($1::text || '0') COLLATE \"C\""
            MODULES(ROUTES_ANYWHERE, _) ") AS r (kind, account_id, resource)"
        " WHERE $2::text IS NULL OR r.account_id = $2::text COLLATE \"C\""
        " ORDER BY r.account_id, r.resource, r.kind"
        " LIMIT 10"},
};

/* clang-format on */

static const struct node_form *find_form(const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    }
    return NULL;
}

struct pg_form nodes_form(const struct pg_statement *statement, const struct pg_params *params)
{
    const struct node_form *form = find_form(statement->name);

    if (form)
        return (struct pg_form){.sql = form->sql,
                                .first = form->skips,
                                .n = params->n - form->skips,
                                .settings = form->settings};
    return (struct pg_form){.sql = statement->by_account ? statement->by_account : statement->sql,
                            .n = params->n};
}
