/* SPDX-License-Identifier: MIT */
/* A worker's few sessions with the database, which its many lanes share. */
#ifndef ADIT_GATE_DATABASE_H
#define ADIT_GATE_DATABASE_H

#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "base/wait.h"
#include "pg/pg.h"

struct database;

/* Returns it unconnected, or NULL where memory is short.  The conninfo must outlive it. */
MUST_CHECK struct database *database_new(const char *conninfo, bool is_by_account);

/* No lane may hold a session.  NULL is fine. */
void database_free(struct database *database);

/* Sends and receives what the lanes ask: see pg_pipeline_send() and pg_pipeline_receive(). */
void database_send(struct database *database);
void database_receive(struct database *database);

/* Returns a session for a statement of a lane, which waits until one is free; database_give() gives
 * it back.  account_id: of the rows; absent: of any.  Returns NULL with *err if none became free in
 * time, or the account's place does not answer.  *wait must last until then. */
MUST_CHECK struct pg *database_take(struct database *database, const struct wait *wait,
                                    struct text account_id, struct error *err);

/* ok: the statement did not fail; err: how it failed. */
void database_give(struct database *database, struct pg *pg, bool ok, const struct error *err);

#endif
