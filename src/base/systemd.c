/* SPDX-License-Identifier: MIT */
/* sd_listen_fds(3) and sd_notify(3), without libsystemd. */
#include "base/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

bool systemd_listen_fd(int *fd, char *reason, size_t size)
{
    bool is_ours = read_variable("LISTEN_PID") == (long)getpid();
    long n = is_ours ? read_variable("LISTEN_FDS") : 0;

    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *fd = n == 0 ? -1 : LISTEN_FDS_START;
    if (n == 0)
        return true;
    if (n == 1 && is_listening(*fd) && fcntl(*fd, F_SETFD, FD_CLOEXEC) == 0)
        return true;
    snprintf(reason, size, "LISTEN_FDS: %s",
             n == 1 ? "descriptor 3 is not a listening socket"
                    : "must be 1, for one listening socket");
    return false;
}

/* The address is a path, or "@" and a name in the abstract namespace. */
static bool send_to(const char *path, const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
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
    sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
    return sent >= 0;
}

bool systemd_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    bool told = !path || send_to(path, state);
    int fault = errno;

    unsetenv("NOTIFY_SOCKET");
    errno = fault;
    return told;
}
