/* SPDX-License-Identifier: MIT */
/* The resources: one row each.  From here and from member_table.h come the routes and handlers of
 * modules, their statements, their documents, the record of changes and its undo.
 *
 * MODULE(with, NAME, name, place, form, path, missing, brief, title)
 *     PUT, GET and DELETE of what is at a path, and a list.
 *
 *     with     what the includer hands over
 *     NAME     of its members: NAME_MEMBERS(), and of constants
 *     name     of its table and its struct; events begin with it.  With an "s", the path of its
 *              list, and the name of that in documents
 *     place    ROUTE  of a route of an edge: its members PATH are edge_id and route_id
 *              EDGE   of an edge: edge_id
 *     form     PLAIN     member_table.h says all of it
 *              PROVIDER  the OAuth module: an identity provider's configuration, and a secret
 *     path     with the identifiers in "{}"
 *     missing  the error of GET if there is none
 *     brief    in the names of statements that documents run
 *     title    for people
 */
#ifndef ADIT_MODEL_RESOURCE_TABLE_H
#define ADIT_MODEL_RESOURCE_TABLE_H

/* clang-format off */

#define MODULES(MODULE, with)                                                                      \
    MODULE(with, OAUTH_MODULE, oauth_module, ROUTE, PROVIDER,                                      \
           "/edges/https/{edge_id}/routes/{id}/oauth", ERR_OAUTH_NOT_FOUND, "oauth",               \
           "OAuth module")                                                                         \
    MODULE(with, MUTUAL_TLS_MODULE, mutual_tls_module, EDGE, PLAIN,                                \
           "/edges/tls/{id}/mutual_tls", ERR_MUTUAL_TLS_NOT_FOUND, "mutual_tls", "mutual TLS module")

/* clang-format on */

#endif
