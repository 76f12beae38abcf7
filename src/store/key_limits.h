/* SPDX-License-Identifier: MIT */
/* What the database says of a public key that is in too many credentials of its account, or in one
 * of somebody else, for every statement that inserts credentials, or changes or deletes them for a
 * caller. */
#ifndef ADIT_STORE_KEY_LIMITS_H
#define ADIT_STORE_KEY_LIMITS_H

#include "pg/pg.h"

/* The index of sql/optional/unique_public_keys.sql, and the conditions of the trigger
 * limit_public_key of sql/schema.sql: members of struct pg_statement. */
#define KEY_LIMITS                                                                                 \
    .unique = "ssh_credential_unique_public_key", .on_unique = ERR_PUBLIC_KEY_EXISTS,              \
    .limits = (const struct pg_limit[])                                                            \
    {                                                                                              \
        {"ssh_credential_key_limit", ERR_KEY_FULL},                                                \
            {"ssh_credential_key_of_others", ERR_KEY_OF_OTHERS},                                   \
            {"ssh_credential_own_limit", ERR_OWN_FULL},                                            \
        {                                                                                          \
            NULL, ERR_NONE                                                                         \
        }                                                                                          \
    }

#endif
