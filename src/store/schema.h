/* SPDX-License-Identifier: MIT */
/* The schema: migrating it, and checking it, its server and its grants.  Every function returns
 * false with *err as pg_run(), unless it says otherwise. */
#ifndef ADIT_STORE_SCHEMA_H
#define ADIT_STORE_SCHEMA_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* What a schema has that a version before 0.1.0 made, in migrations that are now schema.sql. */
#define SCHEMA_BEFORE_RELEASE -1000000
#define SCHEMA_BEFORE_RELEASE_SAYS                                                                 \
    "of a version of Adit before 0.1.0, which this one does not migrate; the page on upgrades "    \
    "says how to take over its content"

/* The version, SCHEMA_BEFORE_RELEASE, or NULL. */
#define SCHEMA_TEXT_OF(number) #number
#define SCHEMA_TEXT(number) SCHEMA_TEXT_OF(number)
#define SCHEMA_VERSION_SQL                                                                         \
    "(SELECT CASE WHEN bool_or(m.version = 1 AND m.name <> 'schema.sql')"                          \
    " THEN " SCHEMA_TEXT(                                                                          \
        SCHEMA_BEFORE_RELEASE) " ELSE max(m.version) END FROM adit.migration AS m)"

/* Reads the version of the schema; 0: there is none; SCHEMA_BEFORE_RELEASE. */
MUST_CHECK bool schema_version(struct pg *pg, int *version, struct error *err);

/* Reads the version of the server, such as 150018 for 15.18.  Returns false with *err also if it is
 * too old; *version is 0 if it could not be read. */
MUST_CHECK bool schema_check_server(struct pg *pg, int *version, struct error *err);

/* The advisory lock of a migration. */
#define SCHEMA_MIGRATION_LOCK "1633970548"

/* clang-format off */
/* The session that has been longest in a transaction with our tables or in a migration. */
#define SCHEMA_HOLDER_SQL                                                                                 \
    "SELECT format('process %s (%s) of %s%s', a.pid,"                                              \
      " coalesce(nullif(a.application_name, ''), a.backend_type, 'unknown'),"                      \
      " coalesce(a.usename, 'the server'),"                                                        \
      " to_char(a.xact_start AT TIME ZONE 'UTC',"                                                  \
        " '\", in a transaction since \"HH24:MI:SS\" UTC\"'))"                                     \
    " FROM pg_locks AS l"                                                                          \
    " JOIN pg_stat_activity AS a USING (pid)"                                                      \
    " WHERE l.granted"                                                                             \
      " AND a.pid <> pg_backend_pid()"                                                             \
      " AND l.database = (SELECT d.oid FROM pg_database AS d"                                      \
        " WHERE d.datname = current_database())"                                                   \
      " AND (l.locktype = 'advisory' AND l.objid = " SCHEMA_MIGRATION_LOCK                                \
        " OR l.relation IN (SELECT c.oid FROM pg_class AS c"                                       \
          " JOIN pg_namespace AS n ON n.oid = c.relnamespace"                                      \
          " WHERE n.nspname = 'adit'))"                                                            \
    " ORDER BY a.xact_start"                                                                       \
    " LIMIT 1"
/* clang-format on */

/* What is different where accounts are spread, as the database itself says. */
struct schema_spread {
    bool (*is_there)(struct pg *pg, bool *is_there, struct error *err);
    const char *sql; /* what runs in place of grants.sql, and has it */
    /* Runs the statements of a script in one transaction. */
    bool (*run)(struct pg *pg, char *script, int timeout_ms, struct error *err);
};

/* How long to wait for locks, and callbacks. */
struct schema_migrating {
    const struct schema_spread *spread; /* NULL: nobody looks whether they are spread */
    int64_t patience_ms;                /* to keep trying while others hold a lock */
    /* Before each pause, with a session that holds a lock. */
    void (*waiting)(void *context, const char *holder);
    /* For each migration, after the commit. */
    void (*applied)(void *context, const char *name);
    void *context;
};

/* Applies the missing migrations and the grants in one transaction, under an advisory lock, so that
 * several programs can migrate at once.  A waiting migration blocks every request behind it, so it
 * waits for a lock for at most 1 s, then pauses and tries again.  Leaves a schema alone that is
 * newer than the program, or has an invalid index.  Returns false with *err: nothing was changed,
 * unless the connection was lost during the commit. */
MUST_CHECK bool schema_migrate(struct pg *pg, const struct schema_migrating *how,
                               struct error *err);

/* The roles of grants.sql. */
#define SCHEMA_RESPONDER "adit_responder"
#define SCHEMA_GATEWAY "adit_gateway"
#define SCHEMA_GATE "adit_gate"

/* Which role to compare with, and a callback. */
struct schema_grants {
    const char *role; /* one of the above */
    void (*found)(void *context, const char *what, bool is_missing);
    void *context;
};

/* Calls found for each right of grants->role that the connection's role lacks (is_missing), and for
 * each right that the connection's role has and should not have. */
MUST_CHECK bool schema_check_grants(struct pg *pg, const struct schema_grants *grants,
                                    struct error *err);

/* Reads whether a role of grants.sql exists and may use the schema.  There is none if the owner of
 * the schema may not create roles. */
MUST_CHECK bool schema_has_role(struct pg *pg, const char *role, bool *has, struct error *err);

/* Writes the names of the other roles of grants.sql whose rights the connection's role has too,
 * separated by commas; "": none. */
MUST_CHECK bool schema_find_members(struct pg *pg, const char *role, char *others, size_t size,
                                    struct error *err);

/* Writes a row of some 40 KB as the responder does, and rolls back: that finds a full disk, which
 * no setting shows.  Does nothing if there is no User or Bot. */
MUST_CHECK bool schema_try_write(struct pg *pg, struct error *err);

/* Reads whether the session may act as the owner of the tables: the record of changes believes no
 * other session that a secret is only sealed again. */
MUST_CHECK bool schema_may_act_as_owner(struct pg *pg, bool *may, struct error *err);

/* Reads the database's clock into *ms, in milliseconds since 1970. */
MUST_CHECK bool schema_clock(struct pg *pg, int64_t *ms, struct error *err);

#endif
