/* SPDX-License-Identifier: MIT */
/* Mutual TLS modules in the database.  Every function returns false with *err: as executor_run(),
 * or with the error named beside it. */
#ifndef ADIT_STORE_MUTUAL_TLS_MODULE_H
#define ADIT_STORE_MUTUAL_TLS_MODULE_H

#include "base/must_check.h"
#include "model/mutual_tls_module.h"
#include "store/store.h"

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

#endif
