/* SPDX-License-Identifier: MIT */
/* What all sessions have in common. */
#include "wrap/pg_session.h"

#include <openssl/ssl.h>
#include <poll.h>

/* Limits on the server's side are tighter than those here, so that the server ends a statement
 * itself and says so.  Names are qualified in all SQL: an empty path keeps others' out.  A generic
 * plan does not know how few rows a page has: at ten million rows it looks so dear that compiling
 * it would take longer than anything else. */
const char pg_setup_sql[] =
    "SET statement_timeout = 3000; SET lock_timeout = 2000;"
    "SET idle_in_transaction_session_timeout = 5000;"
    "SET plan_cache_mode = force_generic_plan; SET jit = off;"
    "SET search_path = pg_catalog, pg_temp; SET client_min_messages = warning;"
    "SELECT a.pid, extract(epoch FROM a.backend_start)"
    " FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a";

bool pg_receive(PGconn *conn)
{
    SSL *tls = PQsslStruct(conn, "OpenSSL");

    do {
        if (!PQconsumeInput(conn))
            return false;
    } while (tls && SSL_pending(tls) > 0);
    return true;
}

bool pg_await(PGconn *conn, const struct wait *wait, int64_t deadline_ms)
{
    for (;;) {
        int unsent = PQflush(conn);

        if (unsent < 0)
            return false;
        if (unsent == 0 && !PQisBusy(conn))
            return true;
        if (!wait->until(wait->context, PQsocket(conn), unsent ? POLLIN | POLLOUT : POLLIN,
                         deadline_ms) ||
            !pg_receive(conn))
            return false;
    }
}

bool pg_is_prepared(const struct pg_prepared *prepared, const struct pg_statement *statement)
{
    for (size_t i = 0; i < prepared->n; i++) {
        if (prepared->items[i] == statement)
            return true;
    }
    return false;
}

void pg_note_prepared(struct pg_prepared *prepared, const struct pg_statement *statement)
{
    if (prepared->n < PG_MAX_PREPARED)
        prepared->items[prepared->n++] = statement;
}
