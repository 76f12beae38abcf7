/* SPDX-License-Identifier: MIT */
/* The scripted PostgreSQL. */
#include "pg/backend.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "nodes/nodes.h"
#include "pg/session.h"

#define MAX_SESSIONS 64
#define MAX_STEPS 80
#define BUFFER_SIZE 16384

#define SSL_REQUEST 80877103
#define FIRST_PID 1000
#define TEXT_TYPE 25
#define BIGINT_TYPE 20

struct session {
    int fd; /* -1: it has ended */
    int number;
    bool is_started;
    bool is_silent;
    bool is_skipping;         /* after an error, until the sync */
    char status;              /* 'I': no transaction; 'T': in one; 'E': in one that has failed */
    struct backend_step step; /* of the statement that runs */
    unsigned char in[BUFFER_SIZE];
    size_t n_in;
    unsigned char out[BUFFER_SIZE];
    size_t n_out;
    size_t message_at; /* where the message that is being written begins */
};

static struct {
    char folder[32];
    char conninfo[128];
    struct sockaddr_un address;
    int fd;
    struct session sessions[MAX_SESSIONS];
    int n_sessions;
    struct backend_step steps[MAX_STEPS];
    bool is_used[MAX_STEPS];
    int n_steps;
    char sent[4096];
    int64_t ahead_us;
} backend;

void backend_start(void)
{
    snprintf(backend.folder, sizeof backend.folder, "/tmp/adit-backend-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(backend.folder));
    snprintf(backend.conninfo, sizeof backend.conninfo,
             "host=%s port=5432 dbname=x user=x sslmode=disable", backend.folder);
    backend.address.sun_family = AF_UNIX;
    snprintf(backend.address.sun_path, sizeof backend.address.sun_path, "%.31s/.s.PGSQL.5432",
             backend.folder);
    backend.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(backend.fd, 0);
    ck_assert_int_eq(bind(backend.fd, (struct sockaddr *)&backend.address, sizeof backend.address),
                     0);
    ck_assert_int_eq(listen(backend.fd, MAX_SESSIONS), 0);
}

void backend_stop(void)
{
    close(backend.fd);
    unlink(backend.address.sun_path);
    rmdir(backend.folder);
}

const char *backend_conninfo(void)
{
    return backend.conninfo;
}

void backend_set_ahead(int64_t us)
{
    backend.ahead_us = us;
}

/* ---- the script ---- */

void backend_expect(enum backend_on on, enum backend_act act, const char *sqlstate,
                    const char *detail)
{
    ck_assert_int_lt(backend.n_steps, MAX_STEPS);
    backend.steps[backend.n_steps++] = (struct backend_step){on, act, sqlstate, detail};
}

static struct backend_step scripted_step(enum backend_on on)
{
    for (int i = 0; i < backend.n_steps; i++) {
        if (!backend.is_used[i] && backend.steps[i].on == on) {
            backend.is_used[i] = true;
            return backend.steps[i];
        }
    }
    return (struct backend_step){.on = on, .act = ANSWER};
}

/* A transaction that has failed takes nothing but its end. */
static struct backend_step next_step(const struct session *session, enum backend_on on)
{
    struct backend_step step = scripted_step(on);

    if (session->status == 'E' && (on == ON_PARSE || on == ON_RUN))
        step = (struct backend_step){on, REFUSE, "25P02", NULL};
    return step;
}

static void note(const char *word)
{
    size_t len = strlen(backend.sent);

    snprintf(backend.sent + len, sizeof backend.sent - len, "%s%s", len > 0 ? " " : "", word);
}

static void note_of(const struct session *session, const char *verb, const char *what)
{
    char word[128];

    snprintf(word, sizeof word, "%d:%s%s", session->number, verb, what);
    note(word);
}

/* ---- writing ---- */

static void put(struct session *session, const void *bytes, size_t len)
{
    ck_assert_uint_le(session->n_out + len, BUFFER_SIZE);
    memcpy(session->out + session->n_out, bytes, len);
    session->n_out += len;
}

static void put_number(struct session *session, int64_t value, int len)
{
    for (int i = len - 1; i >= 0; i--)
        put(session, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static void put_string(struct session *session, const char *s)
{
    put(session, s, strlen(s) + 1);
}

static void begin(struct session *session, char type)
{
    put(session, &type, 1);
    session->message_at = session->n_out;
    put_number(session, 0, 4);
}

static void end(struct session *session)
{
    size_t end_at = session->n_out;

    session->n_out = session->message_at;
    put_number(session, (int64_t)(end_at - session->message_at), 4);
    session->n_out = end_at;
}

static void send_out(struct session *session)
{
    size_t done = 0;

    while (session->fd >= 0 && done < session->n_out) {
        ssize_t n = send(session->fd, session->out + done, session->n_out - done, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    session->n_out = 0;
}

static void close_session(struct session *session)
{
    send_out(session);
    close(session->fd);
    session->fd = -1;
}

static void put_simple(struct session *session, char type, const char *text)
{
    begin(session, type);
    if (text)
        put_string(session, text);
    end(session);
}

static void put_field(struct session *session, char field, const char *value)
{
    put(session, &field, 1);
    put_string(session, value);
}

static void put_report(struct session *session, char type, const char *severity,
                       const struct backend_step *step)
{
    const char *detail = step->detail ? step->detail : "scripted";

    begin(session, type);
    put_field(session, 'S', severity);
    put_field(session, 'V', severity);
    put_field(session, 'C', step->sqlstate ? step->sqlstate : "01000");
    put_field(session, 'M', detail);
    put_field(session, 'n', detail);
    put_field(session, 'R', detail);
    put_number(session, 0, 1);
    end(session);
}

static void put_columns(struct session *session, const int *types, int n, int format)
{
    begin(session, 'T');
    put_number(session, n, 2);
    for (int i = 0; i < n; i++) {
        put_string(session, "c");
        put_number(session, 0, 4);
        put_number(session, 0, 2);
        put_number(session, types[i], 4);
        put_number(session, -1, 2);
        put_number(session, -1, 4);
        put_number(session, format, 2);
    }
    end(session);
}

static void put_ready(struct session *session)
{
    begin(session, 'Z');
    put(session, &session->status, 1);
    end(session);
}

/* ---- the acts that are the same for all that is sent ---- */

/* Returns whether the step has been done; otherwise the right answer has to follow. */
static bool do_step(struct session *session, const struct backend_step *step)
{
    switch (step->act) {
    case REFUSE:
        put_report(session, 'E', session->is_started ? "ERROR" : "FATAL", step);
        if (session->status == 'T')
            session->status = 'E';
        if (!session->is_started)
            close_session(session);
        return true;
    case WARN:
        put_report(session, 'N', "WARNING", step);
        return false;
    case CUT:
        put(session, "T\0\0\1\0\0\1c", 8);
        close_session(session);
        return true;
    case CLOSE:
        close_session(session);
        return true;
    case SILENCE:
        session->is_silent = true;
        return true;
    case ANSWER:
    case OTHER_COLUMNS:
    case NO_COLUMNS:
    case POOLED:
    case NO_RESULT:
    case STANDBY:
        break;
    }
    return false;
}

/* ---- start and setup ---- */

static void put_parameter(struct session *session, const char *name, const char *value)
{
    begin(session, 'S');
    put_string(session, name);
    put_string(session, value);
    end(session);
}

static void start(struct session *session)
{
    struct backend_step step = next_step(session, ON_STARTUP);

    note_of(session, "start", "");
    if (do_step(session, &step))
        return;
    session->is_started = true;
    begin(session, 'R');
    put_number(session, 0, 4);
    end(session);
    put_parameter(session, "server_version", "15.0");
    put_parameter(session, "client_encoding", "UTF8");
    put_parameter(session, "standard_conforming_strings", "on");
    put_parameter(session, "in_hot_standby", step.act == STANDBY ? "on" : "off");
    put_parameter(session, "default_transaction_read_only", "off");
    begin(session, 'K');
    put_number(session, FIRST_PID + session->number, 4);
    put_number(session, 1, 4);
    end(session);
    put_ready(session);
}

static void put_texts(struct session *session, const char *const *values, int n)
{
    int types[4] = {TEXT_TYPE, TEXT_TYPE, TEXT_TYPE, TEXT_TYPE};

    put_columns(session, types, n, 0);
    begin(session, 'D');
    put_number(session, n, 2);
    for (int i = 0; i < n; i++) {
        put_number(session, (int64_t)strlen(values[i]), 4);
        put(session, values[i], strlen(values[i]));
    }
    end(session);
    put_simple(session, 'C', "SELECT 1");
}

static void answer_setup(struct session *session, const struct backend_step *step)
{
    char time[24], pid[24], started[24];
    const char *const values[] = {time, pid, started};

    snprintf(time, sizeof time, "%" PRId64, clock_wall_us() + backend.ahead_us);
    snprintf(pid, sizeof pid, "%d", (step->act == POOLED ? 5000 : FIRST_PID) + session->number);
    snprintf(started, sizeof started, "17000000.%03d", session->number);
    put_simple(session, 'C', "SET");
    put_texts(session, values, 3);
}

static void note_query(const struct session *session, const char *sql)
{
    const char *at = strstr(sql, "get_activity(");
    char word[64];

    if (at) {
        snprintf(word, sizeof word, "%d", (int)strtol(strchr(at, '(') + 1, NULL, 10) - FIRST_PID);
        note_of(session, "terminate:", word);
    } else {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(sql, " "), sql);
        note_of(session, "query:", word);
    }
}

static void query(struct session *session, const char *sql)
{
    bool is_setup = strcmp(sql, pg_setup_sql) == 0 || strcmp(sql, nodes_placement.setup_sql) == 0;
    struct backend_step step = next_step(session, is_setup ? ON_SETUP : ON_QUERY);

    if (is_setup)
        note_of(session, "setup", "");
    else
        note_query(session, sql);
    if (strncmp(sql, "COMMIT", 6) == 0 || strncmp(sql, "ROLLBACK", 8) == 0)
        session->status = 'I';
    if (do_step(session, &step)) {
        if (step.act == REFUSE)
            put_ready(session);
        return;
    }
    if (strncmp(sql, "BEGIN", 5) == 0)
        session->status = 'T';
    if (is_setup && step.act != NO_RESULT)
        answer_setup(session, &step);
    else if (strncmp(sql, "COMMIT", 6) == 0)
        put_simple(session, 'C', "COMMIT");
    else if (step.act != NO_RESULT)
        put_texts(session, (const char *const[]){"t"}, 1);
    put_ready(session);
}

/* ---- prepared statements ---- */

/* The statement's own name, without the hash. */
static const char *short_name(const char *name)
{
    static char out[64];
    size_t len = strlen(name);

    snprintf(out, sizeof out, "%.*s", (int)(len > 17 ? len - 17 : len), name);
    return name[0] ? out : "-";
}

static void parse(struct session *session, const char *name)
{
    struct backend_step step = next_step(session, ON_PARSE);

    note_of(session, "parse:", short_name(name));
    if (!do_step(session, &step))
        put_simple(session, '1', NULL);
    session->is_skipping = step.act == REFUSE;
}

static void bind_portal(struct session *session, const char *name)
{
    session->step = next_step(session, ON_RUN);
    note_of(session, "run:", short_name(name));
    if (!do_step(session, &session->step) && session->step.act != NO_RESULT)
        put_simple(session, '2', NULL);
    session->is_skipping = session->step.act == REFUSE || session->step.act == NO_RESULT;
}

static void describe(struct session *session)
{
    int type = session->step.act == OTHER_COLUMNS ? TEXT_TYPE : BIGINT_TYPE;

    if (session->step.act == NO_COLUMNS)
        put_simple(session, 'n', NULL);
    else
        put_columns(session, &type, 1, 1);
}

static void execute(struct session *session)
{
    if (session->step.act != NO_COLUMNS) {
        begin(session, 'D');
        put_number(session, 1, 2);
        put_number(session, 8, 4);
        put_number(session, 42, 8);
        end(session);
    }
    put_simple(session, 'C', "SELECT 1");
}

static void sync_session(struct session *session)
{
    struct backend_step step = next_step(session, ON_SYNC);

    note("|");
    session->is_skipping = false;
    if (!do_step(session, &step))
        put_ready(session);
}

/* ---- reading ---- */

static void handle(struct session *session, char type, const char *body)
{
    if (type == 'X') {
        note_of(session, "end", "");
        close_session(session);
    } else if (type == 'S') {
        sync_session(session);
    } else if (session->is_skipping) {
        return;
    } else if (type == 'Q') {
        query(session, body);
    } else if (type == 'P') {
        parse(session, body);
    } else if (type == 'B') {
        bind_portal(session, body + strlen(body) + 1);
    } else if (type == 'D') {
        describe(session);
    } else if (type == 'E') {
        execute(session);
    }
}

static size_t read_number(const unsigned char *bytes)
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Takes one message.  Returns false where there is none. */
static bool take_message(struct session *session)
{
    size_t head = session->is_started ? 1 : 0;
    char message[BUFFER_SIZE];
    size_t len;

    if (session->is_silent || session->fd < 0 || session->n_in < head + 4)
        return false;
    len = head + read_number(session->in + head);
    if (session->n_in < len)
        return false;
    memcpy(message, session->in, len);
    session->n_in -= len;
    memmove(session->in, session->in + len, session->n_in);
    if (session->is_started)
        handle(session, message[0], message + 5);
    else if (read_number((unsigned char *)message + 4) == SSL_REQUEST)
        put(session, "N", 1);
    else
        start(session);
    return true;
}

/* Returns whether it did anything. */
static bool serve_session(struct session *session)
{
    ssize_t n =
        recv(session->fd, session->in + session->n_in, BUFFER_SIZE - session->n_in, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        note_of(session, "end", "");
        close_session(session);
        return true;
    }
    session->n_in += (size_t)n;
    while (take_message(session))
        continue;
    send_out(session);
    return true;
}

bool backend_serve(void)
{
    bool has_worked = false;
    int fd;

    while ((fd = accept(backend.fd, NULL, NULL)) >= 0) {
        struct session *session = &backend.sessions[backend.n_sessions++];

        ck_assert_int_le(backend.n_sessions, MAX_SESSIONS);
        *session = (struct session){.fd = fd, .number = backend.n_sessions, .status = 'I'};
        has_worked = true;
    }
    for (int i = 0; i < backend.n_sessions; i++) {
        if (backend.sessions[i].fd >= 0 && serve_session(&backend.sessions[i]))
            has_worked = true;
    }
    return has_worked;
}

void backend_sent(const char *expected)
{
    while (backend_serve())
        continue;
    ck_assert_str_eq(backend.sent, expected);
    backend.sent[0] = '\0';
}

int backend_n_sent(const char *word)
{
    int n = 0;

    while (backend_serve())
        continue;
    for (const char *at = backend.sent; (at = strstr(at, word)); at++)
        n++;
    backend.sent[0] = '\0';
    return n;
}

void backend_close(int session)
{
    close_session(&backend.sessions[session - 1]);
}

void backend_end(int session)
{
    struct backend_step step = {.sqlstate = "57P01"};

    put_report(&backend.sessions[session - 1], 'E', "FATAL", &step);
    send_out(&backend.sessions[session - 1]);
    close_session(&backend.sessions[session - 1]);
}

void backend_notice(int session)
{
    struct backend_step step = {.detail = "unasked"};

    put_report(&backend.sessions[session - 1], 'N', "WARNING", &step);
    send_out(&backend.sessions[session - 1]);
}
