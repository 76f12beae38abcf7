/* SPDX-License-Identifier: MIT */
/* The only room that knows libfcgi, of which it takes the protocol's definitions and the test for
 * plain CGI.  It accepts connections itself, waits for all of them at once, and reads a request
 * whole before a lane works on it: libfcgi's own accept and reads serve one connection until its
 * end, so that a silent, a slow or an idle kept one would hold the worker.
 *
 * Requests are worked on in lanes, each on a stack of its own.  A lane that waits for the database
 * pauses, and one turn of the loop serves all lanes whose answers have come: under load a worker
 * wakes up far less than once for each event, and waking up is what costs most. */
#include "serve/serve.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"

/* After EMFILE or ENOMEM the worker accepts nothing for this long: trying at once would only burn
 * the processor. */
#define DEAF_MS 50

/* At the end, connections that were accepted may still bring their request, or take their answer,
 * for this long. */
#define DRAIN_TIMEOUT_MS 1000

#define MAX_EVENTS 16

bool fcgi_is_cgi(void)
{
    return FCGX_IsCGI() != 0;
}

bool fcgi_watch(const struct fcgi *fcgi, int how, int fd, uint32_t events, uint32_t id,
                uint32_t serial)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)serial << 32 | id};

    return epoll_ctl(fcgi->epoll_fd, how, fd, &event) == 0;
}

bool fcgi_watch_anew(const struct fcgi *fcgi, int fd, uint32_t events, uint32_t id, uint32_t serial)
{
    return fcgi_watch(fcgi, EPOLL_CTL_MOD, fd, events, id, serial) ||
           (errno == ENOENT && fcgi_watch(fcgi, EPOLL_CTL_ADD, fd, events, id, serial));
}

/* ---- opening and closing ---- */

/* EPOLLEXCLUSIVE: one connection wakes one of the workers that share the socket. */
static void listen_only_if(struct fcgi *fcgi, bool wanted)
{
    if (wanted != fcgi->is_listening &&
        fcgi_watch(fcgi, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fcgi->listen_fd,
                   EPOLLIN | EPOLLEXCLUSIVE, FCGI_LISTENER, 0))
        fcgi->is_listening = wanted;
}

/* EPOLLET: a worker is told once of each message, whether it can take it or not. */
static bool watch_handover(const struct fcgi *fcgi)
{
    return fcgi->handover[1] < 0 ||
           fcgi_watch(fcgi, EPOLL_CTL_ADD, fcgi->handover[1], EPOLLIN | EPOLLET, FCGI_HANDOVER, 0);
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
        !fcgi_watch(fcgi, EPOLL_CTL_ADD, fcgi->signal_fd, EPOLLIN, FCGI_SIGNALS, 0) ||
        !watch_handover(fcgi))
        return false;
    listen_only_if(fcgi, true);
    return fcgi->is_listening;
}

struct fcgi *fcgi_open(int listen_fd, const int handover[2], const char *version_variable,
                       const struct log *log)
{
    struct fcgi *fcgi = calloc(1, sizeof *fcgi);

    if (!fcgi)
        return NULL;
    fcgi->listen_fd = listen_fd;
    fcgi->handover[0] = handover[0];
    fcgi->handover[1] = handover[1];
    fcgi->version_variable = version_variable;
    fcgi->log = log;
    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++)
        fcgi->connections[i] = (struct connection){.peer.fd = -1, .fcgi = fcgi};
    fcgi->n_in[CONNECTION_FREE] = FCGI_MAX_CONNECTIONS;
    if (set_up(fcgi))
        return fcgi;
    fcgi_close(fcgi);
    return NULL;
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
    for (size_t i = 0; i < FCGI_MAX_CONNECTIONS; i++)
        connection_drop(&fcgi->connections[i]);
    for (size_t i = 0; i < fcgi->n_lanes; i++)
        fiber_free(fcgi->lanes[i].fiber);
    close_if_open(fcgi->signal_fd);
    close_if_open(fcgi->epoll_fd);
    free(fcgi);
}

/* ---- the loop ---- */

static bool any_moves(const struct fcgi *fcgi)
{
    return fcgi->n_in[CONNECTION_READING] > 0 || fcgi->n_in[CONNECTION_SENDING] > 0;
}

static bool is_done(const struct fcgi *fcgi)
{
    return fcgi->is_stopping && lanes_are_idle(fcgi) && !fcgi->is_offered &&
           (!any_moves(fcgi) || clock_left_ms(fcgi->drain_until_ms) == 0);
}

static bool may_listen(struct fcgi *fcgi)
{
    return lanes_want_more(fcgi) && !fcgi->is_stopping && clock_left_ms(fcgi->deaf_until_ms) == 0 &&
           connection_has_place(fcgi);
}

/* Returns the milliseconds to wait for whatever comes next, -1: as long as it takes.  Where it does
 * not listen though it has nothing to do, the kernel refused something that it has to try again. */
static int wait_ms(const struct fcgi *fcgi)
{
    if (lanes_are_idle(fcgi) && !any_moves(fcgi) && fcgi->is_listening && !fcgi->has_grown &&
        !fcgi->is_offered)
        return -1;
    return lanes_wait_ms(fcgi, FCGI_SWEEP_MS);
}

/* What large answers leave behind lies in pieces between what is in use. */
static void give_memory_back(struct fcgi *fcgi)
{
    if (!fcgi->has_grown)
        return;
    fcgi->has_grown = false;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void sweep(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();

    lanes_sweep(fcgi, now_ms);
    if (now_ms < fcgi->sweep_ms)
        return;
    fcgi->sweep_ms = now_ms + FCGI_SWEEP_MS;
    connection_sweep(fcgi, now_ms);
    give_memory_back(fcgi);
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

/* Returns false where nobody is there. */
static bool accept_one(struct fcgi *fcgi)
{
    int fd = accept4(fcgi->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        fcgi->accepted_ms = clock_steady_ms();
        connection_open(fcgi, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        fcgi->deaf_until_ms = clock_steady_ms() + DEAF_MS;
    }
    return fd >= 0;
}

/* As many as there are lanes for, so that what they ask is asked at once. */
static void accept_some(struct fcgi *fcgi)
{
    size_t most = fcgi->n_free > 0 ? fcgi->n_free : 1;

    while (most-- > 0 && lanes_want_more(fcgi) && connection_has_place(fcgi) && accept_one(fcgi))
        lanes_start(fcgi);
}

static void attend(struct fcgi *fcgi, uint32_t id, uint32_t serial)
{
    if (id == FCGI_LISTENER) {
        accept_some(fcgi);
    } else if (id == FCGI_SIGNALS) {
        begin_to_stop(fcgi);
    } else if (id == FCGI_SHARED) {
        fcgi->callbacks->on_input(fcgi->callbacks->context);
    } else if (id == FCGI_HANDOVER) {
        fcgi->is_offered = true;
    } else if (id >= FCGI_FIRST_LANE) {
        lane_attend(&fcgi->lanes[id - FCGI_FIRST_LANE], serial);
    } else if (fcgi->connections[id].serial == serial) {
        connection_attend(&fcgi->connections[id]);
    }
}

void fcgi_serve(struct fcgi *fcgi, const struct fcgi_callbacks *callbacks)
{
    struct epoll_event events[MAX_EVENTS];

    fcgi->callbacks = callbacks;
    while (!is_done(fcgi)) {
        int n;

        listen_only_if(fcgi, may_listen(fcgi));
        n = epoll_wait(fcgi->epoll_fd, events, MAX_EVENTS, wait_ms(fcgi));
        for (int i = 0; i < n; i++) {
            attend(fcgi, (uint32_t)events[i].data.u64, (uint32_t)(events[i].data.u64 >> 32));
            lanes_start(fcgi);
        }
        sweep(fcgi);
        lanes_start(fcgi);
        lanes_resume_woken(fcgi);
        callbacks->before_wait(callbacks->context);
    }
}
