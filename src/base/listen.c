/* SPDX-License-Identifier: MIT */
/* Listening sockets. */
#include "base/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

static bool cannot(const char **what, const char *words)
{
    *what = words;
    return false;
}

/* Removes a socket file that an earlier run left: connecting to it fails with ECONNREFUSED.  Any
 * other error may come from a socket in use: its server is busy, or this user may not connect. */
static bool remove_stale(const struct sockaddr_un *address, const char **what)
{
    struct stat status;
    int fd;
    int fault;

    if (lstat(address->sun_path, &status) != 0)
        return true;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return cannot(what, "is not a socket; choose another path");
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return cannot(what, "cannot listen");
    fault = EADDRINUSE;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        fault = errno;
    close(fd);
    if (fault != ECONNREFUSED) {
        errno = fault == EAGAIN ? EADDRINUSE : fault;
        return cannot(what, "cannot listen");
    }
    return unlink(address->sun_path) == 0 || cannot(what, "cannot remove the old socket");
}

bool listen_unix(const char *path, mode_t mode, int *fd, const char **what)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t old_mask;
    int bound;

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return cannot(what, "cannot listen");
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (!remove_stale(&address, what))
        return false;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return cannot(what, "cannot listen");
    old_mask = umask(0777 & ~mode);
    bound = bind(*fd, (const struct sockaddr *)&address, sizeof address);
    umask(old_mask);
    return (bound == 0 && listen(*fd, BACKLOG) == 0) || cannot(what, "cannot listen");
}

/* SO_REUSEADDR: connections of an earlier run may be in TIME_WAIT.  TCP_NODELAY is not needed: an
 * answer leaves in one send(), with nothing unacknowledged before it. */
bool listen_loopback(uint16_t port, int *fd, const char **what)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    int fault;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(*fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(*fd, BACKLOG) == 0)
        return true;
    fault = errno;
    if (*fd >= 0)
        close(*fd);
    errno = fault;
    return cannot(what, "cannot listen");
}
