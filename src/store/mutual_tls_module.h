/* SPDX-License-Identifier: MIT */
/* Mutual TLS modules in the database.  Every function returns false with *err as caller_run() does,
 * beside what it says itself. */
#ifndef ADIT_STORE_MUTUAL_TLS_MODULE_H
#define ADIT_STORE_MUTUAL_TLS_MODULE_H

#include "model/mutual_tls_module.h"
#include "store/store.h"

/* Makes or replaces the module of an edge, and sets its revision.  ERR_PRECONDITION_FAILED. */
bool store_mutual_tls_module_put(struct store *store, const struct caller *caller,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct arena *arena, struct error *err);

/* Reads the module of an edge; text and arrays belong to the arena.  ERR_MUTUAL_TLS_NOT_FOUND. */
bool store_mutual_tls_module_get(struct store *store, const struct caller *caller,
                                 struct text edge_id, struct arena *arena,
                                 struct mutual_tls_module *module, struct error *err);

/* Removes the module of an edge, if it is there.  ERR_PRECONDITION_FAILED. */
bool store_mutual_tls_module_delete(struct store *store, const struct caller *caller,
                                    struct text edge_id, struct arena *arena, struct error *err);

#endif
