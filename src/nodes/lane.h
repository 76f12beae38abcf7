/* SPDX-License-Identifier: MIT */
/* The statements of one lane, where the rows are on several nodes: finds the node of an account,
 * and refuses what a node that does not answer (nodes/late.h) would keep waiting. */
#ifndef ADIT_NODES_LANE_H
#define ADIT_NODES_LANE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "nodes/late.h"

/* All zero: nothing is refused. */
struct node_lane {
    struct pg *pg;
    struct late_nodes *late; /* of all lanes of a thread */
    struct late_statement statement;
};

/* Has the lane refuse statements from now on.  The driver keeps the lane's address, and both must
 * outlive it. */
void node_lane_open(struct node_lane *lane, struct pg *pg, struct late_nodes *late);

/* Begins a statement for an account; "": for all nodes, or for one that nobody knows.  May ask the
 * database for the account's node first.  Returns false with ERR_DATABASE_TIMEOUT if the statement
 * is refused. */
MUST_CHECK bool node_lane_begin(struct node_lane *lane, const char *account_id, struct error *err);

/* Returns how many statements the node of the one that was begun has left without an answer, one
 * after the other. */
MUST_CHECK unsigned node_lane_n_silent(const struct node_lane *lane);

/* Ends it, if one was begun.  ok: it did not fail; err: how it failed. */
void node_lane_end(struct node_lane *lane, bool ok, const struct error *err);

#endif
