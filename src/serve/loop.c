/* SPDX-License-Identifier: MIT */
/* The event loop of a worker.
 *
 * It accepts connections, waits for all of them at once, and reads each request whole before a lane
 * takes it.  libfcgi's own loop serves one connection until its end: a silent, slow or idle one
 * would hold the worker.  Of libfcgi, only the test for plain CGI is used here.
 *
 * Each lane answers a request on a stack of its own.  A lane that waits for the database pauses,
 * and one turn of the loop resumes all lanes whose results have come.  Under load, a worker wakes
 * up far less than once per event; waking up is the largest cost. */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"

/* After EMFILE or ENOMEM the worker accepts nothing for at least this long: trying again at once
 * would waste the processor. */
#define DEAF_MS 50

/* Once it is stopping, accepted connections may bring their request and read their answer for this
 * long. */
#define STOP_TIMEOUT_MS 1000

/* A worker that is stopping but cannot end yet accepts what no other worker has accepted for this
 * long. */
#define LATE_MS 20

#define MAX_EVENTS 16

bool serve_watch(const struct serve *serve, int how, int fd, uint32_t events, uint64_t mark)
{
    struct epoll_event event = {.events = events, .data.u64 = mark};

    return epoll_ctl(serve->epoll_fd, how, fd, &event) == 0;
}

void serve_unwatch(const struct serve *serve, int fd)
{
    (void)epoll_ctl(serve->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void serve_wrong_move(struct serve *serve, const char *what, int from, int to)
{
    char cause[64];
    const struct log_pair pairs[] = {{"cause", cause}, {NULL, NULL}};

    serve->n_wrong_moves++;
    snprintf(cause, sizeof cause, "a %s went from state %d to %d", what, from, to);
    log_event(serve->log, LOG_LEVEL_ERROR, "wrong state", pairs);
}

bool serve_watch_anew(const struct serve *serve, int fd, uint32_t events, uint64_t mark)
{
    return serve_watch(serve, EPOLL_CTL_MOD, fd, events, mark) ||
           (errno == ENOENT && serve_watch(serve, EPOLL_CTL_ADD, fd, events, mark));
}

/* ---- opening and closing ---- */

/* EPOLLEXCLUSIVE: one connection wakes one of the workers that share the socket. */
static void listen_only_if(struct serve *serve, bool wanted)
{
    if (wanted == serve->is_listening)
        return;
    if (!wanted)
        serve_unwatch(serve, serve->listen_fd);
    serve->is_listening = wanted && serve_watch(serve, EPOLL_CTL_ADD, serve->listen_fd,
                                                EPOLLIN | EPOLLEXCLUSIVE, SERVE_EVENT_LISTENER);
}

/* EPOLLET: epoll reports each message once, so a worker that cannot take it does not spin. */
static bool watch_handover(const struct serve *serve)
{
    return serve->handover[1] < 0 || serve_watch(serve, EPOLL_CTL_ADD, serve->handover[1],
                                                 EPOLLIN | EPOLLET, SERVE_EVENT_HANDOVER);
}

static bool open_events(struct serve *serve)
{
    int flags = fcntl(serve->listen_fd, F_GETFL);
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    serve->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    serve->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (flags < 0 || fcntl(serve->listen_fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        serve->epoll_fd < 0 || serve->signal_fd < 0 ||
        !serve_watch(serve, EPOLL_CTL_ADD, serve->signal_fd, EPOLLIN, SERVE_EVENT_SIGNALS) ||
        !watch_handover(serve))
        return false;
    listen_only_if(serve, true);
    return serve->is_listening;
}

struct serve *serve_open(int listen_fd, const int handover[2], const struct request_wants *wants,
                         const struct log *log)
{
    struct serve *serve = calloc(1, sizeof *serve);

    if (!serve)
        return NULL;
    serve->listen_fd = listen_fd;
    serve->handover[0] = handover[0];
    serve->handover[1] = handover[1];
    serve->successor = -1;
    serve->wants = wants;
    serve->log = log;
    serve->supervisor = getppid();
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        serve->connections[i] = (struct serve_connection){.peer.fd = -1, .serve = serve};
    serve->n_in[SERVE_CONNECTION_FREE] = SERVE_MAX_CONNECTIONS;
    if (open_events(serve))
        return serve;
    serve_close(serve);
    return NULL;
}

void serve_count_in(struct serve *serve, struct metrics_slot *counts)
{
    serve->counts = counts;
}

void serve_set_drain(struct serve *serve, int drain_ms)
{
    serve->drain_ms = drain_ms;
}

void serve_pass_on(struct serve *serve, int socket)
{
    serve->successor = socket;
}

void serve_adopt(struct serve *serve, int fd)
{
    serve_connection_adopt(serve, fd);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void serve_close(struct serve *serve)
{
    if (!serve)
        return;
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        serve_connection_drop(&serve->connections[i]);
    for (size_t i = 0; i < serve->n_lanes; i++)
        serve_fiber_free(serve->lanes[i].fiber);
    close_if_open(serve->signal_fd);
    close_if_open(serve->epoll_fd);
    free(serve);
}

/* ---- the loop ---- */

static bool any_moves(const struct serve *serve)
{
    return serve->n_in[SERVE_CONNECTION_NEW] > 0 || serve->n_in[SERVE_CONNECTION_READING] > 0 ||
           serve->n_in[SERVE_CONNECTION_SENDING] > 0;
}

/* Returns whether a worker that stops goes on for this connection. */
static bool is_waited_for(const struct serve *serve, const struct serve_connection *connection,
                          int64_t now_ms)
{
    switch (connection->state) {
    case SERVE_CONNECTION_NEW:
    case SERVE_CONNECTION_READING:
    case SERVE_CONNECTION_SENDING:
        return now_ms - connection->since_ms < STOP_TIMEOUT_MS ||
               now_ms - serve->stopped_ms < STOP_TIMEOUT_MS;
    case SERVE_CONNECTION_IDLE:
        return now_ms < serve->leaves_ms;
    case SERVE_CONNECTION_WAITING:
    case SERVE_CONNECTION_WORKING:
        return true;
    case SERVE_CONNECTION_FREE:
    case SERVE_CONNECTION_N_STATES:
        break;
    }
    return false;
}

static bool has_ended(const struct serve *serve)
{
    int64_t now_ms;

    if (!serve->is_stopping || serve->is_offered || !serve_lanes_are_idle(serve))
        return false;
    now_ms = clock_steady_ms();
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        if (is_waited_for(serve, &serve->connections[i], now_ms))
            return false;
    }
    return true;
}

/* Returns whether requests or connections from before SIGTERM keep a worker that stops from its
 * end. So what comes meanwhile does not delay the end much. */
static bool has_old_work(const struct serve *serve, int64_t now_ms)
{
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        const struct serve_connection *connection = &serve->connections[i];

        if (connection->state != SERVE_CONNECTION_IDLE &&
            connection->since_ms <= serve->stopped_ms && is_waited_for(serve, connection, now_ms))
            return true;
    }
    return false;
}

/* Returns whether a worker that stops goes on with new requests, since it cannot end yet. */
static bool goes_on(const struct serve *serve)
{
    int64_t now_ms;

    if (!serve->is_stopping)
        return false;
    now_ms = clock_steady_ms();
    return now_ms < serve->leaves_ms &&
           (has_old_work(serve, now_ms) ||
            (serve->successor < 0 && serve->n_in[SERVE_CONNECTION_IDLE] > 0));
}

static bool may_listen(struct serve *serve)
{
    return serve_lanes_want_more(serve) && !serve->is_stopping &&
           clock_left_ms(serve->deaf_until_ms) == 0 && serve_connection_has_place(serve);
}

/* Returns the milliseconds to wait for events; -1: no limit.  A worker that has nothing to do and
 * does not listen has to try again: accept or epoll_ctl failed. */
static int wait_ms(const struct serve *serve)
{
    if (serve_lanes_are_idle(serve) && !any_moves(serve) && serve->is_listening &&
        !serve->has_grown && !serve->is_offered && !serve->is_draining) {
        int64_t due_ms = serve_lanes_chore_due_ms(serve);

        return due_ms == INT64_MAX ? -1 : clock_left_ms(due_ms);
    }
    return serve_lanes_wait_ms(serve, goes_on(serve) ? LATE_MS : SERVE_SWEEP_MS);
}

/* Large answers leave free memory in pieces, which free() does not return to the system. */
static void give_memory_back(struct serve *serve)
{
    if (!serve->has_grown)
        return;
    serve->has_grown = false;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Leaves idle connections to the web server for leave_ms.  A second call may shorten that. */
static void stop(struct serve *serve, int leave_ms)
{
    int64_t now_ms = clock_steady_ms();

    if (!serve->is_stopping) {
        serve->stopped_ms = now_ms;
        serve->late_ms = now_ms + LATE_MS;
    }
    serve->is_stopping = true;
    serve->leaves_ms = now_ms + leave_ms;
}

static void sweep(struct serve *serve)
{
    int64_t now_ms = clock_steady_ms();

    serve_lanes_sweep(serve, now_ms);
    serve_lanes_start_chore(serve, now_ms);
    if (serve->is_draining && !serve->is_stopping && now_ms >= serve->stop_at_ms)
        stop(serve, SERVE_LEAVE_MS);
    if (now_ms < serve->sweep_ms)
        return;
    serve->sweep_ms = now_ms + SERVE_SWEEP_MS;
    serve_connections_sweep(serve, now_ms);
    give_memory_back(serve);
}

/* SIGTERM may come twice: systemd sends it to all processes of a service, and the supervisor to its
 * workers. */
static void begin_to_stop(struct serve *serve)
{
    struct signalfd_siginfo info = {0};
    bool is_orphan = getppid() != serve->supervisor;

    (void)!read(serve->signal_fd, &info, sizeof info);
    if (is_orphan)
        serve->successor = -1;
    if (info.ssi_signo == SIGINT) {
        stop(serve, 0);
    } else if (!serve->is_stopping && (is_orphan || serve->drain_ms == 0)) {
        stop(serve, SERVE_LEAVE_MS);
    } else if (!serve->is_stopping && !serve->is_draining) {
        serve->is_draining = true;
        serve->stop_at_ms = clock_steady_ms() + serve->drain_ms;
    }
}

/* Returns false if no connection can be accepted. */
static bool accept_one(struct serve *serve)
{
    int fd = accept4(serve->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        serve_connection_open(serve, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        serve->deaf_until_ms = clock_steady_ms() + DEAF_MS;
    }
    return fd >= 0;
}

/* Accepts one connection for each free lane, so that their queries leave together, or those that it
 * owes. */
static void accept_some(struct serve *serve)
{
    size_t most = serve->n_free > serve->n_owed ? serve->n_free : serve->n_owed;

    most = most > 0 ? most : 1;

    while (most-- > 0 && serve_lanes_want_more(serve) && serve_connection_has_place(serve) &&
           accept_one(serve))
        serve_lanes_start(serve);
}

/* Perhaps no other worker listens: those of the next responder may start only after the end. */
static void accept_late(struct serve *serve)
{
    if (!goes_on(serve) || clock_left_ms(serve->late_ms) > 0 ||
        clock_left_ms(serve->deaf_until_ms) > 0)
        return;
    serve->late_ms = clock_steady_ms() + LATE_MS;
    accept_some(serve);
}

static void attend(struct serve *serve, uint32_t id, uint32_t serial)
{
    if (id == SERVE_EVENT_LISTENER) {
        accept_some(serve);
    } else if (id == SERVE_EVENT_SIGNALS) {
        begin_to_stop(serve);
    } else if (id == SERVE_EVENT_SHARED) {
        serve->callbacks->on_input(serve->callbacks->context);
    } else if (id == SERVE_EVENT_HANDOVER) {
        serve->is_offered = true;
    } else if (id >= SERVE_EVENT_FIRST_LANE) {
        serve_lane_attend(&serve->lanes[id - SERVE_EVENT_FIRST_LANE], serial);
    } else if (serve->connections[id].serial == serial) {
        serve_connection_attend(&serve->connections[id]);
    }
}

static void keep_gauges(const struct serve *serve)
{
    uint64_t *gauges = serve->counts ? serve->counts->gauges : NULL;

    if (!gauges)
        return;
    metrics_set(&gauges[METRICS_LANES], serve->n_lanes);
    metrics_set(&gauges[METRICS_LANES_BUSY], serve->n_lanes - serve->n_free);
    metrics_set(&gauges[METRICS_CONNECTIONS],
                SERVE_MAX_CONNECTIONS - serve->n_in[SERVE_CONNECTION_FREE]);
    metrics_set(&gauges[METRICS_WAITING], serve->n_line);
    metrics_set(&gauges[METRICS_HELD_BYTES], serve->answers_held);
}

void serve_run(struct serve *serve, const struct serve_callbacks *callbacks)
{
    struct epoll_event events[MAX_EVENTS];

    serve->callbacks = callbacks;
    while (!has_ended(serve)) {
        int n;

        keep_gauges(serve);
        listen_only_if(serve, may_listen(serve));
        n = epoll_wait(serve->epoll_fd, events, MAX_EVENTS, wait_ms(serve));
        for (int i = 0; i < n; i++) {
            attend(serve, (uint32_t)events[i].data.u64, (uint32_t)(events[i].data.u64 >> 32));
            serve_lanes_start(serve);
        }
        sweep(serve);
        accept_late(serve);
        serve_lanes_start(serve);
        serve_lanes_resume_woken(serve);
        if (serve->is_stopping && serve->successor >= 0 && !goes_on(serve))
            serve_connections_pass_on(serve);
        callbacks->before_wait(callbacks->context);
    }
}
