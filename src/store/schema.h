/* SPDX-License-Identifier: MIT */
/* The schema: bringing it up to date, and looking whether it is. */
#ifndef ADIT_STORE_SCHEMA_H
#define ADIT_STORE_SCHEMA_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* Reads the version of the schema, 0 where there is none.  Returns false with *err. */
MUST_CHECK bool schema_version(struct pg *pg, int *version, struct error *err);

/* Reads the version of the server, such as 150018 for 15.18, and returns whether it is one that the
 * schema and the statements can be had on; if not, false with *err. */
MUST_CHECK bool schema_check_server(struct pg *pg, int *version, struct error *err);

/* How to migrate, and whom to tell. */
struct schema_migrating {
    int64_t patience_ms;                 /* how long to try while others hold locks in the way */
    void (*waiting)(const char *holder); /* before each pause: who may be in the way */
    void (*applied)(const char *name);   /* for each migration, once it has been committed */
};

/* Applies what is missing, and the grants, in one transaction under an advisory lock, so that
 * several can run at once.  Whoever needs a table waits behind a migration that waits for it: so
 * that waits a second at a time, and leaves pauses.  A schema that is newer than the program is
 * left alone.  Returns false with *err where nothing was changed. */
MUST_CHECK bool schema_migrate(struct pg *pg, const struct schema_migrating *how,
                               struct error *err);

/* Calls found for each right that the responder's statements need and the connection's role lacks
 * (is_missing), and for each that it has and should not have.  Returns false with *err. */
MUST_CHECK bool schema_check_grants(struct pg *pg,
                                    void (*found)(void *context, const char *what, bool is_missing),
                                    void *context, struct error *err);

/* Reads whether the database has a role that may do what responders need and no more; where whoever
 * migrates may not create roles, there is none.  Returns false with *err. */
MUST_CHECK bool schema_has_responder(struct pg *pg, bool *has, struct error *err);

/* Makes a change of some kilobytes as the responder does, and takes it back: whether the session
 * may write says nothing of the disk.  Without a User or Bot it does nothing.  Returns false with
 * *err.
 */
MUST_CHECK bool schema_try_write(struct pg *pg, struct error *err);

/* Reads the database's clock, in milliseconds since 1970. */
MUST_CHECK bool schema_clock(struct pg *pg, int64_t *ms, struct error *err);

#endif
