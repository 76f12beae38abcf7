/* SPDX-License-Identifier: MIT */
/* Connections: their states, deadlines and places, and the memory of their answers. */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"

/* Bytes that unread answers may hold together: 16 of the largest pages. */
#define ANSWERS_MAX ((size_t)16 * 1024 * 1024)

/* An answer up to this size is never refused: the socket's buffer takes it. */
#define SMALL_ANSWER ((size_t)64 * 1024)

/* If so many connections are idle, a connection ends after its answer.  So idle connections never
 * keep new ones out. */
#define IDLE_MAX (SERVE_MAX_CONNECTIONS / 2)

/* A request that no lane has taken by then is answered with 503: its client has waited as long as
 * for a database that does not answer. */
#define WAITING_MS 4000

/* ---- states ---- */

#define NEVER INT64_MAX
#define TO(state) (1U << SERVE_CONNECTION_##state)

/* What holds in each state.  No connection that waits for its peer keeps a lane.  The totals are
 * for peers that move a byte now and then: the largest request arrives in time at 6 KiB/s, the
 * largest page leaves in time at 2 KiB/s. */
static const struct rule {
    unsigned next;     /* the states that may follow */
    int64_t stall_ms;  /* the connection ends after so long without a byte */
    int64_t total_ms;  /* it ends after so long in this state */
    int64_t spare_ms;  /* after so long without a byte, a new connection may take its place */
    const char *cause; /* what the log says of its end; NULL: nothing */
} rules[SERVE_CONNECTION_N_STATES] = {
    [SERVE_CONNECTION_FREE] = {TO(NEW) | TO(WAITING) | TO(IDLE), NEVER, NEVER, NEVER, NULL},
    [SERVE_CONNECTION_NEW] = {TO(READING) | TO(WAITING) | TO(FREE), 10000, NEVER, 1000, NULL},
    [SERVE_CONNECTION_IDLE] = {TO(READING) | TO(WAITING) | TO(FREE), NEVER, NEVER, SERVE_LEAVE_MS,
                               NULL},
    [SERVE_CONNECTION_READING] = {TO(WAITING) | TO(FREE), 10000, 60000, 1000,
                                  "the request was not whole in time"},
    [SERVE_CONNECTION_WAITING] = {TO(WORKING) | TO(FREE), NEVER, NEVER, NEVER, NULL},
    [SERVE_CONNECTION_WORKING] = {TO(SENDING) | TO(FREE), NEVER, NEVER, NEVER, NULL},
    [SERVE_CONNECTION_SENDING] = {TO(IDLE) | TO(FREE), 30000, 600000, 1000,
                                  "the answer was not read in time"},
};

bool serve_connection_may_move(enum serve_connection_state from, enum serve_connection_state to)
{
    return rules[from].next >> to & 1;
}

static void leave_line(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;
    size_t at = 0;

    while (serve->line[at] != connection)
        at++;
    serve->n_line--;
    memmove(serve->line + at, serve->line + at + 1, (serve->n_line - at) * sizeof serve->line[0]);
}

void serve_connection_move(struct serve_connection *connection, enum serve_connection_state to)
{
    struct serve *serve = connection->serve;

    if (!serve_connection_may_move(connection->state, to))
        serve_wrong_move(serve, "connection", (int)connection->state, (int)to);
    if (connection->state == SERVE_CONNECTION_WAITING)
        leave_line(connection);
    /* Kept connections alone could keep the lanes busy: a new one may follow each of their
     * requests. */
    if (connection->state == SERVE_CONNECTION_IDLE && to != SERVE_CONNECTION_FREE &&
        serve->n_owed < serve->n_lanes)
        serve->n_owed++;
    serve->n_in[connection->state]--;
    serve->n_in[to]++;
    connection->state = to;
    connection->since_ms = clock_steady_ms();
    connection->moved_ms = connection->since_ms;
}

/* ---- ends ---- */

void serve_connection_drop(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;

    if (connection->state == SERVE_CONNECTION_FREE)
        return;
    serve->answers_held -= connection->charged;
    serve_peer_close(&connection->peer);
    serve_connection_move(connection, SERVE_CONNECTION_FREE);
    *connection = (struct serve_connection){.peer = connection->peer, .serve = serve};
}

/* The other worker's descriptor keeps the registration alive: take it back first. */
void serve_connection_forget(struct serve_connection *connection)
{
    if (connection->is_watched)
        serve_unwatch(connection->serve, connection->peer.fd);
    serve_connection_drop(connection);
}

/* A web server that gets no answer tells its client so: the log tells the operator why. */
static void drop_because(struct serve_connection *connection, const char *cause)
{
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    if (cause)
        log_event(connection->serve->log, LOG_LEVEL_WARNING, "connection dropped", pairs);
    serve_connection_drop(connection);
}

/* ---- places ---- */

/* Returns which of two connections that can be spared goes first: an idle one, else the one that
 * has moved no byte for longer. */
static bool goes_before(const struct serve_connection *a, const struct serve_connection *b)
{
    if ((a->state == SERVE_CONNECTION_IDLE) != (b->state == SERVE_CONNECTION_IDLE))
        return a->state == SERVE_CONNECTION_IDLE;
    return a->moved_ms < b->moved_ms;
}

/* Returns the index of the connection that ends for a new one, or SERVE_MAX_CONNECTIONS.  A
 * connection that makes progress is never ended. */
static size_t find_spare(const struct serve *serve)
{
    const struct serve_connection *all = serve->connections;
    int64_t now_ms = clock_steady_ms();
    size_t spare = SERVE_MAX_CONNECTIONS;

    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        if (now_ms - all[i].moved_ms >= rules[all[i].state].spare_ms &&
            (spare == SERVE_MAX_CONNECTIONS || goes_before(&all[i], &all[spare])))
            spare = i;
    }
    return spare;
}

bool serve_connection_has_place(const struct serve *serve)
{
    return serve->n_in[SERVE_CONNECTION_FREE] > 0 || find_spare(serve) < SERVE_MAX_CONNECTIONS;
}

static struct serve_connection *find_place(struct serve *serve)
{
    size_t place = 0;

    if (serve->n_in[SERVE_CONNECTION_FREE] > 0) {
        while (serve->connections[place].state != SERVE_CONNECTION_FREE)
            place++;
    } else {
        place = find_spare(serve);
        drop_because(&serve->connections[place], "too many connections");
    }
    return &serve->connections[place];
}

/* ---- requests ---- */

/* Has epoll report the next of these events. */
static void park(struct serve_connection *connection, uint32_t events)
{
    struct serve *serve = connection->serve;
    int how = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->is_watched =
        serve_watch(serve, how, connection->peer.fd, events | EPOLLONESHOT,
                    serve_mark((uint32_t)(connection - serve->connections), connection->serial));
    if (!connection->is_watched)
        drop_because(connection, "epoll_ctl failed");
}

/* A request from another worker may be older than those in the line. */
static void join_line(struct serve_connection *connection, int64_t since_ms)
{
    struct serve *serve = connection->serve;
    size_t at = serve->n_line++;

    serve_connection_move(connection, SERVE_CONNECTION_WAITING);
    connection->since_ms = since_ms;
    connection->is_sorted = false;
    connection->has_caller = false;
    connection->was_offered = false;
    for (; at > 0 && serve->line[at - 1]->since_ms > since_ms; at--)
        serve->line[at] = serve->line[at - 1];
    serve->line[at] = connection;
}

static enum serve_progress receive(struct serve_connection *connection)
{
    struct serve_intake *intake = &connection->peer.intake;
    enum serve_progress progress = serve_peer_receive(&connection->peer, &connection->serve->chunk);

    if (progress == SERVE_BROKEN || !intake->is_authorizer || connection->serve->wants->authorizers)
        return progress;
    intake->cause = "the role is not the responder's";
    return SERVE_BROKEN;
}

/* An event may bring no byte: the connection is then as new or as idle as before. */
static void go_on_reading(struct serve_connection *connection)
{
    const struct serve_intake *intake = &connection->peer.intake;
    int64_t now_us = clock_steady_us();

    connection->moved_ms = now_us / 1000;
    switch (receive(connection)) {
    case SERVE_PART:
        if (connection->state != SERVE_CONNECTION_READING && serve_intake_begun(intake))
            serve_connection_move(connection, SERVE_CONNECTION_READING);
        park(connection, EPOLLIN);
        break;
    case SERVE_WHOLE:
        connection->whole_us = now_us;
        join_line(connection, connection->moved_ms);
        break;
    case SERVE_BROKEN:
        drop_because(connection, intake->cause);
        break;
    }
}

static struct serve_connection *open_place(struct serve *serve, int fd)
{
    struct serve_connection *place = find_place(serve);

    place->peer.fd = fd;
    place->serial = ++serve->serial;
    return place;
}

void serve_connection_open(struct serve *serve, int fd)
{
    struct serve_connection *place = open_place(serve, fd);

    if (serve->n_owed > 0)
        serve->n_owed--;
    serve_connection_move(place, SERVE_CONNECTION_NEW);
    go_on_reading(place);
}

void serve_connection_take_over(struct serve *serve, int fd, struct serve_intake *intake,
                                int64_t since_ms)
{
    struct serve_connection *place = open_place(serve, fd);

    place->peer.intake = *intake;
    *intake = (struct serve_intake){.id = 0};
    place->whole_us = since_ms * 1000;
    join_line(place, since_ms);
    place->was_offered = true;
    if (clock_steady_ms() - since_ms >= WAITING_MS)
        serve_connection_answer_at_once(place);
}

void serve_connection_adopt(struct serve *serve, int fd)
{
    struct serve_connection *place;

    if (serve->n_in[SERVE_CONNECTION_FREE] == 0) {
        close(fd);
        return;
    }
    place = open_place(serve, fd);
    serve_connection_move(place, SERVE_CONNECTION_IDLE);
    park(place, EPOLLIN);
}

void serve_connections_pass_on(struct serve *serve)
{
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS && serve->n_in[SERVE_CONNECTION_IDLE] > 0; i++) {
        if (serve->connections[i].state == SERVE_CONNECTION_IDLE &&
            !serve_handover_pass_on(&serve->connections[i]))
            return;
    }
}

static bool peer_gone(void *peer)
{
    const struct serve_connection *connection = peer;

    return serve_peer_gone(&connection->peer);
}

/* A payer may hold as much as is still free.  One payer that reads nothing leaves half of the room
 * to the others, two leave a third, and so on. */
static bool has_room(void *peer, uint32_t payer, size_t bytes)
{
    const struct serve *serve = ((const struct serve_connection *)peer)->serve;
    size_t held = 0;

    if (bytes <= SMALL_ANSWER)
        return true;
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        if (serve->connections[i].charged > 0 && serve->connections[i].payer == payer)
            held += serve->connections[i].charged;
    }
    return serve->answers_held + held + bytes <= ANSWERS_MAX;
}

void serve_connection_request(struct serve_connection *connection, struct request *request)
{
    serve_peer_request(&connection->peer, connection->serve->wants, request);
    request->arrived_us = connection->whole_us;
    request->scans_for = serve_line_scans_for(connection);
    request->peer_gone = peer_gone;
    request->has_room = has_room;
    request->peer = connection;
    request->is_draining = connection->serve->is_draining;
}

/* ---- answers ---- */

static void end_answer(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;

    serve->answers_held -= connection->charged;
    connection->charged = 0;
    if (!serve_peer_next(&connection->peer)) {
        serve_connection_drop(connection);
        return;
    }
    serve_connection_move(connection, SERVE_CONNECTION_IDLE);
    park(connection, EPOLLIN);
}

static void go_on_sending(struct serve_connection *connection)
{
    size_t sent = connection->peer.sent;

    switch (serve_peer_send(&connection->peer)) {
    case SERVE_SENT_PART:
        if (connection->peer.sent > sent)
            connection->moved_ms = clock_steady_ms();
        park(connection, EPOLLOUT);
        break;
    case SERVE_NOT_SENT:
        serve_connection_drop(connection);
        break;
    case SERVE_SENT:
        end_answer(connection);
        break;
    }
}

/* Returns whether a connection ends after its answer although the web server keeps it.  If no place
 * is free, others may wait for one: kept connections that are always busy would keep them waiting.
 */
static bool ends_next(const struct serve *serve)
{
    return (serve->is_stopping && serve->successor < 0) ||
           serve->n_in[SERVE_CONNECTION_FREE] == 0 ||
           serve->n_in[SERVE_CONNECTION_IDLE] >= IDLE_MAX;
}

void serve_connection_answer(struct serve_connection *connection, struct response *response)
{
    struct serve *serve = connection->serve;
    bool is_copied = serve_peer_answer(&connection->peer, response, ends_next(serve));

    serve_connection_move(connection, SERVE_CONNECTION_SENDING);
    serve_line_note_answer(connection, response);
    connection->payer = response->payer;
    connection->charged = connection->peer.unsent.cap;
    serve->answers_held += connection->charged;
    serve->has_grown = serve->has_grown || response->body.cap > SERVE_KEPT_ANSWER;
    /* It may hold a secret, and the lane may stay free for long. */
    buf_clear(&response->headers);
    buf_shrink(&response->body, SERVE_KEPT_ANSWER);
    if (is_copied)
        go_on_sending(connection);
    else
        drop_because(connection, "out of memory");
}

void serve_connection_answer_at_once(struct serve_connection *connection)
{
    const struct serve_callbacks *callbacks = connection->serve->callbacks;
    struct request request;

    serve_connection_move(connection, SERVE_CONNECTION_WORKING);
    serve_connection_request(connection, &request);
    request.is_at_once = true;
    serve_connection_answer(connection, callbacks->answer_at_once(callbacks->context, &request));
}

void serve_connection_attend(struct serve_connection *connection)
{
    switch (connection->state) {
    case SERVE_CONNECTION_NEW:
    case SERVE_CONNECTION_IDLE:
    case SERVE_CONNECTION_READING:
        go_on_reading(connection);
        break;
    case SERVE_CONNECTION_SENDING:
        go_on_sending(connection);
        break;
    case SERVE_CONNECTION_FREE: /* nothing is watched in these */
    case SERVE_CONNECTION_WAITING:
    case SERVE_CONNECTION_WORKING:
    case SERVE_CONNECTION_N_STATES:
        break;
    }
}

void serve_connections_sweep(struct serve *serve, int64_t now_ms)
{
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        struct serve_connection *connection = &serve->connections[i];
        const struct rule *rule = &rules[connection->state];

        if (now_ms - connection->moved_ms >= rule->stall_ms ||
            now_ms - connection->since_ms >= rule->total_ms)
            drop_because(connection, rule->cause);
    }
    while (serve->n_line > 0 && now_ms - serve->line[0]->since_ms >= WAITING_MS)
        serve_connection_answer_at_once(serve->line[0]);
}
