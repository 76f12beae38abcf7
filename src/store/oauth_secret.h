/* SPDX-License-Identifier: MIT */
/* Client secrets under seal: the place that each belongs to, and sealing all of them anew. */
#ifndef ADIT_STORE_OAUTH_SECRET_H
#define ADIT_STORE_OAUTH_SECRET_H

#include "base/must_check.h"
#include "store/keyring.h"
#include "store/oauth_module.h"

/* Returns the place of the client secret of a route's module.  Text keeps its owner. */
struct keyring_place oauth_secret_place(struct text account_id, const struct oauth_route *route,
                                        int provider);

/* Client secrets by the key that they are under.  Where they are under more keys than there are
 * rows, which no key file leads to, the last row has those of several. */
#define OAUTH_SECRET_ROWS 64

struct oauth_secret_counts {
    struct {
        char key_id[KEYRING_ID_MAX + 1];
        int64_t n;
    } rows[OAUTH_SECRET_ROWS];
    size_t n_rows;
};

/* Counts the client secrets that are not under the keyring's first key; NULL: all of them.  Returns
 * false with *err. */
MUST_CHECK bool oauth_secret_count(struct pg *pg, const struct keyring *keyring,
                                   struct oauth_secret_counts *counts, struct error *err);

/* What came of sealing anew. */
struct oauth_secret_rekeying {
    int64_t n_sealed;
    int64_t n_damaged; /* secrets that the keyring's key for them does not open */
};

/* Seals every client secret that is not under the keyring's first key anew under it, while requests
 * go on: what somebody else writes meanwhile stays.  Calls unreadable for each that cannot be
 * opened, with its route and the cause, and leaves it.  Returns false with *err. */
MUST_CHECK bool oauth_secret_rekey(struct pg *pg, struct keyring *keyring,
                                   void (*unreadable)(struct text edge_id, struct text route_id,
                                                      const char *cause),
                                   struct oauth_secret_rekeying *done, struct error *err);

#endif
