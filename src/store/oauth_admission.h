/* SPDX-License-Identifier: MIT */
/* For the rooms of this folder: whom a module lets in, as SQL.  It says what oauth_admission_find()
 * says; tests compare both. */
#ifndef ADIT_STORE_OAUTH_ADMISSION_H
#define ADIT_STORE_OAUTH_ADMISSION_H

#include "model/oauth_admission.h"
#include "pg/pg.h"

/* clang-format off */

/* Whether the provider of the row m tells a part (an index from 1, enum identity_provider_part)
 * to a token of the module's scopes.  needed is the parameter that oauth_admission_add() appends.  A
 * provider that only a later version knows tells nothing. */
#define OAUTH_NEEDED(needed, part)                                                                 \
    "coalesce((" needed "::text[])[(m.provider - 1) * 4 + " part "], '-')"
#define OAUTH_TELLS(needed, part)                                                                  \
    "(" OAUTH_NEEDED(needed, part) " = '' OR " OAUTH_NEEDED(needed, part) " <> '-'"                \
      " AND (cardinality(m.scopes) = 0 OR string_to_array(" OAUTH_NEEDED(needed, part) ", ' ')"    \
        " && string_to_array(translate(array_to_string(m.scopes, ' '), E'\\t', ' '), ' ')))"

/* Whether a list of the row m holds something, and nobody passes by it. */
#define OAUTH_LIST_FLAWS(needed)                                                                   \
    "(cardinality(m.email_addresses) + cardinality(m.email_domains) > 0"                           \
        " AND NOT " OAUTH_TELLS(needed, "2")                                                       \
      " OR cardinality(m.organizations) > 0 AND NOT " OAUTH_TELLS(needed, "3")                     \
      " OR cardinality(m.teams) > 0 AND NOT " OAUTH_TELLS(needed, "4") ")"

/* oauth_admitted_word() of the row m of adit.oauth_module.  missing is the second parameter. */
#define OAUTH_ADMITS(needed, missing)                                                              \
    "CASE WHEN NOT m.enabled THEN 'everybody'"                                                     \
        " WHEN m.provider IS NULL"                                                                 \
          " OR m.client_id IS NULL AND m.provider = ANY (" missing "::bigint[])"                   \
          " OR NOT " OAUTH_TELLS(needed, "1") " THEN 'nobody'"                                     \
        " WHEN cardinality(m.email_addresses) + cardinality(m.email_domains)"                      \
          " + cardinality(m.organizations) + cardinality(m.teams) = 0 THEN 'anyone'"               \
        " WHEN cardinality(m.email_addresses) + cardinality(m.email_domains) > 0"                  \
            " AND " OAUTH_TELLS(needed, "2")                                                       \
          " OR cardinality(m.organizations) > 0 AND " OAUTH_TELLS(needed, "3")                     \
          " OR cardinality(m.teams) > 0 AND " OAUTH_TELLS(needed, "4") " THEN 'listed'"            \
        " ELSE 'nobody'"                                                                           \
    " END"

/* clang-format on */

/* Appends the two parameters: what each provider needs for each part, and the positions of those
 * for which applications[position - 1] is OAUTH_APPLICATION_MISSING. */
void oauth_admission_add(struct pg_params *params,
                         const enum oauth_application applications[OAUTH_N_PROVIDERS],
                         struct arena *arena);

#endif
