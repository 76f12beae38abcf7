/* SPDX-License-Identifier: MIT */
/* Makes servers obey the edges' files (by a command, or HAProxy's runtime API): a job that is due
 * while they obey an older version of the files than they should. */
#ifndef ADIT_GATEWAY_RELOAD_H
#define ADIT_GATEWAY_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "gateway/job.h"

/* The status of a reload whose servers may not obey the wanted version yet. */
#define RELOAD_DUE "due"

/* So many reloads may come close together; each time of quiet makes up for one.  After more, the
 * next one waits: 1 s, 2 s, ... up to the longest.  A reload cuts connections, and whoever may
 * write modules could have one follow the other. */
#define RELOAD_CALM 20
#define RELOAD_QUIET_MS 60000
#define RELOAD_LONGEST_REST_MS 60000

/* A rare change waits no longer than this after the last reload. */
#define RELOAD_RARE_REST_MS 10000

/* Zero it, set job's name, run and context, and used; then call reload_init(). */
struct reload {
    struct job job;
    bool used;
    uint64_t wanted; /* the servers have to obey this version */
    uint64_t rare;   /* the last of these that is a rare change */
    uint64_t begun;  /* the version when the child that runs began */
    uint64_t done;   /* the servers obey this version */

    int64_t changed_ms; /* when the first change since that child was wanted (steady clock) */

    int heat;                /* reloads that no time of quiet has made up for */
    int64_t cooled_ms;       /* until when quiet is counted (steady clock) */
    int64_t rest_to_ms;      /* no change is taken over before, */
    int64_t rare_rest_to_ms; /* but for a rare one, with all others */
    bool is_rest_told;       /* the log has it */
};

void reload_init(struct reload *reload, int limit_ms);

/* The servers have to obey this version.  The job begins at that time, or after the rest. */
void reload_want(struct reload *reload, uint64_t version, int64_t at_ms);

/* The same for a change of which the writers of modules can bring about few: it does not wait for
 * the rest that many others have earned. */
void reload_want_rare(struct reload *reload, uint64_t version, int64_t at_ms);

/* The same without a rest: not for what the writers of modules can bring about. */
void reload_want_soon(struct reload *reload, uint64_t version, int64_t at_ms);

/* Returns whether the servers may not obey the wanted version yet. */
bool reload_owes(const struct reload *reload);

/* Starts or collects the job.  The version is the newest one.  Returns whether the job succeeded
 * just now. */
bool reload_tick(struct reload *reload, uint64_t version, int64_t now_ms, const struct log *log);

/* Returns a word for operators; static. */
const char *reload_status(const struct reload *reload);

#endif
