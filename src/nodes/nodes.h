/* SPDX-License-Identifier: MIT */
/* Accounts on several nodes of Citus (doc/install/citus.md): how the driver of the database sends
 * statements to them, which node an account is on, and what waits for a node that does not answer
 * (nodes/late_nodes.h). */
#ifndef ADIT_NODES_NODES_H
#define ADIT_NODES_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "nodes/late_nodes.h"
#include "pg/placement.h"

struct schema_spread;

/* The statements of one driver. */
struct nodes_lane {
    struct pg *pg;
    struct late_nodes *late; /* of all lanes */
    struct late_statement statement;
};

#define NODES_MOST_LANES 8

/* What the lanes of a thread know.  All zero: no lane has joined. */
struct nodes {
    struct late_nodes late;
    struct nodes_lane lanes[NODES_MOST_LANES];
    size_t n_lanes;
};

/* Returns how a statement is sent: as a row of the table in statements.c says that has its name, or
 * as it says itself for one account. */
struct pg_form nodes_form(const struct pg_statement *statement, const struct pg_params *params);

/* The placement of nodes. */
extern const struct pg_placement nodes_placement;

/* Has a driver send statements for nodes, if the setting says so. */
void nodes_place(struct pg *pg, bool is_by_account);

/* Has the driver refuse what a node that does not answer would keep waiting, together with the
 * others that joined.  Does nothing if all rows are in one database.  At most most lanes wait long
 * for such a node, and nothing is sent to it for pause_ms.  *nodes must outlive the driver. */
void nodes_join(struct nodes *nodes, struct pg *pg, int most, int pause_ms);

/* How a migration finds out that the accounts are on several nodes, and runs there. */
extern const struct schema_spread nodes_schema;

/* Writes the names of the functions of sql/optional/distributed.sql that the connection's role
 * cannot call, separated by commas; "": it can call all.  Sets *has_nodes to whether citus.sql was
 * run. */
MUST_CHECK bool nodes_find_functions(struct pg *pg, char *missing, size_t size, bool *has_nodes,
                                     struct error *err);

#endif
