/* SPDX-License-Identifier: MIT */
/* Databases of a real PostgreSQL, which tests/unit/with_postgres provides. */
#ifndef ADIT_TESTS_STORE_DATABASE_H
#define ADIT_TESTS_STORE_DATABASE_H

#include "store/store.h"

/* Returns a connection to a new, empty database of that name, as a superuser.  pg_free() frees it.
 */
struct pg *database_create(const char *name);

/* Returns a connection to a database as another role; "postgres" is the superuser. */
struct pg *database_connect(const char *name, const char *role);

/* Runs SQL that must succeed. */
void database_run(struct pg *pg, const char *sql);

/* Returns the first column of a query's first row, a bigint. */
int64_t database_number(struct pg *pg, const char *sql);

/* Migrates to the latest version. */
void database_migrate(struct pg *pg);

/* Two accounts.  The first has an admin and a User. */
struct accounts {
    char account[2][34];
    char admin[34];
    char member[34];
    char other_admin[34]; /* of the second account */
};

void database_fill(struct pg *pg, struct accounts *accounts);

/* Issues a key and returns its caller; expires_s as in api_key_issue(). */
struct caller database_issue(struct pg *pg, const char *principal_id, bool read_only,
                             int64_t expires_s, char key_id[34]);

#endif
