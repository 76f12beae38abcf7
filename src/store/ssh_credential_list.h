/* SPDX-License-Identifier: MIT */
/* The rows of SSH credentials, for the statements that return them. */
#ifndef ADIT_STORE_SSH_CREDENTIAL_LIST_H
#define ADIT_STORE_SSH_CREDENTIAL_LIST_H

#include "base/must_check.h"
#include "store/executor.h"
#include "store/ssh_credential.h"

/* Of the credential c, in the order of enum ssh_credential_column, after the caller's. */
#define SSH_CREDENTIAL_COLUMNS                                                                     \
    "c.id, c.created_at, c.description, c.metadata, c.public_key, c.acl, c.owner_id, c.revision"
#define SSH_CREDENTIAL_TYPES PG_TEXT PG_TIME PG_TEXT PG_TEXT PG_TEXT PG_TEXTS PG_TEXT PG_BIGINT

enum ssh_credential_column {
    SSH_CREDENTIAL_ID = CALLER_N_COLUMNS,
    SSH_CREDENTIAL_CREATED_AT,
    SSH_CREDENTIAL_DESCRIPTION,
    SSH_CREDENTIAL_METADATA,
    SSH_CREDENTIAL_PUBLIC_KEY,
    SSH_CREDENTIAL_ACL,
    SSH_CREDENTIAL_OWNER_ID,
    SSH_CREDENTIAL_REVISION,
    SSH_CREDENTIAL_N_COLUMNS
};

/* Reads at most page->limit rows into the list, and stops after page->most_bytes of text.  The
 * first row may hold only the caller's columns.  Takes over the result, also on failure.  Returns
 * false with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool ssh_credential_read_page(struct pg_result *result,
                                         const struct ssh_credential_page *page,
                                         struct arena *arena, struct ssh_credential_list *list,
                                         struct error *err);

#endif
