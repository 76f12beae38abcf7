/* SPDX-License-Identifier: MIT */
/* A way to make servers obey the edges' files: a job that is due while they obey an older version
 * of the files than they should. */
#ifndef ADIT_GATEWAY_WAY_H
#define ADIT_GATEWAY_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "gateway/job.h"

/* The status of a way whose servers may not obey the wanted version yet. */
#define WAY_DUE "due"

/* Zero it, set job's name, run and context, and used; then call way_init(). */
struct way {
    struct job job;
    bool used;
    uint64_t wanted; /* the servers have to obey this version */
    uint64_t begun;  /* the version when the child that runs began */
    uint64_t done;   /* the servers obey this version */
};

void way_init(struct way *way, int limit_ms);

/* The servers have to obey this version.  The job begins at that time. */
void way_want(struct way *way, uint64_t version, int64_t at_ms);

/* Returns whether the servers may not obey the wanted version yet. */
bool way_owes(const struct way *way);

/* Starts or collects the job.  The version is the newest one.  Returns whether the job succeeded
 * just now. */
bool way_tick(struct way *way, uint64_t version, int64_t now_ms, const struct log *log);

/* Returns a word for operators; static. */
const char *way_status(const struct way *way);

#endif
