/* SPDX-License-Identifier: MIT */
/* Opening connections to PostgreSQL without waiting for longer than the caller can. */
#include "pg/connect.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "pg/pg.h"

#define HOST_TIMEOUT_S 2
#define MAX_KEYWORDS 80
#define ITEM_SIZE 256

/* What holds where the conninfo says nothing. */
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

/* A conninfo in the shape in which libpq takes it, for one of its hosts. */
struct target {
    const char *keywords[MAX_KEYWORDS];
    const char *values[MAX_KEYWORDS];
    char items[3][ITEM_SIZE]; /* this host's host, hostaddr and port */
};

static const char *const listed[] = {"host", "hostaddr", "port"};

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword; options++) {
        if (strcmp(options->keyword, keyword) == 0)
            return options->val && options->val[0] ? options->val : NULL;
    }
    return NULL;
}

/* ---- what is wrong with a conninfo ---- */

/* Writes libpq's own words. */
static bool quote_reason(const char *conninfo, char *reason, size_t size)
{
    char *message = NULL;

    PQconninfoFree(PQconninfoParse(conninfo, &message));
    if (message)
        snprintf(reason, size, "%.*s", (int)strcspn(message, "\n"), message);
    PQfreemem(message);
    return message != NULL;
}

/* Returns the beginning of the word that names the first password, or NULL. */
static const char *find_password(const char *conninfo)
{
    const char *at = strstr(conninfo, "password");

    while (at && at > conninfo && !strchr(" \t\r\n", at[-1]))
        at--;
    return at;
}

/* libpq quotes the word that it stumbles over.  What stands in front of a password has none in it,
 * so libpq is shown that alone.  A URI may have one anywhere. */
void pg_conninfo_reason(const char *conninfo, char *reason, size_t size)
{
    const char *password = find_password(conninfo);
    char *before;

    if (strstr(conninfo, "://")) {
        snprintf(reason, size, "the URI is malformed, or names an unknown parameter");
        return;
    }
    before = strndup(conninfo, password ? (size_t)(password - conninfo) : strlen(conninfo));
    if (!before || !quote_reason(before, reason, size))
        snprintf(reason, size,
                 "at the password or behind it; a password with spaces needs quotes: "
                 "password='...'");
    free(before);
}

bool pg_conninfo_has_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool has = options && (value_of(options, "password") || value_of(options, "sslpassword"));

    PQconninfoFree(options);
    return has;
}

/* ---- hosts ---- */

static int count_items(const char *list)
{
    int n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Copies an item of a list; a list of one is every host's.  Returns false where it has no room. */
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
    const char *hosts = value_of(options, "hostaddr");

    if (!hosts)
        hosts = value_of(options, "host");
    return hosts ? count_items(hosts) : 1;
}

static int host_timeout_ms(const PQconninfoOption *options)
{
    const char *value = value_of(options, "connect_timeout");
    long seconds = value ? strtol(value, NULL, 10) : 0;

    return seconds > 0 && seconds < 60 ? (int)seconds * 1000 : HOST_TIMEOUT_S * 1000;
}

/* Returns the value of an option for one of several hosts, NULL where it has no room. */
static const char *value_for_host(struct target *target, const PQconninfoOption *option, int host)
{
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(option->keyword, listed[i]) == 0)
            return copy_item(target->items[i], option->val, host) ? target->items[i] : NULL;
    }
    return option->val;
}

/* What the conninfo says comes last and wins.  A single host is libpq's own business: it may come
 * from the environment. */
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

static void add_reason(char reason[PG_REASON_SIZE], const char *what)
{
    size_t len = strlen(reason);

    snprintf(reason + len, PG_REASON_SIZE - len, "%s%.*s", len ? "; " : "",
             (int)strcspn(what, "\n"), what);
}

static PGconn *connect_host(const struct target *target, const struct wait *wait,
                            int64_t deadline_ms, char reason[PG_REASON_SIZE])
{
    PGconn *conn = PQconnectStartParams(target->keywords, target->values, 0);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    bool late = false;

    if (!conn || PQstatus(conn) == CONNECTION_BAD)
        next = PGRES_POLLING_FAILED;
    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        late = !wait->until(wait->context, PQsocket(conn),
                            next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ms);
        next = late ? PGRES_POLLING_FAILED : PQconnectPoll(conn);
    }
    if (next == PGRES_POLLING_OK)
        return conn;
    add_reason(reason, !conn ? "out of memory" : late ? "no answer in time" : PQerrorMessage(conn));
    PQfinish(conn);
    return NULL;
}

PGconn *pg_connect(const char *conninfo, const struct wait *wait, int64_t deadline_ms,
                   char reason[PG_REASON_SIZE])
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    int n_hosts = options ? count_hosts(options) : 0;
    PGconn *conn = NULL;

    reason[0] = '\0';
    for (int host = 0; !conn && host < n_hosts; host++) {
        int64_t now_ms = clock_steady_ms();
        int64_t share_ms = clock_left_ms(deadline_ms) / (n_hosts - host);
        int64_t limit_ms = clock_earlier(now_ms + host_timeout_ms(options), now_ms + share_ms);
        struct target target;

        if (fill_target(&target, options, host, n_hosts))
            conn = connect_host(&target, wait, limit_ms, reason);
        else
            add_reason(reason, "conninfo is too long");
    }
    if (n_hosts == 0)
        add_reason(reason, "out of memory");
    PQconninfoFree(options);
    return conn;
}
