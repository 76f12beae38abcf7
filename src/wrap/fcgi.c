/* SPDX-License-Identifier: MIT */
/* The only room that knows libfcgi, of which it takes the protocol's definitions and the test for
 * plain CGI.  It accepts connections itself, waits for all of them at once, and reads a request
 * whole before anybody works on it: libfcgi's own accept and reads serve one connection until its
 * end, so that a silent, a slow or an idle kept one would hold the worker.
 *
 * Requests are worked on in lanes, each on a stack of its own.  One that waits for the database
 * pauses, and one turn of the loop sees to whatever has come for any of them: under load a worker
 * wakes up far less than once for each thing that happens, and waking up is what costs most. */
#include "wrap/fcgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "wrap/fcgi_peer.h"
#include "wrap/fiber.h"

#define MAX_CONNECTIONS 64
#define MAX_LANES 16

/* From a connection's start, or a kept one's first byte, to the request's end, however its bytes
 * come; and from an answer's start to its end.  Neither holds the worker. */
#define REQUEST_TIMEOUT_MS 10000
#define ANSWER_TIMEOUT_MS 30000

/* How late that may be noticed. */
#define SWEEP_MS 250

/* Without descriptors or memory for a connection nobody is let in for this long: it passes, and
 * trying at once would only burn the processor. */
#define DEAF_MS 50

/* At the end, connections that were accepted may still bring their request, or take their answer,
 * for this long. */
#define DRAIN_TIMEOUT_MS 1000

/* Bytes of unfinished requests and answers that connections may hold: 16 of the largest pages. */
#define HELD_MAX ((size_t)32 * 1024 * 1024)

#define MAX_EVENTS 16

/* Whom an event is for.  Connections and lanes add a serial number: one turn's events may hold one
 * for a connection that another of them has just replaced.  To read what is shared once too often
 * does no harm. */
#define FIRST_LANE UINT32_C(0x10000)
#define LISTENER UINT32_C(0x20000)
#define SIGNALS UINT32_C(0x20001)
#define SHARED UINT32_C(0x20002)

struct connection {
    struct fcgi_peer peer;
    uint32_t serial;
    bool is_watched;     /* epoll knows it */
    bool is_taken;       /* its request is whole, and is not answered yet */
    int64_t since_ms;    /* when it was accepted or last answered */
    int64_t deadline_ms; /* 0: it is kept and idle */
};

struct lane {
    struct fcgi *fcgi;
    struct fiber *fiber;
    fcgi_answerer *answerer;
    void *context;
    struct connection *connection; /* NULL: free */
    struct request request;
    const struct response *response; /* NULL: not yet */
    int64_t deadline_ms;             /* of its wait; 0: it does not wait */
    uint32_t serial;                 /* of that */
    bool is_woken;                   /* it is to end */
    bool is_in_time;                 /* how it ended */
};

struct fcgi {
    int listen_fd;
    int epoll_fd;
    int signal_fd; /* readable while SIGTERM is pending */
    const char *version_variable;
    const struct log *log;
    const struct fcgi_shared *shared; /* while it serves */
    bool is_listening;
    bool is_stopping;
    int64_t deaf_until_ms;
    int64_t drain_until_ms; /* where it is stopping */
    int64_t sweep_ms;       /* when the connections' deadlines are looked at next */
    uint32_t serial;
    struct lane lanes[MAX_LANES];
    struct lane *free_lanes[MAX_LANES]; /* the one used last is the next: its session is warm */
    size_t n_lanes;
    size_t n_free;
    struct connection connections[MAX_CONNECTIONS];
    struct connection *ready[MAX_CONNECTIONS]; /* a ring: taken, but by no lane yet */
    size_t first_ready;
    size_t n_ready;
    struct fcgi_chunk chunk;
};

bool fcgi_is_cgi(void)
{
    return FCGX_IsCGI() != 0;
}

static bool watch(const struct fcgi *fcgi, int how, int fd, uint32_t events, uint32_t id,
                  uint32_t serial)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)serial << 32 | id};

    return epoll_ctl(fcgi->epoll_fd, how, fd, &event) == 0;
}

/* EPOLLEXCLUSIVE: one connection wakes one of the workers that share the socket. */
static void listen_only_if(struct fcgi *fcgi, bool wanted)
{
    if (wanted != fcgi->is_listening &&
        watch(fcgi, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fcgi->listen_fd,
              EPOLLIN | EPOLLEXCLUSIVE, LISTENER, 0))
        fcgi->is_listening = wanted;
}

static bool set_up(struct fcgi *fcgi)
{
    int flags = fcntl(fcgi->listen_fd, F_GETFL);
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    fcgi->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fcgi->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (flags < 0 || fcntl(fcgi->listen_fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcgi->epoll_fd < 0 || fcgi->signal_fd < 0 ||
        !watch(fcgi, EPOLL_CTL_ADD, fcgi->signal_fd, EPOLLIN, SIGNALS, 0))
        return false;
    listen_only_if(fcgi, true);
    return fcgi->is_listening;
}

struct fcgi *fcgi_open(int listen_fd, const char *version_variable, const struct log *log)
{
    struct fcgi *fcgi = calloc(1, sizeof *fcgi);

    if (!fcgi)
        return NULL;
    fcgi->listen_fd = listen_fd;
    fcgi->version_variable = version_variable;
    fcgi->log = log;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        fcgi->connections[i].peer.fd = -1;
    if (set_up(fcgi))
        return fcgi;
    fcgi_close(fcgi);
    return NULL;
}

static bool is_free(const struct connection *connection)
{
    return connection->peer.fd < 0;
}

static void drop(struct connection *connection)
{
    fcgi_peer_close(&connection->peer);
    *connection = (struct connection){.peer = connection->peer};
}

/* A web server that gets no answer says so to its client: the log tells the operator why. */
static void refuse(struct fcgi *fcgi, struct connection *connection, const char *cause)
{
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    log_event(fcgi->log, LOG_LEVEL_WARNING, "connection dropped", pairs);
    drop(connection);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void fcgi_close(struct fcgi *fcgi)
{
    if (!fcgi)
        return;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        drop(&fcgi->connections[i]);
    for (size_t i = 0; i < fcgi->n_lanes; i++)
        fiber_free(fcgi->lanes[i].fiber);
    close_if_open(fcgi->signal_fd);
    close_if_open(fcgi->epoll_fd);
    free(fcgi);
}

/* ---- connections ---- */

/* Whether a is to go rather than b: what is unfinished rather than what is kept, then the older. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
    if (!b || (a->deadline_ms != 0) != (b->deadline_ms != 0))
        return !b || a->deadline_ms != 0;
    return a->since_ms < b->since_ms;
}

/* Somebody is let in where more lanes are free than requests are there. */
_Static_assert(MAX_LANES < MAX_CONNECTIONS, "some connection can be spared");

/* A free place, or else that of the connection that can be spared first. */
static struct connection *find_place(struct fcgi *fcgi)
{
    struct connection *spared = NULL;

    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (is_free(connection))
            return connection;
        if (!connection->is_taken && goes_before(connection, spared))
            spared = connection;
    }
    refuse(fcgi, spared, "too many connections");
    return spared;
}

/* Waits for the next of these events on the connection, until its deadline. */
static void park(struct fcgi *fcgi, struct connection *connection, uint32_t events)
{
    int how = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    connection->is_watched = watch(fcgi, how, connection->peer.fd, events | EPOLLONESHOT,
                                   (uint32_t)(connection - fcgi->connections), connection->serial);
    if (!connection->is_watched)
        refuse(fcgi, connection, "epoll_ctl failed");
}

/* Makes sure that what is unfinished does not fill the memory: the oldest of it goes. */
static void limit_held(struct fcgi *fcgi)
{
    for (;;) {
        struct connection *oldest = NULL;
        size_t sum = 0;

        for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
            struct connection *connection = &fcgi->connections[i];

            sum += fcgi_peer_held(&connection->peer);
            if (fcgi_peer_held(&connection->peer) > 0 && !connection->is_taken &&
                (!oldest || connection->since_ms < oldest->since_ms))
                oldest = connection;
        }
        if (sum <= HELD_MAX || !oldest)
            return;
        refuse(fcgi, oldest, "too much is unfinished");
    }
}

/* Drops what has passed its deadline.  A connection that never said anything is no news. */
static void sweep_connections(struct fcgi *fcgi, int64_t now_ms)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (is_free(connection) || connection->is_taken || connection->deadline_ms == 0 ||
            now_ms < connection->deadline_ms)
            continue;
        if (connection->peer.unsent.len > 0)
            refuse(fcgi, connection, "the answer was not read in time");
        else if (fcgi_intake_begun(&connection->peer.intake))
            refuse(fcgi, connection, "the request was not whole in time");
        else
            drop(connection);
    }
}

static bool any_unfinished(const struct fcgi *fcgi)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (fcgi->connections[i].deadline_ms != 0)
            return true;
    }
    return false;
}

/* ---- requests ---- */

/* Reads on, and waits for more of the request, or puts it in line when it is whole. */
static void go_on_reading(struct fcgi *fcgi, struct connection *connection)
{
    if (connection->deadline_ms == 0)
        connection->deadline_ms = clock_steady_ms() + REQUEST_TIMEOUT_MS;
    switch (fcgi_peer_receive(&connection->peer, &fcgi->chunk)) {
    case FCGI_PART:
        park(fcgi, connection, EPOLLIN);
        limit_held(fcgi);
        break;
    case FCGI_WHOLE:
        connection->is_taken = true;
        fcgi->ready[(fcgi->first_ready + fcgi->n_ready++) % MAX_CONNECTIONS] = connection;
        break;
    case FCGI_BROKEN:
        if (connection->peer.intake.cause)
            refuse(fcgi, connection, connection->peer.intake.cause);
        else
            drop(connection);
        break;
    }
}

/* Returns false where nobody is there. */
static bool accept_connection(struct fcgi *fcgi)
{
    struct connection *connection;
    int64_t now_ms = clock_steady_ms();
    int fd = accept4(fcgi->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            fcgi->deaf_until_ms = now_ms + DEAF_MS;
        return false;
    }
    connection = find_place(fcgi);
    *connection = (struct connection){.peer.fd = fd,
                                      .serial = ++fcgi->serial,
                                      .since_ms = now_ms,
                                      .deadline_ms = now_ms + REQUEST_TIMEOUT_MS};
    go_on_reading(fcgi, connection);
    return true;
}

/* ---- answers ---- */

static void go_on_sending(struct fcgi *fcgi, struct connection *connection)
{
    switch (fcgi_peer_send(&connection->peer)) {
    case FCGI_SENT_PART:
        park(fcgi, connection, EPOLLOUT);
        limit_held(fcgi);
        break;
    case FCGI_NOT_SENT:
        drop(connection);
        break;
    case FCGI_SENT:
        if (fcgi->is_stopping || !fcgi_peer_next(&connection->peer)) {
            drop(connection);
            break;
        }
        connection->since_ms = clock_steady_ms();
        connection->deadline_ms = 0;
        park(fcgi, connection, EPOLLIN);
        break;
    }
}

static void send_answer(struct fcgi *fcgi, struct connection *connection,
                        const struct response *response)
{
    connection->is_taken = false;
    connection->since_ms = clock_steady_ms();
    connection->deadline_ms = connection->since_ms + ANSWER_TIMEOUT_MS;
    if (fcgi_peer_answer(&connection->peer, response))
        go_on_sending(fcgi, connection);
    else
        refuse(fcgi, connection, "out of memory");
}

/* ---- lanes ---- */

static void run_lane(void *context)
{
    struct lane *lane = context;

    lane->response = lane->answerer(lane->context, &lane->request);
}

/* Watches what may be watched for something else already. */
static bool watch_anew(const struct fcgi *fcgi, int fd, uint32_t events, uint32_t id,
                       uint32_t serial)
{
    return watch(fcgi, EPOLL_CTL_MOD, fd, events, id, serial) ||
           (errno == ENOENT && watch(fcgi, EPOLL_CTL_ADD, fd, events, id, serial));
}

/* The wait of whoever answers in a lane.  poll()'s events are epoll's. */
static bool pause_lane(void *context, int fd, short events, int64_t deadline_ms)
{
    struct lane *lane = context;
    uint32_t id = FIRST_LANE + (uint32_t)(lane - lane->fcgi->lanes);

    lane->serial++;
    if (fd >= 0 && !watch_anew(lane->fcgi, fd, (uint32_t)events | EPOLLONESHOT, id, lane->serial))
        return wait_alone.until(NULL, fd, events, deadline_ms);
    lane->deadline_ms = deadline_ms;
    fiber_pause(lane->fiber);
    return lane->is_in_time;
}

static void wake_lane(void *context)
{
    struct lane *lane = context;

    lane->is_woken = lane->deadline_ms != 0;
}

static bool watch_shared(void *context, int fd)
{
    const struct lane *lane = context;

    return watch_anew(lane->fcgi, fd, EPOLLIN, SHARED, 0);
}

bool fcgi_add_lane(struct fcgi *fcgi, fcgi_answerer *answerer, void *context, struct wait *wait)
{
    struct lane *lane = &fcgi->lanes[fcgi->n_lanes];

    if (fcgi->n_lanes == MAX_LANES)
        return false;
    *lane = (struct lane){.fcgi = fcgi, .answerer = answerer, .context = context};
    lane->fiber = fiber_new(run_lane, lane);
    if (!lane->fiber)
        return false;
    *wait = (struct wait){pause_lane, wake_lane, watch_shared, lane};
    fcgi->n_lanes++;
    fcgi->free_lanes[fcgi->n_free++] = lane;
    return true;
}

static void resume(struct lane *lane, bool is_in_time)
{
    struct fcgi *fcgi = lane->fcgi;

    lane->deadline_ms = 0;
    lane->is_woken = false;
    lane->is_in_time = is_in_time;
    fiber_resume(lane->fiber);
    if (!lane->response)
        return;
    send_answer(fcgi, lane->connection, lane->response);
    lane->connection = NULL;
    fcgi->free_lanes[fcgi->n_free++] = lane;
}

/* Hands requests that are there to lanes that are free. */
static void start_lanes(struct fcgi *fcgi)
{
    while (fcgi->n_ready > 0 && fcgi->n_free > 0) {
        struct lane *lane = fcgi->free_lanes[--fcgi->n_free];

        lane->connection = fcgi->ready[fcgi->first_ready];
        lane->response = NULL;
        fcgi->first_ready = (fcgi->first_ready + 1) % MAX_CONNECTIONS;
        fcgi->n_ready--;
        fcgi_peer_request(&lane->connection->peer, fcgi->version_variable, &lane->request);
        resume(lane, true);
    }
}

/* Also those whom these wake. */
static void resume_woken(struct fcgi *fcgi)
{
    bool any;

    do {
        any = false;
        for (size_t i = 0; i < fcgi->n_lanes; i++) {
            if (!fcgi->lanes[i].is_woken)
                continue;
            any = true;
            resume(&fcgi->lanes[i], true);
        }
        start_lanes(fcgi);
    } while (any);
}

/* ---- waiting ---- */

static bool is_idle(const struct fcgi *fcgi)
{
    return fcgi->n_free == fcgi->n_lanes && fcgi->n_ready == 0;
}

static bool is_done(const struct fcgi *fcgi)
{
    return fcgi->is_stopping && is_idle(fcgi) &&
           (!any_unfinished(fcgi) || clock_left_ms(fcgi->drain_until_ms) == 0);
}

static bool may_listen(const struct fcgi *fcgi)
{
    return fcgi->n_free > 0 && !fcgi->is_stopping && clock_left_ms(fcgi->deaf_until_ms) == 0;
}

/* Returns the milliseconds to wait for whatever comes next, -1: as long as it takes.  Where it does
 * not listen though it has nothing to do, the kernel refused something that it has to try again. */
static int wait_ms(const struct fcgi *fcgi)
{
    bool can_wait = is_idle(fcgi) && !any_unfinished(fcgi) && fcgi->is_listening;
    int least_ms = can_wait ? -1 : SWEEP_MS;

    for (size_t i = 0; i < fcgi->n_lanes; i++) {
        const struct lane *lane = &fcgi->lanes[i];
        int left_ms = lane->deadline_ms ? clock_left_ms(lane->deadline_ms) : SWEEP_MS;

        if (lane->is_woken)
            return 0;
        if (left_ms < least_ms)
            least_ms = left_ms;
    }
    return least_ms;
}

/* Ends what has passed its deadline. */
static void sweep(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();

    for (size_t i = 0; i < fcgi->n_lanes; i++) {
        struct lane *lane = &fcgi->lanes[i];

        if (lane->deadline_ms != 0 && now_ms >= lane->deadline_ms)
            resume(lane, false);
    }
    if (now_ms >= fcgi->sweep_ms) {
        fcgi->sweep_ms = now_ms + SWEEP_MS;
        sweep_connections(fcgi, now_ms);
    }
}

static void begin_to_stop(struct fcgi *fcgi)
{
    struct signalfd_siginfo info;

    (void)!read(fcgi->signal_fd, &info, sizeof info);
    if (fcgi->is_stopping)
        return;
    fcgi->is_stopping = true;
    fcgi->drain_until_ms = clock_steady_ms() + DRAIN_TIMEOUT_MS;
}

static void attend(struct fcgi *fcgi, uint32_t id, uint32_t serial)
{
    if (id == LISTENER) {
        /* As many as there are lanes for, so that what they ask is asked at once. */
        for (size_t n = fcgi->n_free; n > 0 && fcgi->n_free > 0 && accept_connection(fcgi); n--)
            start_lanes(fcgi);
    } else if (id == SIGNALS) {
        begin_to_stop(fcgi);
    } else if (id == SHARED) {
        fcgi->shared->on_input(fcgi->shared->context);
    } else if (id >= FIRST_LANE) {
        struct lane *lane = &fcgi->lanes[id - FIRST_LANE];

        if (lane->deadline_ms != 0 && lane->serial == serial)
            resume(lane, true);
    } else {
        struct connection *connection = &fcgi->connections[id];

        if (is_free(connection) || connection->serial != serial)
            return;
        if (connection->peer.unsent.len > 0)
            go_on_sending(fcgi, connection);
        else
            go_on_reading(fcgi, connection);
    }
}

void fcgi_serve(struct fcgi *fcgi, const struct fcgi_shared *shared)
{
    struct epoll_event events[MAX_EVENTS];

    fcgi->shared = shared;
    while (!is_done(fcgi)) {
        int n;

        listen_only_if(fcgi, may_listen(fcgi));
        n = epoll_wait(fcgi->epoll_fd, events, MAX_EVENTS, wait_ms(fcgi));
        for (int i = 0; i < n; i++) {
            attend(fcgi, (uint32_t)events[i].data.u64, (uint32_t)(events[i].data.u64 >> 32));
            start_lanes(fcgi);
        }
        sweep(fcgi);
        start_lanes(fcgi);
        resume_woken(fcgi);
        shared->before_wait(shared->context);
    }
}
