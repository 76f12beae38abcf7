/* SPDX-License-Identifier: MIT */
/* Opening connections for wrap/pg, one host after the other, within a deadline. */
#ifndef ADIT_PG_CONNECT_H
#define ADIT_PG_CONNECT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/wait.h"

#define PG_REASON_SIZE 400

/* Returns a connection to the first host of the conninfo, which is a valid one, that takes one for
 * writing; or NULL, with what each of the hosts had to say.  A host has as long as connect_timeout
 * says, 2 seconds if it does not, and no more than its share of what is left until the deadline:
 * libpq's own limit counts for each host anew, and is 2 seconds at least. */
PGconn *pg_connect(const char *conninfo, const struct wait *wait, int64_t deadline_ms,
                   char reason[PG_REASON_SIZE]);

#endif
