/* SPDX-License-Identifier: MIT */
/* What is known of nodes that do not answer. */
#include "nodes/late_nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- accounts ---- */

static size_t place_of_account(const char *account_id)
{
    return text_hash(text_of(account_id)) % LATE_N_ACCOUNTS;
}

bool late_nodes_find(const struct late_nodes *late, const char *account_id, int64_t now_ms,
                     int *node)
{
    size_t i = place_of_account(account_id);

    *node = late->accounts[i].node;
    return now_ms < late->accounts[i].until_ms &&
           strcmp(late->accounts[i].account_id, account_id) == 0;
}

void late_nodes_learn(struct late_nodes *late, const char *account_id, int node, int64_t until_ms)
{
    size_t i = place_of_account(account_id);

    snprintf(late->accounts[i].account_id, sizeof late->accounts[i].account_id, "%s", account_id);
    late->accounts[i].node = node;
    late->accounts[i].until_ms = until_ms;
}

/* ---- nodes ---- */

/* Returns whether a statement may not be sent: the node is silent, and it is not yet time to try
 * it, or another one tries it. */
static bool is_refused(const struct late_node *node, int64_t now_ms)
{
    return node->n_silent > 0 && (node->is_tried || now_ms < node->until_ms);
}

/* A statement that asks all nodes would wait for each that is silent. */
static bool is_any_refused(const struct late_nodes *late, int64_t now_ms)
{
    for (size_t i = 0; i < LATE_N_NODES; i++) {
        if (is_refused(&late->nodes[i], now_ms))
            return true;
    }
    return false;
}

bool late_nodes_begin(struct late_nodes *late, struct late_statement *statement, int node,
                      int64_t now_ms)
{
    struct late_node *place =
        &late->nodes[node == LATE_ANY_NODE ? LATE_N_NODES : node % LATE_N_NODES];

    if (is_refused(place, now_ms) || (node == LATE_ANY_NODE && is_any_refused(late, now_ms)))
        return false;
    *statement =
        (struct late_statement){.node = place, .began_ms = now_ms, .is_try = place->n_silent > 0};
    if (statement->is_try)
        place->is_tried = true;
    return true;
}

/* Returns whether the node has not answered anything since the statement began. */
static bool is_unheard(const struct late_statement *statement)
{
    return statement->node->answered_ms < statement->began_ms;
}

bool late_nodes_go_on(struct late_nodes *late, struct late_statement *statement)
{
    if (!statement->node || statement->is_waiting)
        return true;
    if (!is_unheard(statement))
        return true;
    if (statement->node->n_waiting >= late->most || late->n_waiting > late->most)
        return false;
    statement->is_waiting = true;
    statement->node->n_waiting++;
    late->n_waiting++;
    return true;
}

void late_nodes_end(struct late_nodes *late, struct late_statement *statement, enum late_end end,
                    int64_t now_ms)
{
    struct late_node *node = statement->node;

    if (!node)
        return;
    if (statement->is_waiting) {
        node->n_waiting--;
        late->n_waiting--;
    }
    if (statement->is_try)
        node->is_tried = false;
    if (end == LATE_ANSWERED) {
        node->answered_ms = now_ms;
        node->n_silent = 0;
    } else if (end == LATE_SILENT && is_unheard(statement)) {
        node->n_silent++;
        node->until_ms = now_ms + late->pause_ms;
    }
    statement->node = NULL;
}
