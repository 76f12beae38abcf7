/* SPDX-License-Identifier: MIT */
/* The listening socket. */
#include "main/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

/* Removes a socket file that an earlier run left: connecting to it fails with ECONNREFUSED.  Any
 * other error may come from a socket in use: its responder is busy, or this user may not connect.
 */
static bool remove_stale(const struct sockaddr_un *address, const struct log *log)
{
    struct stat status;
    int fd;
    int fault;

    if (lstat(address->sun_path, &status) != 0)
        return true;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return process_fault(log, address->sun_path,
                             "is not a socket; choose another path for --listen");
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return process_fault(log, address->sun_path, "cannot listen");
    fault = EADDRINUSE;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        fault = errno;
    close(fd);
    if (fault != ECONNREFUSED) {
        errno = fault == EAGAIN ? EADDRINUSE : fault;
        return process_fault(log, address->sun_path, "cannot listen");
    }
    return unlink(address->sun_path) == 0 ||
           process_fault(log, address->sun_path, "cannot remove the old socket");
}

bool listen_open(struct process *process, const char *path, mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct log *log = &process->conf.log;
    mode_t old_mask;
    int bound;

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return process_fault(log, path, "cannot listen");
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (!remove_stale(&address, log))
        return false;
    process->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (process->listen_fd < 0)
        return process_fault(log, path, "cannot listen");
    old_mask = umask(0777 & ~mode);
    bound = bind(process->listen_fd, (const struct sockaddr *)&address, sizeof address);
    umask(old_mask);
    if (bound != 0 || listen(process->listen_fd, BACKLOG) != 0)
        return process_fault(log, path, "cannot listen");
    return true;
}
