/* SPDX-License-Identifier: MIT */
/* The environment of the scenarios: a database with fixtures, and the state of a worker. */
#ifndef ADIT_TESTS_ALLOC_WORLD_H
#define ADIT_TESTS_ALLOC_WORLD_H

#include <stdbool.h>

#include "api/api.h"
#include "pg/outage.h"
#include "scenarios.h"

/* The state that a worker keeps between two requests. */
struct worker {
    struct pg *pg;
    struct pg_outage outage; /* is on: what fails for lack of memory must not wait for its end */
    struct store *store;
    struct arena arena;
    struct response response;
};

struct world;

/* Makes the schema, accounts, keys and fixtures on an empty server.  server is a superuser's
 * conninfo without a database.  Ends the program on failure. */
struct world *world_make(const char *server);
void world_free(struct world *world);

/* Open and close a worker's state.  Opening does not connect yet. */
void worker_open(struct worker *worker, const struct world *world);
void worker_close(struct worker *worker);

/* Frees the memory that a worker keeps for the next request, so that it must allocate again. */
void worker_forget(struct worker *worker);

/* A scenario's request, with all its parts. */
struct play {
    const struct scenario *scenario;
    struct request request;
    struct buf path, body, authorization;
};

void play_make(struct play *play, const struct scenario *scenario, const struct world *world);
void play_free(struct play *play);

/* Answers the request.  The worker owns the answer. */
void play_answer(const struct play *play, const struct world *world, struct worker *worker);

/* Resets the tables to the fixtures. */
void world_reset(struct world *world);

/* Writes a digest of the tables, without the values that differ from run to run. */
#define WORLD_STATE_SIZE 40
void world_state(struct world *world, char out[WORLD_STATE_SIZE]);

#endif
