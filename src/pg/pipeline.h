/* SPDX-License-Identifier: MIT */
/* A session in libpq's pipeline mode, which all lanes of a worker share for short reads.  What they
 * ask before the worker waits is sent in one piece, and the server answers in one: both processes
 * wake up once for all of it.
 *
 * It only ever makes reads cheaper.  Whatever is out of the ordinary, be it an error, a loss or a
 * statement that waits for a lock, closes it, and everybody asks again on a session of their own,
 * where it is known what to make of that. */
#ifndef ADIT_PG_PIPELINE_H
#define ADIT_PG_PIPELINE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/wait.h"
#include "pg/pg.h"

struct pg_pipeline;

/* Returns a pipeline that is not open yet, or NULL where there is no memory.  The conninfo must
 * outlive it. */
struct pg_pipeline *pg_pipeline_new(const char *conninfo);

/* Closes it and frees it; nobody may wait in it.  NULL is fine. */
void pg_pipeline_free(struct pg_pipeline *pipeline);

/* Sends what has been asked.  To be called before the process waits. */
void pg_pipeline_send(struct pg_pipeline *pipeline);

/* Takes what has come, for whomever it is.  To be called when the descriptor that was given to
 * wait->watch() can be read. */
void pg_pipeline_receive(struct pg_pipeline *pipeline);

/* Runs a statement that only reads.  Where the session is closed it opens it, if it may: who knows
 * no server that is there would wait for nothing.  Returns the rows, which the caller clears, or
 * NULL where they could not be had this way. */
PGresult *pg_pipeline_run(struct pg_pipeline *pipeline, const struct wait *wait, bool may_open,
                          const struct pg_statement *statement, const struct pg_params *params,
                          int64_t deadline_ms);

/* Closes the session, to be opened anew: another one has found that the server has gone, or is no
 * place to be. */
void pg_pipeline_leave(struct pg_pipeline *pipeline);

#endif
