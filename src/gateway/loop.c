/* SPDX-License-Identifier: MIT */
/* One thread, one epoll(7).  Statements are waited for, each at most OUTAGE_TIMEOUT_MS. */
#include "gateway/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/client.h"
#include "gateway/judge.h"
#include "gateway/login.h"
#include "gateway/watched.h"

#define N_EVENTS 64

struct loop {
    struct gateway *gateway;
    int listen_fd;
    int signal_fd;
    bool stops;
    int64_t poll_at_ms; /* on the steady clock */
    int64_t rest_to_ms; /* between events, no poll before */
    int64_t sweep_at_ms;
    struct clients clients;
};

/* A session is over once its monitor has exited.  If the monitor was killed, what was below it goes
 * on, and nobody watches over it. */
static void forget_exited(struct gateway *gateway, int fd)
{
    struct ssh_sessions *sessions = &gateway->sessions;

    for (size_t i = 0; i < sessions->n; i++) {
        struct ssh_session *session = sessions->items[i];

        if (session->fd != fd)
            continue;
        state_remove(&gateway->state, session->pid);
        /* Its descriptor stays readable. */
        epoll_ctl(gateway->epoll, EPOLL_CTL_DEL, fd, NULL);
        if (ssh_session_has_child(session))
            ssh_session_end(sessions, session, SSH_SESSION_KILLED, &gateway->conf.log,
                            clock_steady_ms());
        else if (!session->is_ending)
            ssh_sessions_remove(sessions, session);
        return;
    }
}

static void take_signals(struct loop *loop)
{
    struct signalfd_siginfo info;

    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        loop->stops = loop->stops || info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
}

static void take_event(struct loop *loop, uint64_t tag)
{
    int fd = (int)(uint32_t)tag;

    switch ((enum watched_kind)(tag >> 32)) {
    case WATCHED_LISTENER:
        clients_accept(&loop->clients, loop->gateway, fd);
        break;
    case WATCHED_SIGNALS:
        take_signals(loop);
        break;
    case WATCHED_CLIENT:
        clients_go_on(&loop->clients, loop->gateway, fd);
        break;
    case WATCHED_PROCESS:
        forget_exited(loop->gateway, fd);
        break;
    case WATCHED_LOGIN:
        login_end(loop->gateway, fd);
        break;
    }
}

static void poll_changes(struct loop *loop)
{
    struct gateway *gateway = loop->gateway;
    int64_t begun_ms = clock_steady_ms();

    if (loop->poll_at_ms <= begun_ms) {
        bool is_done = judge_changes(gateway);
        int64_t now_ms = clock_steady_ms();
        int64_t rest_ms = gateway->conf.gateway.poll_ms;

        loop->poll_at_ms = now_ms + (is_done ? rest_ms : 0);
        if (rest_ms < now_ms - begun_ms)
            rest_ms = now_ms - begun_ms;
        loop->rest_to_ms = now_ms + rest_ms;
    }
}

/* Each answer may be the look-up of a key.  No change waits for all of them, and no login for a
 * turn of judging after each of those before it. */
static void poll_between_events(struct loop *loop)
{
    if (loop->rest_to_ms <= clock_steady_ms())
        poll_changes(loop);
}

/* Strangers ask for many keys at once, and what all of them wait for is one statement. */
static void answer_clients(struct loop *loop)
{
    clients_glance(&loop->clients, loop->gateway);
    while (clients_answer(&loop->clients, loop->gateway))
        poll_between_events(loop);
    glanced_forget(loop->gateway);
}

/* Does what is due, and returns when the next thing is. */
static int64_t do_due(struct loop *loop)
{
    struct gateway *gateway = loop->gateway;
    int64_t next_ms;

    if (loop->sweep_at_ms <= clock_steady_ms()) {
        ssh_sessions_track(&gateway->sessions);
        judge_sweep(gateway);
        loop->sweep_at_ms = clock_steady_ms() + gateway->conf.gateway.sweep_ms;
        loop->poll_at_ms = clock_steady_ms();
    }
    poll_changes(loop);
    next_ms = clock_earlier(loop->poll_at_ms, loop->sweep_at_ms);
    next_ms = clock_earlier(next_ms, ssh_sessions_go_on(&gateway->sessions, &gateway->state,
                                                        &gateway->conf.log, clock_steady_ms()));
    edges_tick(gateway->edges, clock_steady_ms());
    next_ms = clock_earlier(next_ms, edges_next(gateway->edges, clock_steady_ms()));
    next_ms = clock_earlier(next_ms, textfile_tick(gateway, clock_steady_ms()));
    return clock_earlier(next_ms, clients_expire(&loop->clients, clock_steady_ms()));
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool open_loop(struct loop *loop)
{
    struct gateway *gateway = loop->gateway;

    loop->signal_fd = open_signals();
    if (loop->signal_fd < 0 || !watched_add(gateway->epoll, loop->listen_fd, WATCHED_LISTENER) ||
        !watched_add(gateway->epoll, loop->signal_fd, WATCHED_SIGNALS))
        return false;
    for (size_t i = 0; i < gateway->sessions.n; i++) {
        const struct ssh_session *session = gateway->sessions.items[i];

        if (!watched_add(gateway->epoll, session->fd, WATCHED_PROCESS) ||
            !login_watch(gateway, session))
            return false;
    }
    return true;
}

bool loop_run(struct gateway *gateway, int listen_fd)
{
    struct loop loop = {.gateway = gateway, .listen_fd = listen_fd, .signal_fd = -1};
    struct epoll_event events[N_EVENTS];
    bool ok = open_loop(&loop);

    while (ok && !loop.stops) {
        int64_t next_ms = do_due(&loop);
        int n = epoll_wait(gateway->epoll, events, N_EVENTS, clock_left_ms(next_ms));

        ok = n >= 0 || errno == EINTR;
        for (int i = 0; i < n; i++) {
            take_event(&loop, events[i].data.u64);
            poll_between_events(&loop);
        }
        answer_clients(&loop);
    }
    clients_close(&loop.clients);
    if (loop.signal_fd >= 0)
        close(loop.signal_fd);
    return ok;
}
