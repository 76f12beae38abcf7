/* SPDX-License-Identifier: MIT */
/* A session in libpq's pipeline mode, which all lanes of a worker share for short reads.  All reads
 * that are asked before the worker waits are sent in one piece, and the server answers in one: both
 * processes wake up once for all of them.
 *
 * It only makes reads cheaper.  Any error, loss or delay closes it, and each read is run again on
 * its lane's own session, which handles failures. */
#ifndef ADIT_PG_PIPELINE_H
#define ADIT_PG_PIPELINE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/wait.h"
#include "pg/pg.h"

struct pg_outage;
struct pg_pipeline;

/* Returns a pipeline that is not open yet, or NULL where memory is short.  The conninfo must
 * outlive it. */
MUST_CHECK struct pg_pipeline *pg_pipeline_new(const char *conninfo);

/* Counts its sessions and failures in *counts, which must outlive it. */
void pg_pipeline_count_in(struct pg_pipeline *pipeline, struct metrics_slot *counts);

/* Tells the drivers that share *outage when the server ends the session (pg/outage.h).  *outage
 * must outlive the pipeline.  A lane whose own session is not open has no other way to know. */
void pg_pipeline_share_outage(struct pg_pipeline *pipeline, struct pg_outage *outage);

/* Closes it and frees it.  No lane may wait in it.  NULL is fine. */
void pg_pipeline_free(struct pg_pipeline *pipeline);

/* Sends the reads that were asked since the last call.  Call it before the process waits. */
void pg_pipeline_send(struct pg_pipeline *pipeline);

/* Reads what the server has sent and wakes the lanes whose rows have come.  Call it when the
 * descriptor that was given to wait->watch() is readable. */
void pg_pipeline_receive(struct pg_pipeline *pipeline);

/* Runs a statement that only reads.  Opens the session where it is closed and may_open says so:
 * pass true only where a server is known to answer.  Waits at most 1 s to open it and 250 ms for
 * the rows.  Returns the rows, which the caller clears, or NULL: run it on a session of its own. */
MUST_CHECK PGresult *pg_pipeline_run(struct pg_pipeline *pipeline, const struct wait *wait,
                                     bool may_open, const struct pg_statement *statement,
                                     const struct pg_params *params, int64_t deadline_ms);

/* Closes the session because another one has found that the server is gone or is the wrong one.
 * Reads that wait get no rows.  The next read may open it again. */
void pg_pipeline_leave(struct pg_pipeline *pipeline);

#endif
