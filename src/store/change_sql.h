/* SPDX-License-Identifier: MIT */
/* Fragments of SQL about the rows in the record of changes. */
#ifndef ADIT_STORE_CHANGE_SQL_H
#define ADIT_STORE_CHANGE_SQL_H

#include "model/member_names.h"

/* A value as text for people: JSON, and at most 200 characters of it. */
#define CHANGE_VALUE(value)                                                                        \
    "CASE WHEN length((" value ")::text) > 200 THEN left((" value ")::text, 199) || '...'"         \
    " ELSE coalesce((" value ")::text, 'null') END"

/* clang-format off */
/* What differs between two rows as jsonb, as text: "name: old -> new; ...".  If one of them is
 * NULL, the values of the other that are not empty.  Leaves out the row's key and what nobody
 * chose. */
#define CHANGE_TEXT(before, after)                                                                 \
    "(SELECT string_agg(n.key || ': '"                                                             \
      " || CASE WHEN " before " IS NULL OR " after " IS NULL"                                      \
        " THEN " CHANGE_VALUE("n.value")                                                           \
        " ELSE " CHANGE_VALUE(before " -> n.key") " || ' -> ' || " CHANGE_VALUE("n.value") " END,"  \
      " '; ' ORDER BY n.key)"                                                                      \
    " FROM jsonb_each(coalesce(" after ", " before ")) AS n"                                       \
    " WHERE n.key <> ALL ('{account_id,kind,incarnation," MEMBER_UNCHOSEN "}'::text[])"                                       \
      " AND CASE WHEN " before " IS NULL OR " after " IS NULL"                                     \
        " THEN n.value NOT IN ('null', '\"\"', '[]', '0')"                                         \
        " ELSE n.value IS DISTINCT FROM " before " -> n.key END)"
/* clang-format on */

/* The row with the name of its provider, from a text[], instead of the position. */
#define CHANGE_NAMED(row, names)                                                                   \
    "CASE WHEN (" row " ->> 'provider')::int <= array_length(" names ", 1)"                        \
    " THEN " row " || jsonb_build_object('provider', (" names ")[(" row " ->> 'provider')::int])"  \
    " ELSE " row " END"

/* The table that an event is about. */
#define CHANGE_KIND(event) "regexp_replace(" event ", '_[a-z]+$', '')"

/* Whether an event was made by a User, Bot, API key or operator.  The operator "root (sudo by ada)"
 * goes by each of both names, and by the whole as lists show it. */
#define CHANGE_IS_BY(event, by)                                                                    \
    "(" by " COLLATE \"C\" IN (" event ".principal_id, " event ".api_key_id, " event ".operator,"  \
    " " event ".operator || ' (aditctl)', split_part(" event ".operator, ' (sudo by ', 1),"        \
    " substring(" event ".operator FROM ' [(]sudo by (.*)[)]$')))"

#endif
