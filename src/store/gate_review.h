/* SPDX-License-Identifier: MIT */
/* What "aditctl doctor" looks for in the rows of adit-gate.  The role adit_gate may run all of
 * this. Every function takes one round trip, and returns false with *err as pg_run(). */
#ifndef ADIT_STORE_GATE_REVIEW_H
#define ADIT_STORE_GATE_REVIEW_H

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "model/oauth_module.h"
#include "pg/pg.h"

/* Why nobody can pass a route. */
enum gate_closed_why {
    GATE_CLOSED_NO_PROVIDER,    /* the module is enabled and selects none */
    GATE_CLOSED_NO_APPLICATION, /* it names no OAuth application, and the settings none either */
    GATE_CLOSED_NO_ADDRESSES    /* its lists need verified addresses, and the provider has none */
};

struct gate_closed {
    struct text account_id;
    struct text edge_id;
    struct text route_id;
    int provider; /* position, 0: none */
    enum gate_closed_why why;
};

/* Routes that are named at most, and modules that are looked at, so that it ends within seconds. */
#define STORE_GATE_CLOSED_MAX 20
#define STORE_GATE_REVIEWED 100000

/* Texts are in the arena. */
struct gate_review {
    struct gate_closed items[STORE_GATE_CLOSED_MAX]; /* ordered by account, edge and route */
    size_t n;
    bool has_more;      /* routes that nobody can pass */
    int64_t n_reviewed; /* modules */
};

/* Finds routes that nobody can pass.  has_application[i]: the settings have an OAuth application
 * for the provider at position i + 1.  Returns false also with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool store_gate_review(struct pg *pg, const bool has_application[OAUTH_N_PROVIDERS],
                                  struct arena *arena, struct gate_review *review,
                                  struct error *err);

/* Counts rows of sessions that ended at least an hour ago, up to 100000. */
MUST_CHECK bool store_gate_count_ended(struct pg *pg, int64_t *n, struct error *err);

#endif
