/* SPDX-License-Identifier: MIT */
/* Mutual TLS modules in the database.  Every function returns false with *err: as executor_run(),
 * or with the error named beside it. */
#ifndef ADIT_STORE_MUTUAL_TLS_MODULE_H
#define ADIT_STORE_MUTUAL_TLS_MODULE_H

#include "base/must_check.h"
#include "filter/filter.h"
#include "model/mutual_tls_module.h"
#include "store/store.h"

extern const struct filter_member mutual_tls_module_filter_members[];

/* The part of the list that a request asks for. */
struct mutual_tls_module_page {
    struct text after_edge_id; /* absent: from the first module on */
    int limit;
    size_t most_bytes;                /* stop after the module whose text reaches this sum */
    const struct filter_node *filter; /* NULL: there is none */
};

struct mutual_tls_module_item {
    struct text edge_id;
    struct mutual_tls_module module;
};

/* Modules from one answer of the database, in the request's arena. */
struct mutual_tls_module_list {
    struct mutual_tls_module_item *items;
    size_t n;
    bool more; /* there are others after these */
};

/* Creates or replaces the module of an edge, and sets its revision.  ERR_PRECONDITION_FAILED. */
MUST_CHECK bool store_mutual_tls_module_put(struct store *store,
                                            const struct store_request *request,
                                            struct text edge_id, struct mutual_tls_module *module,
                                            struct error *err);

/* Reads the module of an edge into *module, with text in the request's arena.
 * ERR_MUTUAL_TLS_NOT_FOUND. */
MUST_CHECK bool store_mutual_tls_module_get(struct store *store,
                                            const struct store_request *request,
                                            struct text edge_id, struct mutual_tls_module *module,
                                            struct error *err);

/* Deletes the module of an edge.  No such module is no error.  ERR_PRECONDITION_FAILED. */
MUST_CHECK bool store_mutual_tls_module_delete(struct store *store,
                                               const struct store_request *request,
                                               struct text edge_id, struct error *err);

/* Reads a page of the account's modules, in byte order of edges. */
MUST_CHECK bool store_mutual_tls_module_list(struct store *store,
                                             const struct store_request *request,
                                             const struct mutual_tls_module_page *page,
                                             struct mutual_tls_module_list *list,
                                             struct error *err);

#endif
