/* SPDX-License-Identifier: MIT */
/* sd_listen_fds(3), sd_notify(3) and sd_notify_barrier(3), without libsystemd. */
#include "base/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"

/* The number of the first descriptor that systemd passes. */
#define LISTEN_FDS_START 3

/* Returns the number in an environment variable, or -1 if there is none. */
static long read_variable(const char *name)
{
    uint64_t number;

    return number_read(text_of(getenv(name)), 10, LONG_MAX, &number) ? (long)number : -1;
}

static bool is_listening(int fd)
{
    int listening = 0;
    socklen_t size = sizeof listening;

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

static bool is_connection(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           !is_listening(fd);
}

/* Returns whether these descriptors are connections.  Sets them to be closed on exec. */
static bool take_connections(int first, long n)
{
    if (n < 0 || n > SYSTEMD_STORED_MAX)
        return false;
    for (int fd = first; fd < first + n; fd++) {
        if (!is_connection(fd) || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return false;
    }
    return true;
}

bool systemd_listen_fd(int *fd, size_t *n_stored, char *reason, size_t size)
{
    bool is_ours = read_variable("LISTEN_PID") == (long)getpid();
    long n = is_ours ? read_variable("LISTEN_FDS") : 0;

    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *fd = n == 0 ? -1 : LISTEN_FDS_START;
    *n_stored = 0;
    if (n == 0)
        return true;
    if (!take_connections(LISTEN_FDS_START + 1, n - 1)) {
        snprintf(reason, size,
                 "LISTEN_FDS: must be 1, for one listening socket, and more only for connections");
        return false;
    }
    *n_stored = (size_t)n - 1;
    if (is_listening(*fd) && fcntl(*fd, F_SETFD, FD_CLOEXEC) == 0)
        return true;
    snprintf(reason, size, "LISTEN_FDS: descriptor 3 is not a listening socket");
    return false;
}

/* Room for one descriptor. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static void attach(struct msghdr *message, union control *control, int fd)
{
    struct cmsghdr *passed;

    message->msg_control = control->bytes;
    message->msg_controllen = sizeof control->bytes;
    passed = CMSG_FIRSTHDR(message);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(passed), &fd, sizeof fd);
}

/* systemd reads within microseconds.  One that hangs must not keep the responder from its end. */
static bool limit_time(int fd)
{
    const struct timeval most = {.tv_sec = 2};

    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0;
}

/* Sends the state, and a descriptor with it unless that is -1.  The address is a path, or "@" and a
 * name in the abstract namespace. */
static bool send_to(const char *path, const char *state, int passed_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    union control control = {.bytes = {0}};
    struct iovec part = {(void *)(uintptr_t)state, strlen(state)};
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen =
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len),
                             .msg_iov = &part,
                             .msg_iovlen = 1};
    ssize_t sent;
    int fd;

    if (len == 0 || len >= sizeof address.sun_path) {
        errno = EINVAL;
        return false;
    }
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (passed_fd >= 0)
        attach(&message, &control, passed_fd);
    sent = limit_time(fd) ? sendmsg(fd, &message, MSG_NOSIGNAL) : -1;
    close(fd);
    return sent >= 0;
}

static bool notify(const char *state, int fd)
{
    const char *path = getenv("NOTIFY_SOCKET");

    return !path || send_to(path, state, fd);
}

bool systemd_notify(const char *state)
{
    return notify(state, -1);
}

bool systemd_has_store(void)
{
    return getenv("NOTIFY_SOCKET") && read_variable("FDSTORE") > 0;
}

bool systemd_store(int fd)
{
    return notify("FDSTORE=1\nFDNAME=" SYSTEMD_STORED_NAME, fd);
}

/* systemd closes the end that it gets, once it has read all earlier messages. */
void systemd_settle(int timeout_ms)
{
    int ends[2];
    struct pollfd wanted = {.events = POLLIN};
    bool ok;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    ok = notify("BARRIER=1", ends[1]);
    close(ends[1]);
    wanted.fd = ends[0];
    if (ok)
        (void)!poll(&wanted, 1, timeout_ms);
    close(ends[0]);
}

void systemd_forget(void)
{
    unsetenv("NOTIFY_SOCKET");
}
