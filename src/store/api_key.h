/* SPDX-License-Identifier: MIT */
/* API keys, for aditctl.  Every function returns false with *err as pg_run(). */
#ifndef ADIT_STORE_API_KEY_H
#define ADIT_STORE_API_KEY_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "pg/pg.h"

struct api_key_order {
    struct text principal_id;
    struct text description;
    bool read_only;
    bool is_gateway;   /* may only ask for decisions */
    int64_t expires_s; /* seconds from now; 0: never */
};

/* Issues a key.  Sets id to its identifier, or to "" if there is no such User or Bot, and key to
 * the key itself.  Only its digest is stored: the caller holds the only copy. */
MUST_CHECK bool api_key_issue(struct pg *pg, const struct api_key_order *order, char id[IDENT_SIZE],
                              char key[API_KEY_SIZE], struct error *err);

/* Revokes a key; no effect on a revoked one.  Sets *found to whether there is such a key. */
MUST_CHECK bool api_key_revoke(struct pg *pg, struct text id, bool *found, struct error *err);

/* The columns of api_key_list(); times are RFC 3339 or not given. */
enum api_key_column {
    API_KEY_ID,
    API_KEY_ACCOUNT_ID,
    API_KEY_PRINCIPAL_ID,
    API_KEY_STATE, /* "active", "expired" or "revoked" */
    API_KEY_MODE,  /* "read-only", "read-write" or "gateway" */
    API_KEY_CREATED_AT,
    API_KEY_EXPIRES_AT,
    API_KEY_DESCRIPTION,
    API_KEY_N_COLUMNS
};

/* Reads all keys, oldest first.  Every column is text.  The caller frees *result with
 * pg_result_free(). */
MUST_CHECK bool api_key_list(struct pg *pg, struct pg_result **result, struct error *err);

#endif
