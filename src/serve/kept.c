/* SPDX-License-Identifier: MIT */
/* Idle connections between two workers. */
#include "serve/kept.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"
#include "serve/serve.h"

bool kept_open(struct kept *kept)
{
    return !systemd_has_store() || serve_handover_open(kept->pair);
}

/* The name of one end of a socket. */
union name {
    struct sockaddr_storage storage; /* first: what = {0} clears */
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* A socket of all addresses accepts connections to each of them. */
static void take_wildcard(union name *own, const union name *listening)
{
    if (listening->any.sa_family == AF_INET && listening->in.sin_addr.s_addr == INADDR_ANY)
        own->in.sin_addr = listening->in.sin_addr;
    else if (listening->any.sa_family == AF_INET6 &&
             IN6_IS_ADDR_UNSPECIFIED(&listening->in6.sin6_addr)) {
        own->in6.sin6_addr = listening->in6.sin6_addr;
        own->in6.sin6_scope_id = 0; /* a link-local address's */
    }
}

/* A connection that a socket has accepted has the socket's name. */
static bool is_accepted(int fd, int listen_fd)
{
    union name own = {0};
    union name peer = {0};
    union name listening = {0};
    socklen_t own_len = sizeof own;
    socklen_t peer_len = sizeof peer;
    socklen_t listening_len = sizeof listening;

    if (getsockname(listen_fd, &listening.any, &listening_len) < 0 ||
        getsockname(fd, &own.any, &own_len) < 0 || getpeername(fd, &peer.any, &peer_len) < 0)
        return false;
    if (own.any.sa_family == listening.any.sa_family)
        take_wildcard(&own, &listening);
    return own_len == listening_len && memcmp(&own, &listening, own_len) == 0;
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
