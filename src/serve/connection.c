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

static bool reads_or_sends(const struct connection *connection)
{
    return connection->state == CONNECTION_READING || connection->state == CONNECTION_SENDING;
}

static void enter(struct connection *connection, enum connection_state state)
{
    connection->fcgi->n_in[connection->state]--;
    connection->fcgi->n_in[state]++;
    connection->state = state;
    connection->since_ms = clock_steady_ms();
    connection->moved_ms = connection->since_ms;
}

/* ---- ends ---- */

void connection_drop(struct connection *connection)
{
    struct fcgi *fcgi = connection->fcgi;

    if (connection->state == CONNECTION_FREE)
        return;
    fcgi->answers_held -= connection->charged;
    fcgi_peer_close(&connection->peer);
    enter(connection, CONNECTION_FREE);
    *connection = (struct connection){.peer = connection->peer, .fcgi = fcgi};
}

/* The other worker's descriptor keeps the registration alive, so it has to be taken back. */
void connection_forget(struct connection *connection)
{
    struct fcgi *fcgi = connection->fcgi;

    if (connection->is_watched)
        fcgi_watch(fcgi, EPOLL_CTL_DEL, connection->peer.fd, 0, 0, 0);
    connection_drop(connection);
}

/* A web server that gets no answer says so to its client: the log tells the operator why. */
static void refuse(struct connection *connection, const char *cause)
{
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    log_event(connection->fcgi->log, LOG_LEVEL_WARNING, "connection dropped", pairs);
    connection_drop(connection);
}

/* ---- places ---- */

/* Returns whether a is the better one to end, of two that can be spared. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
    if ((a->state == CONNECTION_IDLE) != (b->state == CONNECTION_IDLE))
        return a->state == CONNECTION_IDLE;
    return a->moved_ms < b->moved_ms;
}

/* What makes progress is never ended for another's sake. */
static bool can_be_spared(const struct connection *connection, int64_t now_ms)
{
    return connection->state == CONNECTION_IDLE ||
           (reads_or_sends(connection) && now_ms - connection->moved_ms >= SPARE_STALL_MS);
}

static struct connection *find_spare(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();
    struct connection *spare = NULL;

    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (can_be_spared(connection, now_ms) && (!spare || goes_before(connection, spare)))
            spare = connection;
    }
    return spare;
}

bool connection_has_place(struct fcgi *fcgi)
{
    return fcgi->n_in[CONNECTION_FREE] > 0 || find_spare(fcgi);
}

static struct connection *find_free(struct fcgi *fcgi)
{
    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++) {
        if (fcgi->connections[i].state == CONNECTION_FREE)
            return &fcgi->connections[i];
    }
    return NULL;
}

static struct connection *find_place(struct fcgi *fcgi)
{
    struct connection *spare;

    if (fcgi->n_in[CONNECTION_FREE] > 0)
        return find_free(fcgi);
    spare = find_spare(fcgi);
    refuse(spare, "too many connections");
    return spare;
}

/* ---- requests ---- */

/* Waits for the next of these events on the connection. */
static void park(struct connection *connection, uint32_t events)
{
    struct fcgi *fcgi = connection->fcgi;
    int how = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->is_watched =
        fcgi_watch(fcgi, how, connection->peer.fd, events | EPOLLONESHOT,
                   (uint32_t)(connection - fcgi->connections), connection->serial);
    if (!connection->is_watched)
        refuse(connection, "epoll_ctl failed");
}

/* The oldest stands first. */
static void join_line(struct connection *connection, int64_t since_ms)
{
    struct fcgi *fcgi = connection->fcgi;
    size_t at = fcgi->n_line++;

    enter(connection, CONNECTION_WAITING);
    connection->since_ms = since_ms;
    connection->is_sorted = false;
    for (; at > 0 && fcgi->line[at - 1]->since_ms > since_ms; at--)
        fcgi->line[at] = fcgi->line[at - 1];
    fcgi->line[at] = connection;
}

void connection_leave_line(struct connection *connection)
{
    struct fcgi *fcgi = connection->fcgi;
    size_t at = 0;

    while (fcgi->line[at] != connection)
        at++;
    fcgi->n_line--;
    memmove(fcgi->line + at, fcgi->line + at + 1, (fcgi->n_line - at) * sizeof fcgi->line[0]);
    enter(connection, CONNECTION_WORKING);
}

static void go_on_reading(struct connection *connection)
{
    struct fcgi *fcgi = connection->fcgi;

    if (connection->state == CONNECTION_IDLE)
        enter(connection, CONNECTION_READING);
    connection->moved_ms = clock_steady_ms();
    switch (fcgi_peer_receive(&connection->peer, &fcgi->chunk)) {
    case FCGI_PART:
        park(connection, EPOLLIN);
        break;
    case FCGI_WHOLE:
        join_line(connection, connection->moved_ms);
        break;
    case FCGI_BROKEN:
        if (connection->peer.intake.cause)
            refuse(connection, connection->peer.intake.cause);
        else
            connection_drop(connection);
        break;
    }
}

static void open_in(struct fcgi *fcgi, struct connection *place, int fd)
{
    place->peer.fd = fd;
    place->serial = ++fcgi->serial;
    enter(place, CONNECTION_READING);
}

void connection_open(struct fcgi *fcgi, int fd)
{
    struct connection *place = find_place(fcgi);

    open_in(fcgi, place, fd);
    go_on_reading(place);
}

void connection_take_over(struct fcgi *fcgi, int fd, struct fcgi_intake *intake, int64_t since_ms)
{
    struct connection *place = find_place(fcgi);

    open_in(fcgi, place, fd);
    place->peer.intake = *intake;
    *intake = (struct fcgi_intake){.id = 0};
    join_line(place, since_ms);
    if (clock_steady_ms() - since_ms >= WAITING_MS)
        connection_answer_at_once(place);
}

static bool peer_gone(void *peer)
{
    const struct connection *connection = peer;

    return fcgi_peer_gone(&connection->peer);
}

/* A payer may hold as much as is still free: one that hoards leaves half of the room to others, two
 * leave a third, and so on. */
static bool has_room(void *peer, uint32_t payer, size_t bytes)
{
    const struct fcgi *fcgi = ((const struct connection *)peer)->fcgi;
    size_t held = 0;

    if (bytes <= SMALL_ANSWER)
        return true;
    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++) {
        if (fcgi->connections[i].charged > 0 && fcgi->connections[i].payer == payer)
            held += fcgi->connections[i].charged;
    }
    return fcgi->answers_held + held + bytes <= ANSWERS_MAX;
}

void connection_request(struct connection *connection, struct request *request)
{
    fcgi_peer_request(&connection->peer, connection->fcgi->version_variable, request);
    request->peer_gone = peer_gone;
    request->has_room = has_room;
    request->peer = connection;
}

/* ---- answers ---- */

static void end_answer(struct connection *connection)
{
    struct fcgi *fcgi = connection->fcgi;

    fcgi->answers_held -= connection->charged;
    connection->charged = 0;
    if (fcgi->is_stopping || !fcgi_peer_next(&connection->peer)) {
        connection_drop(connection);
        return;
    }
    enter(connection, CONNECTION_IDLE);
    park(connection, EPOLLIN);
}

static void go_on_sending(struct connection *connection)
{
    size_t sent = connection->peer.sent;

    switch (fcgi_peer_send(&connection->peer)) {
    case FCGI_SENT_PART:
        if (connection->peer.sent > sent)
            connection->moved_ms = clock_steady_ms();
        park(connection, EPOLLOUT);
        break;
    case FCGI_NOT_SENT:
        connection_drop(connection);
        break;
    case FCGI_SENT:
        end_answer(connection);
        break;
    }
}

void connection_answer(struct connection *connection, struct response *response)
{
    struct fcgi *fcgi = connection->fcgi;
    bool is_copied = fcgi_peer_answer(&connection->peer, response);

    enter(connection, CONNECTION_SENDING);
    connection->payer = response->payer;
    connection->charged = connection->peer.unsent.cap;
    fcgi->answers_held += connection->charged;
    fcgi->has_grown = fcgi->has_grown || response->body.cap > FCGI_KEPT_ANSWER;
    /* It may hold a secret, and its next use may be far. */
    buf_clear(&response->headers);
    buf_shrink(&response->body, FCGI_KEPT_ANSWER);
    if (is_copied)
        go_on_sending(connection);
    else
        refuse(connection, "out of memory");
}

void connection_answer_at_once(struct connection *connection)
{
    const struct fcgi_callbacks *callbacks = connection->fcgi->callbacks;
    struct request request;

    connection_leave_line(connection);
    connection_request(connection, &request);
    request.is_at_once = true;
    connection_answer(connection, callbacks->answer_at_once(callbacks->context, &request));
}

void connection_attend(struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_SENDING:
        go_on_sending(connection);
        break;
    case CONNECTION_IDLE:
    case CONNECTION_READING:
        go_on_reading(connection);
        break;
    case CONNECTION_FREE:
    case CONNECTION_WAITING:
    case CONNECTION_WORKING:
    case CONNECTION_N_STATES:
        break;
    }
}

/* ---- deadlines ---- */

/* A connection that never said anything is no news. */
static void sweep_one(struct connection *connection, int64_t now_ms)
{
    int64_t still_ms = now_ms - connection->moved_ms;
    int64_t total_ms = now_ms - connection->since_ms;

    if (connection->state == CONNECTION_SENDING &&
        (still_ms >= ANSWER_STALL_MS || total_ms >= ANSWER_TOTAL_MS))
        refuse(connection, "the answer was not read in time");
    else if (connection->state != CONNECTION_READING ||
             (still_ms < REQUEST_STALL_MS && total_ms < REQUEST_TOTAL_MS))
        return;
    else if (fcgi_intake_begun(&connection->peer.intake))
        refuse(connection, "the request was not whole in time");
    else
        connection_drop(connection);
}

void connection_sweep(struct fcgi *fcgi, int64_t now_ms)
{
    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++)
        sweep_one(&fcgi->connections[i], now_ms);
    while (fcgi->n_line > 0 && now_ms - fcgi->line[0]->since_ms >= WAITING_MS)
        connection_answer_at_once(fcgi->line[0]);
}
