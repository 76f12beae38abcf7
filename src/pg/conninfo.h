/* SPDX-License-Identifier: MIT */
/* Reading a conninfo that libpq has parsed. */
#ifndef ADIT_PG_CONNINFO_H
#define ADIT_PG_CONNINFO_H

#include <libpq-fe.h>

#include "base/must_check.h"

/* Returns the value of an option, which belongs to the options; NULL where it is absent or empty.
 * The options may be NULL. */
MUST_CHECK const char *pg_conninfo_value(const PQconninfoOption *options, const char *keyword);

#endif
