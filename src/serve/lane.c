/* SPDX-License-Identifier: MIT */
/* Lanes, and the line of requests that wait for one. */
#include <sys/epoll.h>

#include "base/clock.h"
#include "serve/loop.h"

/* Long work leaves one lane to others. */
#define RESERVED_LANES 1

/* When no lane has become free for this long, the lanes are stuck rather than busy: connections are
 * accepted nevertheless, since what they ask for may be short. */
#define STUCK_MS 10

/* While they are busy, one connection is accepted for each time of this length, since kept ones
 * could keep the lanes busy for ever. */
#define ACCEPT_MS 10

/* A request that has waited for this long is offered to other workers.  Under load, a request's
 * turn comes sooner. */
#define OFFER_MS 50

/* ---- a lane's own waiting ---- */

static void run_lane(void *context)
{
    struct lane *lane = context;

    lane->response = lane->answerer(lane->context, &lane->request);
}

/* The wait of the answerer in a lane.  poll()'s events are epoll's. */
static bool pause_lane(void *context, int fd, short events, int64_t deadline_ms)
{
    struct lane *lane = context;
    uint32_t id = FCGI_FIRST_LANE + (uint32_t)(lane - lane->fcgi->lanes);

    lane->serial++;
    if (fd >= 0 &&
        !fcgi_watch_anew(lane->fcgi, fd, (uint32_t)events | EPOLLONESHOT, id, lane->serial))
        return wait_alone.until(NULL, fd, events, deadline_ms);
    lane->deadline_ms = deadline_ms;
    lane->state = LANE_PAUSED;
    fiber_pause(lane->fiber);
    return lane->is_in_time;
}

static void wake_lane(void *context)
{
    struct lane *lane = context;

    if (lane->state == LANE_PAUSED)
        lane->state = LANE_WOKEN;
}

static bool watch_shared(void *context, int fd)
{
    const struct lane *lane = context;

    return fcgi_watch_anew(lane->fcgi, fd, EPOLLIN, FCGI_SHARED, 0);
}

bool fcgi_add_lane(struct fcgi *fcgi, fcgi_answerer *answerer, void *context, struct wait *wait)
{
    struct lane *lane = &fcgi->lanes[fcgi->n_lanes];

    if (fcgi->n_lanes == FCGI_MAX_LANES)
        return false;
    *lane = (struct lane){.fcgi = fcgi, .answerer = answerer, .context = context};
    lane->fiber = fiber_new(run_lane, lane);
    if (!lane->fiber)
        return false;
    *wait = (struct wait){pause_lane, wake_lane, watch_shared, lane};
    fcgi->n_lanes++;
    fcgi->free_lanes[fcgi->n_free++] = lane;
    return true;
}

static void resume(struct lane *lane, bool is_in_time)
{
    struct fcgi *fcgi = lane->fcgi;

    lane->state = LANE_RUNNING;
    lane->is_in_time = is_in_time;
    fiber_resume(lane->fiber);
    if (!lane->response)
        return;
    connection_answer(lane->connection, lane->response);
    lane->connection = NULL;
    lane->state = LANE_FREE;
    fcgi->free_lanes[fcgi->n_free++] = lane;
    fcgi->freed_ms = clock_steady_ms();
}

void lane_attend(struct lane *lane, uint32_t serial)
{
    if (lane->state == LANE_PAUSED && lane->serial == serial)
        resume(lane, true);
}

void lanes_sweep(struct fcgi *fcgi, int64_t now_ms)
{
    for (size_t i = 0; i < fcgi->n_lanes; i++) {
        struct lane *lane = &fcgi->lanes[i];

        if (lane->state == LANE_PAUSED && now_ms >= lane->deadline_ms)
            resume(lane, false);
    }
}

void lanes_resume_woken(struct fcgi *fcgi)
{
    bool any;

    do {
        any = false;
        for (size_t i = 0; i < fcgi->n_lanes; i++) {
            if (fcgi->lanes[i].state != LANE_WOKEN)
                continue;
            any = true;
            resume(&fcgi->lanes[i], true);
        }
        lanes_start(fcgi);
    } while (any);
}

/* ---- the line ---- */

static bool any_lane_is_free(const struct fcgi *fcgi)
{
    return fcgi->n_free > (fcgi->n_lanes > RESERVED_LANES ? RESERVED_LANES : 0);
}

static enum fcgi_work work_of(struct connection *connection)
{
    const struct fcgi_callbacks *callbacks = connection->fcgi->callbacks;
    const struct fcgi_intake *intake = &connection->peer.intake;

    if (!connection->is_sorted) {
        connection->work =
            callbacks->sort(callbacks->context, fcgi_intake_find(intake, "REQUEST_METHOD"),
                            fcgi_intake_find(intake, "PATH_INFO"));
        connection->is_sorted = true;
    }
    return connection->work;
}

/* Returns the first that can be worked on now, or NULL.  Work is looked at only where lanes are
 * short. */
static struct connection *next_in_line(const struct fcgi *fcgi)
{
    enum fcgi_work least = fcgi->n_free > 0 ? FCGI_WORK_SHORT : FCGI_WORK_INSTANT;

    if (fcgi->n_line == 0)
        return NULL;
    if (any_lane_is_free(fcgi))
        return fcgi->line[0];
    for (size_t i = 0; i < fcgi->n_line; i++) {
        if (work_of(fcgi->line[i]) >= least)
            return fcgi->line[i];
    }
    return NULL;
}

static void start(struct fcgi *fcgi, struct connection *connection)
{
    struct lane *lane = fcgi->free_lanes[--fcgi->n_free];

    lane->connection = connection;
    lane->response = NULL;
    connection_request(connection, &lane->request);
    resume(lane, true);
}

/* A request that cannot be sent waits here. */
static void offer_late(struct fcgi *fcgi)
{
    int64_t now_ms = clock_steady_ms();
    size_t at = 0;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the first n_line are never NULL */
    while (at < fcgi->n_line && now_ms - fcgi->line[at]->since_ms >= OFFER_MS) {
        if (!handover_fits(fcgi->line[at]))
            at++;
        else if (!handover_send(fcgi->line[at]))
            break;
    }
}

/* Returns the next request to work on, or NULL.  What was offered has waited for longer than most
 * of the line, so it comes into the line first; what is overdue is answered on the way. */
static struct connection *next_request(struct fcgi *fcgi)
{
    size_t n_line = fcgi->n_line;

    while (fcgi->is_offered && any_lane_is_free(fcgi) && fcgi->n_line == n_line &&
           handover_receive(fcgi))
        ;
    return next_in_line(fcgi);
}

void lanes_start(struct fcgi *fcgi)
{
    struct connection *next;

    while ((next = next_request(fcgi))) {
        if (!any_lane_is_free(fcgi) && next->work == FCGI_WORK_INSTANT) {
            connection_answer_at_once(next);
        } else {
            connection_leave_line(next);
            start(fcgi, next);
        }
    }
    if (fcgi->n_line > 0 && fcgi->handover[0] >= 0)
        offer_late(fcgi);
}

bool lanes_are_idle(const struct fcgi *fcgi)
{
    return fcgi->n_free == fcgi->n_lanes && fcgi->n_line == 0;
}

/* Returns when a connection may be accepted although no lane is free for any work. */
static int64_t accept_at_ms(const struct fcgi *fcgi)
{
    return clock_earlier(fcgi->freed_ms + STUCK_MS, fcgi->accepted_ms + ACCEPT_MS);
}

bool lanes_want_more(const struct fcgi *fcgi)
{
    return any_lane_is_free(fcgi) || clock_left_ms(accept_at_ms(fcgi)) == 0;
}

static int earlier_ms(int wait_ms, int other_ms)
{
    return other_ms < wait_ms ? other_ms : wait_ms;
}

/* Returns the milliseconds until the oldest request is offered; those that were not taken up are
 * offered again after a while. */
static int offer_left_ms(const struct fcgi *fcgi)
{
    int left_ms = clock_left_ms(fcgi->line[0]->since_ms + OFFER_MS);

    return left_ms > 0 ? left_ms : OFFER_MS;
}

int lanes_wait_ms(const struct fcgi *fcgi, int most_ms)
{
    int wait_ms = most_ms;

    for (size_t i = 0; i < fcgi->n_lanes; i++) {
        const struct lane *lane = &fcgi->lanes[i];

        if (lane->state == LANE_WOKEN)
            return 0;
        if (lane->state == LANE_PAUSED)
            wait_ms = earlier_ms(wait_ms, clock_left_ms(lane->deadline_ms));
    }
    if (!lanes_want_more(fcgi))
        wait_ms = earlier_ms(wait_ms, clock_left_ms(accept_at_ms(fcgi)));
    if (fcgi->n_line > 0 && fcgi->handover[0] >= 0)
        wait_ms = earlier_ms(wait_ms, offer_left_ms(fcgi));
    return wait_ms;
}
