/* SPDX-License-Identifier: MIT */
/* What "aditctl doctor" looks for in the rows of adit-gate.  The role adit_gate may run all of
 * this. Every function takes one round trip, and returns false with *err as pg_run(). */
#ifndef ADIT_STORE_GATE_REVIEW_H
#define ADIT_STORE_GATE_REVIEW_H

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "model/oauth_admission.h"
#include "pg/pg.h"

/* A route whose module, or a list of it, lets nobody in, or that is open to anyone. */
struct gate_reviewed {
    struct text account_id;
    struct text edge_id;
    struct text route_id;
    struct oauth_admission admission;
};

/* Routes that are named at most, and modules that are looked at, so that it ends within seconds. */
#define STORE_GATE_NAMED_MAX 20
#define STORE_GATE_REVIEWED 100000

/* Texts are in the arena. */
struct gate_review {
    /* Closed ones first, then those with a list that lets nobody in, then open ones; each ordered
     * by account, edge and route. */
    struct gate_reviewed items[STORE_GATE_NAMED_MAX];
    size_t n;
    bool has_more;
    int64_t n_reviewed; /* modules */
};

/* Finds such routes.  applications[i]: what the settings have for the provider at position i + 1.
 * Returns false also with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool store_gate_review(struct pg *pg,
                                  const enum oauth_application applications[OAUTH_N_PROVIDERS],
                                  struct arena *arena, struct gate_review *review,
                                  struct error *err);

/* Modules whose cookies another host can set: the edge is the name of a host, another one has the
 * same parent domain, and the cookies' names do not begin with "__Host-". */
struct gate_shared_cookies {
    int64_t n;              /* 0: the rest is absent */
    struct text account_id; /* of the first one */
    struct text edge_id;
    struct text route_id;
};

/* Looks for them among as many modules.  Returns false also with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool store_gate_shared_cookies(struct pg *pg, struct arena *arena,
                                          struct gate_shared_cookies *shared, struct error *err);

/* Counts rows of sessions that ended at least an hour ago, up to 100000. */
MUST_CHECK bool store_gate_count_ended(struct pg *pg, int64_t *n, struct error *err);

#endif
