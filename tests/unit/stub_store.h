/* SPDX-License-Identifier: MIT */
/* A store in memory, in the place of the one over PostgreSQL.  It knows nothing of any framework of
 * tests. */
#ifndef ADIT_TESTS_STUB_STORE_H
#define ADIT_TESTS_STUB_STORE_H

#include "base/error.h"
#include "store/store.h"

/* API keys: of an admin, of a User who is none, of a Bot with a read-only key, one that is revoked,
 * one of another account (an admin there), and one of the right form that nobody holds. */
#define STUB_ADMIN_KEY "adit_admin0000000000000000000000000000000000000004QSU4"
#define STUB_MEMBER_KEY "adit_member00000000000000000000000000000000000003phblN"
#define STUB_READ_ONLY_KEY "adit_readonly000000000000000000000000000000000003d0YI7"
#define STUB_REVOKED_KEY "adit_revoked0000000000000000000000000000000000000kAoVv"
#define STUB_OTHER_KEY "adit_other000000000000000000000000000000000000002hdHpZ"
#define STUB_UNKNOWN_KEY "adit_unknown000000000000000000000000000000000000301XUl"

/* Who holds them, in the same order; the last two are of the other account. */
#define STUB_ADMIN_ID "usr_admin"
#define STUB_MEMBER_ID "usr_member"
#define STUB_READ_ONLY_ID "bot_readonly"
#define STUB_OTHER_ID "usr_other"

/* Seconds since 1970 at which everything here is created. */
#define STUB_CREATED_AT 1769904000

/* Returns an empty store, or NULL where there is no memory.  stub_store_free() frees it. */
struct store *stub_store_new(void);
void stub_store_free(struct store *store);

/* Makes every call fail with the code from now on, with a cause that says so; ERR_NONE: no more. */
void stub_store_fail(struct store *store, enum error_code code);

/* What the cause of such a failure holds, and no answer may. */
#define STUB_CAUSE "stub: host=db.example SQLSTATE 42601"

/* Returns what a request with that key learns; empty for a key that is not good. */
struct caller_identity stub_store_identity(const char *key);

/* Returns how many changes were made since the store is there. */
int stub_store_n_changes(const struct store *store);

#endif
