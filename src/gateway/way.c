/* SPDX-License-Identifier: MIT */
/* Which version of the edges' files the servers obey. */
#include "gateway/way.h"

#include <stdio.h>

#include "base/clock.h"

#define FIRST_REST_MS 1000

/* Enough for the longest rest. */
#define HOTTEST (WAY_CALM + 7)

void way_init(struct way *way, int limit_ms)
{
    way->job.limit_ms = limit_ms;
    job_init(&way->job);
}

void way_want_soon(struct way *way, uint64_t version, int64_t at_ms)
{
    if (!way->used)
        return;
    way->wanted = version;
    job_want(&way->job, at_ms);
}

static void want_after(struct way *way, uint64_t version, int64_t at_ms, int64_t rest_to_ms)
{
    if (way->wanted <= way->begun)
        way->changed_ms = at_ms;
    way_want_soon(way, version, at_ms > rest_to_ms ? at_ms : rest_to_ms);
}

void way_want(struct way *way, uint64_t version, int64_t at_ms)
{
    want_after(way, version, at_ms, way->rest_to_ms);
}

void way_want_rare(struct way *way, uint64_t version, int64_t at_ms)
{
    way->rare = version;
    want_after(way, version, at_ms, way->rare_rest_to_ms);
}

bool way_owes(const struct way *way)
{
    return way->done < way->wanted;
}

static int64_t rest_after(int heat)
{
    int64_t rest_ms = heat > WAY_CALM ? (int64_t)FIRST_REST_MS << (heat - WAY_CALM - 1) : 0;

    return clock_earlier(rest_ms, WAY_LONGEST_REST_MS);
}

/* What was wanted while the child ran has to wait, too. */
static void begin_rest(struct way *way, int64_t now_ms)
{
    int64_t rest_to_ms, n_quiet = (now_ms - way->cooled_ms) / WAY_QUIET_MS;

    way->cooled_ms = n_quiet < way->heat ? way->cooled_ms + n_quiet * WAY_QUIET_MS : now_ms;
    way->heat = n_quiet < way->heat ? way->heat - (int)n_quiet : 0;
    if (way->heat < HOTTEST)
        way->heat++;
    way->rest_to_ms = now_ms + rest_after(way->heat);
    way->rare_rest_to_ms = clock_earlier(way->rest_to_ms, now_ms + WAY_RARE_REST_MS);
    way->is_rest_told = false;
    rest_to_ms = way->rare > way->begun ? way->rare_rest_to_ms : way->rest_to_ms;
    if (way->job.due_ms < rest_to_ms)
        way->job.due_ms = rest_to_ms;
}

static bool waits_for_rest(const struct way *way, int64_t now_ms)
{
    int64_t due_ms = way->job.due_ms;

    return way_owes(way) && now_ms < due_ms &&
           (due_ms == way->rest_to_ms || due_ms == way->rare_rest_to_ms);
}

/* Tells once of each rest that keeps a change waiting. */
static void tell_rest(struct way *way, int64_t now_ms, const struct log *log)
{
    const struct log_source source = log_source_of(LOG_PARTY_PLACE, text_of(way->job.name));
    char cause[64];
    const struct log_pair pairs[] = {{"job", way->job.name}, {"cause", cause}, {NULL, NULL}};

    if (way->is_rest_told || !waits_for_rest(way, now_ms))
        return;
    way->is_rest_told = true;
    snprintf(cause, sizeof cause, "the next one begins in %lld ms",
             (long long)(way->job.due_ms - now_ms));
    log_often(log, LOG_LEVEL_WARNING, "modules change too often: reloads wait", &source, pairs);
}

bool way_tick(struct way *way, uint64_t version, int64_t now_ms, const struct log *log)
{
    tell_rest(way, now_ms, log);
    switch (job_tick(&way->job, now_ms, log)) {
    case JOB_STARTED:
        way->begun = version;
        break;
    case JOB_SUCCEEDED:
        way->done = way->begun;
        begin_rest(way, now_ms);
        return true;
    case JOB_FAILED:
    case JOB_QUIET:
        break;
    }
    return false;
}

const char *way_status(const struct way *way)
{
    if (!way->used)
        return "none";
    return way_owes(way) ? WAY_DUE : "done";
}
