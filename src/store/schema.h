/* SPDX-License-Identifier: MIT */
/* The schema: bringing it up to date, and looking whether it is. */
#ifndef ADIT_STORE_SCHEMA_H
#define ADIT_STORE_SCHEMA_H

#include "base/error.h"
#include "wrap/pg.h"

/* Reads the version of the schema, 0 where there is none.  Returns false with *err. */
bool schema_version(struct pg *pg, int *version, struct error *err);

/* Applies what is missing, and the grants, in one transaction under an advisory lock, so that
 * several can run at once.  Calls applied for each migration after the transaction has been
 * committed. Returns false with *err where nothing was changed. */
bool schema_migrate(struct pg *pg, void (*applied)(const char *name), struct error *err);

/* Calls found for each right that the responder's statements need and the connection's role lacks
 * (is_missing), and for each that it has and should not have.  Returns false with *err. */
bool schema_check_grants(struct pg *pg,
                         void (*found)(void *context, const char *what, bool is_missing),
                         void *context, struct error *err);

/* Reads whether the database has a role that may do what responders need and no more; where whoever
 * migrates may not create roles, there is none.  Returns false with *err. */
bool schema_has_responder(struct pg *pg, bool *has, struct error *err);

/* Reads the database's clock, in milliseconds since 1970. */
bool schema_clock(struct pg *pg, int64_t *ms, struct error *err);

#endif
