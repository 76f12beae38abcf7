/* SPDX-License-Identifier: MIT */
/* What the scenarios are played in: a database with fixtures, and a worker's possessions. */
#ifndef ADIT_TESTS_ALLOC_WORLD_H
#define ADIT_TESTS_ALLOC_WORLD_H

#include <stdbool.h>

#include "api/api.h"
#include "scenarios.h"

/* What a worker has between two requests. */
struct worker {
    struct pg *pg;
    struct store *store;
    struct arena arena;
    struct response response;
};

struct world;

/* Makes the schema, accounts, keys and fixtures on an empty server, of which the conninfo of a
 * superuser without a database is given.  Ends the program where that fails. */
struct world *world_make(const char *server);
void world_free(struct world *world);

/* Opens and closes what a worker has.  Opening connects to nothing yet. */
void worker_open(struct worker *worker, const struct world *world);
void worker_close(struct worker *worker);

/* Frees what a worker keeps from one request for the next, so that it is allocated again. */
void worker_forget(struct worker *worker);

/* A scenario's request, with all that it consists of. */
struct play {
    const struct scenario *scenario;
    struct request request;
    struct buf path, body, authorization;
};

void play_make(struct play *play, const struct scenario *scenario, const struct world *world);
void play_free(struct play *play);

/* Answers the request.  The answer is the worker's. */
void play_answer(const struct play *play, const struct world *world, struct worker *worker);

/* Brings the tables back to the fixtures. */
void world_reset(struct world *world);

/* Writes a digest of what the tables hold, but for what differs from run to run. */
#define WORLD_STATE_SIZE 40
void world_state(struct world *world, char out[WORLD_STATE_SIZE]);

#endif
