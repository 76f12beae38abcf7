/* SPDX-License-Identifier: MIT */
/* The condition of a filter of SSH credentials. */
#ifndef ADIT_STORE_SSH_CREDENTIAL_FILTER_H
#define ADIT_STORE_SSH_CREDENTIAL_FILTER_H

#include "store/filter.h"

/* Appends " AND " and the condition on the caller's credential c to sql, and its literals to the
 * parameters.  sql and params remember a failure.  The parameters' bytes belong to the filter and
 * to the arena. */
void ssh_credential_filter_write(const struct filter_node *root, struct buf *sql,
                                 struct pg_params *params, struct arena *arena);

#endif
