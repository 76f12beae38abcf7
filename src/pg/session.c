/* SPDX-License-Identifier: MIT */
/* What all sessions have in common. */
#include "pg/session.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Limits on the server's side are tighter than those here, so that the server ends a statement
 * itself and says so.  Names are qualified in all SQL: an empty path keeps others' out.  A generic
 * plan does not know how few rows a page has: at ten million rows it looks so dear that compiling
 * it would take longer than anything else. */
const char pg_setup_sql[] =
    "SET statement_timeout = 3000; SET lock_timeout = 2000;"
    "SET idle_in_transaction_session_timeout = 5000;"
    "SET plan_cache_mode = force_generic_plan; SET jit = off;"
    "SET search_path = pg_catalog, pg_temp; SET client_min_messages = warning;"
    "SELECT (extract(epoch FROM now.time) * 1000000)::bigint, a.pid,"
    " extract(epoch FROM a.backend_start)"
    " FROM (SELECT pg_catalog.clock_timestamp() AS time) AS now LEFT JOIN"
    " pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a ON true";

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

/* ---- prepared statements ---- */

/* FNV-1a. */
static uint64_t hash_of(const char *s)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 0x100000001b3;
    return hash;
}

void pg_make_name(char name[PG_NAME_SIZE], const struct pg_statement *statement)
{
    snprintf(name, PG_NAME_SIZE, "%.46s_%016llx", statement->name,
             (unsigned long long)hash_of(statement->sql));
}

const char *pg_prepared_name(const struct pg_prepared *prepared,
                             const struct pg_statement *statement)
{
    for (size_t i = 0; i < prepared->n; i++) {
        if (prepared->items[i].statement == statement)
            return prepared->items[i].name;
    }
    return NULL;
}

void pg_note_prepared(struct pg_prepared *prepared, const struct pg_statement *statement,
                      const char name[PG_NAME_SIZE])
{
    if (prepared->n == PG_MAX_PREPARED)
        return;
    prepared->items[prepared->n].statement = statement;
    memcpy(prepared->items[prepared->n].name, name, PG_NAME_SIZE);
    prepared->n++;
}

/* ---- columns ---- */

/* Returns PostgreSQL's number of a type, which is the same on every server. */
static Oid number_of(char type)
{
    static const struct {
        char type;
        Oid number;
    } numbers[] = {{PG_BOOL[0], 16}, {PG_SMALLINT[0], 21}, {PG_INTEGER[0], 23}, {PG_BIGINT[0], 20},
                   {PG_TEXT[0], 25}, {PG_TEXTS[0], 1009},  {PG_BYTEA[0], 17},   {PG_TIME[0], 1184}};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].type == type)
            return numbers[i].number;
    }
    return InvalidOid;
}

bool pg_has_types(const PGresult *rows, const struct pg_statement *statement)
{
    int n = (int)strlen(statement->types);

    if (PQnfields(rows) != n || !PQbinaryTuples(rows))
        return false;
    for (int i = 0; i < n; i++) {
        if (PQftype(rows, i) != number_of(statement->types[i]))
            return false;
    }
    return true;
}
