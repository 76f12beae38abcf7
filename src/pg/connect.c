/* SPDX-License-Identifier: MIT */
/* Opening connections to PostgreSQL without waiting for longer than the caller can. */
#include "pg/connect.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "pg/conninfo.h"
#include "pg/failure.h"

#define HOST_TIMEOUT_S 2
#define MAX_KEYWORDS 80
#define ITEM_SIZE 256

/* Options that the conninfo does not set. */
static const struct {
    const char *keyword, *value;
} defaults[] = {{"application_name", "adit"},
                {"client_encoding", "UTF8"},
                {"target_session_attrs", "read-write"},
                {"keepalives_idle", "10"},
                {"keepalives_interval", "3"},
                {"keepalives_count", "3"},
                {"tcp_user_timeout", "6000"}};

#define N_DEFAULTS (sizeof defaults / sizeof defaults[0])

/* The arguments of PQconnectStartParams() for one host of a conninfo. */
struct target {
    const char *keywords[MAX_KEYWORDS];
    const char *values[MAX_KEYWORDS];
    char items[3][ITEM_SIZE]; /* this host's host, hostaddr and port */
};

static const char *const listed[] = {"host", "hostaddr", "port"};

/* ---- hosts ---- */

static int count_items(const char *list)
{
    int n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Copies an item of a list.  A list of one item applies to every host.  Returns false where the
 * item is too long. */
static bool copy_item(char out[ITEM_SIZE], const char *list, int number)
{
    size_t len;

    if (count_items(list) > 1) {
        for (; number > 0; list++)
            number -= *list == ',';
    }
    len = strcspn(list, ",");
    if (len >= ITEM_SIZE)
        return false;
    memcpy(out, list, len);
    out[len] = '\0';
    return true;
}

static int count_hosts(const PQconninfoOption *options)
{
    const char *hosts = pg_conninfo_value(options, "hostaddr");

    if (!hosts)
        hosts = pg_conninfo_value(options, "host");
    return hosts ? count_items(hosts) : 1;
}

static int host_timeout_ms(const PQconninfoOption *options)
{
    const char *value = pg_conninfo_value(options, "connect_timeout");
    long seconds = value ? strtol(value, NULL, 10) : 0;

    return seconds > 0 && seconds < 60 ? (int)seconds * 1000 : HOST_TIMEOUT_S * 1000;
}

/* Returns the value of an option for one of several hosts; NULL where it is too long. */
static const char *value_for_host(struct target *target, const PQconninfoOption *option, int host)
{
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(option->keyword, listed[i]) == 0)
            return copy_item(target->items[i], option->val, host) ? target->items[i] : NULL;
    }
    return option->val;
}

/* The conninfo comes after the defaults, and libpq takes the last value.  A single host is left to
 * libpq, because it may come from the environment.  Returns false where the conninfo is too long.
 */
static bool fill_target(struct target *target, const PQconninfoOption *options, int host,
                        int n_hosts)
{
    size_t n = 0;

    for (; n < N_DEFAULTS; n++) {
        target->keywords[n] = defaults[n].keyword;
        target->values[n] = defaults[n].value;
    }
    for (; options->keyword; options++) {
        if (!options->val)
            continue;
        if (n == MAX_KEYWORDS - 1)
            return false;
        target->keywords[n] = options->keyword;
        target->values[n] = n_hosts > 1 ? value_for_host(target, options, host) : options->val;
        if (!target->values[n++])
            return false;
    }
    target->keywords[n] = target->values[n] = NULL;
    return true;
}

/* ---- connecting ---- */

static void add_reason(struct pg_refusal *refusal, const char *what)
{
    size_t len = strlen(refusal->reason);

    snprintf(refusal->reason + len, PG_REASON_SIZE - len, "%s%.*s", len ? "; " : "",
             (int)strcspn(what, "\n"), what);
}

/* Returns whether the first line of a message holds this text. */
static bool says(const char *message, const char *text)
{
    const char *found = strstr(message, text);

    return found && found < message + strcspn(message, "\n");
}

/* libpq tells these failures apart in its text only.  The SQLSTATE in it is the same in every
 * language of the server. */
static void add_message(struct pg_refusal *refusal, const char *message)
{
    if (says(message, "session is read-only") || says(message, "hot standby"))
        refusal->is_read_only = true;
    /* A session that is opened while the server begins to shut down ends as all do. */
    if (says(message, ":  57P03: ") || says(message, ":  57P01: "))
        refusal->is_for_now = true;
    if (says(message, "closed the connection") || says(message, "EOF detected") ||
        says(message, "reset by peer"))
        refusal->is_closed = true;
    if (pg_is_own_memory(message))
        refusal->is_own_memory = true;
    add_reason(refusal, message);
}

/* The server says so before libpq refuses it.  Releases before 14 do not. */
static bool is_standby(const PGconn *conn)
{
    const char *value = conn ? PQparameterStatus(conn, "in_hot_standby") : NULL;

    return value && strcmp(value, "on") == 0;
}

static PGconn *connect_host(const struct target *target, const struct wait *wait,
                            int64_t deadline_ms, struct pg_refusal *refusal)
{
    PGconn *conn = PQconnectStartParams(target->keywords, target->values, 0);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    bool late = false;

    if (!conn || PQstatus(conn) == CONNECTION_BAD)
        next = PGRES_POLLING_FAILED;
    else
        (void)PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* with the SQLSTATE */
    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        late = !wait->until(wait->context, PQsocket(conn),
                            next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ms);
        next = late ? PGRES_POLLING_FAILED : PQconnectPoll(conn);
    }
    if (next == PGRES_POLLING_OK) {
        (void)PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
        return conn;
    }
    if (is_standby(conn))
        refusal->is_for_now = true;
    add_message(refusal, !conn  ? "out of memory"
                         : late ? "no answer in time"
                                : PQerrorMessage(conn));
    PQfinish(conn);
    return NULL;
}

PGconn *pg_connect(const char *conninfo, const struct wait *wait, int64_t deadline_ms,
                   struct pg_refusal *refusal)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    int n_hosts = options ? count_hosts(options) : 0;
    PGconn *conn = NULL;

    *refusal = (struct pg_refusal){.is_own_memory = !options};
    for (int host = 0; !conn && host < n_hosts; host++) {
        int64_t now_ms = clock_steady_ms();
        int64_t share_ms = clock_left_ms(deadline_ms) / (n_hosts - host);
        int64_t limit_ms = clock_earlier(now_ms + host_timeout_ms(options), now_ms + share_ms);
        struct target target;

        if (fill_target(&target, options, host, n_hosts))
            conn = connect_host(&target, wait, limit_ms, refusal);
        else
            add_reason(refusal, "conninfo is too long");
    }
    if (!options)
        add_reason(refusal, "out of memory");
    PQconninfoFree(options);
    return conn;
}
