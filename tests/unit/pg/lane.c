/* SPDX-License-Identifier: MIT */
/* Waiting with a scripted backend. */
#include "pg/lane.h"

#include <poll.h>

#include "base/clock.h"
#include "pg/backend.h"

/* Rounds without work for the backend after which nothing can happen any more. */
#define QUIET_ROUNDS 3

static int watched_fd = -1;

static bool is_ready(int fd, short events)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};

    return fd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

static bool until(void *context, int fd, short events, int64_t deadline_ms)
{
    struct lane *lane = context;
    void (**hook)(struct lane *) = fd < 0 ? &lane->on_wait : &lane->on_io;
    void (*call)(struct lane *) = *hook;

    lane->is_woken = false;
    *hook = NULL;
    if (call)
        call(lane);
    for (int quiet = 0; quiet < QUIET_ROUNDS; quiet++) {
        if (lane->pipeline)
            pg_pipeline_send(lane->pipeline);
        if (backend_serve())
            quiet = 0;
        if (lane->pipeline && is_ready(watched_fd, POLLIN))
            pg_pipeline_receive(lane->pipeline);
        if (fd < 0 ? lane->is_woken : is_ready(fd, events))
            return true;
    }
    if (deadline_ms > clock_steady_ms())
        clock_pass_ms(deadline_ms - clock_steady_ms());
    return false;
}

static void wake(void *context)
{
    ((struct lane *)context)->is_woken = true;
}

static bool watch(void *context, int fd)
{
    watched_fd = fd;
    return !((struct lane *)context)->refuses_watch;
}

struct wait lane_wait(struct lane *lane)
{
    return (struct wait){.until = until, .wake = wake, .watch = watch, .context = lane};
}
