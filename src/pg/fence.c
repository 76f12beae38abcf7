/* SPDX-License-Identifier: MIT */
/* Ends the session that was given up. */
#include "pg/fence.h"

#include <stdio.h>

#include "base/clock.h"

/* The session that was given up may still run its last statement, and undo a later write.  Its
 * start time is compared too: the server may use the process id again. */
void pg_fence(struct pg_own *own, int64_t deadline_ms)
{
    const struct pg_identity *given_up = &own->session.given_up;
    char sql[200];
    PGresult *result;
    struct error ignored;

    snprintf(sql, sizeof sql,
             "SELECT pg_catalog.pg_terminate_backend(a.pid)"
             " FROM pg_catalog.pg_stat_get_activity(%d) AS a"
             " WHERE extract(epoch FROM a.backend_start)::text = '%s'",
             given_up->pid, given_up->started);
    if (!PQsendQuery(own->session.conn, sql)) {
        pg_own_leave_server(own);
        return;
    }
    deadline_ms = clock_earlier(deadline_ms, clock_steady_ms() + PG_FENCE_TIMEOUT_MS);
    (void)!pg_own_collect(own, NULL, deadline_ms, &result, &ignored);
    PQclear(result);
}
