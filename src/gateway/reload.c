/* SPDX-License-Identifier: MIT */
/* Which version of the edges' files the servers obey. */
#include "gateway/reload.h"

#include <stdio.h>

#include "base/clock.h"

#define FIRST_REST_MS 1000

/* Enough for the longest rest. */
#define HOTTEST (RELOAD_CALM + 7)

void reload_init(struct reload *reload, int limit_ms)
{
    reload->job.limit_ms = limit_ms;
    job_init(&reload->job);
}

void reload_want_soon(struct reload *reload, uint64_t version, int64_t at_ms)
{
    if (!reload->used)
        return;
    reload->wanted = version;
    job_want(&reload->job, at_ms);
}

static void want_after(struct reload *reload, uint64_t version, int64_t at_ms, int64_t rest_to_ms)
{
    if (reload->wanted <= reload->begun)
        reload->changed_ms = at_ms;
    reload_want_soon(reload, version, at_ms > rest_to_ms ? at_ms : rest_to_ms);
}

void reload_want(struct reload *reload, uint64_t version, int64_t at_ms)
{
    want_after(reload, version, at_ms, reload->rest_to_ms);
}

void reload_want_rare(struct reload *reload, uint64_t version, int64_t at_ms)
{
    reload->rare = version;
    want_after(reload, version, at_ms, reload->rare_rest_to_ms);
}

bool reload_owes(const struct reload *reload)
{
    return reload->done < reload->wanted;
}

static int64_t rest_after(int heat)
{
    int64_t rest_ms = heat > RELOAD_CALM ? (int64_t)FIRST_REST_MS << (heat - RELOAD_CALM - 1) : 0;

    return clock_earlier(rest_ms, RELOAD_LONGEST_REST_MS);
}

/* What was wanted while the child ran has to wait, too. */
static void begin_rest(struct reload *reload, int64_t now_ms)
{
    int64_t rest_to_ms, n_quiet = (now_ms - reload->cooled_ms) / RELOAD_QUIET_MS;

    reload->cooled_ms =
        n_quiet < reload->heat ? reload->cooled_ms + n_quiet * RELOAD_QUIET_MS : now_ms;
    reload->heat = n_quiet < reload->heat ? reload->heat - (int)n_quiet : 0;
    if (reload->heat < HOTTEST)
        reload->heat++;
    reload->rest_to_ms = now_ms + rest_after(reload->heat);
    reload->rare_rest_to_ms = clock_earlier(reload->rest_to_ms, now_ms + RELOAD_RARE_REST_MS);
    reload->is_rest_told = false;
    rest_to_ms = reload->rare > reload->begun ? reload->rare_rest_to_ms : reload->rest_to_ms;
    if (reload->job.due_ms < rest_to_ms)
        reload->job.due_ms = rest_to_ms;
}

static bool waits_for_rest(const struct reload *reload, int64_t now_ms)
{
    int64_t due_ms = reload->job.due_ms;

    return reload_owes(reload) && now_ms < due_ms &&
           (due_ms == reload->rest_to_ms || due_ms == reload->rare_rest_to_ms);
}

/* Tells once of each rest that keeps a change waiting. */
static void tell_rest(struct reload *reload, int64_t now_ms, const struct log *log)
{
    const struct log_source source = log_source_of(LOG_PARTY_PLACE, text_of(reload->job.name));
    char cause[64];
    const struct log_pair pairs[] = {{"job", reload->job.name}, {"cause", cause}, {NULL, NULL}};

    if (reload->is_rest_told || !waits_for_rest(reload, now_ms))
        return;
    reload->is_rest_told = true;
    snprintf(cause, sizeof cause, "the next one begins in %lld ms",
             (long long)(reload->job.due_ms - now_ms));
    log_often(log, LOG_LEVEL_WARNING, "modules change too often: reloads wait", &source, pairs);
}

bool reload_tick(struct reload *reload, uint64_t version, int64_t now_ms, const struct log *log)
{
    tell_rest(reload, now_ms, log);
    switch (job_tick(&reload->job, now_ms, log)) {
    case JOB_STARTED:
        reload->begun = version;
        break;
    case JOB_SUCCEEDED:
        reload->done = reload->begun;
        begin_rest(reload, now_ms);
        return true;
    case JOB_FAILED:
    case JOB_QUIET:
        break;
    }
    return false;
}

const char *reload_status(const struct reload *reload)
{
    if (!reload->used)
        return "none";
    return reload_owes(reload) ? RELOAD_DUE : "done";
}
