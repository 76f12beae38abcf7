/* SPDX-License-Identifier: MIT */
/* A store in memory, for tests without PostgreSQL.  It depends on no test framework. */
#ifndef ADIT_TESTS_STUB_STORE_H
#define ADIT_TESTS_STUB_STORE_H

#include "base/error.h"
#include "store/store.h"

/* API keys: of an admin, of an ordinary User, a Bot's read-only key, a gateway's, a User's key for
 * own credentials, a revoked key, a key of another account's admin, and a well-formed key that was
 * never issued. */
#define STUB_ADMIN_KEY "adit_admin0000000000000000000000000000000000000004QSU4"
#define STUB_MEMBER_KEY "adit_member00000000000000000000000000000000000003phblN"
#define STUB_READ_ONLY_KEY "adit_readonly000000000000000000000000000000000003d0YI7"
#define STUB_GATEWAY_KEY "adit_gateway00000000000000000000000000000000000045piAN"
#define STUB_OWN_KEY "adit_own00000000000000000000000000000000000000000DWbPd"
#define STUB_REVOKED_KEY "adit_revoked0000000000000000000000000000000000000kAoVv"
#define STUB_OTHER_KEY "adit_other000000000000000000000000000000000000002hdHpZ"
#define STUB_UNKNOWN_KEY "adit_unknown000000000000000000000000000000000000301XUl"

/* The holders of the keys, in the same order.  The last one belongs to the other account. */
#define STUB_ADMIN_ID "usr_admin"
#define STUB_MEMBER_ID "usr_member"
#define STUB_READ_ONLY_ID "bot_readonly"
#define STUB_GATEWAY_ID "bot_gateway"
#define STUB_OWN_ID "usr_own"
#define STUB_OTHER_ID "usr_other"

/* Seconds since 1970 at which everything here is created. */
#define STUB_CREATED_AT 1769904000

/* The number of the only audit event. */
#define STUB_EVENT 42

/* Returns an empty store, or NULL if memory runs out.  stub_store_free() frees it. */
struct store *stub_store_new(void);
void stub_store_free(struct store *store);

/* Makes every later call fail with the code and the cause STUB_CAUSE.  ERR_NONE ends that. */
void stub_store_fail(struct store *store, enum error_code code);

/* The cause of such a failure.  No answer may contain it. */
#define STUB_CAUSE "stub: host=db.example SQLSTATE 42601"

/* Returns the identity of a caller with that key; empty for an invalid key. */
struct caller_identity stub_store_identity(const char *key);

/* Returns the number of changes since the store was created. */
int stub_store_n_changes(const struct store *store);

#endif
