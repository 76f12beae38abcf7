/* SPDX-License-Identifier: MIT */
/* What all sessions have in common: states, setup, waiting, prepared statements, columns. */
#include "pg/session.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "pg/failure.h"

/* A generic plan does not know how few rows a page has: at ten million rows PostgreSQL
 * overestimates its cost and would JIT-compile it, which takes longer than running it. */
/* clang-format off */
const char pg_setup_sql[] = PG_SETUP("force_generic_plan");

/* For one transaction, since a pooler may run it on any session.  The planner does not know how many
 * rows an account has: it takes each for one of average size, and that a condition implies another.
 * So it may read and sort all rows of a large account, where an index has the page in its order.
 * Without sequential and bitmap scans, it can only choose the index. */
const char pg_ad_hoc_sql[] =
    "SELECT pg_catalog.set_config('statement_timeout', $1::text, true),"
    "       pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),"
    "       pg_catalog.set_config('transaction_read_only', 'on', true),"
    "       pg_catalog.set_config('max_parallel_workers_per_gather', '0', true),"
    "       pg_catalog.set_config('enable_seqscan', 'off', true),"
    "       pg_catalog.set_config('enable_bitmapscan', 'off', true),"
    "       pg_catalog.set_config('jit', 'off', true)";
/* clang-format on */

/* ---- states ---- */

#define CLOSED PG_SESSION_CLOSED
#define OPENING PG_SESSION_OPENING
#define FENCING PG_SESSION_FENCING
#define OWN PG_SESSION_OWN
#define SHARED PG_SESSION_SHARED
#define LEFT PG_SESSION_LEFT
#define GIVEN_UP PG_SESSION_GIVEN_UP

/* clang-format off */
static const enum pg_session_state next_state[PG_SESSION_N_STATES][PG_SESSION_N_EVENTS] = {
    /*             OPENS    IS_READY  IS_SHARED IS_LEFT   CLOSES    IS_LATE */
    [CLOSED]   = {OPENING,  CLOSED,   CLOSED,   CLOSED,   CLOSED,   CLOSED},
    [OPENING]  = {OPENING,  OWN,      SHARED,   LEFT,     CLOSED,   CLOSED},
    [FENCING]  = {FENCING,  OWN,      FENCING,  FENCING,  GIVEN_UP, GIVEN_UP},
    [OWN]      = {OWN,      OWN,      OWN,      OWN,      CLOSED,   GIVEN_UP},
    [SHARED]   = {SHARED,   SHARED,   SHARED,   CLOSED,   CLOSED,   CLOSED},
    [LEFT]     = {LEFT,     LEFT,     LEFT,     LEFT,     CLOSED,   CLOSED},
    [GIVEN_UP] = {FENCING,  GIVEN_UP, GIVEN_UP, GIVEN_UP, GIVEN_UP, GIVEN_UP},
};
/* clang-format on */

static void disconnect(struct pg_session *session)
{
    PQfinish(session->conn);
    session->conn = NULL;
    session->identity.pid = 0;
    session->prepared.n = 0;
    session->n_lost_names = 0;
}

void pg_session_move(struct pg_session *session, enum pg_session_event event)
{
    enum pg_session_state last = session->state;

    if (event == PG_SESSION_IS_LATE && !session->identity.pid)
        event = PG_SESSION_CLOSES;
    session->state = next_state[last][event];
    if (last == OWN && session->state == GIVEN_UP)
        session->given_up = session->identity;
    if (session->state == CLOSED || session->state == GIVEN_UP)
        disconnect(session);
}

/* ---- waiting ---- */

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
        /* libpq forgot part of an answer that it had no memory for, and waits for more. */
        if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF && pg_is_own_memory(PQerrorMessage(conn)))
            return false;
        if (!wait->until(wait->context, PQsocket(conn), unsent ? POLLIN | POLLOUT : POLLIN,
                         deadline_ms) ||
            !pg_receive(conn))
            return false;
        /* The rest of a large answer has often come too. */
        if (PQisBusy(conn) && !pg_receive(conn))
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

void pg_make_name(char name[PG_NAME_SIZE], const struct pg_statement *statement, const char *sql)
{
    snprintf(name, PG_NAME_SIZE, "%.46s_%016llx", statement->name,
             (unsigned long long)hash_of(sql));
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
