/* SPDX-License-Identifier: MIT */
/* Lanes: each works on one request at a time. */
#include <sys/epoll.h>

#include "base/clock.h"
#include "serve/loop.h"

/* If no lane has become free for this long, the lanes are stuck rather than busy.  The worker then
 * accepts connections nevertheless: their requests may be short. */
#define STUCK_MS 10

/* A request that has waited for this long is offered to other workers.  Under load, a request gets
 * a lane sooner. */
#define OFFER_MS 50

/* A lane whose descriptor epoll does not take looks at it this often. */
#define LOOK_MS 10

/* ---- states ---- */

#define TO(state) (1U << SERVE_LANE_##state)

/* The states that may follow each state. */
static const unsigned next_states[SERVE_LANE_N_STATES] = {
    [SERVE_LANE_FREE] = TO(RUNNING),
    [SERVE_LANE_RUNNING] = TO(PAUSED) | TO(DONE),
    [SERVE_LANE_PAUSED] = TO(RUNNING) | TO(WOKEN),
    [SERVE_LANE_WOKEN] = TO(RUNNING),
    [SERVE_LANE_DONE] = TO(FREE),
};

bool serve_lane_may_move(enum serve_lane_state from, enum serve_lane_state to)
{
    return next_states[from] >> to & 1;
}

void serve_lane_move(struct serve_lane *lane, enum serve_lane_state to)
{
    if (!serve_lane_may_move(lane->state, to))
        serve_wrong_move(lane->serve, "lane", (int)lane->state, (int)to);
    lane->state = to;
}

/* ---- waiting in a lane ---- */

static void run_lane(void *context)
{
    struct serve_lane *lane = context;

    if (lane->connection)
        lane->response = lane->answerer(lane->context, &lane->request);
    else
        lane->serve->callbacks->do_chore(lane->context);
    serve_lane_move(lane, SERVE_LANE_DONE);
}

/* Returns whether the wait ended before the deadline. */
static bool pause_until(struct serve_lane *lane, int64_t deadline_ms)
{
    lane->deadline_ms = deadline_ms;
    serve_lane_move(lane, SERVE_LANE_PAUSED);
    serve_fiber_pause(lane->fiber);
    return lane->is_in_time;
}

/* The kernel has no memory for one more watched descriptor: look at it now and then, and let other
 * lanes go on. */
static bool wait_unwatched(struct serve_lane *lane, int fd, short events, int64_t deadline_ms)
{
    while (!wait_alone.until(NULL, fd, events, 0)) {
        int64_t now_ms = clock_steady_ms();

        if (now_ms >= deadline_ms)
            return false;
        if (pause_until(lane, clock_earlier(deadline_ms, now_ms + LOOK_MS)))
            return true; /* it was woken */
    }
    return true;
}

/* The wait that an answerer uses.  poll()'s events are epoll's. */
static bool wait_in_lane(void *context, int fd, short events, int64_t deadline_ms)
{
    struct serve_lane *lane = context;
    uint32_t id = SERVE_EVENT_FIRST_LANE + (uint32_t)(lane - lane->serve->lanes);

    lane->serial++;
    if (fd >= 0 && !serve_watch_anew(lane->serve, fd, (uint32_t)events | EPOLLONESHOT,
                                     serve_mark(id, lane->serial)))
        return wait_unwatched(lane, fd, events, deadline_ms);
    return pause_until(lane, deadline_ms);
}

static void wake_lane(void *context)
{
    struct serve_lane *lane = context;

    if (lane->state == SERVE_LANE_PAUSED)
        serve_lane_move(lane, SERVE_LANE_WOKEN);
}

static bool watch_shared(void *context, int fd)
{
    const struct serve_lane *lane = context;

    return serve_watch_anew(lane->serve, fd, EPOLLIN, SERVE_EVENT_SHARED);
}

bool serve_add_lane(struct serve *serve, serve_answerer *answerer, void *context, struct wait *wait)
{
    struct serve_lane *lane = &serve->lanes[serve->n_lanes];

    if (serve->n_lanes == SERVE_MAX_LANES)
        return false;
    *lane = (struct serve_lane){.serve = serve, .answerer = answerer, .context = context};
    lane->fiber = serve_fiber_new(run_lane, lane);
    if (!lane->fiber)
        return false;
    *wait = (struct wait){wait_in_lane, wake_lane, watch_shared, lane};
    serve->n_lanes++;
    serve->free_lanes[serve->n_free++] = lane;
    return true;
}

static void end_work(struct serve_lane *lane)
{
    struct serve *serve = lane->serve;

    if (lane->connection) {
        serve_line_note_end(serve, lane->connection);
        serve_connection_answer(lane->connection, lane->response);
    }
    lane->connection = NULL;
    serve_lane_move(lane, SERVE_LANE_FREE);
    serve->free_lanes[serve->n_free++] = lane;
    serve->freed_ms = clock_steady_ms();
}

static void resume(struct serve_lane *lane, bool is_in_time)
{
    serve_lane_move(lane, SERVE_LANE_RUNNING);
    lane->is_in_time = is_in_time;
    serve_fiber_resume(lane->fiber);
    if (lane->state == SERVE_LANE_DONE)
        end_work(lane);
}

void serve_lane_attend(struct serve_lane *lane, uint32_t serial)
{
    if (lane->state == SERVE_LANE_PAUSED && lane->serial == serial)
        resume(lane, true);
}

void serve_lanes_sweep(struct serve *serve, int64_t now_ms)
{
    for (size_t i = 0; i < serve->n_lanes; i++) {
        struct serve_lane *lane = &serve->lanes[i];

        if (lane->state == SERVE_LANE_PAUSED && now_ms >= lane->deadline_ms)
            resume(lane, false);
    }
}

void serve_lanes_resume_woken(struct serve *serve)
{
    bool any;

    do {
        any = false;
        for (size_t i = 0; i < serve->n_lanes; i++) {
            if (serve->lanes[i].state != SERVE_LANE_WOKEN)
                continue;
            any = true;
            resume(&serve->lanes[i], true);
        }
        serve_lanes_start(serve);
    } while (any);
}

/* ---- the line ---- */

static void start_request(struct serve *serve, struct serve_connection *connection)
{
    struct serve_lane *lane = serve->free_lanes[--serve->n_free];

    serve_line_note_start(serve, connection);
    serve_connection_move(connection, SERVE_CONNECTION_WORKING);
    lane->connection = connection;
    serve_connection_request(connection, &lane->request);
    resume(lane, true);
}

int64_t serve_lanes_chore_due_ms(const struct serve *serve)
{
    const struct serve_callbacks *callbacks = serve->callbacks;

    return callbacks->chore_due_ms && !serve->is_stopping
               ? callbacks->chore_due_ms(callbacks->context)
               : INT64_MAX;
}

void serve_lanes_start_chore(struct serve *serve, int64_t now_ms)
{
    /* What waits for its account's turn needs no lane. */
    if (serve_line_has_spare_lane(serve) && now_ms >= serve_lanes_chore_due_ms(serve) &&
        !serve_line_next(serve))
        resume(serve->free_lanes[--serve->n_free], true);
}

/* A request that cannot be handed over stays in the line. */
static void offer_late(struct serve *serve)
{
    int64_t now_ms = clock_steady_ms();
    size_t at = 0;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the first n_line are never NULL */
    while (at < serve->n_line && now_ms - serve->line[at]->since_ms >= OFFER_MS) {
        if (!serve_line_may_offer(serve, serve->line[at]) || !serve_handover_fits(serve->line[at]))
            at++;
        else if (!serve_handover_send(serve->line[at]))
            break;
    }
}

/* Returns the next request to start, or NULL.  Offered requests have waited longer than most of the
 * line, so one joins the line first, and more while none of the line may start; overdue ones get
 * 503 and do not join it. */
static struct serve_connection *next_request(struct serve *serve)
{
    size_t n_line = serve->n_line;

    while (serve->is_offered && serve_line_may_start_long(serve) &&
           (serve->n_line == n_line || !serve_line_next(serve)) && serve_handover_receive(serve))
        ;
    return serve_line_next(serve);
}

/* Whoever asks and leaves again and again would keep the lanes busy for nobody. */
static bool is_given_up(const struct serve_connection *connection)
{
    return clock_left_ms(connection->since_ms + OFFER_MS) == 0 &&
           serve_peer_gone(&connection->peer);
}

void serve_lanes_start(struct serve *serve)
{
    struct serve_connection *next;

    serve_line_refuse_surplus(serve);
    while ((next = next_request(serve))) {
        if (is_given_up(next))
            serve_connection_drop(next);
        else if (!serve_line_has_spare_lane(serve) && serve_line_work_of(next) == REQUEST_INSTANT)
            serve_connection_answer_at_once(next);
        else
            start_request(serve, next);
    }
    if (serve->n_line > 0 && serve->handover[0] >= 0)
        offer_late(serve);
}

bool serve_lanes_are_idle(const struct serve *serve)
{
    return serve->n_free == serve->n_lanes && serve->n_line == 0;
}

bool serve_lanes_want_more(const struct serve *serve)
{
    return serve_line_has_spare_lane(serve) || serve->n_owed > 0 ||
           clock_left_ms(serve->freed_ms + STUCK_MS) == 0;
}

static int earlier_ms(int wait_ms, int other_ms)
{
    return other_ms < wait_ms ? other_ms : wait_ms;
}

/* Returns the milliseconds until the oldest request is offered.  A request that could not be
 * offered is tried again after OFFER_MS. */
static int offer_left_ms(const struct serve *serve)
{
    int left_ms = clock_left_ms(serve->line[0]->since_ms + OFFER_MS);

    return left_ms > 0 ? left_ms : OFFER_MS;
}

int serve_lanes_wait_ms(const struct serve *serve, int most_ms)
{
    int wait_ms = most_ms;

    for (size_t i = 0; i < serve->n_lanes; i++) {
        const struct serve_lane *lane = &serve->lanes[i];

        if (lane->state == SERVE_LANE_WOKEN)
            return 0;
        if (lane->state == SERVE_LANE_PAUSED)
            wait_ms = earlier_ms(wait_ms, clock_left_ms(lane->deadline_ms));
    }
    if (!serve_lanes_want_more(serve))
        wait_ms = earlier_ms(wait_ms, clock_left_ms(serve->freed_ms + STUCK_MS));
    if (serve->is_offered && serve_line_may_start_long(serve))
        wait_ms = earlier_ms(wait_ms, SERVE_SCAN_LEFT_MS);
    if (serve->n_line > 0 && serve->handover[0] >= 0)
        wait_ms = earlier_ms(wait_ms, offer_left_ms(serve));
    return wait_ms;
}
