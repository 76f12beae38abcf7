/* SPDX-License-Identifier: MIT */
/* Where the rows are, and what the driver does differently for that. */
#ifndef ADIT_PG_PLACEMENT_H
#define ADIT_PG_PLACEMENT_H

#include <stdbool.h>

#include "base/error.h"
#include "pg/pg.h"

/* What a session is set up with: a query of several statements.  The last one returns one row: the
 * database's time in microseconds since 1970, the session's process id and when it began.
 *
 * The server's limits are tighter than those here, so that the server ends a late statement itself
 * and says why.  All SQL qualifies its names, so the search path holds no schema of others. */
/* clang-format off */
#define PG_SETUP(plan_cache_mode)                                                                     \
    "SET statement_timeout = 3000;"                                                                \
    "SET lock_timeout = 2000;"                                                                     \
    "SET idle_in_transaction_session_timeout = 5000;"                                              \
    "SET plan_cache_mode = " plan_cache_mode ";"                                                   \
    "SET jit = off;"                                                                               \
    "SET search_path = pg_catalog, pg_temp;"                                                       \
    "SET client_min_messages = warning;"                                                           \
    "SELECT (extract(epoch FROM now.time) * 1000000)::bigint,"                                     \
    "       a.pid,"                                                                                \
    "       extract(epoch FROM a.backend_start)"                                                   \
    "  FROM (SELECT pg_catalog.clock_timestamp() AS time) AS now"                                  \
    "  LEFT JOIN pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a"                \
    "    ON true"
/* clang-format on */

/* For each of an operator's transactions, of one statement or more.  A pooler may run it on a
 * session that the setup has not reached: there, whoever may create a function or an operator in a
 * schema of the search path, such as public, would have it called with the operator's rights. */
#define PG_OPERATOR_PATH "SET LOCAL search_path = pg_catalog, pg_temp"

/* How a statement is sent. */
struct pg_form {
    const char *sql;
    int first; /* of the parameters, from 0, that it takes, */
    int n;     /* and how many it takes */
    /* Its transaction sends these first, each by itself.  The list ends with NULL.  NULL: it needs
     * no transaction. */
    const char *const *settings;
};

struct pg_placement {
    bool is_by_account;    /* each account has a place of its own: see pg_is_by_account() */
    const char *setup_sql; /* PG_SETUP(), or more before it */
    /* What begins an operator's transaction.  The operator's name, as a literal, is added.  NULL:
     * functions set it. */
    const char *operator_sql;
    struct pg_form (*form)(const struct pg_statement *statement, const struct pg_params *params);
    /* Of a failed result.  Whether the server has ended the session, though the SQLSTATE tells of a
     * bug. */
    bool (*has_ended)(const char *sqlstate, const char *message);
    /* Whether the server has lost another one, on which it was to run a part of the statement.  The
     * session goes on; the effect is unknown. */
    bool (*is_elsewhere)(const char *sqlstate, const char *severity);
    /* Whether the message names a condition that was violated.  The result does not. */
    bool (*names)(const char *message, const char *condition);
    /* pg_turn_to(), pg_turn_silent() and pg_turn_end(). */
    bool (*turn_to)(void *lane, const char *account_id, struct error *err);
    unsigned (*turn_silent)(const void *lane);
    void (*turn_end)(void *lane, bool ok, const struct error *err);
};

/* All rows are in one database.  It does nothing. */
extern const struct pg_placement pg_plain;

/* Sets another placement, which must outlive the driver, and the lane that its turn_...() get.
 * NULL: nothing is known of places that do not answer, and no turn is refused. */
void pg_place(struct pg *pg, const struct pg_placement *placement, void *lane);

#endif
