/* SPDX-License-Identifier: MIT */
/* The only room that knows libfcgi.  It accepts connections itself, waits for all of them at once,
 * and reads a request whole before anybody works on it: libfcgi's own accept and reads serve one
 * connection until its end, so that a silent, a slow or an idle kept one would hold the worker. */
#include "wrap/fcgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "wrap/cgi.h"
#include "wrap/fcgi_record.h"

#define MAX_CONNECTIONS 64

/* How long a new connection is waited for before any other. */
#define FIRST_WAIT_MS 5

/* From a connection's start, or a kept one's first byte, to the request's end, however its bytes
 * come; and from an answer's start to its end.  Neither holds the worker. */
#define REQUEST_TIMEOUT_MS 10000
#define ANSWER_TIMEOUT_MS 30000

/* How late that may be noticed. */
#define SWEEP_MS 250

/* At the end, connections that were accepted may still bring their request, or take their answer,
 * for this long. */
#define DRAIN_TIMEOUT_MS 1000

/* Bytes of unfinished requests and answers that connections may hold. */
#define HELD_MAX ((size_t)8 * 1024 * 1024)

#define CHUNK_SIZE 65536
#define LISTENER UINT32_MAX

struct connection {
    int fd;              /* -1: free */
    uint32_t watched;    /* the events that epoll waits for */
    int64_t since_ms;    /* when it was accepted or last answered */
    int64_t deadline_ms; /* 0: it is kept and idle */
    bool said_more;      /* behind the end of its request */
    struct fcgi_intake intake;
    struct buf unsent; /* an answer, from sent on */
    size_t sent;
};

struct fcgi {
    int listen_fd;
    int epoll_fd;
    int feed_fd; /* a file in memory that libfcgi reads a request's variables from */
    const char *version_variable;
    const struct log *log;
    const volatile sig_atomic_t *stop;
    int64_t drain_until_ms; /* 0: not stopping */
    int64_t sweep_ms;       /* when deadlines are looked at next */
    sigset_t wait_mask;     /* lets SIGTERM in */
    FCGX_Request fcgx;
    struct connection *current;
    struct buf out;
    struct connection connections[MAX_CONNECTIONS];
    char chunk[CHUNK_SIZE];
};

bool fcgi_is_cgi(void)
{
    return FCGX_IsCGI() != 0;
}

/* EPOLLEXCLUSIVE: one connection wakes one of the workers that share the socket. */
static bool set_up(struct fcgi *fcgi)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u32 = LISTENER};
    int flags = fcntl(fcgi->listen_fd, F_GETFL);

    return FCGX_Init() == 0 && FCGX_InitRequest(&fcgi->fcgx, -1, 0) == 0 && flags >= 0 &&
           fcntl(fcgi->listen_fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           sigprocmask(SIG_BLOCK, NULL, &fcgi->wait_mask) == 0 &&
           sigdelset(&fcgi->wait_mask, SIGTERM) == 0 && fcgi->epoll_fd >= 0 &&
           epoll_ctl(fcgi->epoll_fd, EPOLL_CTL_ADD, fcgi->listen_fd, &event) == 0;
}

struct fcgi *fcgi_open(int listen_fd, const char *version_variable, const struct log *log,
                       const volatile sig_atomic_t *stop)
{
    struct fcgi *fcgi = calloc(1, sizeof *fcgi);

    if (!fcgi)
        return NULL;
    fcgi->listen_fd = listen_fd;
    fcgi->version_variable = version_variable;
    fcgi->log = log;
    fcgi->stop = stop;
    fcgi->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fcgi->feed_fd = -1;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        fcgi->connections[i].fd = -1;
    if (set_up(fcgi))
        return fcgi;
    fcgi_close(fcgi);
    return NULL;
}

static bool is_free(const struct connection *connection)
{
    return connection->fd < 0;
}

static void drop(struct connection *connection)
{
    if (is_free(connection))
        return;
    close(connection->fd);
    fcgi_intake_clear(&connection->intake);
    buf_free(&connection->unsent);
    *connection = (struct connection){.fd = -1};
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
    close_if_open(fcgi->epoll_fd);
    close_if_open(fcgi->feed_fd);
    buf_free(&fcgi->out);
    free(fcgi);
}

/* ---- connections ---- */

/* Whether a is to go rather than b: what is unfinished rather than what is kept, then the older. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
    if ((a->deadline_ms != 0) != (b->deadline_ms != 0))
        return a->deadline_ms != 0;
    return a->since_ms < b->since_ms;
}

/* A free place, or else that of the connection that can be spared first. */
static struct connection *find_place(struct fcgi *fcgi)
{
    struct connection *spared = &fcgi->connections[0];

    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (is_free(connection))
            return connection;
        if (goes_before(connection, spared))
            spared = connection;
    }
    refuse(fcgi, spared, "too many connections");
    return spared;
}

/* Waits for these events on the connection, until its deadline. */
static void park(struct fcgi *fcgi, struct connection *connection, uint32_t events)
{
    struct epoll_event event = {.events = events,
                                .data.u32 = (uint32_t)(connection - fcgi->connections)};
    int how = connection->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (connection->watched == events)
        return;
    connection->watched = events;
    if (epoll_ctl(fcgi->epoll_fd, how, connection->fd, &event) != 0)
        refuse(fcgi, connection, "epoll_ctl failed");
}

static size_t held(const struct connection *connection)
{
    return connection->intake.params.cap + connection->intake.body.cap + connection->unsent.cap;
}

/* Makes sure that what is unfinished does not fill the memory: the oldest of it goes. */
static void limit_held(struct fcgi *fcgi)
{
    for (;;) {
        struct connection *oldest = NULL;
        size_t sum = 0;

        for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
            struct connection *connection = &fcgi->connections[i];

            sum += held(connection);
            if (held(connection) > 0 && (!oldest || connection->since_ms < oldest->since_ms))
                oldest = connection;
        }
        if (sum <= HELD_MAX)
            return;
        refuse(fcgi, oldest, "too much is unfinished");
    }
}

/* Drops what has passed its deadline.  A connection that never said anything is no news. */
static void sweep(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();

    if (now_ms < fcgi->sweep_ms)
        return;
    fcgi->sweep_ms = now_ms + SWEEP_MS;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &fcgi->connections[i];

        if (is_free(connection) || connection->deadline_ms == 0 || now_ms < connection->deadline_ms)
            continue;
        if (connection->unsent.len > 0)
            refuse(fcgi, connection, "the answer was not read in time");
        else if (fcgi_intake_begun(&connection->intake))
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

/* Reads what has come, once, so that nobody who sends much holds the worker.  Returns FCGI_BROKEN
 * where the connection is gone after it. */
static enum fcgi_progress receive(struct fcgi *fcgi, struct connection *connection)
{
    ssize_t n = recv(connection->fd, fcgi->chunk, sizeof fcgi->chunk, MSG_DONTWAIT);
    enum fcgi_progress progress;
    size_t used;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return FCGI_PART;
    if (n <= 0) {
        drop(connection);
        return FCGI_BROKEN;
    }
    if (connection->deadline_ms == 0)
        connection->deadline_ms = clock_steady_ms() + REQUEST_TIMEOUT_MS;
    progress = fcgi_intake_take(&connection->intake, fcgi->chunk, (size_t)n, &used);
    if (progress == FCGI_BROKEN)
        refuse(fcgi, connection, connection->intake.cause);
    connection->said_more = used < (size_t)n;
    return progress;
}

static bool more_comes(int fd, int64_t until_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int left_ms = clock_left_ms(until_ms);

    return left_ms > 0 && poll(&poll_fd, 1, left_ms) > 0;
}

/* Accepts a connection.  Returns it if its request is there: a web server sends it right behind the
 * connection, and to wait for it for a moment costs less than to park the connection and keeps it
 * from waiting behind another's request. */
static struct connection *accept_connection(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();
    struct connection *connection;
    enum fcgi_progress progress;
    int fd = accept4(fcgi->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            poll(NULL, 0, 50); /* it passes; trying at once would only burn the processor */
        return NULL;
    }
    connection = find_place(fcgi);
    *connection = (struct connection){
        .fd = fd, .since_ms = now_ms, .deadline_ms = now_ms + REQUEST_TIMEOUT_MS};
    do
        progress = receive(fcgi, connection);
    while (progress == FCGI_PART && more_comes(fd, now_ms + FIRST_WAIT_MS));
    if (progress == FCGI_PART) {
        park(fcgi, connection, EPOLLIN);
        limit_held(fcgi);
    }
    return progress == FCGI_WHOLE ? connection : NULL;
}

/* A web server says nothing more until it has its answer, but that it gives the request up: by
 * closing or resetting the connection, or an ABORT_REQUEST.  So whatever it says means that, and
 * none of it is ever looked at. */
static bool peer_gone(void *peer)
{
    const struct connection *connection = peer;
    char byte;

    return connection->said_more || recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           (errno != EAGAIN && errno != EINTR);
}

/* The variables as one more request, without a body, that libfcgi finds whole. */
static bool feed(struct fcgi *fcgi, struct fcgi_intake *intake)
{
    static const unsigned char no_body[FCGI_HEADER_SIZE] = {1, FCGI_TYPE_STDIN, 0, 1};
    const uint16_t id = 1;
    unsigned char begin[FCGI_BEGIN_SIZE];
    struct iovec parts[] = {{begin, sizeof begin}, {NULL, 0}, {(void *)no_body, sizeof no_body}};

    fcgi_record_begin(begin, id);
    fcgi_record_frame(&intake->params, FCGI_TYPE_PARAMS, id);
    parts[1] = (struct iovec){intake->params.data, intake->params.len};
    if (fcgi->feed_fd < 0)
        fcgi->feed_fd = memfd_create("adit-variables", MFD_CLOEXEC);
    return !intake->params.failed && fcgi->feed_fd >= 0 &&
           pwritev(fcgi->feed_fd, parts, 3, 0) ==
               (ssize_t)(sizeof begin + intake->params.len + sizeof no_body) &&
           lseek(fcgi->feed_fd, 0, SEEK_SET) == 0;
}

/* The fields of FCGX_Request that its header calls private are what this takes; 2.4.2 is their last
 * release.  keepConnection keeps FCGX_Accept_r() from closing the descriptor first; where it
 * fails, it has closed it. */
static bool read_variables(struct fcgi *fcgi, struct fcgi_intake *intake)
{
    if (!feed(fcgi, intake))
        return false;
    fcgi->fcgx.ipcFd = fcgi->feed_fd;
    fcgi->fcgx.keepConnection = 1;
    if (FCGX_Accept_r(&fcgi->fcgx) == 0)
        return true;
    fcgi->feed_fd = -1;
    return false;
}

static bool read_request(struct fcgi *fcgi, struct connection *connection, struct request *request)
{
    struct cgi_announced announced;

    if (!read_variables(fcgi, &connection->intake)) {
        refuse(fcgi, connection, "the variables cannot be read");
        return false;
    }
    cgi_read_variables(fcgi->fcgx.envp, fcgi->version_variable, request, &announced);
    cgi_set_body(request, &connection->intake.body, &announced);
    request->peer_gone = peer_gone;
    request->peer = connection;
    fcgi->current = connection;
    return true;
}

/* ---- answers ---- */

/* Sends what the peer takes at the moment.  Returns whether that was all; where it is not, the
 * connection may be gone. */
static bool send_some(struct connection *connection)
{
    struct buf *unsent = &connection->unsent;
    ssize_t n;

    do
        n = send(connection->fd, unsent->data + connection->sent, unsent->len - connection->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        drop(connection);
    else if (n > 0)
        connection->sent += (size_t)n;
    return !is_free(connection) && connection->sent == unsent->len;
}

/* Whatever follows on a connection that is closed here is never read, and nothing that was sent is
 * lost by closing it at once, since the request was read to its end. */
static void finish(struct fcgi *fcgi, struct connection *connection)
{
    if (!connection->intake.keep || connection->said_more || connection->intake.is_too_much ||
        *fcgi->stop) {
        drop(connection);
        return;
    }
    fcgi_intake_clear(&connection->intake);
    connection->sent = 0;
    connection->since_ms = clock_steady_ms();
    connection->deadline_ms = 0;
    park(fcgi, connection, EPOLLIN);
}

/* An answer goes out in one piece where the peer has room for it, as web servers do; else the rest
 * waits with its connection, and the buffer belongs to that. */
void fcgi_answer(struct fcgi *fcgi, const struct response *response)
{
    struct connection *connection = fcgi->current;
    unsigned char end[FCGI_END_SIZE];

    fcgi->current = NULL;
    FCGX_Free(&fcgi->fcgx, 0);
    buf_clear(&fcgi->out);
    cgi_write(&fcgi->out, response);
    fcgi_record_frame(&fcgi->out, FCGI_TYPE_STDOUT, connection->intake.id);
    fcgi_record_end(end, connection->intake.id);
    buf_add(&fcgi->out, (const char *)end, sizeof end);
    if (fcgi->out.failed) {
        refuse(fcgi, connection, "out of memory");
        return;
    }
    connection->unsent = fcgi->out;
    if (send_some(connection)) {
        connection->unsent = (struct buf){0};
        finish(fcgi, connection);
        return;
    }
    fcgi->out = (struct buf){0};
    if (is_free(connection))
        return;
    connection->since_ms = clock_steady_ms();
    connection->deadline_ms = connection->since_ms + ANSWER_TIMEOUT_MS;
    park(fcgi, connection, EPOLLOUT);
    limit_held(fcgi);
}

static void send_rest(struct fcgi *fcgi, struct connection *connection)
{
    if (!send_some(connection))
        return;
    buf_free(&connection->unsent);
    finish(fcgi, connection);
}

/* ---- waiting ---- */

/* Returns the milliseconds to wait for the next request, -1: as long as it takes. */
static int wait_ms(struct fcgi *fcgi)
{
    bool unfinished = any_unfinished(fcgi);

    if (!*fcgi->stop)
        return unfinished ? SWEEP_MS : -1;
    if (fcgi->drain_until_ms == 0) {
        epoll_ctl(fcgi->epoll_fd, EPOLL_CTL_DEL, fcgi->listen_fd, NULL);
        fcgi->drain_until_ms = clock_steady_ms() + DRAIN_TIMEOUT_MS;
    }
    return unfinished ? clock_left_ms(fcgi->drain_until_ms) : 0;
}

/* epoll_pwait() lets a signal in only where it waits, which under load it never does. */
static void let_signals_in(const struct fcgi *fcgi)
{
    sigset_t blocked;

    sigprocmask(SIG_SETMASK, &fcgi->wait_mask, &blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* Sees to what has happened.  Returns a connection whose request is there, or NULL. */
static struct connection *attend(struct fcgi *fcgi, uint32_t id)
{
    struct connection *connection;
    enum fcgi_progress progress;

    if (id == LISTENER)
        return accept_connection(fcgi);
    connection = &fcgi->connections[id];
    if (connection->unsent.len > 0) {
        send_rest(fcgi, connection);
        return NULL;
    }
    progress = receive(fcgi, connection);
    if (progress == FCGI_PART)
        limit_held(fcgi);
    return progress == FCGI_WHOLE ? connection : NULL;
}

bool fcgi_next(struct fcgi *fcgi, struct request *request)
{
    for (;;) {
        struct connection *connection;
        struct epoll_event event;
        int n;

        let_signals_in(fcgi);
        sweep(fcgi);
        n = epoll_pwait(fcgi->epoll_fd, &event, 1, wait_ms(fcgi), &fcgi->wait_mask);
        if (n <= 0) {
            if (fcgi->drain_until_ms != 0 && n == 0)
                return false;
            continue;
        }
        connection = attend(fcgi, event.data.u32);
        if (connection && read_request(fcgi, connection, request))
            return true;
    }
}
