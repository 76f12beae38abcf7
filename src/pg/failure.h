/* SPDX-License-Identifier: MIT */
/* For wrap/pg: telling failures of the database apart. */
#ifndef ADIT_PG_FAILURE_H
#define ADIT_PG_FAILURE_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/error.h"
#include "pg/pg.h"

/* Returns whether a SQLSTATE is of a class, its first two characters. */
bool pg_state_has_class(const char *state, const char *class);

/* Returns whether a SQLSTATE is one of several, with spaces between them. */
bool pg_state_is_one_of(const char *state, const char *states);

/* Sets *err to what a failed result means for its statement (NULL: it has none), with a cause for
 * the log. */
void pg_describe(struct error *err, const PGresult *result, const struct pg_statement *statement);

/* Returns whether libpq itself lacked memory, which says nothing about the server. */
bool pg_is_own_memory(const char *message);

#endif
