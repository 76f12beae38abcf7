/* SPDX-License-Identifier: MIT */
/* Moves requests to idle workers.  All workers share a socket pair; a message on it holds a whole
 * request and passes its connection's descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"

/* Nobody offers more while so many bytes, as the kernel counts them, wait in the socket: some eight
 * requests. */
#define WAITING_MAX (16 * 1024)

struct head {
    int64_t since_ms;   /* all workers share the steady clock */
    int64_t offered_ms; /* when it was sent */
    uint64_t account;   /* of a scan */
    bool is_scan;
    uint32_t params_len;
    uint32_t body_len;
    uint16_t id;
    bool keep;
    bool is_authorizer;
};

/* Room for one descriptor. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

bool serve_handover_open(int handover[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, handover) == 0;
}

static bool send_message(int socket, int fd, struct iovec *parts, size_t n_parts)
{
    union control control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = n_parts,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *passed = CMSG_FIRSTHDR(&message);

    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(passed), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The socket is a queue, which knows no turns.  Whoever filled it would keep the requests of others
 * that get in there waiting. */
static bool has_few(int socket)
{
    int n;

    return ioctl(socket, SIOCOUTQ, &n) != 0 || n < WAITING_MAX;
}

bool serve_handover_fits(const struct serve_connection *connection)
{
    const struct serve_peer *peer = &connection->peer;

    return !peer->said_more && !peer->intake.is_too_much &&
           sizeof(struct head) + peer->intake.params.len + peer->intake.body.len <=
               SERVE_MESSAGE_MAX;
}

bool serve_handover_send(struct serve_connection *connection)
{
    struct serve *serve = connection->serve;
    const struct serve_peer *peer = &connection->peer;
    struct head head;
    struct iovec parts[] = {{&head, sizeof head},
                            {peer->intake.params.data, peer->intake.params.len},
                            {peer->intake.body.data, peer->intake.body.len}};

    memset(&head, 0, sizeof head); /* the message includes its padding */
    head.since_ms = connection->since_ms;
    head.offered_ms = clock_steady_ms();
    head.is_scan = serve_line_is_scan(connection, &head.account);
    head.params_len = (uint32_t)peer->intake.params.len;
    head.body_len = (uint32_t)peer->intake.body.len;
    head.id = peer->intake.id;
    head.keep = peer->intake.keep;
    head.is_authorizer = peer->intake.is_authorizer;
    if (!has_few(serve->handover[0]) ||
        !send_message(serve->handover[0], peer->fd, parts, sizeof parts / sizeof parts[0]))
        return false;
    serve_connection_forget(connection);
    serve->is_offered = true;
    return true;
}

bool serve_handover_pass_on(struct serve_connection *connection)
{
    struct iovec part = {(char[1]){0}, 1};

    if (!send_message(connection->serve->successor, connection->peer.fd, &part, 1))
        return false;
    serve_connection_forget(connection);
    return true;
}

/* Returns the descriptor that came with a message, or -1. */
static int passed_fd(struct msghdr *message)
{
    const struct cmsghdr *passed = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (passed && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS &&
        passed->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(passed), sizeof fd);
    return fd;
}

int serve_handover_take(int socket)
{
    union control control;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};

    return recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0 ? passed_fd(&message)
                                                                          : -1;
}

/* Fills in the intake from a message.  Returns false if the message is malformed. */
static bool read_message(const char *data, size_t len, struct serve_intake *intake,
                         int64_t *since_ms)
{
    struct head head;
    struct text params;
    struct text body;

    if (len < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    if (len != sizeof head + head.params_len + head.body_len)
        return false;
    params = (struct text){data + sizeof head, head.params_len};
    body = (struct text){params.s + params.len, head.body_len};
    *since_ms = head.since_ms;
    intake->is_authorizer = head.is_authorizer;
    return serve_intake_refill(intake, head.id, head.keep, params, body) == SERVE_WHOLE;
}

/* Returns false if there is no message. */
static bool receive_one(struct serve *serve)
{
    union control control;
    struct iovec part = {serve->offered, sizeof serve->offered};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct serve_intake intake = {.id = 0};
    const struct log_pair pairs[] = {{"cause", "a request from another worker is malformed"},
                                     {NULL, NULL}};
    ssize_t n = recvmsg(serve->handover[1], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int64_t since_ms;
    int fd;

    if (n < 0)
        return errno == EINTR;
    fd = passed_fd(&message);
    if (fd >= 0 && read_message(serve->offered, (size_t)n, &intake, &since_ms)) {
        serve_connection_take_over(serve, fd, &intake, since_ms);
    } else {
        log_event(serve->log, LOG_LEVEL_WARNING, "connection dropped", pairs);
        if (fd >= 0)
            close(fd);
    }
    explicit_bzero(serve->offered, (size_t)n); /* a body may hold a secret */
    serve_intake_clear(&intake);
    return true;
}

/* A process at its limit of descriptors would get the message without the connection. */
static bool can_take_descriptor(const struct serve *serve)
{
    int fd = fcntl(serve->handover[1], F_DUPFD_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Returns whether the next message is a scan that other workers may start sooner.  recv() takes no
 * descriptor, and MSG_PEEK leaves the message to all. */
static bool is_for_others(const struct serve *serve)
{
    struct head head;
    ssize_t n = recv(serve->handover[1], &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);

    return n == (ssize_t)sizeof head && head.is_scan && !serve_line_may_scan(serve, head.account) &&
           clock_steady_ms() - head.offered_ms < SERVE_SCAN_LEFT_MS;
}

bool serve_handover_receive(struct serve *serve)
{
    if (!serve_connection_has_place(serve) || is_for_others(serve) || !can_take_descriptor(serve))
        return false;
    serve->is_offered = receive_one(serve);
    return serve->is_offered;
}
