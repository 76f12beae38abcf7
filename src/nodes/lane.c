/* SPDX-License-Identifier: MIT */
/* Statements for accounts on several nodes. */
#include "nodes/lane.h"

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
static int node_of(struct node_lane *lane, const char *account_id)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error ignored;
    int node;

    if (!account_id[0])
        return LATE_ANY_NODE;
    if (late_find_node(lane->late, account_id, clock_steady_ms(), &node))
        return node;
    node = LATE_ANY_NODE;
    pg_add_text(&params, text_of(account_id));
    if (pg_run(lane->pg, &node_statement, &params, &result, &ignored)) {
        if (pg_rows(result) > 0)
            node = (int)pg_int(result, 0, 0);
        pg_result_free(result);
    }
    late_learn_node(lane->late, account_id, node,
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
    struct node_lane *lane = context;

    return late_goes_on(lane->late, &lane->statement);
}

void node_lane_open(struct node_lane *lane, struct pg *pg, struct late_nodes *late)
{
    *lane = (struct node_lane){.pg = pg, .late = late};
    pg_ask_patience(pg, has_patience, lane);
}

bool node_lane_begin(struct node_lane *lane, const char *account_id, struct error *err)
{
    if (!lane->late ||
        late_begin(lane->late, &lane->statement, node_of(lane, account_id), clock_steady_ms()))
        return true;
    return error_cause(err, ERR_DATABASE_TIMEOUT,
                       "database: refused, because the account's node does not answer");
}

unsigned node_lane_n_silent(const struct node_lane *lane)
{
    return lane->statement.node ? lane->statement.node->n_silent : 0;
}

void node_lane_end(struct node_lane *lane, bool ok, const struct error *err)
{
    if (lane->late)
        late_end(lane->late, &lane->statement, ok ? LATE_ANSWERED : end_of(&lane->statement, err),
                 clock_steady_ms());
}
