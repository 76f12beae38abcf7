/* SPDX-License-Identifier: MIT */
/* Idle connections between two workers. */
#include "serve/kept.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"
#include "serve/serve.h"

bool kept_open(struct kept *kept)
{
    return !systemd_has_store() || serve_handover_open(kept->pair);
}

/* A connection that a socket has accepted has the socket's name. */
static bool is_accepted(int fd, int listen_fd)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    struct sockaddr_storage peer;
    struct sockaddr_storage wanted = {.ss_family = AF_UNSPEC};
    socklen_t own_len = sizeof own;
    socklen_t peer_len = sizeof peer;
    socklen_t wanted_len = sizeof wanted;

    return getsockname(listen_fd, (struct sockaddr *)&wanted, &wanted_len) == 0 &&
           getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 && own_len == wanted_len &&
           memcmp(&own, &wanted, own_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0;
}

void kept_add(struct kept *kept, int fd)
{
    if (kept->n < SYSTEMD_STORED_MAX && is_accepted(fd, kept->listen_fd))
        kept->fds[kept->n++] = fd;
    else
        close(fd);
}

void kept_receive(struct kept *kept)
{
    int fd;

    while (kept->pair[1] >= 0 && (fd = serve_handover_take(kept->pair[1])) >= 0)
        kept_add(kept, fd);
}

/* The shares differ by at most one. */
static size_t share_of(const struct kept *kept, size_t n_workers)
{
    return (kept->n + n_workers - 1) / n_workers;
}

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

void kept_share(struct kept *kept, size_t n_workers)
{
    size_t share = share_of(kept, n_workers);

    close_all(kept->fds + share, kept->n - share);
    kept->n = share;
}

void kept_give(struct kept *kept, size_t n_workers)
{
    size_t share = share_of(kept, n_workers);

    close_all(kept->fds, share);
    kept->n -= share;
    memmove(kept->fds, kept->fds + share, kept->n * sizeof kept->fds[0]);
}

void kept_store(struct kept *kept, const struct log *log)
{
    bool ok = true;

    for (size_t i = 0; i < kept->n; i++)
        ok = ok && systemd_store(kept->fds[i]);
    if (!ok)
        process_fault(log, "NOTIFY_SOCKET", "cannot store connections");
    close_all(kept->fds, kept->n);
    kept->n = 0;
}
