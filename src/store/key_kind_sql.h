/* SPDX-License-Identifier: MIT */
/* What the kinds of API key may do, as SQL: conditions on a row with the columns of adit.api_key,
 * from model/key_kind_table.h. */
#ifndef ADIT_STORE_KEY_KIND_SQL_H
#define ADIT_STORE_KEY_KIND_SQL_H

#include "model/key_kind_table.h"

/* clang-format off */

/* A condition more: this program knows the kind.  The conditions below name what a kind may not do,
 * so one of a later version, in a database that was migrated first, would be let through. */
#define KEY_SQL_SCOPE(with, symbol, word, scope, ...) ", '" scope "'"
#define KEY_SQL_AND_IS_KNOWN(key) " AND " key ".scope IN (''" KEY_KINDS(KEY_SQL_SCOPE, ) ")"

/* A condition more: the key may read what the account has.  Permission comes before work: a
 * statement that is not for gateways reads no row of a resource for a key that may not, or the time
 * until its 403 would tell what the rows hold.  So this is part of the condition that finds the
 * account or the row.  The caller's own columns do not depend on it: a key that may not is still told
 * from an unknown one. */
#define KEY_SQL_READS_NOTHING(key, scope) " AND " key ".scope <> '" scope "'"
#define KEY_SQL_READS_SHOWN(key, scope)
#define KEY_SQL_READS_SECRETS(key, scope)
#define KEY_SQL_READS(key, symbol, word, scope, reads, ...) KEY_SQL_READS_##reads(key, scope)
#define KEY_SQL_AND_MAY_READ(key) KEY_KINDS(KEY_SQL_READS, key)

/* A condition more: the key may ask for decisions. */
#define KEY_SQL_OF_ASKS_NOT(key, scope) " AND " key ".scope <> '" scope "'"
#define KEY_SQL_OF_ASKS(key, scope)
#define KEY_SQL_ASKS(key, symbol, word, scope, reads, writes, asks, ...)                           \
    KEY_SQL_OF_##asks(key, scope)
#define KEY_SQL_AND_MAY_ASK(key) KEY_KINDS(KEY_SQL_ASKS, key)

/* The key may write everything.  A key that may not is read_only, whatever else it may write. */
#define KEY_SQL_MAY_WRITE(key) "NOT " key ".read_only"

/* Only such keys read secrets; tests/unit/model/key_kind_test.c says so of each kind. */
#define KEY_SQL_MAY_READ_SECRETS(key) KEY_SQL_MAY_WRITE(key)

#define KEY_SQL_WRITES_NONE(key, scope)
#define KEY_SQL_WRITES_ALL(key, scope)
#define KEY_SQL_WRITES_OWN(key, scope) " OR " key ".scope = '" scope "'"
#define KEY_SQL_WRITES(key, symbol, word, scope, reads, writes, ...)                               \
    KEY_SQL_WRITES_##writes(key, scope)

/* The key may write some credential, if not each: known before one is read. */
#define KEY_SQL_MAY_WRITE_SOME(key)                                                                \
    "(" KEY_SQL_MAY_WRITE(key) KEY_KINDS(KEY_SQL_WRITES, key) ")"

/* The key may write the credentials of its User or Bot, and no others. */
#define KEY_SQL_WRITES_ONLY_OWN(key) "(false" KEY_KINDS(KEY_SQL_WRITES, key) ")"

/* clang-format on */

#endif
