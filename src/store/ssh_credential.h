/* SPDX-License-Identifier: MIT */
/* SSH credentials in the database.  Every function returns false with *err as caller_run() does,
 * beside what it says itself. */
#ifndef ADIT_STORE_SSH_CREDENTIAL_H
#define ADIT_STORE_SSH_CREDENTIAL_H

#include "model/ssh_credential.h"
#include "store/store.h"

/* Credentials out of one answer of the database. */
struct ssh_credential_list {
    struct ssh_credential *items; /* the arena's */
    size_t n;
    bool more;                /* there are older ones */
    bool is_replay;           /* an earlier request with the same Idempotency-Key made it */
    struct text base_url;     /* what the first answer to an Idempotency-Key was written with */
    struct pg_result *result; /* holds the text; ssh_credential_list_free() frees it */
};

void ssh_credential_list_free(struct ssh_credential_list *list);

/* Stores a new credential under a new identifier, whose time is within a second of its created_at.
 * list holds it, or what the first request with the same Idempotency-Key stored.  ERR_NOT_ADMIN,
 * ERR_OWNER_UNKNOWN, ERR_PUBLIC_KEY_EXISTS, ERR_IDEMPOTENCY_KEY_REUSED. */
bool store_ssh_credential_create(struct store *store, const struct caller *caller,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err);

/* The credential with that identifier.  ERR_CREDENTIAL_NOT_FOUND. */
bool store_ssh_credential_get(struct store *store, const struct caller *caller, struct text id,
                              struct arena *arena, struct ssh_credential_list *list,
                              struct error *err);

/* Changes what is given in the input.  ERR_CREDENTIAL_NOT_FOUND, ERR_PRECONDITION_FAILED. */
bool store_ssh_credential_update(struct store *store, const struct caller *caller, struct text id,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err);

/* Removes it.  ERR_CREDENTIAL_NOT_FOUND, ERR_PRECONDITION_FAILED. */
bool store_ssh_credential_delete(struct store *store, const struct caller *caller, struct text id,
                                 struct arena *arena, struct error *err);

/* At most limit credentials, newest first, those older than before_id if that is given, and none
 * behind those whose texts take most_bytes together. */
bool store_ssh_credential_list(struct store *store, const struct caller *caller,
                               struct text before_id, int limit, size_t most_bytes,
                               struct arena *arena, struct ssh_credential_list *list,
                               struct error *err);

#endif
