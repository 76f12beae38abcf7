/* SPDX-License-Identifier: MIT */
/* What decisions about SSH keys need from the database. */
#ifndef ADIT_STORE_SSH_DECISION_H
#define ADIT_STORE_SSH_DECISION_H

#include "base/must_check.h"
#include "model/ssh_decision.h"
#include "store/store.h"

/* Grants from one answer of the database.  All zero: none. */
struct ssh_grant_list {
    struct ssh_grant *items; /* in the request's arena */
    size_t n;
    struct ssh_left_out left_out; /* whose grants are not in it; their text is in the arena */
    struct pg_result *result;     /* owns the text */
};

/* Frees the text of a list and empties it.  An empty list is fine. */
void ssh_grant_list_free(struct ssh_grant_list *list);

/* Reads what the credentials of the account grant to the key with that fingerprint, in the order of
 * their identifiers.  If there are more than 1000, or more than 16,384 rules or 1 MiB of rules in
 * them, those of the owners with most are left out.  Returns false with *err: as executor_run(),
 * with ERR_GRANTS_TOO_MANY if the rest still is more, or nothing is left, or with
 * ERR_OUT_OF_MEMORY.  The list is to be freed also after that. */
MUST_CHECK bool store_ssh_decision_find(struct store *store, const struct store_request *request,
                                        struct text fingerprint, struct ssh_grant_list *list,
                                        struct error *err);

#endif
