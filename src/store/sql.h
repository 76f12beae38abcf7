/* SPDX-License-Identifier: MIT */
/* Fragments of SQL that several rooms share. */
#ifndef ADIT_STORE_SQL_H
#define ADIT_STORE_SQL_H

/* A time as text: RFC 3339, UTC, whole seconds. */
#define SQL_RFC3339(column)                                                                        \
    "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

/* Whether a User or Bot may get a credential.  The one rule for POST, and for apply, restore and
 * "user delete --give-to" of aditctl; a function in sql/optional/ repeats it. */
#define SQL_MAY_OWN(principal) principal ".disabled_at IS NULL"

#endif
