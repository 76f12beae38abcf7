/* SPDX-License-Identifier: MIT */
/* The placement of accounts on several nodes, and the statements of a lane. */
#include "nodes/nodes.h"

#include <string.h>

#include "base/clock.h"

/* A node that works, or is not there, answers sooner. */
#define LATE_MS 100

/* Citus may move an account.  Until this has passed, the node that it left counts for it. */
#define KNOWN_MS 10000

/* How long an account counts for one of any node, if the database did not tell its node. */
#define UNKNOWN_MS 1000

/* clang-format off */

/* $1 account.  A node answers from what it knows of the others.  Citus has a function for this, but it
 * needs a right to read the table, and no table is read by all roles. */
static const struct pg_statement node_statement = {
    .name = "account_node",
    .types = PG_INTEGER,
    .sql =
        "SELECT p.groupid"
        " FROM pg_catalog.pg_dist_shard AS s"
        " JOIN pg_catalog.pg_dist_placement AS p ON p.shardid = s.shardid"
        " WHERE s.logicalrelid = 'adit.account'::regclass"
          " AND pg_catalog.worker_hash($1::text)"
            " BETWEEN s.shardminvalue::integer AND s.shardmaxvalue::integer",
};

/* clang-format on */

/* Returns the node of an account, LATE_ANY_NODE if nobody knows. */
static int node_of(struct nodes_lane *lane, const char *account_id)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error ignored;
    int node;

    if (!account_id[0])
        return LATE_ANY_NODE;
    if (late_nodes_find(lane->late, account_id, clock_steady_ms(), &node))
        return node;
    node = LATE_ANY_NODE;
    pg_add_text(&params, text_of(account_id));
    if (pg_run(lane->pg, &node_statement, &params, &result, &ignored)) {
        if (pg_rows(result) > 0)
            node = (int)pg_int(result, 0, 0);
        pg_result_free(result);
    }
    late_nodes_learn(lane->late, account_id, node,
                     clock_steady_ms() + (node == LATE_ANY_NODE ? UNKNOWN_MS : KNOWN_MS));
    return node;
}

/* Returns what a statement that failed tells of its node.  An error of the server's own has an
 * SQLSTATE.  In class 08 it tells of a node: one that is not there answers at once. */
static enum late_end end_of(const struct late_statement *statement, const struct error *err)
{
    bool is_late = clock_steady_ms() - statement->began_ms >= LATE_MS;

    if (is_late && !err->sqlstate[0] &&
        (err->code == ERR_DATABASE_TIMEOUT || err->code == ERR_OUTCOME_UNKNOWN))
        return LATE_SILENT;
    return is_late && strncmp(err->sqlstate, "08", 2) == 0 ? LATE_SILENT : LATE_UNCLEAR;
}

static bool has_patience(void *context)
{
    struct nodes_lane *lane = context;

    return late_nodes_go_on(lane->late, &lane->statement);
}

/* Returns false with ERR_DATABASE_TIMEOUT if the statement is refused. */
static bool turn_to_node(void *context, const char *account_id, struct error *err)
{
    struct nodes_lane *lane = context;

    return late_nodes_begin(lane->late, &lane->statement, node_of(lane, account_id),
                            clock_steady_ms()) ||
           error_cause(err, ERR_DATABASE_TIMEOUT,
                       "database: refused, because the account's node does not answer");
}

static unsigned silent_of_node(const void *context)
{
    const struct nodes_lane *lane = context;

    return lane->statement.node ? lane->statement.node->n_silent : 0;
}

static void turn_from_node(void *context, bool ok, const struct error *err)
{
    struct nodes_lane *lane = context;

    late_nodes_end(lane->late, &lane->statement, ok ? LATE_ANSWERED : end_of(&lane->statement, err),
                   clock_steady_ms());
}

/* ---- results ---- */

/* Citus says that its own server was killed with the SQLSTATE of a bug, and then ends the session.
 */
static bool is_killed(const char *sqlstate, const char *message)
{
    return strcmp(sqlstate, "XX000") == 0 &&
           strcmp(message, "postmaster was shut down, exiting") == 0;
}

/* A node was lost.  A server that ends the session says FATAL. */
static bool is_of_node(const char *sqlstate, const char *severity)
{
    return (strncmp(sqlstate, "08", 2) == 0 || strncmp(sqlstate, "57P", 3) == 0) &&
           strcmp(severity, "ERROR") == 0;
}

/* Citus passes on the message of a node, but not the name of the constraint.  On a shard, the name
 * of an index ends with "_" and the shard's number. */
static bool is_condition_named(const char *message, const char *name)
{
    const char *at = strstr(message, name);

    if (!at || at == message || at[-1] != '"')
        return false;
    at += strlen(name);
    if (*at == '_')
        at += 1 + strspn(at + 1, "0123456789");
    return *at == '"';
}

/* ---- the placement ---- */

const struct pg_placement nodes_placement = {
    .is_by_account = true,
    /* Citus looks at the parameters to choose the node.  It cannot cancel what it has sent to a
     * node that is frozen: the session then stays until the node goes on.  An attempt to connect
     * ends in time. */
    .setup_sql = "SET citus.node_connection_timeout = 750;" PG_SETUP("auto"),
    /* The triggers run on the nodes, which learn of a setting only by SET LOCAL.  A transaction
     * that has notified cannot be committed on several nodes. */
    .operator_sql = PG_OPERATOR_PATH "; SET LOCAL citus.propagate_set_commands = 'local';"
                                     " SET LOCAL adit.notify = off;"
                                     " SET LOCAL adit.caller = ''; SET LOCAL adit.operator = ",
    .form = nodes_form,
    .has_ended = is_killed,
    .is_elsewhere = is_of_node,
    .names = is_condition_named,
    .turn_to = turn_to_node,
    .turn_silent = silent_of_node,
    .turn_end = turn_from_node,
};

void nodes_place(struct pg *pg, bool is_by_account)
{
    pg_place(pg, is_by_account ? &nodes_placement : &pg_plain, NULL);
}

void nodes_join(struct nodes *nodes, struct pg *pg, int most, int pause_ms)
{
    struct nodes_lane *lane = &nodes->lanes[nodes->n_lanes];

    if (!pg_is_by_account(pg) || nodes->n_lanes == NODES_MOST_LANES)
        return;
    nodes->n_lanes++;
    nodes->late.most = most;
    nodes->late.pause_ms = pause_ms;
    *lane = (struct nodes_lane){.pg = pg, .late = &nodes->late};
    pg_place(pg, &nodes_placement, lane);
    pg_ask_patience(pg, has_patience, lane);
}
