/* SPDX-License-Identifier: MIT */
/* Waiting with poll(). */
#include "base/wait.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "base/clock.h"

static bool until(void *context, int fd, short events, int64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    int n;

    (void)context;
    do
        n = poll(&poll_fd, 1, clock_left_ms(deadline_ms));
    while (n < 0 && errno == EINTR);
    return n > 0;
}

const struct wait wait_alone = {.until = until};
