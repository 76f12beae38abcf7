/* SPDX-License-Identifier: MIT */
/* SSH credentials in the database.  Every function returns false with *err: as executor_run(), or
 * with the error named beside it.  A list that a function was given is to be freed also after it
 * failed. */
#ifndef ADIT_STORE_SSH_CREDENTIAL_H
#define ADIT_STORE_SSH_CREDENTIAL_H

#include "base/must_check.h"
#include "filter/filter.h"
#include "model/ssh_credential.h"
#include "store/store.h"

/* The part of the list that a request asks for. */
struct ssh_credential_page {
    struct text before_id; /* older than this credential; not given: from the newest on */
    int limit;
    const struct filter_node *filter; /* NULL: none */
    size_t most_bytes;                /* stop after the credential whose text reaches this sum */
};

/* What a filter may name. */
extern const struct filter_member ssh_credential_filter_members[];

/* Credentials from one answer of the database.  All zero: none. */
struct ssh_credential_list {
    struct ssh_credential *items; /* in the request's arena */
    size_t n;
    bool more;                /* there are older ones */
    bool is_replay;           /* an earlier request with the same Idempotency-Key created it */
    struct pg_result *result; /* owns the text */
};

/* Frees the text of a list and empties it.  An empty list is fine. */
void ssh_credential_list_free(struct ssh_credential_list *list);

/* Creates a credential under a new identifier, whose time is within a second of its created_at.
 * The list gets it, or the credential that the first request with the same Idempotency-Key created.
 * ERR_NOT_ADMIN, ERR_OWNER_UNKNOWN, ERR_PUBLIC_KEY_EXISTS, ERR_KEY_FULL, ERR_KEY_OF_OTHERS,
 * ERR_OWN_FULL, ERR_IDEMPOTENCY_KEY_REUSED; ERR_OUTCOME_UNKNOWN if it was created and there is no
 * memory to return it. */
MUST_CHECK bool store_ssh_credential_create(struct store *store,
                                            const struct store_request *request,
                                            const struct ssh_credential *input,
                                            struct ssh_credential_list *list, struct error *err);

/* Reads the credential with that identifier.  ERR_CREDENTIAL_NOT_FOUND. */
MUST_CHECK bool store_ssh_credential_get(struct store *store, const struct store_request *request,
                                         struct text id, struct ssh_credential_list *list,
                                         struct error *err);

/* Changes the members that the input gives.  The list gets the credential as changed.
 * ERR_CREDENTIAL_NOT_FOUND, ERR_PRECONDITION_FAILED, ERR_KEY_OF_OTHERS, ERR_OUTCOME_UNKNOWN. */
MUST_CHECK bool store_ssh_credential_update(struct store *store,
                                            const struct store_request *request, struct text id,
                                            const struct ssh_credential *input,
                                            struct ssh_credential_list *list, struct error *err);

/* Deletes the credential.  ERR_CREDENTIAL_NOT_FOUND, ERR_PRECONDITION_FAILED, ERR_KEY_OF_OTHERS. */
MUST_CHECK bool store_ssh_credential_delete(struct store *store,
                                            const struct store_request *request, struct text id,
                                            struct error *err);

/* Reads a page of the account's credentials, newest first.  With a filter: those that it is true
 * for; ERR_FILTER_TOO_SLOW. */
MUST_CHECK bool store_ssh_credential_list(struct store *store, const struct store_request *request,
                                          const struct ssh_credential_page *page,
                                          struct ssh_credential_list *list, struct error *err);

#endif
