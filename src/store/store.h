/* SPDX-License-Identifier: MIT */
/* What every statement of a caller's has in common: it looks the API key up itself, in the same
 * round trip, so that revoking and expiry are in force on the next request. */
#ifndef ADIT_STORE_STORE_H
#define ADIT_STORE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/keyring.h"
#include "wrap/crypt.h"
#include "wrap/pg.h"

/* Of an API key, only the digest travels. */
struct bearer {
    unsigned char digest[CRYPT_SHA256_LEN];
};

/* Fills in the digest of an API key.  Returns false with ERR_OUT_OF_MEMORY. */
bool store_bearer(struct text key, struct bearer *bearer, struct error *err);

struct store;

/* Returns a store over a connection and a keyring, both of which must outlive it, or NULL where
 * there is no memory. */
struct store *store_new(struct pg *pg, const struct keyring *keyring);
void store_free(struct store *store);

/* Checks the API key alone, and that it may write where writes is true.  Returns false with
 * ERR_KEY_UNKNOWN, ERR_KEY_READ_ONLY or a fault of the service. */
bool store_authenticate(struct store *store, const struct bearer *bearer, bool writes,
                        struct error *err);

/* Checks that the database answers, takes writes, and has the schema that this build needs. Returns
 * false with the 503 condition otherwise. */
bool store_ready(struct store *store, struct error *err);

#endif
