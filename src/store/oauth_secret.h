/* SPDX-License-Identifier: MIT */
/* Sealed client secrets: the place of each, and sealing them again under a new key. */
#ifndef ADIT_STORE_OAUTH_SECRET_H
#define ADIT_STORE_OAUTH_SECRET_H

#include "base/must_check.h"
#include "keyring/keyring.h"
#include "model/module.h"
#include "pg/pg.h"

/* Returns the place of the client secret of a route's module.  It refers to the text it was given.
 */
struct keyring_place oauth_secret_place(struct text account_id, const struct module_place *route,
                                        int provider);

/* Numbers of client secrets by the key they are sealed under.  With more keys than rows, which no
 * key file can cause, the last row counts the rest. */
#define OAUTH_SECRET_ROWS 64

struct oauth_secret_counts {
    struct {
        char key_id[KEYRING_ID_MAX + 1];
        int64_t n;
    } rows[OAUTH_SECRET_ROWS];
    size_t n_rows;
};

/* Counts the client secrets that are not sealed under the keyring's first key; keyring NULL: all of
 * them.  Returns false with *err as pg_run(). */
MUST_CHECK bool oauth_secret_count(struct pg *pg, const struct keyring *keyring,
                                   struct oauth_secret_counts *counts, struct error *err);

/* The result of sealing again. */
struct oauth_secret_rekeying {
    int64_t n_sealed;
    int64_t n_damaged; /* the keyring has their key, but it does not open them */
};

/* What a caller of oauth_secret_rekey() or oauth_secret_try() is told. */
struct oauth_secret_calls {
    /* For each secret that cannot be opened.  The ids of the place are the edge and the route. */
    void (*unreadable)(void *context, const struct keyring_place *place, const char *cause);
    /* Of rekeying: after each batch, with the number so far. */
    void (*sealed)(void *context, int64_t n);
    void *context;
};

/* Seals every client secret again that is not under the keyring's first key.  Requests go on: a
 * secret that changes in between stays as changed.  Skips a secret that cannot be opened.  Returns
 * false with *err as pg_run() or keyring_seal(); *done then holds what was done so far. */
MUST_CHECK bool oauth_secret_rekey(struct pg *pg, struct keyring *keyring,
                                   const struct oauth_secret_calls *calls,
                                   struct oauth_secret_rekeying *done, struct error *err);

/* Modules that oauth_secret_try() looks at, so that it ends within seconds. */
#define OAUTH_SECRET_TRIES 100000

struct oauth_secret_trial {
    int64_t n_tried;      /* secrets */
    int64_t n_unreadable; /* of them */
    bool is_whole;        /* there are no more modules */
};

/* Opens the client secrets of the first modules, in the order of their accounts, edges and routes.
 * Returns false with *err as pg_run(), or with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool oauth_secret_try(struct pg *pg, struct keyring *keyring,
                                 const struct oauth_secret_calls *calls,
                                 struct oauth_secret_trial *done, struct error *err);

#endif
