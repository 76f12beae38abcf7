/* SPDX-License-Identifier: MIT */
/* What every statement of a caller's has in common: it looks the API key up itself, in the same
 * round trip, so that revoking and expiry are in force on the next request. */
#ifndef ADIT_STORE_STORE_H
#define ADIT_STORE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/ident.h"
#include "crypt/crypt.h"
#include "http/precondition.h"
#include "pg/pg.h"
#include "store/keyring.h"

/* The Idempotency-Key of a request, and what a repeat of it has to be answered with. */
struct once {
    struct text key; /* not given: there is none */
    unsigned char request_digest[CRYPT_SHA256_LEN];
    struct text base_url;
};

/* Whom a good API key belongs to. */
struct caller_identity {
    char key_id[IDENT_MAX + 1]; /* "": not looked up yet, or no good key */
    char account_id[IDENT_MAX + 1];
};

/* Who asks, in which operation, and on which condition. */
struct caller {
    unsigned char digest[CRYPT_SHA256_LEN]; /* of the API key */
    struct caller_identity *identity;       /* where the statement puts it; NULL: nowhere */
    const char *operation_id;               /* for the audit */
    struct precondition condition;
    struct once once;
};

struct store;

/* Returns a store over a connection and a keyring, both of which must outlive it, or NULL where
 * there is no memory. */
struct store *store_new(struct pg *pg, struct keyring *keyring);
void store_free(struct store *store);

/* Makes an identifier at the time that the database's clock shows, whatever the host's does.  Sets
 * *ms to that time, unless ms is NULL.  Returns false as pg_clock(), or with ERR_INTERNAL. */
bool store_make_ident(struct pg *pg, const char *prefix, char id[IDENT_SIZE], int64_t *ms,
                      struct error *err);

/* Fills in the digest of an API key, and nothing else.  Returns false with ERR_OUT_OF_MEMORY. */
bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err);

/* Checks the API key alone, and that it may write where writes is true.  Returns false with
 * ERR_KEY_UNKNOWN, ERR_KEY_READ_ONLY or a fault of the service. */
bool store_authenticate(struct store *store, const struct caller *caller, bool writes,
                        struct error *err);

/* Checks that the database answers, takes writes, and has the schema that this build needs. Returns
 * false with the 503 condition otherwise. */
bool store_ready(struct store *store, struct error *err);

#endif
