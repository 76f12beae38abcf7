/* SPDX-License-Identifier: MIT */
/* The rows of SSH credentials, for the statements that return them. */
#ifndef ADIT_STORE_SSH_CREDENTIAL_LIST_H
#define ADIT_STORE_SSH_CREDENTIAL_LIST_H

#include "base/must_check.h"
#include "store/executor.h"
#include "store/member_sql.h"
#include "store/ssh_credential.h"

/* Where a credential's columns are, after the caller's. */
enum ssh_credential_column {
    SSH_CREDENTIAL_ID = CALLER_N_COLUMNS,
    SSH_CREDENTIAL_END = CALLER_N_COLUMNS + SSH_CREDENTIAL_N_COLUMNS
};

/* Reads at most page->limit rows into the list, and stops after page->most_bytes of text.  The
 * first row may hold only the caller's columns.  Takes over the result, also on failure.  Returns
 * false with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool ssh_credential_read_page(struct pg_result *result,
                                         const struct ssh_credential_page *page,
                                         struct arena *arena, struct ssh_credential_list *list,
                                         struct error *err);

#endif
