/* SPDX-License-Identifier: MIT */
/* Reading what documents hold: everything in order, or the rows that a document names.  All of it
 * runs in one transaction. */
#ifndef ADIT_STORE_DOCUMENT_H
#define ADIT_STORE_DOCUMENT_H

#include "base/must_check.h"
#include "model/document.h"
#include "pg/pg.h"
#include "keyring/keyring.h"

/* What a transaction sees, and does. */
enum document_mode {
    DOCUMENT_READ,  /* sees the database as it is now */
    DOCUMENT_WRITE, /* the same; writes fail where another session has changed the row since */
    DOCUMENT_WRITE_LOCKED /* locks rows first (document_lock.h): each statement sees what others
                             have made of the rest */
};

/* Begins the transaction to read in, or to read and then write in.  Returns false with *err as
 * pg_begin(). */
MUST_CHECK bool document_begin(struct pg *pg, enum document_mode mode, struct error *err);

/* A row as an entry of a document.  Text belongs to the result, arrays to the arena. */
struct document_row {
    struct text account_id;
    struct document_entry entry; /* kind and of; a client secret only as it is sealed */
};

/* Rows of a kind, in byte order of their account and identifiers.  The caller fills in the first
 * members and frees it with document_scan_free(). */
struct document_scan {
    struct pg *pg;
    enum document_kind kind;
    struct text account_id;  /* absent: of all accounts */
    struct text_list owners; /* given: only these principals, and what they own */

    struct arena arena; /* of the present batch */
    struct pg_result *batch;
    int row; /* the next one in the batch */
};

/* Reads the next row, which is valid until the next call.  At the end, row->account_id is absent.
 * Keeps one batch of rows in memory.  Returns false with *err as pg_run(). */
MUST_CHECK bool document_scan_next(struct document_scan *scan, struct document_row *row,
                                   struct error *err);

void document_scan_free(struct document_scan *scan);

/* Which rows of an account a document names: the columns of their keys, one list for each. */
struct document_keys {
    struct text_list ids;          /* of modules: the edges */
    struct text_list second;       /* of modules of routes: these */
    struct text_list fingerprints; /* DOCUMENT_CREDENTIAL: these too, each with its description */
    struct text_list descriptions;
};

/* Reads the rows of a kind that the keys name, credentials by their age.  For DOCUMENT_ACCOUNT and
 * DOCUMENT_PRINCIPAL, looks in all accounts.  The caller frees *result.  Returns false with *err as
 * pg_run(). */
MUST_CHECK bool document_find(struct pg *pg, enum document_kind kind, struct text account_id,
                              const struct document_keys *keys, struct arena *arena,
                              struct pg_result **result, struct error *err);

/* Reads the identifiers of the account's credentials with these public keys, if the database
 * permits a key once in an account: a row for each fingerprint in their order, absent if there is
 * none.  If it does not, reads no row.  The caller frees *result.  Returns false with *err as
 * pg_run(). */
MUST_CHECK bool document_find_unique_keys(struct pg *pg, struct text account_id,
                                          struct text_list fingerprints, struct arena *arena,
                                          struct pg_result **result, struct error *err);

/* Reads a row of such a result.  Returns false with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool document_row_read(const struct pg_result *result, enum document_kind kind, int row,
                                  struct arena *arena, struct document_row *out, struct error *err);

/* Opens the client secret of a row; absent if it has none.  Returns false as keyring_open(). */
MUST_CHECK bool document_row_secret(const struct document_row *row, struct keyring *keyring,
                                    struct arena *arena, struct text *secret, struct error *err);

/* Writes the digest of a client secret for the module of a row, under the key of that id (absent:
 * the last one).  Returns false as keyring_digest(). */
MUST_CHECK bool document_row_digest(const struct document_row *row, struct keyring *keyring,
                                    struct text key_id, struct text secret,
                                    char digest[KEYRING_DIGEST_SIZE], struct error *err);

#endif
