/* SPDX-License-Identifier: MIT */
/* Nodes that do not answer, where the rows are on several nodes.  Few lanes wait for such a node,
 * and other requests for its accounts are refused, so that they leave lanes to accounts on other
 * nodes. */
#ifndef ADIT_NODES_LATE_NODES_H
#define ADIT_NODES_LATE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"
#include "base/must_check.h"

/* A power of two. */
#define LATE_N_ACCOUNTS 512
#define LATE_N_NODES 64

/* How long the lanes of a worker send nothing to a silent node.  An account is served again within
 * a second after its node is back: this, and an attempt to connect (citus.node_connection_timeout
 * in pg/session.c). */
#define LATE_PAUSE_MS 200

/* The node of a statement that asks all nodes, or whose node nobody knows. */
#define LATE_ANY_NODE (-1)

/* What the lanes of a worker know.  Times are milliseconds on the steady clock.  All zero: nothing
 * is known, no lane may wait long, and a silent node is tried again at once. */
struct late_nodes {
    int most;     /* lanes that may wait long for one silent node; one more may for all of them */
    int pause_ms; /* nothing is sent to a silent node for so long */
    int n_waiting;
    /* By the number of a node; two that share a place are taken for one.  The last is for
     * LATE_ANY_NODE. */
    struct late_node {
        int n_waiting;       /* lanes that have waited long */
        int64_t answered_ms; /* its last answer */
        int64_t until_ms;    /* no statement is sent before */
        unsigned n_silent;   /* statements that it left without an answer, one after the other */
        bool is_tried;       /* a statement is under way that finds out whether it answers again */
    } nodes[LATE_N_NODES + 1];
    /* Direct-mapped by a hash of the account. */
    struct {
        char account_id[IDENT_SIZE];
        int node;
        int64_t until_ms;
    } accounts[LATE_N_ACCOUNTS];
};

/* Finds the node of an account, if it was learned and that still counts. */
MUST_CHECK bool late_nodes_find(const struct late_nodes *late, const char *account_id,
                                int64_t now_ms, int *node);

/* Notes the node of an account until then; LATE_ANY_NODE: nobody knows it.  May forget another
 * account's. */
void late_nodes_learn(struct late_nodes *late, const char *account_id, int node, int64_t until_ms);

/* A lane's statement.  All zero: none. */
struct late_statement {
    struct late_node *node; /* NULL: it is not under way */
    int64_t began_ms;
    bool is_waiting; /* it has waited long */
    bool is_try;     /* it finds out whether a silent node answers again */
};

/* Begins a statement for a node.  Returns false if it is refused, because the node does not
 * answer. */
MUST_CHECK bool late_nodes_begin(struct late_nodes *late, struct late_statement *statement,
                                 int node, int64_t now_ms);

/* Returns whether a statement that has waited long may wait on.  It may if its node has answered
 * others meanwhile, or few lanes wait. */
MUST_CHECK bool late_nodes_go_on(struct late_nodes *late, struct late_statement *statement);

enum late_end {
    LATE_ANSWERED, /* the node did */
    LATE_SILENT,   /* it did not */
    LATE_UNCLEAR
};

/* Ends a statement.  Does nothing if none was begun. */
void late_nodes_end(struct late_nodes *late, struct late_statement *statement, enum late_end end,
                    int64_t now_ms);

#endif
