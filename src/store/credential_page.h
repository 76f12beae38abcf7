/* SPDX-License-Identifier: MIT */
/* SSH credentials and their rules, page by page, for aditctl. */
#ifndef ADIT_STORE_CREDENTIAL_PAGE_H
#define ADIT_STORE_CREDENTIAL_PAGE_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* A credential may have 1000 rules: a page has some MiB at most. */
#define CREDENTIAL_PAGE_SIZE 200

struct credential_page {
    struct text account_id;  /* of the credentials; absent: all accounts */
    struct text fingerprint; /* of their key; absent: all keys */
    /* The last credential of the page before; both absent: from the first on. */
    struct text after_account_id;
    struct text after_id;
};

/* The columns of credential_page_read().  All but the last two are text. */
enum credential_page_column {
    CREDENTIAL_PAGE_ID,
    CREDENTIAL_PAGE_ACCOUNT_ID,
    CREDENTIAL_PAGE_OWNER_ID,
    CREDENTIAL_PAGE_FINGERPRINT,
    CREDENTIAL_PAGE_ACL,    /* text[] */
    CREDENTIAL_PAGE_COUNTS, /* boolean: adit-gateway and POST /ssh_decisions read it */
};

/* Reads up to CREDENTIAL_PAGE_SIZE credentials, ordered by account and identifier.  The caller
 * frees *result with pg_result_free().  Returns false with *err as pg_run(). */
MUST_CHECK bool credential_page_read(struct pg *pg, const struct credential_page *page,
                                     struct pg_result **result, struct error *err);

/* Reads whether an account has a User or a Bot, so that it may have credentials: the responder's
 * role may not read the accounts.  Returns false with *err as pg_run(). */
MUST_CHECK bool credential_page_has_owners(struct pg *pg, struct text account_id, bool *has_owners,
                                           struct error *err);

#endif
