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

/* After SIGTERM, accepted connections may bring their request and read their answer for this long.
 */
#define DRAIN_TIMEOUT_MS 1000

#define MAX_EVENTS 16

bool serve_watch(const struct serve *serve, int how, int fd, uint32_t events, uint32_t id,
                 uint32_t serial)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)serial << 32 | id};

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

bool serve_watch_anew(const struct serve *serve, int fd, uint32_t events, uint32_t id,
                      uint32_t serial)
{
    return serve_watch(serve, EPOLL_CTL_MOD, fd, events, id, serial) ||
           (errno == ENOENT && serve_watch(serve, EPOLL_CTL_ADD, fd, events, id, serial));
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
                                                EPOLLIN | EPOLLEXCLUSIVE, SERVE_EVENT_LISTENER, 0);
}

/* EPOLLET: epoll reports each message once, so a worker that cannot take it does not spin. */
static bool watch_handover(const struct serve *serve)
{
    return serve->handover[1] < 0 || serve_watch(serve, EPOLL_CTL_ADD, serve->handover[1],
                                                 EPOLLIN | EPOLLET, SERVE_EVENT_HANDOVER, 0);
}

static bool open_events(struct serve *serve)
{
    int flags = fcntl(serve->listen_fd, F_GETFL);
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    serve->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    serve->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (flags < 0 || fcntl(serve->listen_fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        serve->epoll_fd < 0 || serve->signal_fd < 0 ||
        !serve_watch(serve, EPOLL_CTL_ADD, serve->signal_fd, EPOLLIN, SERVE_EVENT_SIGNALS, 0) ||
        !watch_handover(serve))
        return false;
    listen_only_if(serve, true);
    return serve->is_listening;
}

struct serve *serve_open(int listen_fd, const int handover[2], const char *version_variable,
                         const struct log *log)
{
    struct serve *serve = calloc(1, sizeof *serve);

    if (!serve)
        return NULL;
    serve->listen_fd = listen_fd;
    serve->handover[0] = handover[0];
    serve->handover[1] = handover[1];
    serve->version_variable = version_variable;
    serve->log = log;
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        serve->connections[i] = (struct serve_connection){.peer.fd = -1, .serve = serve};
    serve->n_in[SERVE_CONNECTION_FREE] = SERVE_MAX_CONNECTIONS;
    if (open_events(serve))
        return serve;
    serve_close(serve);
    return NULL;
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

static bool has_drained(const struct serve *serve)
{
    return serve->is_stopping && serve_lanes_are_idle(serve) && !serve->is_offered &&
           (!any_moves(serve) || clock_left_ms(serve->drain_until_ms) == 0);
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
        !serve->has_grown && !serve->is_offered)
        return -1;
    return serve_lanes_wait_ms(serve, SERVE_SWEEP_MS);
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

static void sweep(struct serve *serve)
{
    int64_t now_ms = clock_steady_ms();

    serve_lanes_sweep(serve, now_ms);
    if (now_ms < serve->sweep_ms)
        return;
    serve->sweep_ms = now_ms + SERVE_SWEEP_MS;
    serve_connections_sweep(serve, now_ms);
    give_memory_back(serve);
}

static void begin_to_stop(struct serve *serve)
{
    struct signalfd_siginfo info;

    (void)!read(serve->signal_fd, &info, sizeof info);
    if (serve->is_stopping)
        return;
    serve->is_stopping = true;
    serve->drain_until_ms = clock_steady_ms() + DRAIN_TIMEOUT_MS;
}

/* Returns false if no connection can be accepted. */
static bool accept_one(struct serve *serve)
{
    int fd = accept4(serve->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        serve->accepted_ms = clock_steady_ms();
        serve_connection_open(serve, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        serve->deaf_until_ms = clock_steady_ms() + DEAF_MS;
    }
    return fd >= 0;
}

/* Accepts one connection for each free lane, so that their queries leave together. */
static void accept_some(struct serve *serve)
{
    size_t most = serve->n_free > 0 ? serve->n_free : 1;

    while (most-- > 0 && serve_lanes_want_more(serve) && serve_connection_has_place(serve) &&
           accept_one(serve))
        serve_lanes_start(serve);
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

void serve_run(struct serve *serve, const struct serve_callbacks *callbacks)
{
    struct epoll_event events[MAX_EVENTS];

    serve->callbacks = callbacks;
    while (!has_drained(serve)) {
        int n;

        listen_only_if(serve, may_listen(serve));
        n = epoll_wait(serve->epoll_fd, events, MAX_EVENTS, wait_ms(serve));
        for (int i = 0; i < n; i++) {
            attend(serve, (uint32_t)events[i].data.u64, (uint32_t)(events[i].data.u64 >> 32));
            serve_lanes_start(serve);
        }
        sweep(serve);
        serve_lanes_start(serve);
        serve_lanes_resume_woken(serve);
        callbacks->before_wait(callbacks->context);
    }
}
