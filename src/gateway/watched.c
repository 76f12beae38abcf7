/* SPDX-License-Identifier: MIT */
/* Watching with epoll(7). */
#include "gateway/watched.h"

#include <sys/epoll.h>

uint64_t watched_tag(int fd, enum watched_kind kind)
{
    return (uint64_t)kind << 32 | (uint32_t)fd;
}

bool watched_add(int epoll, int fd, enum watched_kind kind)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = watched_tag(fd, kind)}};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}
