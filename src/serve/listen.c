/* SPDX-License-Identifier: MIT */
/* Taking systemd's socket, or listening. */
#include "serve/listen.h"

#include <stdio.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/process.h"
#include "base/systemd.h"

static bool listen_at(const struct serve_place *place, const struct log *log, int *fd)
{
    char name[32];
    const char *what;

    if (place->path)
        return listen_unix(place->path, place->mode, fd, &what) ||
               process_fault(log, place->path, what);
    *fd = -1;
    if (place->port == 0)
        return true;
    snprintf(name, sizeof name, "127.0.0.1:%u", (unsigned)place->port);
    return listen_loopback(place->port, fd, &what) || process_fault(log, name, what);
}

bool serve_listen(const struct serve_place *place, struct kept *kept, const struct log *log,
                  int *fd)
{
    char reason[64];
    size_t n_stored;

    if (!systemd_listen_fd(fd, &n_stored, reason, sizeof reason))
        return process_cannot_start(log, reason);
    if (*fd < 0) {
        bool ok = listen_at(place, log, fd);

        kept->listen_fd = *fd < 0 ? STDIN_FILENO : *fd;
        return ok;
    }
    if (place->path || place->port > 0)
        return process_cannot_start(
            log, "--listen names a socket, but systemd passes another; use one of them");
    kept->listen_fd = *fd;
    kept->was_stored = n_stored > 0;
    for (size_t i = 1; i <= n_stored; i++)
        kept_add(kept, *fd + (int)i);
    return true;
}

/* The store must not hold a connection that a worker closes. */
void serve_tell_ready(const struct kept *kept, const struct log *log)
{
    if (!systemd_notify(kept->was_stored ? "READY=1\nFDSTOREREMOVE=1\nFDNAME=" SYSTEMD_STORED_NAME
                                         : "READY=1"))
        process_fault(log, "NOTIFY_SOCKET", "cannot tell systemd that all is ready");
}
