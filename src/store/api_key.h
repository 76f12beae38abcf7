/* SPDX-License-Identifier: MIT */
/* API keys, for aditctl.  Every function returns false with *err as pg_run(). */
#ifndef ADIT_STORE_API_KEY_H
#define ADIT_STORE_API_KEY_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "model/key_kind.h"
#include "pg/pg.h"

struct api_key_order {
    struct text principal_id;
    struct text account_id; /* of the User or Bot; an absent value: any */
    struct text description;
    enum key_kind kind;
    int64_t expires_s; /* seconds from now; 0: never */
};

struct api_key_issued {
    char id[IDENT_SIZE]; /* "": there is no such User or Bot */
    char key[API_KEY_SIZE];
    bool is_disabled; /* its User or Bot is, so the key is refused */
};

/* Issues a key.  Only its digest is stored: the caller holds the only copy. */
MUST_CHECK bool api_key_issue(struct pg *pg, const struct api_key_order *order,
                              struct api_key_issued *issued, struct error *err);

/* What became of a key. */
struct api_key_revoked {
    bool found;       /* there is such a key */
    char earlier[32]; /* when it was revoked before, RFC 3339; "": it was not */
};

/* Revokes a key; no effect on a revoked one.  Looks for it in that account, or in all of them if
 * none is given. */
MUST_CHECK bool api_key_revoke(struct pg *pg, struct text id, struct text account_id,
                               struct api_key_revoked *revoked, struct error *err);

/* Revokes all keys of a User or Bot that are not revoked.  Sets *n to how many, and *found to
 * whether there is such a User or Bot, in that account if one is given. */
MUST_CHECK bool api_key_revoke_all(struct pg *pg, struct text principal_id, struct text account_id,
                                   bool *found, int64_t *n, struct error *err);

/* The columns of api_key_list(); times are RFC 3339 or not given. */
enum api_key_column {
    API_KEY_ID,
    API_KEY_ACCOUNT_ID,
    API_KEY_PRINCIPAL_ID,
    API_KEY_STATE, /* "active", "disabled", "expired" or "revoked" */
    API_KEY_MODE,  /* the word of its kind */
    API_KEY_CREATED_AT,
    API_KEY_EXPIRES_AT,
    API_KEY_USED_AT,   /* to within five minutes; absent: it was never used */
    API_KEY_USED_FROM, /* the client's address then; absent: not known */
    API_KEY_DESCRIPTION,
    API_KEY_N_COLUMNS
};

/* Reads the keys of a User or Bot, or all if none is given, oldest first.  Every column is text.
 * The caller frees *result with pg_result_free(). */
MUST_CHECK bool api_key_list(struct pg *pg, struct text principal_id, struct pg_result **result,
                             struct error *err);

#endif
