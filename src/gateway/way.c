/* SPDX-License-Identifier: MIT */
/* Which version of the edges' files the servers obey. */
#include "gateway/way.h"

void way_init(struct way *way, int limit_ms)
{
    way->job.limit_ms = limit_ms;
    job_init(&way->job);
}

void way_want(struct way *way, uint64_t version, int64_t at_ms)
{
    if (!way->used)
        return;
    way->wanted = version;
    job_want(&way->job, at_ms);
}

bool way_owes(const struct way *way)
{
    return way->done < way->wanted;
}

bool way_tick(struct way *way, uint64_t version, int64_t now_ms, const struct log *log)
{
    switch (job_tick(&way->job, now_ms, log)) {
    case JOB_STARTED:
        way->begun = version;
        break;
    case JOB_SUCCEEDED:
        way->done = way->begun;
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
