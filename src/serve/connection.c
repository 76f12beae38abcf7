/* SPDX-License-Identifier: MIT */
/* Connections: their places, states, deadlines, and what their answers hold. */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"

/* How long a request or an answer may stand still, and how long it may take in all.  Neither keeps
 * a lane.  The totals are for peers that move a byte now and then: the largest request arrives in
 * time at 6 KiB/s, the largest page leaves in time at 2 KiB/s. */
#define REQUEST_STALL_MS 10000
#define REQUEST_TOTAL_MS 60000
#define ANSWER_STALL_MS 30000
#define ANSWER_TOTAL_MS 600000

/* Where all places are taken, one that has not moved for this long is given to another. */
#define SPARE_STALL_MS 1000

/* A request that no lane has taken by then is answered with 503: its client has waited as long as
 * for a database that does not answer. */
#define WAITING_MS 4000

/* Bytes that answers may hold that their peers do not read: 16 of the largest pages. */
#define ANSWERS_MAX ((size_t)16 * 1024 * 1024)

/* An answer up to this size needs no room: the socket's own buffer takes it. */
#define SMALL_ANSWER ((size_t)64 * 1024)

static bool reads_or_sends(const struct serve_connection *connection)
{
    return connection->state == SERVE_CONNECTION_READING ||
           connection->state == SERVE_CONNECTION_SENDING;
}

static void enter(struct serve_connection *connection, enum serve_connection_state state)
{
    connection->serve->n_in[connection->state]--;
    connection->serve->n_in[state]++;
    connection->state = state;
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
    enter(connection, SERVE_CONNECTION_FREE);
    *connection = (struct serve_connection){.peer = connection->peer, .serve = serve};
}

/* The other worker's descriptor keeps the registration alive, so it has to be taken back. */
void serve_connection_forget(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;

    if (connection->is_watched)
        serve_watch(serve, EPOLL_CTL_DEL, connection->peer.fd, 0, 0, 0);
    serve_connection_drop(connection);
}

/* A web server that gets no answer says so to its client: the log tells the operator why. */
static void refuse(struct serve_connection *connection, const char *cause)
{
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    log_event(connection->serve->log, LOG_LEVEL_WARNING, "connection dropped", pairs);
    serve_connection_drop(connection);
}

/* ---- places ---- */

/* Returns whether a is the better one to end, of two that can be spared. */
static bool goes_before(const struct serve_connection *a, const struct serve_connection *b)
{
    if ((a->state == SERVE_CONNECTION_IDLE) != (b->state == SERVE_CONNECTION_IDLE))
        return a->state == SERVE_CONNECTION_IDLE;
    return a->moved_ms < b->moved_ms;
}

/* What makes progress is never ended for another's sake. */
static bool can_be_spared(const struct serve_connection *connection, int64_t now_ms)
{
    return connection->state == SERVE_CONNECTION_IDLE ||
           (reads_or_sends(connection) && now_ms - connection->moved_ms >= SPARE_STALL_MS);
}

static struct serve_connection *find_spare(struct serve *serve)
{
    int64_t now_ms = clock_steady_ms();
    struct serve_connection *spare = NULL;

    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        struct serve_connection *connection = &serve->connections[i];

        if (can_be_spared(connection, now_ms) && (!spare || goes_before(connection, spare)))
            spare = connection;
    }
    return spare;
}

bool serve_connection_has_place(struct serve *serve)
{
    return serve->n_in[SERVE_CONNECTION_FREE] > 0 || find_spare(serve);
}

static struct serve_connection *find_free(struct serve *serve)
{
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        if (serve->connections[i].state == SERVE_CONNECTION_FREE)
            return &serve->connections[i];
    }
    return NULL;
}

static struct serve_connection *find_place(struct serve *serve)
{
    struct serve_connection *spare;

    if (serve->n_in[SERVE_CONNECTION_FREE] > 0)
        return find_free(serve);
    spare = find_spare(serve);
    refuse(spare, "too many connections");
    return spare;
}

/* ---- requests ---- */

/* Waits for the next of these events on the connection. */
static void park(struct serve_connection *connection, uint32_t events)
{
    struct serve *serve = connection->serve;
    int how = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->is_watched =
        serve_watch(serve, how, connection->peer.fd, events | EPOLLONESHOT,
                    (uint32_t)(connection - serve->connections), connection->serial);
    if (!connection->is_watched)
        refuse(connection, "epoll_ctl failed");
}

/* The oldest stands first. */
static void join_line(struct serve_connection *connection, int64_t since_ms)
{
    struct serve *serve = connection->serve;
    size_t at = serve->n_line++;

    enter(connection, SERVE_CONNECTION_WAITING);
    connection->since_ms = since_ms;
    connection->is_sorted = false;
    for (; at > 0 && serve->line[at - 1]->since_ms > since_ms; at--)
        serve->line[at] = serve->line[at - 1];
    serve->line[at] = connection;
}

void serve_connection_leave_line(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;
    size_t at = 0;

    while (serve->line[at] != connection)
        at++;
    serve->n_line--;
    memmove(serve->line + at, serve->line + at + 1, (serve->n_line - at) * sizeof serve->line[0]);
    enter(connection, SERVE_CONNECTION_WORKING);
}

static void go_on_reading(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;

    if (connection->state == SERVE_CONNECTION_IDLE)
        enter(connection, SERVE_CONNECTION_READING);
    connection->moved_ms = clock_steady_ms();
    switch (serve_peer_receive(&connection->peer, &serve->chunk)) {
    case SERVE_PART:
        park(connection, EPOLLIN);
        break;
    case SERVE_WHOLE:
        join_line(connection, connection->moved_ms);
        break;
    case SERVE_BROKEN:
        if (connection->peer.intake.cause)
            refuse(connection, connection->peer.intake.cause);
        else
            serve_connection_drop(connection);
        break;
    }
}

static void open_in(struct serve *serve, struct serve_connection *place, int fd)
{
    place->peer.fd = fd;
    place->serial = ++serve->serial;
    enter(place, SERVE_CONNECTION_READING);
}

void serve_connection_open(struct serve *serve, int fd)
{
    struct serve_connection *place = find_place(serve);

    open_in(serve, place, fd);
    go_on_reading(place);
}

void serve_connection_take_over(struct serve *serve, int fd, struct serve_intake *intake,
                                int64_t since_ms)
{
    struct serve_connection *place = find_place(serve);

    open_in(serve, place, fd);
    place->peer.intake = *intake;
    *intake = (struct serve_intake){.id = 0};
    join_line(place, since_ms);
    if (clock_steady_ms() - since_ms >= WAITING_MS)
        serve_connection_answer_at_once(place);
}

static bool peer_gone(void *peer)
{
    const struct serve_connection *connection = peer;

    return serve_peer_gone(&connection->peer);
}

/* A payer may hold as much as is still free: one that hoards leaves half of the room to others, two
 * leave a third, and so on. */
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
    serve_peer_request(&connection->peer, connection->serve->version_variable, request);
    request->peer_gone = peer_gone;
    request->has_room = has_room;
    request->peer = connection;
}

/* ---- answers ---- */

static void end_answer(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;

    serve->answers_held -= connection->charged;
    connection->charged = 0;
    if (serve->is_stopping || !serve_peer_next(&connection->peer)) {
        serve_connection_drop(connection);
        return;
    }
    enter(connection, SERVE_CONNECTION_IDLE);
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

void serve_connection_answer(struct serve_connection *connection, struct response *response)
{
    struct serve *serve = connection->serve;
    bool is_copied = serve_peer_answer(&connection->peer, response);

    enter(connection, SERVE_CONNECTION_SENDING);
    connection->payer = response->payer;
    connection->charged = connection->peer.unsent.cap;
    serve->answers_held += connection->charged;
    serve->has_grown = serve->has_grown || response->body.cap > SERVE_KEPT_ANSWER;
    /* It may hold a secret, and its next use may be far. */
    buf_clear(&response->headers);
    buf_shrink(&response->body, SERVE_KEPT_ANSWER);
    if (is_copied)
        go_on_sending(connection);
    else
        refuse(connection, "out of memory");
}

void serve_connection_answer_at_once(struct serve_connection *connection)
{
    const struct serve_callbacks *callbacks = connection->serve->callbacks;
    struct request request;

    serve_connection_leave_line(connection);
    serve_connection_request(connection, &request);
    request.is_at_once = true;
    serve_connection_answer(connection, callbacks->answer_at_once(callbacks->context, &request));
}

void serve_connection_attend(struct serve_connection *connection)
{
    switch (connection->state) {
    case SERVE_CONNECTION_SENDING:
        go_on_sending(connection);
        break;
    case SERVE_CONNECTION_IDLE:
    case SERVE_CONNECTION_READING:
        go_on_reading(connection);
        break;
    case SERVE_CONNECTION_FREE:
    case SERVE_CONNECTION_WAITING:
    case SERVE_CONNECTION_WORKING:
    case SERVE_CONNECTION_N_STATES:
        break;
    }
}

/* ---- deadlines ---- */

/* A connection that never said anything is no news. */
static void sweep_one(struct serve_connection *connection, int64_t now_ms)
{
    int64_t still_ms = now_ms - connection->moved_ms;
    int64_t total_ms = now_ms - connection->since_ms;

    if (connection->state == SERVE_CONNECTION_SENDING &&
        (still_ms >= ANSWER_STALL_MS || total_ms >= ANSWER_TOTAL_MS))
        refuse(connection, "the answer was not read in time");
    else if (connection->state != SERVE_CONNECTION_READING ||
             (still_ms < REQUEST_STALL_MS && total_ms < REQUEST_TOTAL_MS))
        return;
    else if (serve_intake_begun(&connection->peer.intake))
        refuse(connection, "the request was not whole in time");
    else
        serve_connection_drop(connection);
}

void serve_connections_sweep(struct serve *serve, int64_t now_ms)
{
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        sweep_one(&serve->connections[i], now_ms);
    while (serve->n_line > 0 && now_ms - serve->line[0]->since_ms >= WAITING_MS)
        serve_connection_answer_at_once(serve->line[0]);
}
