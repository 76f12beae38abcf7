/* SPDX-License-Identifier: MIT */
/* Fragments of SQL about the place of a module, ROUTE or EDGE as in model/resource_table.h, and
 * about parameters of its statements.  m is the row of the module. */
#ifndef ADIT_STORE_RESOURCE_SQL_H
#define ADIT_STORE_RESOURCE_SQL_H

/* clang-format off */

#define PLACE_KEY_EDGE "edge_id"
#define PLACE_KEY_ROUTE "edge_id, route_id"
#define PLACE_COLUMNS_EDGE "m.edge_id"
#define PLACE_COLUMNS_ROUTE "m.edge_id, m.route_id"
#define PLACE_TYPES_EDGE PG_TEXT
#define PLACE_TYPES_ROUTE PG_TEXT PG_TEXT

/* Whether the row is at first, and if it is of a route at second, which are SQL. */
#define PLACE_IS_EDGE(row, first, second) " AND " row ".edge_id = " first " COLLATE \"C\""
#define PLACE_IS_ROUTE(row, first, second)                                                         \
    PLACE_IS_EDGE(row, first, second) " AND " row ".route_id = " second " COLLATE \"C\""

/* Whether the row is the one that the record of changes calls resource. */
#define PLACE_IS_RESOURCE_EDGE(row, resource) PLACE_IS_EDGE(row, resource, "")
#define PLACE_IS_RESOURCE_ROUTE(row, resource)                                                     \
    PLACE_IS_ROUTE(row, "split_part(" resource ", '/', 1)", "split_part(" resource ", '/', 2)")

/* The modules of the account $1 at the edges $2 and the routes $3. */
#define PLACE_FOUND_EDGE(table)                                                                    \
    " FROM adit." table " AS m"                                                                    \
    " WHERE m.account_id = $1::text COLLATE \"C\""                                                 \
      " AND m.edge_id = ANY ($2::text[] COLLATE \"C\")"                                            \
    " ORDER BY m.edge_id"
#define PLACE_FOUND_ROUTE(table)                                                                   \
    " FROM unnest($2::text[], $3::text[]) AS k (edge_id, route_id)"                                \
    " JOIN adit." table " AS m"                                                                    \
      " ON m.account_id = $1::text COLLATE \"C\""                                                  \
      PLACE_IS_ROUTE("m", "k.edge_id", "k.route_id")                                               \
    " ORDER BY m.edge_id, m.route_id"

/* Parameters of a write behind those of the module: of a put by its form, PLAIN or PROVIDER. */
#define IF_MATCH_PLAIN(NAME) NAME##_PARAM_1
#define IF_NONE_MATCH_PLAIN(NAME) NAME##_PARAM_2
#define IF_MATCH_PROVIDER(NAME) NAME##_PARAM_2
#define IF_NONE_MATCH_PROVIDER(NAME) NAME##_PARAM_3

/* Parameters of a deletion: hands its place, If-Match and If-None-Match to with, and these are two of
 * them. */
#define DELETE_PARAMS_EDGE(with) with("$4::text", "$5", "$6")
#define DELETE_PARAMS_ROUTE(with) with("$4::text, $5::text", "$6", "$7")
#define PARAMS_MATCH(place, match, none) match
#define PARAMS_NONE(place, match, none) none

/* clang-format on */

#endif
