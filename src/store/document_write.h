/* SPDX-License-Identifier: MIT */
/* Writing what a document wants, in the transaction of document_begin().  Each call is one
 * statement for many rows. */
#ifndef ADIT_STORE_DOCUMENT_WRITE_H
#define ADIT_STORE_DOCUMENT_WRITE_H

#include "store/document.h"

/* Lets one writer at a time go on, until the transaction ends.  Sets *is_alone to false if another
 * session is writing a document. */
MUST_CHECK bool document_lock(struct pg *pg, bool *is_alone, struct error *err);

/* What becomes of a row. */
struct document_change {
    struct document_row row; /* with the key; what is created or updated in full */
    bool keeps_secret;       /* of an OAuth module: an update leaves the sealed secret */
};

enum document_verb { DOCUMENT_CREATE, DOCUMENT_UPDATE, DOCUMENT_DELETE };

/* Writes n changes of one kind and one verb.  An absent created_at is now.  A principal is deleted
 * with its API keys, and accounts are never deleted.  Returns false with *err as pg_run();
 * err->sqlstate is 40001 if another session has changed a row in between, and 23503 if a principal
 * still owns credentials. */
MUST_CHECK bool document_write(struct pg *pg, enum document_kind kind, enum document_verb verb,
                               const struct document_change *const *changes, size_t n,
                               struct error *err);

/* Keeps the owners of n credentials that were written as they are until the transaction ends, which
 * should be soon.  Reads them: PG_TEXT, the id, and PG_BOOL, whether it is enabled.  The caller
 * frees *result.  Returns false with *err as document_write(); in a transaction of DOCUMENT_WRITE,
 * err->sqlstate is 40001 if another session has changed one in between, such as disabled it. */
MUST_CHECK bool document_hold_owners(struct pg *pg, const struct document_change *const *changes,
                                     size_t n, struct pg_result **result, struct error *err);

/* Supersedes what API keys for own credentials have stored of public keys that other owners have
 * from somebody who may change everything, in a transaction of its own: to be called after a
 * commit, since a transaction that gives keys does not see what is stored while it runs.  Returns
 * false with *err as pg_run(). */
MUST_CHECK bool document_supersede(struct pg *pg, struct error *err);

/* Its statement, which runs in a transaction, where nothing is prepared: for the test of all
 * statements. */
extern const struct pg_statement document_supersede_statement;

#endif
