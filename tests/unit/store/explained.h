/* SPDX-License-Identifier: MIT */
/* What the responder's statements have read, by EXPLAIN (ANALYZE) of each while it runs. */
#ifndef ADIT_TESTS_STORE_EXPLAINED_H
#define ADIT_TESTS_STORE_EXPLAINED_H

#include <stdbool.h>

#include "pg/pg.h"

/* Has PostgreSQL explain every statement of tried.responder, including those within functions. Call
 * it before the responder runs its first one. */
void explained_begin(void);

/* Forgets the statements that have run so far. */
void explained_forget(void);

/* The rows that the statements since then have read, including rows that a filter removed. */
struct explained {
    int n_plans;
    double n_rows;       /* of tables other than those of API keys and principals */
    double n_principals; /* at most, of one statement */
    char where[256];     /* the first node that has read rows of other tables, and how many */
};

/* Reads them, and forgets them. */
void explained_take(struct explained *out);

/* Returns the row with the name under which a session has prepared a statement of the store. */
struct pg_result *explained_find(struct pg *pg, const char *name);

/* Runs that statement once more, with these arguments, and returns how many pages it has read. */
long explained_pages(struct pg *pg, const char *name, const char *arguments);

#endif
