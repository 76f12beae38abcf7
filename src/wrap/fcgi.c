/* SPDX-License-Identifier: MIT */
/* The only room that knows libfcgi.  It accepts connections itself and waits for requests on all of
 * them at once: libfcgi's own accept serves one connection until its end, so that a silent or an
 * idle kept one would hold the worker. */
#include "wrap/fcgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wrap/cgi.h"

#define MAX_CONNECTIONS 64

/* How long a peer may keep a worker within a request: for each read, and each write. */
#define IO_TIMEOUT_S 2

/* How long a new connection is waited for before any other. */
#define FIRST_BYTE_TIMEOUT_MS 5

/* A new connection that says nothing is closed after this; one that is kept after an answer stays
 * until its peer closes it. */
#define SILENCE_TIMEOUT_MS 10000

/* At the end, connections that were accepted may still bring their request for this long. */
#define DRAIN_TIMEOUT_MS 1000

#define LISTENER UINT32_MAX

struct connection {
    FCGX_Request fcgx; /* ipcFd is the connection, -1: free */
    int64_t since_ms;  /* when it was accepted or last answered */
    bool is_fresh;     /* has brought no request yet */
    bool is_watched;   /* by epoll */
    bool must_close;   /* a body was left unread on it */
};

struct fcgi {
    int listen_fd;
    int epoll_fd;
    const char *version_variable;
    const volatile sig_atomic_t *stop;
    int64_t drain_until_ms; /* 0: not stopping */
    sigset_t wait_mask;     /* lets SIGTERM in */
    struct connection *current;
    struct buf body;
    struct buf out;
    struct connection connections[MAX_CONNECTIONS];
};

bool fcgi_is_cgi(void)
{
    return FCGX_IsCGI() != 0;
}

static bool watch(struct fcgi *fcgi, int fd, uint32_t events, uint32_t id)
{
    struct epoll_event event = {.events = events, .data.u32 = id};

    return epoll_ctl(fcgi->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* EPOLLEXCLUSIVE: one connection wakes one of the workers that share the socket. */
static bool set_up(struct fcgi *fcgi)
{
    int flags = fcntl(fcgi->listen_fd, F_GETFL);

    return FCGX_Init() == 0 && flags >= 0 &&
           fcntl(fcgi->listen_fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           sigprocmask(SIG_BLOCK, NULL, &fcgi->wait_mask) == 0 &&
           sigdelset(&fcgi->wait_mask, SIGTERM) == 0 && fcgi->epoll_fd >= 0 &&
           watch(fcgi, fcgi->listen_fd, EPOLLIN | EPOLLEXCLUSIVE, LISTENER);
}

struct fcgi *fcgi_open(int listen_fd, const char *version_variable,
                       const volatile sig_atomic_t *stop)
{
    struct fcgi *fcgi = calloc(1, sizeof *fcgi);

    if (!fcgi)
        return NULL;
    fcgi->listen_fd = listen_fd;
    fcgi->version_variable = version_variable;
    fcgi->stop = stop;
    fcgi->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        fcgi->connections[i].fcgx.ipcFd = -1;
    if (set_up(fcgi))
        return fcgi;
    fcgi_close(fcgi);
    return NULL;
}

static bool is_free(const struct connection *connection)
{
    return connection->fcgx.ipcFd < 0;
}

static void drop(struct connection *connection)
{
    if (!is_free(connection))
        close(connection->fcgx.ipcFd);
    connection->fcgx.ipcFd = -1;
}

void fcgi_close(struct fcgi *fcgi)
{
    if (!fcgi)
        return;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        drop(&fcgi->connections[i]);
    if (fcgi->epoll_fd >= 0)
        close(fcgi->epoll_fd);
    buf_free(&fcgi->body);
    buf_free(&fcgi->out);
    free(fcgi);
}

/* ---- connections ---- */

/* A free place, or else that of the connection that has been waiting longest. */
static struct connection *find_place(struct fcgi *fcgi)
{
    struct connection *oldest = &fcgi->connections[0];

    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (is_free(connection))
            return connection;
        if (connection->since_ms < oldest->since_ms)
            oldest = connection;
    }
    drop(oldest);
    return oldest;
}

static void limit_waits(int fd)
{
    struct timeval timeout = {.tv_sec = IO_TIMEOUT_S};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

/* A web server sends its request right behind the connection.  To wait for it here costs less than
 * to park the connection, and keeps it from waiting behind another's request. */
static bool speaks_soon(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, FIRST_BYTE_TIMEOUT_MS) > 0;
}

/* Keeps an eye on the connection until its next request comes. */
static void park(struct fcgi *fcgi, struct connection *connection)
{
    connection->since_ms = clock_steady_ms();
    if (connection->is_watched)
        return;
    connection->is_watched =
        watch(fcgi, connection->fcgx.ipcFd, EPOLLIN, (uint32_t)(connection - fcgi->connections));
    if (!connection->is_watched)
        drop(connection);
}

/* Accepts a connection.  Returns it if its request is there. */
static struct connection *accept_connection(struct fcgi *fcgi)
{
    struct connection *connection;
    int fd = accept4(fcgi->listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            poll(NULL, 0, 50); /* it passes; trying at once would only burn the processor */
        return NULL;
    }
    limit_waits(fd);
    connection = find_place(fcgi);
    *connection = (struct connection){.is_fresh = true};
    FCGX_InitRequest(&connection->fcgx, -1, 0);
    connection->fcgx.ipcFd = fd;
    if (speaks_soon(fd))
        return connection;
    park(fcgi, connection);
    return NULL;
}

static void drop_silent(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();

    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (!is_free(connection) && connection->is_fresh &&
            now_ms - connection->since_ms > SILENCE_TIMEOUT_MS)
            drop(connection);
    }
}

static bool any_fresh(const struct fcgi *fcgi)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (!is_free(&fcgi->connections[i]) && fcgi->connections[i].is_fresh)
            return true;
    }
    return false;
}

/* ---- requests ---- */

/* Reads the body to its end, which is where the peer says and not where CONTENT_LENGTH does: what
 * is left unread on a kept connection would be taken for requests.  Returns false where the peer
 * broke off. */
static bool read_body(struct fcgi *fcgi, struct connection *connection)
{
    FCGX_Stream *in = connection->fcgx.in;
    char rest[4096];
    size_t dropped = 0;
    char *room;
    int n;

    buf_clear(&fcgi->body);
    room = buf_room(&fcgi->body, REQUEST_BODY_MAX + 1);
    if (!room)
        return false;
    n = FCGX_GetStr(room, REQUEST_BODY_MAX + 1, in);
    fcgi->body.len = n > 0 ? (size_t)n : 0;
    while (n > 0 && fcgi->body.len > REQUEST_BODY_MAX && dropped < CGI_DRAIN_BODY_MAX) {
        n = FCGX_GetStr(rest, sizeof rest, in);
        dropped += n > 0 ? (size_t)n : 0;
    }
    connection->must_close = dropped >= CGI_DRAIN_BODY_MAX;
    return FCGX_GetError(in) == 0;
}

static bool peer_gone(void *peer)
{
    const struct connection *connection = peer;
    char byte;

    return recv(connection->fcgx.ipcFd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* The fields of FCGX_Request that its header calls private are what own accepting takes; 2.4.2 is
 * their last release.  keepConnection keeps FCGX_Accept_r() from closing the connection first;
 * without a listening socket it returns when the connection brings no request. */
static bool read_request(struct fcgi *fcgi, struct connection *connection, struct request *request)
{
    struct cgi_announced announced;

    connection->fcgx.keepConnection = 1;
    if (FCGX_Accept_r(&connection->fcgx) != 0) {
        connection->fcgx.ipcFd = -1;
        return false;
    }
    connection->is_fresh = false;
    cgi_read_variables(connection->fcgx.envp, fcgi->version_variable, request, &announced);
    if (!read_body(fcgi, connection)) {
        FCGX_Free(&connection->fcgx, 1);
        return false;
    }
    cgi_set_body(request, &fcgi->body, &announced);
    request->peer_gone = peer_gone;
    request->peer = connection;
    fcgi->current = connection;
    return true;
}

/* Returns the milliseconds to wait for the next request, -1: as long as it takes. */
static int wait_ms(struct fcgi *fcgi)
{
    bool fresh = any_fresh(fcgi);

    if (!*fcgi->stop)
        return fresh ? 1000 : -1;
    if (fcgi->drain_until_ms == 0) {
        epoll_ctl(fcgi->epoll_fd, EPOLL_CTL_DEL, fcgi->listen_fd, NULL);
        fcgi->drain_until_ms = clock_steady_ms() + DRAIN_TIMEOUT_MS;
    }
    return fresh ? clock_left_ms(fcgi->drain_until_ms) : 0;
}

/* epoll_pwait() lets a signal in only where it waits, which under load it never does. */
static void let_signals_in(const struct fcgi *fcgi)
{
    sigset_t blocked;

    sigprocmask(SIG_SETMASK, &fcgi->wait_mask, &blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

bool fcgi_next(struct fcgi *fcgi, struct request *request)
{
    for (;;) {
        struct connection *connection;
        struct epoll_event event;
        int n;

        let_signals_in(fcgi);
        n = epoll_pwait(fcgi->epoll_fd, &event, 1, wait_ms(fcgi), &fcgi->wait_mask);
        if (n <= 0) {
            if (fcgi->drain_until_ms != 0 && n == 0)
                return false;
            drop_silent(fcgi);
            continue;
        }
        if (event.data.u32 == LISTENER)
            connection = accept_connection(fcgi);
        else
            connection = &fcgi->connections[event.data.u32];
        if (connection && read_request(fcgi, connection, request))
            return true;
    }
}

/* FCGX_Finish_r() would wait for the peer to close a connection that is not kept.  Where the
 * request was read to its end nothing can be lost by closing it at once. */
void fcgi_answer(struct fcgi *fcgi, const struct response *response)
{
    struct connection *connection = fcgi->current;
    FCGX_Request *fcgx = &connection->fcgx;
    bool keep = fcgx->keepConnection && !connection->must_close && !*fcgi->stop;

    buf_clear(&fcgi->out);
    cgi_write(&fcgi->out, response);
    if (!fcgi->out.failed)
        FCGX_PutStr(fcgi->out.data, (int)fcgi->out.len, fcgx->out);
    fcgx->keepConnection = !connection->must_close;
    FCGX_Finish_r(fcgx);
    fcgi->current = NULL;
    if (is_free(connection))
        return;
    if (keep)
        park(fcgi, connection);
    else
        drop(connection);
}
